/* stage.c: planning a run of nodes. */
#include "stage.h"

#include <string.h>

#include "iterate/bcast.h"
#include "fold.h"
#include "fuse.h"
#include "place.h"
#include "plan.h"
#include "share.h"
#include "step_run.h"

/* ---- Stages ------------------------------------------------------------------------------------------------- */

ox_status ox_stage_describe(ox_frame *frame, int n) {
    ox_step *step = &frame->plan.steps[n];
    const ox_node *node = &frame->graph->nodes[n];
    step->skip = true;
    step->runs = false;
    step->empty = !(node->op->flags & OX_OP_CHECKS);
#if OX_SMALL
    step->outputs = NULL;
#else
    step->outputs = frame->planning.again ? step->outputs : NULL;
    step->types = 0;
    step->room = 0;
#endif
    *ox_frame_prepared(frame, n) = (ox_prepared){0};
    for (int k = 0; k < node->nout; k++) {
        OX_TRY(ox_plan_describe(frame, n, k));
        const ox_slot *slot = node->out[k] < 0 ? NULL : ox_frame_own(frame, node->out[k]);
        const ox_view view = ox_step_view(step, k);
        if (slot && view == OX_VIEW_NONE) {
            step->runs = true;
            step->empty &= !frame->planning.lives[node->out[k]].bytes;
        }
        step->skip &= !slot || slot->constant || view == OX_VIEW_GIVEN;
    }
    return OX_OK;
}

/* Shapes, views and constants of one node. */
static ox_status describe_node(ox_frame *frame, int n) {
    OX_TRY(ox_stage_describe(frame, n));
    return OX_WITH_CONSTANTS ? ox_fold_node(frame, n) : OX_OK;
}

/* Prepares a step for good, or only finds out how much memory that takes in each run. */
static ox_status prepare_step(ox_frame *frame, int n) {
    ox_step *step = &frame->plan.steps[n];
    if (OX_KEEP_STATE || !ox_step_runs(step))
        return ox_step_prepare(frame, n, &frame->plan.pile);
    ox_pile_mark mark = ox_pile_save(&frame->planning.scratch);
    ox_status status = ox_step_prepare(frame, n, &frame->planning.scratch);
    step->work += ox_aligned(ox_pile_size(frame->planning.scratch.given - mark.given));
    ox_pile_restore(&frame->planning.scratch, mark);
    return status;
}

/* Buffers of the group that ends at node n: what its program reads last decides on them, so it is written before. */
static ox_status share_group(ox_frame *frame, int n) {
    OX_TRY(ox_fuse_write(frame, n, OX_KEEP_STATE ? &frame->plan.pile : &frame->planning.scratch,
                         &frame->planning.scratch));
    ox_share_outputs(frame, n);
    ox_fuse_stream(frame, n);
    if (!OX_KEEP_STATE)
        frame->plan.members[n].group->builder = NULL;
    return OX_OK;
}

/* The same for a node that stands alone, or the group. */
static ox_status share_node(ox_frame *frame, int n) {
    if (ox_frame_group(frame, n))
        return share_group(frame, n);
    ox_share_outputs(frame, n);
    return OX_OK;
}

/* Buffers and the prepared operator of one node, or of the group that it ends. */
static ox_status prepare_node(ox_frame *frame, int n) {
    ox_step *step = &frame->plan.steps[n];
    if (step->skip)
        return OX_OK;
    const ox_group *group = ox_frame_group(frame, n);
    if (group && group->tail != n) {
        step->skip = true;
        return OX_OK;
    }
    const ox_pile_mark mark = ox_pile_save(&frame->planning.scratch);
#if OX_SMALL
    OX_TRY(prepare_step(frame, n)); /* which says what may be overwritten */
    OX_TRY(share_node(frame, n));
#else
    OX_TRY(share_node(frame, n));
    OX_TRY(prepare_step(frame, n));
#endif
    ox_pile_restore(&frame->planning.scratch, mark);
    return OX_OK;
}

/* Remembers what inferring node n looked at, where another run may bring other data. */
static ox_status keep_premises(ox_frame *frame, ox_stage *stage, int n) {
    const ox_node *node = &frame->graph->nodes[n];
    for (int i = 0; i < node->nin && i < 64; i++) {
        const ox_slot *slot = node->in[i] < 0 ? NULL : ox_frame_slot(frame, node->in[i]);
        if (!slot || slot->constant || !(frame->work.call.looked_at >> i & 1))
            continue;
        size_t bytes = (size_t)ox_tensor_count(&slot->tensor) * ox_dtype_size(slot->tensor.dtype);
        ox_premise *premise = ox_pile_get(&frame->plan.pile, sizeof *premise);
        void *elements = premise ? ox_pile_get(&frame->plan.pile, bytes + 1) : NULL;
        if (!elements)
            return ox_fail_memory(frame->error, "the plan of a session", bytes);
        ox_pack(frame->loops, NULL, &slot->tensor, elements);
        *premise = (ox_premise){node->in[i], elements, stage->premises};
        stage->premises = premise;
    }
    return OX_OK;
}

static ox_status describe_nodes(ox_frame *frame, ox_stage *stage, bool inferred) {
    for (int n = stage->first; n < frame->graph->nnodes; stage->end = ++n) {
        if (ox_pool_poll(frame->pool))
            return ox_frame_cancelled(frame, n);
        ox_status status = inferred && n == stage->first ? OX_OK : ox_plan_infer(frame, n, false);
        if (status == OX_DEFER)
            return OX_OK;
        if (status == OX_OK)
            status = keep_premises(frame, stage, n);
        if (status == OX_OK)
            status = describe_node(frame, n);
        OX_TRY(status);
    }
    return OX_OK;
}

