/* run.c: running a frame, stage by stage. */
#include "run.h"

#include "plan.h"
#include "profile.h"
#include "stage.h"

static ox_status run_stage(ox_frame *frame, const ox_stage *stage) {
    for (int n = stage->first; n < stage->end; n++) {
        if (frame->steps[n].skip)
            continue;
        if (ox_pool_poll(frame->pool))
            return ox_frame_cancelled(frame, n);
        OX_TRY(frame->profile ? frame->profile->step(frame, n, ox_step_run) : ox_step_run(frame, n));
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

ox_status ox_run_plan(ox_frame *frame) {
    if (frame->stale)
        ox_stage_forget(frame, frame->stages);
    frame->stale = false;
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

/* Tells of outputs that have another shape than the model states, each once. */
static void tell_shapes(const ox_frame *frame) {
    const ox_graph *graph = frame->graph;
    char text[OX_ERROR_TEXT];
    for (int i = 0; i < graph->noutputs; i++) {
        const ox_port *port = &graph->outputs[i];
        const ox_tensor *came = frame->outputs[i];
        if (frame->told[i] || ox_fits_shape(port->shape, came))
            continue;
        frame->told[i] = true;
        ox_format(text, sizeof text, "%.*s: output '%.*s'%s%.*s%s has shape %s, the model states %s", OX_ERROR_TEXT / 4,
                  frame->model->path, 60, port->name, frame->outer ? " of the subgraph '" : "", 60,
                  frame->outer ? graph->name : "", frame->outer ? "'" : "", OX_DIMS(came->rank, came->dims),
                  ox_shape_text(&(ox_dims_buffer){{0}}, port->shape));
        frame->options->warn(frame->options->warn_context, text);
    }
}

/* The frame of a subgraph, made when it is first run. */
static ox_status subframe(ox_frame *frame, ox_step *step, int number, const ox_graph *graph, ox_frame **sub) {
    if (!step->subframes[number])
        OX_TRY(ox_frame_create(frame->model, graph, frame->options, frame->planning.scratch.allocator, frame->pool,
                               frame, &step->subframes[number], frame->error));
    *sub = step->subframes[number];
    (*sub)->error = frame->error;
    (*sub)->profile = frame->profile;
    return OX_OK;
}

static ox_status run_graph(ox_call *call, int number, const ox_graph *graph, int nin, const ox_tensor *const *in,
                           const ox_tensor *const **out, int *nout) {
    const ox_work *work = (const void *)call;
    ox_frame *frame = work->frame, *sub;
    ox_step *step = &frame->steps[work->node];
    if (number >= step->nsubframes || nin != graph->ninputs)
        return ox_call_fail(call, OX_ERROR_MODEL, "the subgraph takes %d inputs, not %d", graph->ninputs, nin);
    OX_TRY(subframe(frame, step, number, graph, &sub));
    for (int i = graph->ninputs; i < sub->nsources; i++) {
        const ox_slot *outer = ox_frame_slot(frame, graph->captures[i - graph->ninputs].outer);
        OX_TRY(ox_frame_set(sub, i, &outer->tensor, outer->constant));
    }
    for (int i = 0; i < nin; i++)
        OX_TRY(ox_frame_set(sub, i, in[i], false));
    OX_TRY(ox_run_frame(sub));
    *out = sub->outputs;
    *nout = graph->noutputs;
    return OX_OK;
}

ox_status ox_run_frame(ox_frame *frame) {
    frame->work.call.run_graph = OX_WITH_SUBGRAPHS ? run_graph : NULL;
    ox_pile_free(&frame->text);
    OX_TRY(ox_run_plan(frame));
    show_inputs(frame, true);
    ox_stage *stage = frame->stages;
    OX_TRY(run_stage(frame, stage));
    while (stage->end < frame->graph->nnodes) {
        OX_TRY(next_stage(frame, &stage));
        OX_TRY(run_stage(frame, stage));
    }
    if (OX_WITH_CHECKS && frame->told)
        tell_shapes(frame);
    return OX_OK;
}
