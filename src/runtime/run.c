/* run.c: running a frame, stage by stage. */
#include "frame.h"

#include "../ops/bcast.h"

void ox_step_place(ox_step *step, unsigned char *work) {
    size_t packed = 0;
    ox_step *dense = ox_step_dense(step);
    step = dense ? dense : step;
    for (ox_packing *p = step->packings; p; p = p->next) {
        p->to.data = work + p->offset;
        size_t end = p->offset + ox_aligned((size_t)ox_tensor_count(&p->to) * ox_dtype_size(p->to.dtype));
        packed = end > packed ? end : packed;
    }
    step->call.workspace = work + packed;
}

static void show_windows(ox_step *step) {
    for (int k = 0; k < step->call.nout; k++) {
        const ox_output *output = &step->outputs[k];
        if (!step->out[k] || (output->window != OX_WINDOW_VIEW && output->window != OX_WINDOW_COPY))
            continue;
        ox_tensor seen = output->seen;
        seen.data = (char *)step->in[output->input]->data + output->offset;
        if (output->window == OX_WINDOW_VIEW)
            step->out[k]->data = seen.data;
        else
            ox_pack(step->frame->loops, step->frame->pool, &seen, step->out[k]->data);
    }
}

ox_status ox_step_run(ox_step *step) {
    for (const ox_packing *p = step->packings; p; p = p->next)
        ox_pack(step->frame->loops, step->frame->pool, p->from, p->to.data);
    if (step->runs) {
        step->call.in = step->run_in;
        OX_TRY(step->call.op->run(&step->call));
    }
    show_windows(step);
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
        first = stop < end && ox_pool_ask(job->pool, part) ? end : stop;
    }
}

/* Runs the pass that ends at node n; the first fault counts, as in one thread. */
static ox_status run_group(ox_frame *frame, const ox_step *step) {
    const ox_group *group = step->group;
    pass_job job = {frame->pool, group, step->call.workspace};
    ox_pool_run(group->parts > 1 ? frame->pool : NULL, run_pass_part, &job);
    for (int part = 0; part < group->parts; part++) {
        const pass_fault *found = (const void *)(job.scratch + (size_t)part * ox_group_scratch(group));
        if (found->fault)
            return ox_frame_explain(frame, found->node, ox_elementwise_fault(frame->error, found->fault));
    }
    return OX_OK;
}

static ox_status run_node(ox_frame *frame, ox_step *step, int n) {
    step->call.error = frame->error;
    ox_status status = ox_step_run(step);
    return status == OX_OK ? OX_OK : ox_frame_explain(frame, n, status);
}

/* Runs the dense node of a group, and with it the pass. */
static ox_status run_dense(ox_frame *frame, ox_group *group) {
    int node, fault;
    OX_TRY(run_node(frame, &frame->steps[group->dense], group->dense));
    fault = ox_epilogue_fault(&group->epilogue, &node);
    return fault ? ox_frame_explain(frame, node, ox_elementwise_fault(frame->error, fault)) : OX_OK;
}

static ox_status run_step(ox_frame *frame, int n) {
    ox_step *step = &frame->steps[n];
    if (ox_step_dense(step))
        return run_dense(frame, step->group);
    return ox_step_group(step) ? run_group(frame, step) : run_node(frame, step, n);
}

ox_status ox_frame_cancelled(const ox_frame *frame, int n) {
    return ox_frame_explain(frame, n, ox_fail(frame->error, OX_ERROR_CANCELLED, "cancelled"));
}

static ox_status run_stage(ox_frame *frame, const ox_stage *stage) {
    for (int n = stage->first; n < stage->end; n++) {
        if (frame->steps[n].skip)
            continue;
        if (ox_pool_ask(frame->pool, 0))
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
        ox_slot *slot = &frame->slots[frame->sources[i]];
        if (slot->shape && !slot->constant)
            slot->tensor.data = show ? slot->given : NULL;
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
    bool reports = frame->profile && frame->steps[n].call.op->flags & OX_OP_CONTROL;
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

ox_status ox_frame_run_graph(ox_call *call, int number, const ox_graph *graph, int nin, const ox_tensor *const *in,
                             const ox_tensor *const **out, int *nout) {
    ox_step *step = (ox_step *)(void *)call;
    ox_frame *frame = step->frame;
    if (number >= step->nsubframes || nin > graph->ninputs)
        return ox_call_fail(call, OX_ERROR_MODEL, "the subgraph takes %d inputs, not %d", graph->ninputs, nin);
    if (!step->subframes[number])
        OX_TRY(ox_frame_create(frame->model, graph, frame->options, frame->pool, frame, &step->subframes[number],
                               call->error));
    ox_frame *sub = step->subframes[number];
    sub->error = call->error;
    sub->profile = frame->profile;
    for (int v = 0; v < graph->nvalues; v++) {
        int outer = graph->values[v].outer;
        if (outer >= 0)
            OX_TRY(ox_frame_set(sub, v, &frame->slots[outer].tensor, frame->slots[outer].constant));
    }
    for (int i = 0; i < nin; i++)
        OX_TRY(ox_frame_set(sub, graph->inputs[i], in[i], false));
    OX_TRY(ox_frame_run(sub));
    *out = sub->outputs;
    *nout = graph->noutputs;
    return OX_OK;
}
