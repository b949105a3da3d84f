/* stage.c: planning a run of nodes, folding constants on the way. */
#include "frame.h"

#include <string.h>

#include "../ops/bcast.h"

/* ---- Constants ---------------------------------------------------------------------------------------------- */

static ox_slot *output_slot(const ox_frame *frame, int n, int k) {
    int v = frame->graph->nodes[n].out[k];
    return v < 0 ? NULL : &frame->slots[v];
}

/* True if the node's outputs depend on constants and shapes only. */
static bool is_constant(const ox_frame *frame, int n) {
    const ox_node *node = &frame->graph->nodes[n];
    if (node->op->flags & (OX_OP_CONTROL | OX_OP_RANDOM))
        return false;
    const ox_tensor *out = frame->steps[n].out[0];
    if (node->op->flags & OX_OP_TEXT && out && out->dtype == OX_STRING)
        return false;
    int nin = node->op->flags & OX_OP_SHAPE_ONLY ? 0 : node->op->flags & OX_OP_LIKE ? 1 : node->nin;
    for (int i = 0; i < nin; i++)
        if (node->in[i] >= 0 && !frame->slots[node->in[i]].constant)
            return false;
    return true;
}

/* Bytes that keeping the outputs of node n would take. */
static size_t kept_bytes(const ox_frame *frame, int n) {
    size_t bytes = 0;
    for (int k = 0; k < frame->graph->nodes[n].nout; k++) {
        const ox_slot *slot = output_slot(frame, n, k);
        if (slot && !slot->constant)
            bytes += slot->bytes;
    }
    return bytes;
}

/* Computes node n now, into plan memory. */
static ox_status fold(ox_frame *frame, int n) {
    ox_step *step = &frame->steps[n];
    for (int k = 0; k < step->call.nout; k++) {
        ox_slot *slot = output_slot(frame, n, k);
        if (!slot || slot->constant)
            continue;
        slot->tensor.data = ox_pile_get(&frame->plan, slot->bytes + 1);
        if (!slot->tensor.data)
            return ox_fail_memory(frame->error, "a constant", slot->bytes);
    }
    ox_pile_mark mark = ox_pile_save(&frame->plan);
    unsigned char *work = ox_pile_get(&frame->plan, step->work + 1);
    if (!work)
        return ox_fail_memory(frame->error, "computing a constant", step->work);
    ox_step_place(step, work);
    ox_status status = ox_step_run(step);
    if (status == OX_OK && ox_pool_cancelled(frame->pool))
        status = ox_fail(frame->error, OX_ERROR_CANCELLED, "cancelled");
    ox_pile_restore(&frame->plan, mark);
    for (int k = 0; k < step->call.nout; k++) {
        ox_slot *slot = output_slot(frame, n, k);
        if (!slot)
            continue;
        slot->constant = true;
        slot->owner = -1;
    }
    step->skip = true;
    return status;
}

/* ---- Stages ------------------------------------------------------------------------------------------------- */

/* Shapes, windows and constants of one node. */
static ox_status describe_node(ox_frame *frame, int n) {
    ox_step *step = &frame->steps[n];
    step->skip = true;
    step->runs = false;
    for (int k = 0; k < step->call.nout; k++) {
        OX_TRY(ox_plan_describe(frame, n, k));
        const ox_slot *slot = output_slot(frame, n, k);
        step->runs |= slot && step->outputs[k].window == OX_WINDOW_NONE;
        step->skip &= !slot || slot->constant || step->outputs[k].window == OX_WINDOW_GIVEN;
    }
    if (step->skip || !is_constant(frame, n) || kept_bytes(frame, n) > OX_FOLD_BYTES)
        return OX_OK;
    ox_status status = ox_plan_prepare(frame, n);
    if (status == OX_OK && step->work <= OX_FOLD_BYTES)
        status = fold(frame, n);
    return status == OX_OK ? OX_OK : ox_frame_explain(frame, n, status);
}

/* Buffers and the prepared operator of one node, or of the group that it ends. */
static ox_status prepare_node(ox_frame *frame, int n) {
    ox_step *step = &frame->steps[n];
    if (step->skip)
        return OX_OK;
    ox_share_outputs(frame, n);
    const ox_group *group = ox_step_group(step);
    if (group && group->tail != n) {
        step->skip = true;
        return OX_OK;
    }
    if (group)
        return ox_fuse_prepare(frame, n);
    ox_status status = ox_plan_prepare(frame, n);
    return status == OX_OK ? OX_OK : ox_frame_explain(frame, n, status);
}

