/* step_run.c: preparing and running a step of a plan. */
#include "step_run.h"

#include "frame/node.h"
#include "fuse.h"
#include "plan.h"

ox_status ox_step_prepare(ox_frame *frame, int n, ox_pile *pile) {
    if (ox_frame_group(frame, n))
        return ox_fuse_prepare(frame, n, pile);
    ox_status status = ox_plan_prepare(frame, n, false, pile);
    return status == OX_OK ? OX_OK : ox_frame_explain(frame, n, status);
}

/* State that is not kept with the plan comes first in the step's memory, and the workspace behind it. */
ox_status ox_step_run(ox_frame *frame, int n) {
    ox_step *step = &frame->plan.steps[n];
    unsigned char *workspace =
        frame->arena.start ? frame->arena.start + step->place : ox_align(frame); /* of no bytes */
    OX_ASSERT(n >= 0 && n < frame->graph->nnodes && !step->skip);
    OX_ASSERT(!step->work || (ox_is_aligned(workspace) && step->place + step->work <= frame->arena.size));
    if (!OX_KEEP_STATE && ox_step_runs(step)) {
        const size_t size = step->work;
        ox_pile pile;
        ox_pile_over(&pile, workspace, size);
        OX_TRY(ox_step_prepare(frame, n, &pile));
        workspace += size - step->work;
        OX_ASSERT(step->work <= size && ox_is_aligned(workspace));
        step->work = size;
    }
    if (ox_frame_group(frame, n))
        return ox_group_run(frame, n, workspace);
    ox_status status = ox_node_run(frame, n, workspace);
    return status == OX_OK ? OX_OK : ox_frame_explain(frame, n, status);
}
