/* group.c: running nodes that are one pass. */
#include "node.h"

/* What a part of a pass found wrong; it lies at the start of the part's scratch memory. */
typedef struct pass_fault {
    int fault, node;
} pass_fault;

size_t ox_group_scratch(const ox_group *group) {
    return ox_aligned(sizeof(pass_fault)) + ox_aligned(ox_pass_scratch(group->pass));
}

typedef struct pass_job {
    ox_pool *pool;
    const ox_group *group;
    unsigned char *scratch;
} pass_job;

static void run_pass_part(void *context, int part, int parts) {
    const pass_job *job = context;
    unsigned char *scratch = job->scratch + (size_t)part * ox_group_scratch(job->group);
    pass_fault *found = (pass_fault *)(void *)scratch;
    int64_t first, end;
    ox_pool_range(ox_pass_tiles(job->group->pass), part, parts, &first, &end);
    found->fault = 0;
    double tile = (double)ox_pass_tile_size(job->group->pass) * sizeof(float);
    int64_t piece = ox_pool_piece(job->pool, end - first, tile);
    while (first < end && !found->fault) {
        int64_t stop = end - first < piece ? end : first + piece;
        found->fault = ox_pass_run(job->group->pass, scratch + ox_aligned(sizeof *found), first, stop, &found->node);
        first = stop < end && ox_pool_poll(job->pool) ? end : stop;
    }
}

/* Runs a pass by itself; the first fault counts, as in one thread. */
static ox_status run_pass(ox_frame *frame, const ox_group *group, unsigned char *workspace) {
    pass_job job = {frame->pool, group, workspace};
    ox_pool_run(group->parts > 1 ? frame->pool : NULL, run_pass_part, &job);
    for (int part = 0; part < group->parts; part++) {
        const pass_fault *found = (const void *)(job.scratch + (size_t)part * ox_group_scratch(group));
        if (found->fault)
            return ox_frame_explain(frame, found->node, ox_elementwise_fault(frame->error, found->fault));
    }
    return OX_OK;
}

/* Runs the dense node of a group, and with it the pass. */
static ox_status run_dense(ox_frame *frame, ox_group *group, unsigned char *workspace) {
    int node, fault;
    ox_status status = ox_node_run(frame, group->dense, workspace);
    if (status != OX_OK)
        return ox_frame_explain(frame, group->dense, status);
    fault = ox_epilogue_fault(&group->epilogue, &node);
    return fault ? ox_frame_explain(frame, node, ox_elementwise_fault(frame->error, fault)) : OX_OK;
}

ox_status ox_group_run(ox_frame *frame, int n, unsigned char *workspace) {
    ox_group *group = frame->members[n].group;
    return ox_frame_dense(frame, n) >= 0 ? run_dense(frame, group, workspace) : run_pass(frame, group, workspace);
}
