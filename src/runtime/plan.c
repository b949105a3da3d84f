/* plan.c: planning one node: shapes, windows, the prepared operator. */
#include "frame.h"

#include <string.h>

#include "../ops/bcast.h"

static ox_status out_of_memory(const ox_frame *frame, size_t size) {
    return ox_fail_memory(frame->error, "the plan of a session", size);
}

/* ---- Inferring ---------------------------------------------------------------------------------------------- */

/* A reduced build has loops for some types alone. */
static ox_status check_built(const ox_call *call, const char *what, int i, ox_dtype dtype) {
    uint32_t types = call->op->dtypes == OX_SET_ALL ? OX_MOVED_TYPES : OX_BUILT_TYPES;
    if (types >> dtype & 1)
        return OX_OK;
    return (ox_call_fail)(call, OX_ERROR_UNSUPPORTED, "%s %d is of type %s, which this build of the library leaves out",
                          what, i, ox_dtype_name(dtype));
}

static ox_status check_inputs(const ox_call *call) {
    for (int i = 0; i < call->nin; i++) {
        const ox_tensor *t = call->in[i];
        if (!t && (i < call->op->min_in || call->op->max_in == OX_ANY))
            return ox_call_fail(call, OX_ERROR_MODEL, "input %d is required, but omitted", i);
        if (t && t->dtype == OX_UNDEFINED)
            return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "input %d is not a tensor", i);
        if (t)
            OX_TRY(check_built(call, "input", i, t->dtype));
    }
    return OX_OK;
}

static ox_status check_size(const ox_frame *frame, const ox_result *result, int k) {
    size_t limit = frame->options->limits.tensor_bytes;
    size_t bytes = (size_t)ox_count(result->rank, result->dims) * ox_dtype_size(result->dtype);
    if (bytes <= limit)
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
    call->looked_at = 0;
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
    for (int k = 0; k < call->nout && status == OX_OK; k++)
        if (step->out[k])
            status = check_built(call, "output", k, frame->results[k].dtype);
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
static ox_window choose_window(const ox_slot *slot, const ox_output *output, const ox_slot *source) {
    if (slot->packed_only && !ox_tensor_is_packed(&output->seen))
        return OX_WINDOW_COPY;
    /* What the caller gets must not change when he changes his input. */
    return slot->is_output && source->foreign ? OX_WINDOW_COPY : OX_WINDOW_VIEW;
}

static void describe_view(ox_slot *slot, const ox_output *output, const ox_slot *source) {
    slot->tensor.strides = ox_tensor_is_packed(&output->seen) ? NULL : output->seen.strides;
    slot->root = source->root;
    slot->foreign = source->foreign;
    slot->constant = source->constant;
    slot->weight = source->weight;
    if (source->constant)
        slot->tensor.data = (char *)source->tensor.data + output->offset;
}

ox_status ox_plan_describe(ox_frame *frame, int n, int k) {
    const ox_node *node = &frame->graph->nodes[n];
    int v = node->out[k];
    ox_output *output = &frame->steps[n].outputs[k];
    OX_TRY(keep_result(frame, &frame->results[k], output));
    if (v < 0)
        return OX_OK;
    ox_slot *slot = &frame->slots[v];
    const ox_tensor *seen = &output->seen;
    slot->tensor = (ox_tensor){seen->dtype, seen->rank, seen->dims, NULL, NULL};
    slot->bytes = (size_t)ox_tensor_count(seen) * ox_dtype_size(seen->dtype);
    slot->constant = slot->weight = slot->foreign = false;
    slot->root = slot->owner = -1;
    slot->read_until = slot->last_use > n ? slot->last_use : n;
    if (seen->data) {
        output->window = OX_WINDOW_GIVEN;
        slot->tensor = *seen;
        slot->constant = slot->weight = !(node->op->flags & OX_OP_CONTROL);
        slot->foreign = !slot->constant;
        return OX_OK;
    }
    const ox_slot *source = output->input < 0 ? NULL : &frame->slots[node->in[output->input]];
    if (source)
        output->window = choose_window(slot, output, source);
    if (output->window == OX_WINDOW_VIEW)
        describe_view(slot, output, source);
    else
        slot->root = v;
    return OX_OK;
}

/* ---- Preparing ---------------------------------------------------------------------------------------------- */

static ox_status add_work(const ox_frame *frame, ox_step *step, size_t size) {
    if (size > SIZE_MAX / 4 || step->work > SIZE_MAX / 4)
        return ox_fail(frame->error, OX_ERROR_LIMIT, "a workspace of %zu and %zu bytes is too large for this machine",
                       step->work, size);
    step->work += ox_aligned(size);
    return OX_OK;
}

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
    return add_work(frame, step, (size_t)ox_tensor_count(from) * ox_dtype_size(from->dtype));
}

ox_status ox_plan_prepare(ox_frame *frame, int n) {
    ox_step *step = &frame->steps[n];
    ox_call *call = &step->call;
    step->packings = NULL;
    step->work = 0;
    call->workspace_size = 0;
    call->weights = 0;
    for (int i = 0; i < call->nin; i++) {
        step->run_in[i] = step->in[i];
        if (step->in[i] && !(call->op->flags & OX_OP_STRIDED) && !ox_tensor_is_packed(step->in[i]))
            OX_TRY(plan_packing(frame, step, i));
        int v = frame->graph->nodes[n].in[i];
        if (v >= 0 && i < 64 && frame->slots[v].weight && step->run_in[i] == step->in[i])
            call->weights |= (uint64_t)1 << i;
    }
    if (!step->runs)
        return OX_OK;
    call->in = step->run_in;
    call->error = frame->error;
    OX_TRY(call->op->prepare(call));
    return add_work(frame, step, call->workspace_size);
}
