/* plan.c: planning one node: shapes, windows, buffers to share, the prepared kernel. */
#include "frame.h"

#include <string.h>

#include "../ops/bcast.h"

static ox_status out_of_memory(const ox_frame *frame, size_t size) {
    return ox_fail_memory(frame->error, "the plan of a session", size);
}

/* ---- Inferring ---------------------------------------------------------------------------------------------- */

static ox_status check_inputs(const ox_call *call) {
    for (int i = 0; i < call->nin; i++) {
        const ox_tensor *t = call->in[i];
        if (!t && (i < call->op->min_in || call->op->max_in == OX_ANY))
            return ox_call_fail(call, OX_ERROR_MODEL, "input %d is required, but omitted", i);
        if (t && t->dtype == OX_UNDEFINED)
            return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "input %d is not a tensor", i);
    }
    return OX_OK;
}

static ox_status check_size(const ox_frame *frame, const ox_result *result, int k) {
    size_t limit = frame->options->max_tensor_bytes;
    size_t bytes = (size_t)ox_count(result->rank, result->dims) * ox_dtype_size(result->dtype);
    if (result->view_of >= 0 || bytes <= limit)
        return OX_OK;
    return ox_fail(frame->error, OX_ERROR_LIMIT, "output %d (%s %s) takes %zu bytes, the limit for a tensor is %zu", k,
                   ox_dtype_name(result->dtype), OX_DIMS(result->rank, result->dims), bytes, limit);
}

ox_status ox_plan_infer(ox_frame *frame, int n, bool live) {
    ox_step *step = &frame->steps[n];
    ox_call *call = &step->call;
    call->error = frame->error;
    call->in = step->in;
    call->attr_status = OX_OK;
    for (int k = 0; k < call->nout; k++)
        frame->results[k].dtype = OX_UNDEFINED;
    ox_status status = check_inputs(call);
    if (status == OX_OK && call->op->flags & OX_OP_CONTROL && !live)
        return OX_DEFER;
    if (status == OX_OK)
        status = call->op->infer(call);
    if (status == OX_OK)
        status = call->attr_status;
    if (status == OX_DEFER && !live)
        return OX_DEFER;
    if (status == OX_DEFER)
        status = ox_call_fail(call, OX_ERROR_UNSUPPORTED, "an input that shapes depend on has no data");
    for (int k = 0; k < call->nout && status == OX_OK; k++)
        if (frame->results[k].dtype == OX_UNDEFINED && step->out[k])
            status = ox_call_fail(call, OX_ERROR_MODEL, "this operator has no output %d here", k);
        else if (step->out[k])
            status = check_size(frame, &frame->results[k], k);
    return status == OX_OK ? OX_OK : ox_frame_explain(frame, n, status);
}

/* ---- Describing outputs ------------------------------------------------------------------------------------- */

/* Copies a list of rank numbers into plan memory. */
static int64_t *keep_list(ox_frame *frame, int rank, const int64_t *list) {
    int64_t *kept = ox_pile_array(&frame->plan, (size_t)rank + 1, sizeof *kept);
    if (kept && rank)
        memcpy(kept, list, (size_t)rank * sizeof *kept);
    return kept;
}

/* The result as infer gave it; strides only for windows. */
static ox_status keep_result(ox_frame *frame, const ox_result *result, ox_output *output) {
    bool window = result->view_of >= 0 || result->data;
    int64_t *dims = keep_list(frame, result->rank, result->dims);
    int64_t *strides = window ? keep_list(frame, result->rank, result->strides) : NULL;
    if (!dims || (window && !strides))
        return out_of_memory(frame, (size_t)result->rank * sizeof *dims);
    *output = (ox_output){.input = result->view_of,
                          .offset = result->offset,
                          .seen = {result->dtype, result->rank, dims, strides, result->data}};
    return OX_OK;
}

/* Whether the value can be shown as a window, or has to be copied. */
static ox_window choose_window(const ox_frame *frame, int v, const ox_output *output, const ox_slot *source) {
    const ox_slot *slot = &frame->slots[v];
    if (slot->packed_only && !ox_tensor_is_packed(&output->seen))
        return OX_WINDOW_COPY;
    /* What the caller gets must not change when he changes his input. */
    if (slot->is_output && source->owner < 0 && !source->constant)
        return OX_WINDOW_COPY;
    return OX_WINDOW_VIEW;
}

static void live_until(ox_frame *frame, int owner, int position) {
    if (owner >= 0 && frame->slots[owner].dies < position)
        frame->slots[owner].dies = position;
}

static void own_buffer(ox_frame *frame, int v, int n) {
    ox_slot *slot = &frame->slots[v];
    slot->owner = v;
    slot->born = n;
    slot->dies = slot->last_use > n ? slot->last_use : n;
    slot->bytes = (size_t)ox_tensor_count(&slot->tensor) * ox_dtype_size(slot->tensor.dtype);
}

