/* check_node.c: nodes by themselves, on copies. What they need lies in the pile of the second frame's plan. */
#include "check_node.h"

#include <math.h>
#include <string.h>

#include "frame/node.h"
#include "loops/lanes.h"
#include "plan/plan.h"
#include "check_copy.h"

#if OX_WITH_SELF_CHECK

ox_status ox_check_create(ox_frame *frame) {
    ox_checking *checking = &frame->checking;
    ox_frame *second = NULL;
    const ox_means means = {frame->model, frame->options, frame->allocator, frame->planning.scratch.allocator,
                            frame->options->limits.cancel ? frame->pool : NULL};
    OX_TRY(ox_frame_create(&means, frame->graph, frame->outer, &second, frame->error));
    const size_t most = (size_t)ox_frame_most(frame->graph, true), count = (size_t)frame->graph->nvalues;
    second->planning.results = ox_pile_array(&second->fixed, most, sizeof *second->planning.results);
    checking->copies = ox_pile_array(&frame->fixed, count + 1, sizeof *checking->copies);
    checking->second = second;
    if (second->planning.results && checking->copies)
        return OX_OK;
    return ox_fail_memory(frame->error, "the check of a run", count * sizeof *checking->copies);
}

static ox_status out_of_memory(const ox_frame *second, size_t bytes) {
    return ox_fail_memory(second->error, "the check of a run", bytes);
}

/* ---- Inputs ------------------------------------------------------------------------------------------------- */

void ox_check_inputs(ox_frame *frame, int n) {
    const ox_node *node = &frame->graph->nodes[n];
    for (int i = 0; i < node->nin; i++) {
        const int v = node->in[i];
        if (v < 0 || ox_graph_weight(frame->graph, v) || frame->checking.copies[v].is_fresh)
            continue;
        ox_slot *slot = ox_frame_own(frame->checking.second, v);
        *slot = *ox_frame_own(frame, v);
        if (!slot->constant)
            slot->tensor.data = node->op->flags & OX_OP_SHAPE_ONLY ? NULL : frame->checking.copies[v].tensor.data;
    }
}

/* What a node reads on the plain way: packed, and no weight, so that nothing is laid out for other runs. */
static ox_status pack_input(ox_frame *second, ox_slot *slot) {
    const ox_tensor from = slot->tensor;
    slot->weight = false;
    if (!from.data)
        return OX_OK;
    slot->tensor = ox_copy_packed(second, &second->plan.pile, &from);
    return slot->tensor.data ? OX_OK : out_of_memory(second, (size_t)ox_tensor_count(&from));
}

/* ---- Outputs ------------------------------------------------------------------------------------------------ */

static const int64_t *keep_list(ox_frame *second, int rank, const int64_t *list) {
    int64_t *kept = ox_pile_array(&second->plan.pile, (size_t)rank + 1, sizeof *kept);
    if (kept && rank)
        memcpy(kept, list, (size_t)rank * sizeof *kept);
    return kept;
}

/* Describes output k as infer gave it; views are copied. */
static ox_status describe(ox_frame *second, int n, int k) {
    const ox_node *node = &second->graph->nodes[n];
    const ox_result *result = &second->planning.results[k];
    ox_step *step = &second->plan.steps[n];
    ox_slot *slot = ox_frame_own(second, node->out[k]);
    ox_output *output = &step->outputs[k];
    ox_tensor seen = {result->dtype, result->rank, keep_list(second, result->rank, result->dims), NULL, result->data};
    const bool view = result->view_of >= 0 || result->data;
    if (view)
        seen.strides = keep_list(second, result->rank, result->strides);
    if (!seen.dims || (view && !seen.strides))
        return out_of_memory(second, (size_t)result->rank * sizeof *seen.dims);
    *output = (ox_output){result->data ? OX_VIEW_GIVEN
                          : view       ? OX_VIEW_COPIED
                                       : OX_VIEW_NONE,
                          result->view_of, result->offset, seen};
    *slot = (ox_slot){.tensor = seen, .source = slot->source};
    if (result->data)
        return OX_OK;
    const size_t bytes = (size_t)ox_tensor_count(&seen) * ox_dtype_size(seen.dtype);
    slot->tensor.strides = NULL;
    slot->tensor.data = ox_pile_aligned(&second->plan.pile, bytes);
    step->runs |= !view;
    step->empty &= view || !bytes;
    return slot->tensor.data ? OX_OK : out_of_memory(second, bytes);
}