/* Remembers what inferring node n looked at, where another run may bring other data. */
static ox_status keep_premises(ox_frame *frame, ox_stage *stage, int n) {
    const ox_node *node = &frame->graph->nodes[n];
    for (int i = 0; i < node->nin && i < 64; i++) {
        const ox_slot *slot = node->in[i] < 0 ? NULL : &frame->slots[node->in[i]];
        if (!slot || slot->constant || !(frame->steps[n].call.looked_at >> i & 1))
            continue;
        size_t bytes = (size_t)ox_tensor_count(&slot->tensor) * ox_dtype_size(slot->tensor.dtype);
        ox_premise *premise = ox_pile_get(&frame->plan, sizeof *premise);
        void *elements = premise ? ox_pile_get(&frame->plan, bytes + 1) : NULL;
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
        if (ox_pool_ask(frame->pool, 0))
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

/* Groups lie in plan memory that is about to go; a stale one must not be taken for a new one at its address. */
static void forget_groups(ox_frame *frame, int first, int end) {
    for (int n = first; n < end && OX_WITH_FUSION; n++) {
        frame->steps[n].group = NULL;
        frame->steps[n].call.epilogue = NULL;
    }
}

ox_status ox_stage_plan(ox_frame *frame, int first, bool inferred) {
    ox_pile_mark mark = ox_pile_save(&frame->plan);
    ox_stage *stage = ox_pile_get(&frame->plan, sizeof *stage);
    if (!stage)
        return ox_fail_memory(frame->error, "the plan of a session", sizeof *stage);
    *stage = (ox_stage){.first = first, .end = first, .mark = mark, .before = frame->newest};
    ox_status status = describe_nodes(frame, stage, inferred);
    if (status == OX_OK && OX_WITH_FUSION)
        status = ox_fuse_stage(frame, first, stage->end);
    for (int n = first; n < stage->end && status == OX_OK; n++)
        status = prepare_node(frame, n);
    if (status == OX_OK) {
        status = ox_place_stage(frame, stage);
        if (status != OX_OK && !frame->outer)
            ox_error_prefix(frame->error, "%s: ", frame->model->path);
    }
    if (status != OX_OK) {
        forget_groups(frame, first, stage->end);
        ox_pile_restore(&frame->plan, mark);
        return status;
    }
    *(frame->newest ? &frame->newest->after : &frame->stages) = stage;
    frame->newest = stage;
    return OX_OK;
}

void ox_stage_forget(ox_frame *frame, ox_stage *stage) {
    if (!stage)
        return;
    forget_groups(frame, stage->first, frame->newest->end);
    frame->newest = stage->before;
    *(stage->before ? &stage->before->after : &frame->stages) = NULL;
    ox_pile_restore(&frame->plan, stage->mark);
}

/* ---- Keeping a plan ----------------------------------------------------------------------------------------- */

static bool same_result(const ox_result *result, const ox_output *output) {
    bool window = result->view_of >= 0 || result->data;
    return result->dtype == output->seen.dtype && result->view_of == output->input &&
           ox_same_dims(result->rank, result->dims, output->seen.rank, output->seen.dims) &&
           (!result->data) == (output->window != OX_WINDOW_GIVEN) &&
           (!window || ox_same_dims(result->rank, result->strides, output->seen.rank, output->seen.strides)) &&
           (result->view_of < 0 || result->offset == output->offset);
}

/* Elements that do not lie packed count as new ones: that costs a plan, and is no mistake. */
static bool same_premises(const ox_frame *frame, const ox_stage *stage) {
    for (const ox_premise *p = stage->premises; p; p = p->next) {
        const ox_tensor *now = &frame->slots[p->value].tensor;
        size_t bytes = (size_t)ox_tensor_count(now) * ox_dtype_size(now->dtype);
        if (!ox_tensor_is_packed(now) || (bytes && memcmp(now->data, p->elements, bytes) != 0))
            return false;
    }
    return true;
}

bool ox_stage_holds(ox_frame *frame, const ox_stage *stage) {
    ox_step *step = &frame->steps[stage->first];
    if (!same_premises(frame, stage))
        return false;
    for (int k = 0; k < step->call.nout; k++)
        if (step->out[k] && !same_result(&frame->results[k], &step->outputs[k]))
            return false;
    for (int k = 0; k < step->call.nout; k++)
        if (step->out[k] && step->outputs[k].window == OX_WINDOW_GIVEN)
            step->out[k]->data = frame->results[k].data;
    return true;
}