/* True if the operator of node n may write output v over input i. */
static bool can_replace(const ox_frame *frame, int n, int v, int i) {
    const ox_node *node = &frame->graph->nodes[n];
    const ox_slot *out = &frame->slots[v];
    if (node->in[i] < 0)
        return false;
    const ox_slot *in = &frame->slots[node->in[i]];
    if (in->owner < 0 || frame->slots[in->owner].dies != n || !ox_tensor_is_packed(&in->tensor) ||
        ox_dtype_size(in->tensor.dtype) != ox_dtype_size(out->tensor.dtype) ||
        !ox_same_dims(in->tensor.rank, in->tensor.dims, out->tensor.rank, out->tensor.dims))
        return false;
    /* Another view of the same buffer would be read after it was overwritten. */
    for (int j = 0; j < node->nin; j++)
        if (node->in[j] >= 0 && node->in[j] != node->in[i] && frame->slots[node->in[j]].owner == in->owner)
            return false;
    return true;
}

/* Only whole buffers are reused, so that an owner's data is where the output's is. */
static int replaced_input(const ox_frame *frame, int n, int v) {
    const ox_node *node = &frame->graph->nodes[n];
    for (int i = 0; node->op->flags & OX_OP_IN_PLACE && i < node->nin; i++)
        if (can_replace(frame, n, v, i) &&
            frame->slots[frame->slots[node->in[i]].owner].bytes ==
                (size_t)ox_tensor_count(&frame->slots[v].tensor) * ox_dtype_size(frame->slots[v].tensor.dtype))
            return i;
    return -1;
}

static void place_output(ox_frame *frame, int n, int k, int v) {
    const ox_node *node = &frame->graph->nodes[n];
    ox_slot *slot = &frame->slots[v];
    int i = k == 0 ? replaced_input(frame, n, v) : -1;
    if (i < 0) {
        own_buffer(frame, v, n);
        return;
    }
    slot->owner = frame->slots[node->in[i]].owner;
    live_until(frame, slot->owner, slot->last_use);
}

ox_status ox_plan_describe(ox_frame *frame, int n, int k) {
    const ox_node *node = &frame->graph->nodes[n];
    int v = node->out[k];
    ox_output *output = &frame->steps[n].outputs[k];
    OX_TRY(keep_result(frame, &frame->results[k], output));
    if (v < 0)
        return OX_OK;
    ox_slot *slot = &frame->slots[v];
    slot->tensor = output->seen;
    slot->tensor.strides = ox_tensor_is_packed(&output->seen) ? NULL : output->seen.strides;
    slot->constant = false;
    slot->owner = -1;
    if (output->seen.data) {
        output->window = OX_WINDOW_GIVEN;
        slot->constant = !(node->op->flags & OX_OP_CONTROL);
        return OX_OK;
    }
    slot->tensor.data = NULL;
    if (output->input < 0) {
        place_output(frame, n, k, v);
        return OX_OK;
    }
    const ox_slot *source = &frame->slots[node->in[output->input]];
    output->window = choose_window(frame, v, output, source);
    if (output->window == OX_WINDOW_COPY) {
        slot->tensor.strides = NULL;
        own_buffer(frame, v, n);
        return OX_OK;
    }
    slot->owner = source->owner;
    live_until(frame, slot->owner, slot->last_use);
    slot->constant = source->constant;
    slot->tensor.data = source->constant ? (char *)source->tensor.data + output->offset : NULL;
    return OX_OK;
}

/* ---- Preparing ---------------------------------------------------------------------------------------------- */

/* Inputs with strides, for an operator that takes none, are packed into the workspace before it runs. */
static ox_status plan_packing(ox_frame *frame, ox_step *step, int i) {
    ox_packing *packing = ox_pile_get(&frame->plan, sizeof *packing);
    if (!packing)
        return out_of_memory(frame, sizeof *packing);
    const ox_tensor *from = step->in[i];
    *packing = (ox_packing){.from = from,
                            .to = {from->dtype, from->rank, from->dims, NULL, NULL},
                            .offset = step->work,
                            .next = step->packings};
    step->packings = packing;
    step->run_in[i] = &packing->to;
    step->work += ox_aligned((size_t)ox_tensor_count(from) * ox_dtype_size(from->dtype));
    return OX_OK;
}

ox_status ox_plan_prepare(ox_frame *frame, int n) {
    ox_step *step = &frame->steps[n];
    ox_call *call = &step->call;
    step->packings = NULL;
    step->work = 0;
    call->workspace_size = 0;
    for (int i = 0; i < call->nin; i++) {
        step->run_in[i] = step->in[i];
        if (step->in[i] && !(call->op->flags & OX_OP_STRIDED) && !ox_tensor_is_packed(step->in[i]))
            OX_TRY(plan_packing(frame, step, i));
    }
    if (!step->runs)
        return OX_OK;
    call->in = step->run_in;
    call->error = frame->error;
    OX_TRY(call->op->prepare(call));
    step->work += ox_aligned(call->workspace_size);
    return OX_OK;
}
