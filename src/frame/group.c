/* group.c: running nodes that are one pass. */
#include "ops/pass_parts.h"
#include "node.h"

/* Runs a pass by itself. */
static ox_status run_pass(ox_frame *frame, const ox_group *group, unsigned char *workspace) {
    OX_ASSERT(group->pass && group->parts > 0 && ox_is_aligned(workspace));
    int node;
    const int fault = ox_pass_parts_run(group->pass, frame->pool, group->parts, workspace, &node);
    return fault ? ox_frame_explain(frame, node, ox_elementwise_fault(frame->error, fault)) : OX_OK;
}

/* Runs the dense node of a group, and with it the pass. */
static ox_status run_dense(ox_frame *frame, ox_group *group, unsigned char *workspace) {
    OX_ASSERT(group->epilogue.pass && frame->plan.members[group->dense].group == group);
    int node, fault;
    ox_status status = ox_node_run(frame, group->dense, workspace);
    if (status != OX_OK)
        return ox_frame_explain(frame, group->dense, status);
    fault = ox_epilogue_fault(&group->epilogue, &node);
    return fault ? ox_frame_explain(frame, node, ox_elementwise_fault(frame->error, fault)) : OX_OK;
}

ox_status ox_group_run(ox_frame *frame, int n, unsigned char *workspace) {
    ox_group *group = frame->plan.members[n].group;
    OX_ASSERT(group && group->tail == n);
    return ox_frame_dense(frame, n) >= 0 ? run_dense(frame, group, workspace) : run_pass(frame, group, workspace);
}
