/* pass_parts.c: running a pass in parts that threads share. */
#include "pass_parts.h"

/* What a part found wrong; it lies at the start of the part's scratch memory. */
typedef struct part_fault {
    int fault, tag;
} part_fault;

static size_t part_room(const ox_pass *pass, int parts) {
    return ox_pool_room(parts, ox_aligned(sizeof(part_fault)) + ox_aligned(ox_pass_scratch(pass)));
}

size_t ox_pass_parts_scratch(const ox_pass *pass, int parts) {
    return (size_t)parts * part_room(pass, parts);
}

typedef struct parts_job {
    const ox_pass *pass;
    ox_pool *pool;
    int parts;
    char *scratch;
} parts_job;

static part_fault *fault_of(const parts_job *job, int part) {
    return (void *)(job->scratch + (size_t)part * part_room(job->pass, job->parts));
}

static void run_part(void *context, int part, int parts) {
    const parts_job *job = context;
    part_fault *found = fault_of(job, part);
    int64_t first, end;
    ox_pool_range(ox_pass_tiles(job->pass), part, parts, &first, &end);
    const double tile = (double)ox_pass_tile_size(job->pass) * sizeof(float);
    const int64_t piece = ox_pool_piece(job->pool, end - first, tile);
    found->fault = 0;
    while (first < end && !found->fault) {
        const int64_t stop = end - first < piece ? end : first + piece;
        found->fault = ox_pass_run(job->pass, (char *)found + ox_aligned(sizeof *found), first, stop, &found->tag);
        first = stop < end && ox_pool_poll(job->pool) ? end : stop;
    }
}

int ox_pass_parts_run(const ox_pass *pass, ox_pool *pool, int parts, void *scratch, int *tag) {
    parts_job job = {pass, pool, parts, scratch};
    ox_pool_run(parts > 1 ? pool : NULL, run_part, &job);
    for (int part = 0; part < parts; part++) {
        const part_fault *found = fault_of(&job, part);
        if (found->fault) {
            *tag = found->tag;
            return found->fault;
        }
    }
    return 0;
}
