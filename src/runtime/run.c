/* run.c: running a frame, stage by stage. */
#include "run.h"

#include "plan/kept.h"
#include "plan/plan.h"
#include "plan/stage.h"
#include "plan/step_run.h"
#include "plan/target.h"
#include "plan/update.h"
#include "body.h"
#include "check.h"
#include "given.h"
#include "profile.h"

static ox_status run_stage(ox_frame *frame, const ox_stage *stage) {
    ox_status (*const run)(ox_frame *, int) = ox_checks(frame) ? ox_check_step : ox_step_run;
    if (OX_WITH_TARGETS && stage->targets)
        OX_TRY(ox_target_point(frame, stage));
    for (int n = stage->first; n < stage->end; n++) {
        if (frame->plan.steps[n].skip)
            continue;
        if (ox_pool_poll(frame->pool))
            return ox_frame_cancelled(frame, n);
        OX_TRY(frame->profile ? frame->profile->step(frame, n, run) : run(frame, n));
        if (ox_pool_cancelled(frame->pool))
            return ox_frame_cancelled(frame, n);
    }
    return OX_OK;
}

/* Shows operators the data of the graph's inputs, or hides it: a plan must not depend on it. */
static void show_inputs(ox_frame *frame, bool show) {
    for (int i = 0; i < frame->nsources; i++) {
        const ox_source *source = &frame->sources[i];
        if (source->shape && !source->slot->constant)
            source->slot->tensor.data = show ? source->given : NULL;
    }
}

/* ---- Subgraphs ---------------------------------------------------------------------------------------------- */

static ox_status run_body(ox_body *body) {
    ox_inner *inner = (void *)body;
    if (ox_pool_poll(inner->frame->pool))
        return ox_fail(inner->frame->error, OX_ERROR_CANCELLED, "cancelled");
    ox_body_begin(inner);
    OX_TRY(ox_run_frame(inner->frame));
    return ox_body_finish(inner);
}

/* An output is described by the plan of the body, or by what the model states if the body cannot be planned yet. */
static ox_status foresee(ox_body *body, int k, ox_result *result) {
    ox_inner *inner = (void *)body;
    ox_status status = ox_run_plan(inner->frame);
    if (status == OX_ERROR_MEMORY || status == OX_ERROR_LIMIT || status == OX_ERROR_CANCELLED)
        return status;
    ox_error_clear(inner->frame->error);
    return ox_body_foresee(inner, k, status == OX_OK, result);
}

static const ox_bodies bodies = {ox_body_ends,       ox_body_open, ox_body_input_rank, ox_body_set, ox_body_hand_in,
                                 ox_body_gives_back, run_body,     ox_body_borrows,    foresee,     ox_body_room};

/* ---- Stages ------------------------------------------------------------------------------------------------- */

/* The plan in force is for other shapes: it becomes one for these, or is put aside, and the oldest of all becomes one,
 * or goes. */
static void renew_plan(ox_frame *frame) {
    show_inputs(frame, false);
    if (OX_WITH_UPDATES && !ox_checks(frame) && ox_kept_old(frame)) {
        if (ox_update_plan(frame))
            return;
    } else {
        ox_kept_put(frame);
    }
    ox_stage_forget(frame, frame->plan.stages);
}

ox_status ox_run_plan(ox_frame *frame) {
    frame->work.call.bodies = OX_WITH_SUBGRAPHS ? &bodies : NULL;
    if (frame->plan.stale && !ox_kept_take(frame))
        renew_plan(frame);
    frame->plan.stale = false;
    if (frame->plan.stages)
        return OX_OK;
    show_inputs(frame, false);
    OX_TRY(ox_kept_note(frame));
    OX_TRY(ox_stage_plan(frame, 0, false));
    ox_update_begin(frame);
    return OX_OK;
}

/* The stage that starts at node n, where data decides on shapes: the one that was planned if it still holds. */
static ox_status next_stage(ox_frame *frame, ox_stage **stage) {
    int n = (*stage)->end;
    if (ox_checks(frame))
        OX_TRY(ox_check_reads(frame, n));
    if (!ox_op_has(frame->graph->nodes[n].op, OX_OP_CONTROL))
        OX_TRY(ox_plan_infer(frame, n, true));
    else
        OX_TRY(frame->profile ? frame->profile->step(frame, n, ox_plan_control) : ox_plan_control(frame, n));
    if (!(*stage)->after || !ox_stage_holds(frame, (*stage)->after)) {
        ox_stage_forget(frame, (*stage)->after);
        OX_TRY(ox_stage_plan(frame, n, true));
    }
    *stage = (*stage)->after;
    return OX_OK;
}

/* Warns once of each output whose shape differs from the one that the model states. */
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

ox_status ox_run_frame(ox_frame *frame) {
    ox_pile_free(&frame->text);
    OX_TRY(ox_run_plan(frame));
    show_inputs(frame, true);
    if (ox_checks(frame))
        OX_TRY(ox_check_begin(frame));
    ox_stage *stage = frame->plan.stages;
    if (!OX_SMALL && !frame->outer && stage->end < frame->graph->nnodes)
        OX_TRY(ox_given_copy(frame));
    OX_TRY(run_stage(frame, stage));
    while (stage->end < frame->graph->nnodes) {
        OX_TRY(next_stage(frame, &stage));
        OX_TRY(run_stage(frame, stage));
    }
    if (ox_checks(frame))
        OX_TRY(ox_check_end(frame));
    if (OX_WITH_CHECKS && frame->told)
        tell_shapes(frame);
    return OX_OK;
}
