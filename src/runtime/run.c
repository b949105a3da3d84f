/* run.c: running a frame, stage by stage. */
#include "frame.h"

#include "../ops/bcast.h"

ox_status ox_step_prepare(ox_frame *frame, int n, ox_pile *pile) {
    if (ox_frame_group(frame, n))
        return ox_fuse_prepare(frame, n, pile);
    ox_status status = ox_plan_prepare(frame, n, pile);
    return status == OX_OK ? OX_OK : ox_frame_explain(frame, n, status);
}

/* Packs the inputs that need it to the start of the workspace; what is behind them is the operator's. */
static unsigned char *pack_inputs(ox_frame *frame, int n, unsigned char *workspace) {
    size_t packed = 0;
    for (ox_packing *p = ox_frame_prepared(frame, n)->packings; p; p = p->next) {
        p->to.data = workspace + p->offset;
        size_t end = p->offset + ox_aligned((size_t)ox_tensor_count(&p->to) * ox_dtype_size(p->to.dtype));
        packed = end > packed ? end : packed;
        ox_pack(frame->loops, frame->pool, p->from, p->to.data);
        frame->work.in[p->input] = &p->to;
    }
    return workspace + packed;
}

static void show_windows(ox_frame *frame, int n) {
    const ox_step *step = &frame->steps[n];
    const ox_node *node = &frame->graph->nodes[n];
    for (int k = 0; step->outputs && k < node->nout; k++) {
        const ox_output *output = &step->outputs[k];
        if (node->out[k] < 0 || (output->window != OX_WINDOW_VIEW && output->window != OX_WINDOW_COPY))
            continue;
        ox_tensor seen = output->seen, *out = &ox_frame_own(frame, node->out[k])->tensor;
        seen.data = (char *)ox_frame_slot(frame, node->in[output->input])->tensor.data + output->offset;
        if (output->window == OX_WINDOW_VIEW)
            out->data = seen.data;
        else
            ox_pack(frame->loops, frame->pool, &seen, out->data);
    }
}

ox_status ox_step_run(ox_frame *frame, int n, unsigned char *workspace) {
    if (ox_step_runs(&frame->steps[n])) {
        ox_call *call = ox_frame_call(frame, n, NULL);
        call->workspace = pack_inputs(frame, n, workspace);
        OX_TRY(call->op->run(call));
    }
    show_windows(frame, n);
    return OX_OK;
}

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
        first = stop < end && ox_pool_ask(job->pool) ? end : stop;
    }
}

/* Runs the pass that ends at node n; the first fault counts, as in one thread. */
static ox_status run_group(ox_frame *frame, int n, unsigned char *workspace) {
    const ox_group *group = frame->members[n].group;
    pass_job job = {frame->pool, group, workspace};
    ox_pool_run(group->parts > 1 ? frame->pool : NULL, run_pass_part, &job);
    for (int part = 0; part < group->parts; part++) {
        const pass_fault *found = (const void *)(job.scratch + (size_t)part * ox_group_scratch(group));
        if (found->fault)
            return ox_frame_explain(frame, found->node, ox_elementwise_fault(frame->error, found->fault));
    }
    return OX_OK;
}

static ox_status run_node(ox_frame *frame, int n, unsigned char *workspace) {
    ox_status status = ox_step_run(frame, n, workspace);
    return status == OX_OK ? OX_OK : ox_frame_explain(frame, n, status);
}

/* Runs the dense node of a group, and with it the pass. */
static ox_status run_dense(ox_frame *frame, ox_group *group, unsigned char *workspace) {
    int node, fault;
    OX_TRY(run_node(frame, group->dense, workspace));
    fault = ox_epilogue_fault(&group->epilogue, &node);
    return fault ? ox_frame_explain(frame, node, ox_elementwise_fault(frame->error, fault)) : OX_OK;
}

/* What is not kept with the plan comes first in the step's memory, the workspace behind it. */
static ox_status run_step(ox_frame *frame, int n) {
    ox_step *step = &frame->steps[n];
    unsigned char *workspace = frame->arena ? frame->arena + step->place : (unsigned char *)frame;
    if (!OX_KEEP_STATE && ox_step_runs(step)) {
        const size_t size = step->work;
        ox_pile pile;
        ox_pile_over(&pile, workspace, size);
        OX_TRY(ox_step_prepare(frame, n, &pile));
        workspace += size - step->work;
        step->work = size;
    }
    if (ox_frame_dense(frame, n) >= 0)
        return run_dense(frame, frame->members[n].group, workspace);
    return ox_frame_group(frame, n) ? run_group(frame, n, workspace) : run_node(frame, n, workspace);
}

