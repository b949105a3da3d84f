/* pass_parts.c: running a pass in parts that threads share. */
#include "pass_parts.h"

#include "asserts.h"

/* What a thread found wrong first, in the order of tiles; it lies at the start of its scratch memory. */
typedef struct part_fault {
    int fault, tag;
    int64_t behind; /* it was found among the tiles before this one */
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

/* Tiles [first, end), or those before the first fault. */
static void run_tiles(const parts_job *job, part_fault *found, int64_t first, int64_t end) {
    OX_ASSERT(ox_is_aligned(found) && first >= 0 && end <= ox_pass_tiles(job->pass));
    const double tile = (double)ox_pass_tile_size(job->pass) * sizeof(float);
    const int64_t piece = ox_pool_piece(job->pool, end - first, tile);
    while (first < end) {
        const int64_t stop = end - first < piece ? end : first + piece;
        part_fault here = {.behind = stop};
        here.fault = ox_pass_run(job->pass, (char *)found + ox_aligned(sizeof *found), first, stop, &here.tag);
        if (here.fault && (!found->fault || here.behind < found->behind))
            *found = here;
        first = here.fault || (stop < end && ox_pool_poll(job->pool)) ? end : stop;
    }
}

static void run_share(void *context, ox_share *share) {
    const parts_job *job = context;
    int64_t first, end;
    while (ox_share_next(share, &first, &end))
        run_tiles(job, fault_of(job, share->room), first, end);
}

int ox_pass_parts_run(const ox_pass *pass, ox_pool *pool, int parts, void *scratch, int *tag) {
    OX_ASSERT(parts > 0 && (parts == 1 || parts == ox_pool_parts(pool)));
    parts_job job = {pass, pool, parts, scratch};
    for (int part = 0; part < parts; part++)
        fault_of(&job, part)->fault = 0;
    const int64_t step = (int64_t)(OX_SPLIT_BYTES / 4 / sizeof(float)) / ox_pass_tile_size(pass) + 1;
    ox_pool_share(parts > 1 ? pool : NULL, ox_pass_tiles(pass), step, run_share, &job);
    part_fault first = {0};
    for (int part = 0; part < parts; part++) {
        const part_fault *found = fault_of(&job, part);
        if (found->fault && (!first.fault || found->behind < first.behind))
            first = *found;
    }
    *tag = first.tag;
    return first.fault;
}