/* Forgets what the plan decided for these nodes. Groups lie in plan memory that is about to go; a stale one must not be
 * taken for a new one at its address, nor a stale buffer for one that is decided, where an earlier stage is planned
 * anew. */
static void forget_nodes(ox_frame *frame, int first, int end) {
    for (int n = first; n < end; n++) {
        const ox_node *node = &frame->graph->nodes[n];
        if (OX_WITH_FUSION)
            frame->plan.members[n].group = NULL;
        for (int k = 0; k < node->nout && frame->planning.lives; k++)
            if (node->out[k] >= 0)
                frame->planning.lives[node->out[k]].owner = -1;
    }
    frame->plan.forgotten++;
}

/* Shapes, views and constants of the stage; of constants, what the run reads is where it stays. */
static ox_status describe_stage(ox_frame *frame, ox_stage *stage, bool inferred) {
    ox_status status = describe_nodes(frame, stage, inferred);
    if (status == OX_OK)
        status = ox_fold_keep(frame, stage->first, stage->end);
    if (status != OX_OK)
        ox_fold_drop(frame);
    return status;
}

static ox_status plan_stage(ox_frame *frame, ox_stage *stage, bool inferred) {
    OX_TRY(describe_stage(frame, stage, inferred));
    if (OX_WITH_FUSION)
        OX_TRY(ox_fuse_stage(frame, stage->first, stage->end));
    for (int n = stage->first; n < stage->end; n++)
        OX_TRY(prepare_node(frame, n));
    ox_status status = ox_place_stage(frame, stage);
    if (status != OX_OK && !frame->outer)
        ox_error_prefix(frame->error, "%s: ", frame->model->path);
    return status;
}

ox_status ox_stage_plan(ox_frame *frame, int first, bool inferred) {
    const bool anew = !frame->plan.stages;
    if (anew)
        OX_TRY(ox_life_study(frame));
    ox_pile_mark mark = ox_pile_save(&frame->plan.pile), scratch = ox_pile_save(&frame->planning.scratch);
    ox_stage *stage = ox_pile_get(&frame->plan.pile, sizeof *stage);
    if (!stage)
        return ox_fail_memory(frame->error, "the plan of a session", sizeof *stage);
    *stage = (ox_stage){.first = first, .end = first, .mark = mark, .before = frame->plan.newest};
    ox_status status = plan_stage(frame, stage, inferred);
    if (frame->planning.lives)
        ox_pile_restore(&frame->planning.scratch, scratch);
    if (status != OX_OK) {
        forget_nodes(frame, first, stage->end);
        ox_pile_restore(&frame->plan.pile, mark);
        if (anew)
            ox_life_forget(frame);
        return status;
    }
    *(frame->plan.newest ? &frame->plan.newest->after : &frame->plan.stages) = stage;
    frame->plan.newest = stage;
    return OX_OK;
}

void ox_stage_forget(ox_frame *frame, ox_stage *stage) {
    if (!stage)
        return;
    forget_nodes(frame, stage->first, frame->plan.newest->end);
    frame->plan.newest = stage->before;
    *(stage->before ? &stage->before->after : &frame->plan.stages) = NULL;
    ox_pile_restore(&frame->plan.pile, stage->mark);
}

/* ---- Keeping a plan ----------------------------------------------------------------------------------------- */

static bool same_result(const ox_result *result, const ox_slot *slot, const ox_output *output) {
    const ox_tensor *seen = output ? &output->seen : &slot->tensor;
    if (result->dtype != seen->dtype || !ox_same_dims(result->rank, result->dims, seen->rank, seen->dims))
        return false;
    if (!output)
        return result->view_of < 0 && !result->data;
    return result->view_of == output->input && (!result->data) == (output->view != OX_VIEW_GIVEN) &&
           ox_same_dims(result->rank, result->strides, seen->rank, seen->strides) &&
           (result->view_of < 0 || result->offset == output->offset);
}

/* Elements that do not lie packed count as new ones: that costs a plan, and is no mistake. */
static bool same_premises(const ox_frame *frame, const ox_stage *stage) {
    for (const ox_premise *p = stage->premises; p; p = p->next) {
        const ox_tensor *now = &ox_frame_slot(frame, p->value)->tensor;
        size_t bytes = (size_t)ox_tensor_count(now) * ox_dtype_size(now->dtype);
        if (!ox_tensor_is_packed(now) || (bytes && memcmp(now->data, p->elements, bytes) != 0))
            return false;
    }
    return true;
}

bool ox_stage_holds(ox_frame *frame, const ox_stage *stage) {
    const ox_step *step = &frame->plan.steps[stage->first];
    const ox_node *node = &frame->graph->nodes[stage->first];
    for (int k = 0; k < node->nout; k++) {
        const ox_output *output = ox_step_view(step, k) == OX_VIEW_NONE ? NULL : &step->outputs[k];
        if (node->out[k] >= 0 && !same_result(&frame->planning.results[k], ox_frame_own(frame, node->out[k]), output))
            return false;
    }
    for (int k = 0; k < node->nout; k++)
        if (node->out[k] >= 0 && ox_step_view(step, k) == OX_VIEW_GIVEN)
            ox_frame_own(frame, node->out[k])->tensor.data = frame->planning.results[k].data;
    return same_premises(frame, stage); /* some may be of what the first node gives */
}