static ox_status describe_all(ox_frame *second, int n) {
    const ox_node *node = &second->graph->nodes[n];
    ox_step *step = &second->plan.steps[n];
    *step = (ox_step){.empty = !(node->op->flags & OX_OP_CHECKS)};
    step->outputs = ox_pile_array(&second->plan.pile, (size_t)node->nout, sizeof *step->outputs);
    if (!step->outputs)
        return out_of_memory(second, (size_t)node->nout * sizeof *step->outputs);
    for (int k = 0; k < node->nout; k++)
        if (node->out[k] >= 0)
            OX_TRY(describe(second, n, k));
    return OX_OK;
}

/* ---- Running ------------------------------------------------------------------------------------------------ */

static ox_status run(ox_frame *second, int n) {
    OX_TRY(ox_plan_infer(second, n, true));
    OX_TRY(describe_all(second, n));
    ox_status status = ox_plan_prepare(second, n, false, &second->plan.pile);
    const size_t size = second->plan.steps[n].work;
    unsigned char *workspace = status == OX_OK ? ox_pile_aligned(&second->plan.pile, size) : NULL;
    if (status == OX_OK)
        status = workspace ? ox_node_run(second, n, workspace) : out_of_memory(second, size);
    return status == OX_OK ? OX_OK : ox_frame_explain(second, n, status);
}

/* With all inputs packed, and restored after the run. */
static ox_status run_packed(ox_frame *second, int n) {
    const ox_node *node = &second->graph->nodes[n];
    ox_slot *kept = ox_pile_array(&second->plan.pile, (size_t)node->nin + 1, sizeof *kept);
    ox_status status = kept ? OX_OK : out_of_memory(second, (size_t)node->nin * sizeof *kept);
    int packed = 0;
    for (; status == OX_OK && packed < node->nin; packed++) {
        const int v = node->in[packed];
        if (v < 0 || ox_graph_weight(second->graph, v))
            continue;
        kept[packed] = *ox_frame_own(second, v);
        status = pack_input(second, ox_frame_own(second, v));
    }
    if (status == OX_OK)
        status = run(second, n);
    while (packed-- > 0)
        if (node->in[packed] >= 0 && !ox_graph_weight(second->graph, node->in[packed]))
            *ox_frame_own(second, node->in[packed]) = kept[packed];
    return status;
}

ox_status ox_check_alone(ox_frame *frame, int n) {
    ox_frame *second = frame->checking.second;
    second->error = frame->error;
    return run(second, n);
}

ox_status ox_check_plain(ox_frame *frame, int n) {
    ox_frame *second = frame->checking.second;
    ox_call *call = &second->work.call;
    const ox_loops *loops = second->loops;
    struct ox_store *store = call->store;
    second->error = frame->error;
    call->plain = true;
    call->checked = loops;
    call->store = NULL;
    call->loops = second->loops = ox_loops_find("base");
    ox_status status = run_packed(second, n);
    call->plain = false;
    call->checked = NULL;
    call->store = store;
    call->loops = second->loops = loops;
    return status;
}

/* ---- Sums of other numbers ---------------------------------------------------------------------------------- */

static void make_absolute(ox_tensor *tensor) {
    const int64_t count = ox_tensor_count(tensor);
    if (tensor->dtype == OX_FLOAT)
        for (int64_t i = 0; i < count; i++)
            ((float *)tensor->data)[i] = fabsf(((float *)tensor->data)[i]);
    else if (tensor->dtype == OX_DOUBLE)
        for (int64_t i = 0; i < count; i++)
            ((double *)tensor->data)[i] = fabs(((double *)tensor->data)[i]);
    else if (tensor->dtype == OX_FLOAT16 || tensor->dtype == OX_BFLOAT16)
        for (int64_t i = 0; i < count; i++)
            ((uint16_t *)tensor->data)[i] &= 0x7fff;
}