ox_status ox_frame_cancelled(const ox_frame *frame, int n) {
    return ox_frame_explain(frame, n, ox_fail(frame->error, OX_ERROR_CANCELLED, "cancelled"));
}

static ox_status run_stage(ox_frame *frame, const ox_stage *stage) {
    for (int n = stage->first; n < stage->end; n++) {
        if (frame->steps[n].skip)
            continue;
        if (ox_pool_ask(frame->pool))
            return ox_frame_cancelled(frame, n);
        OX_TRY(frame->profile ? frame->profile->step(frame, n, run_step) : run_step(frame, n));
        if (ox_pool_cancelled(frame->pool))
            return ox_frame_cancelled(frame, n);
    }
    return OX_OK;
}

/* Shows operators the data of the graph's inputs, or hides it: a plan must not depend on it. */
static void show_inputs(ox_frame *frame, bool show) {
    for (int i = 0; i < frame->nsources; i++) {
        const ox_source *source = &frame->sources[i];
        ox_slot *slot = ox_frame_own(frame, source->value);
        if (source->shape && !slot->constant)
            slot->tensor.data = show ? source->given : NULL;
    }
}

ox_status ox_frame_plan(ox_frame *frame) {
    if (frame->stages)
        return OX_OK;
    show_inputs(frame, false);
    return ox_stage_plan(frame, 0, false);
}

static ox_status infer_live(ox_frame *frame, int n) {
    return ox_plan_infer(frame, n, true);
}

/* The stage that starts at node n, where data decides on shapes: the one that was planned if it still holds. */
static ox_status next_stage(ox_frame *frame, ox_stage **stage) {
    int n = (*stage)->end;
    bool reports = frame->profile && frame->graph->nodes[n].op->flags & OX_OP_CONTROL;
    OX_TRY(reports ? frame->profile->step(frame, n, infer_live) : infer_live(frame, n));
    if (!(*stage)->after || !ox_stage_holds(frame, (*stage)->after)) {
        ox_stage_forget(frame, (*stage)->after);
        OX_TRY(ox_stage_plan(frame, n, true));
    }
    *stage = (*stage)->after;
    return OX_OK;
}

ox_status ox_frame_run(ox_frame *frame) {
    ox_pile_free(&frame->text);
    OX_TRY(ox_frame_plan(frame));
    show_inputs(frame, true);
    ox_stage *stage = frame->stages;
    OX_TRY(run_stage(frame, stage));
    while (stage->end < frame->graph->nnodes) {
        OX_TRY(next_stage(frame, &stage));
        OX_TRY(run_stage(frame, stage));
    }
    return OX_OK;
}

/* The frame of a subgraph, made when it is first run. */
static ox_status subframe(ox_frame *frame, ox_step *step, int number, const ox_graph *graph, ox_frame **sub) {
    if (!step->subframes[number])
        OX_TRY(ox_frame_create(frame->model, graph, frame->options, frame->scratch.allocator, frame->pool, frame,
                               &step->subframes[number], frame->error));
    *sub = step->subframes[number];
    (*sub)->error = frame->error;
    (*sub)->profile = frame->profile;
    return OX_OK;
}

ox_status ox_frame_run_graph(ox_call *call, int number, const ox_graph *graph, int nin, const ox_tensor *const *in,
                             const ox_tensor *const **out, int *nout) {
    const ox_work *work = (const void *)call;
    ox_frame *frame = work->frame, *sub;
    ox_step *step = &frame->steps[work->node];
    if (number >= step->nsubframes || nin > graph->ninputs)
        return ox_call_fail(call, OX_ERROR_MODEL, "the subgraph takes %d inputs, not %d", graph->ninputs, nin);
    OX_TRY(subframe(frame, step, number, graph, &sub));
    for (int i = graph->ninputs; i < sub->nsources; i++) {
        const ox_slot *outer = ox_frame_slot(frame, graph->captures[i - graph->ninputs].outer);
        OX_TRY(ox_frame_set(sub, i, &outer->tensor, outer->constant));
    }
    for (int i = 0; i < nin; i++)
        OX_TRY(ox_frame_set(sub, i, in[i], false));
    OX_TRY(ox_frame_run(sub));
    *out = sub->outputs;
    *nout = graph->noutputs;
    return OX_OK;
}