static void make_ones(ox_tensor *tensor) {
    const int64_t count = ox_tensor_count(tensor);
    const ox_narrowing how = {.dtype = tensor->dtype};
    const float one = 1;
    for (int64_t i = 0; i < count; i++)
        if (tensor->dtype == OX_FLOAT)
            ((float *)tensor->data)[i] = 1;
        else if (tensor->dtype == OX_DOUBLE)
            ((double *)tensor->data)[i] = 1;
        else if (tensor->dtype == OX_FLOAT16 || tensor->dtype == OX_BFLOAT16)
            ox_narrow(&how, 1, &one, (uint16_t *)tensor->data + i);
}

/* The tensor, packed, with other elements if they are floats. */
static ox_tensor changed(ox_frame *second, const ox_tensor *from, ox_check_numbers numbers) {
    ox_pile *pile = &second->plan.pile;
    const size_t bytes = (size_t)ox_tensor_count(from) * ox_dtype_size(from->dtype);
    ox_tensor packed = ox_copy_packed(second, pile, from);
    void *elements = packed.data || !bytes ? ox_pile_aligned(pile, bytes) : NULL;
    if (elements && bytes)
        memcpy(elements, packed.data, bytes);
    packed.data = elements;
    if (elements && numbers != OX_CHECK_GIVEN)
        (numbers == OX_CHECK_ONES ? make_ones : make_absolute)(&packed);
    return packed;
}

static ox_status change_inputs(ox_frame *second, int n, ox_check_numbers numbers, int kept) {
    const ox_node *node = &second->graph->nodes[n];
    ox_tensor *in = ox_pile_array(&second->plan.pile, (size_t)node->nin + 1, sizeof *in);
    for (int i = 0; in && i < node->nin; i++) {
        if (node->in[i] < 0)
            continue;
        in[i] = changed(second, second->work.in[i], i == kept ? OX_CHECK_GIVEN : numbers);
        second->work.in[i] = &in[i];
        if (!in[i].data)
            return out_of_memory(second, (size_t)ox_tensor_count(&in[i]));
    }
    return in ? OX_OK : out_of_memory(second, (size_t)node->nin * sizeof *in);
}

/* Factors among the attributes, as alpha of Gemm, are inputs, too. */
static ox_status change_factors(ox_call *call, ox_check_numbers numbers, ox_pile *pile) {
    ox_attr *attrs = ox_pile_array(pile, call->nattrs + 1, sizeof *attrs);
    if (!attrs)
        return ox_fail_memory(call->error, "the check of a run", call->nattrs * sizeof *attrs);
    for (size_t i = 0; i < call->nattrs; i++) {
        attrs[i] = call->attrs[i];
        if (attrs[i].kind == OX_ATTR_FLOAT)
            attrs[i].u.f = numbers == OX_CHECK_ONES ? 1 : fabsf(attrs[i].u.f);
    }
    call->attrs = attrs;
    return OX_OK;
}

ox_status ox_check_sums(ox_frame *frame, int n, ox_check_numbers numbers, int kept, ox_tensor *sums) {
    ox_frame *second = frame->checking.second;
    ox_pile *pile = &second->plan.pile;
    ox_call *call = ox_frame_call(second, n, pile);
    ox_tensor *out = call->out[0];
    struct ox_store *store = call->store;
    *sums = *out;
    sums->data = ox_pile_aligned(pile, (size_t)ox_tensor_count(out) * ox_dtype_size(out->dtype));
    if (!sums->data)
        return out_of_memory(second, (size_t)ox_tensor_count(out));
    OX_TRY(change_inputs(second, n, numbers, kept));
    OX_TRY(change_factors(call, numbers, pile));
    second->work.out[0] = sums;
    call->state = NULL;
    call->workspace_size = 0;
    call->weights = call->constants = 0;
    call->plain = true;
    call->store = NULL;
    call->absolute = numbers == OX_CHECK_ABSOLUTE;
    call->ones = numbers == OX_CHECK_ONES;
    ox_status status = call->op->prepare(call);
    call->workspace = status == OX_OK ? ox_pile_aligned(pile, call->workspace_size) : NULL;
    if (status == OX_OK)
        status = call->workspace ? call->op->run(call) : out_of_memory(second, call->workspace_size);
    call->plain = call->absolute = call->ones = false;
    call->store = store;
    return status;
}

#endif
