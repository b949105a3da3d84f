/* plan.c: planning one node: shapes, views, the prepared operator. */
#include "plan.h"

#include "store.h"
#include "written.h"

#include <string.h>

#include "iterate/bcast.h"
#include "ops/control.h"
#include "ops/dense.h"

static ox_status out_of_memory(const ox_frame *frame, size_t size) {
    return ox_fail_memory(frame->error, "the plan of a session", size);
}

/* ---- Inferring ---------------------------------------------------------------------------------------------- */

static ox_status check_built(const ox_call *call, const char *what, int i, ox_dtype dtype) {
    if (ox_is_value(dtype) || ox_op_builds(call->op, dtype))
        return OX_OK;
    return (ox_call_fail)(call, OX_ERROR_UNSUPPORTED, "%s %d is of type %s, which this build of the library leaves out",
                          what, i, ox_dtype_name(dtype));
}

/* Operators on tensors never see other values. */
static ox_status check_kind(const ox_call *call, int i) {
    const ox_dtype dtype = call->in[i]->dtype;
    if (!ox_is_value(dtype) || call->op->flags & (OX_OP_VALUES | OX_OP_ANY_VALUE | OX_OP_CONTROL))
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "%s is %s, but version %d of %s takes tensors", OX_INPUT(call, i),
                        ox_kind_text(ox_type_kind(dtype)), ox_op_version(call->op, call->version), call->op->name);
}

static ox_status check_inputs(const ox_call *call) {
    const ox_op *op = call->op;
    const int needed = ox_op_has(op, OX_OP_GAPS) ? 0 : op->max_in == OX_ANY ? call->nin : op->min_in;
    for (int i = 0; i < call->nin; i++) {
        const ox_tensor *t = call->in[i];
        if (!t && i < needed)
            return ox_call_fail(call, OX_ERROR_MODEL, "input %d is required, but omitted", i);
        if (t && t->dtype == OX_UNDEFINED)
            return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "input %d is not a tensor", i);
        if (!t)
            continue;
        OX_TRY(check_built(call, "input", i, t->dtype));
        if (OX_WITH_VALUES)
            OX_TRY(check_kind(call, i));
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

static ox_status check_stated(const ox_frame *frame, int n, int k) {
    const int v = frame->graph->nodes[n].out[k];
    const ox_dtype stated = ox_graph_dtype(frame->graph, v), given = frame->planning.results[k].dtype;
    if (ox_type_fits(stated, given))
        return OX_OK;
    return ox_fail(frame->error, OX_ERROR_MODEL, "output %d, '%.*s', is of type %s, but the model states %s", k, 60,
                   ox_graph_name(frame->graph, v), OX_TYPE(given), OX_TYPE(stated));
}

/* An output that the operator does not give: one without elements in its place, if it has no reader. Of a frame that
 * checks another one (ox_options.check) no lives are known, and the other one has asked before. */
static ox_status replace_missing(const ox_frame *frame, int n, const ox_call *call, int k) {
    static const char none[OX_ALIGN] __attribute__((aligned(OX_ALIGN)));
    const ox_life *lives = frame->planning.lives;
    ox_result *result = &frame->planning.results[k];
    if (lives && lives[frame->graph->nodes[n].out[k]].last_use >= 0)
        return ox_call_fail(call, OX_ERROR_MODEL, "this operator has no output %d here, but it is read", k);
    *result =
        (ox_result){.dtype = ox_graph_dtype(frame->graph, frame->graph->nodes[n].out[k]), .rank = 1, .view_of = -1};
    result->strides[0] = 1;
    result->data = (void *)(uintptr_t)none; /* only read from, and no element is */
    if (result->dtype == OX_UNDEFINED)
        result->dtype = OX_BOOL;
    return OX_OK;
}

/* Checks what the operator says of its outputs. */
static ox_status check_results(const ox_frame *frame, int n, const ox_call *call) {
    for (int k = 0; k < call->nout; k++) {
        if (!call->out[k])
            continue;
        if (frame->planning.results[k].dtype == OX_UNDEFINED)
            OX_TRY(replace_missing(frame, n, call, k));
        OX_TRY(check_size(frame, &frame->planning.results[k], k));
        OX_TRY(check_built(call, "output", k, frame->planning.results[k].dtype));
        if (OX_WITH_CHECKS)
            OX_TRY(check_stated(frame, n, k));
    }
    return OX_OK;
}

static ox_call *begin_infer(ox_frame *frame, int n) {
    ox_call *call = ox_frame_call(frame, n, &frame->plan.pile);
    call->looked_at = 0;
    for (int k = 0; k < call->nout; k++)
        frame->planning.results[k].dtype = OX_UNDEFINED;
    return call;
}

ox_status ox_plan_infer(ox_frame *frame, int n, bool live) {
    ox_call *call = begin_infer(frame, n);
    ox_status status = check_inputs(call);
    if (status == OX_OK && ox_has_written(frame)) {
        status = ox_written_infer(frame, n);
        call = begin_infer(frame, n);
    }
    call->live = live;
    if (status == OX_OK)
        status = call->op->infer(call);
    OX_ASSERT(ox_frame_calls(frame, n));
    if (status == OX_OK)
        status = call->attr_status;
    if (status == OX_OK && ox_op_has(call->op, OX_OP_CONTROL))
        return OX_DEFER; /* it is known when it has run */
    if (status == OX_DEFER && !live)
        return OX_DEFER;
    if (status == OX_DEFER)
        status = ox_call_fail(call, OX_ERROR_UNSUPPORTED, "an input that shapes depend on has no data");
    if (status == OX_OK)
        status = check_results(frame, n, call);
    return status == OX_OK ? OX_OK : ox_frame_explain(frame, n, status);
}

ox_status ox_plan_control(ox_frame *frame, int n) {
    ox_call *call = begin_infer(frame, n);
    const ox_control *control = call->op->detail;
    ox_status status = control->run(call);
    OX_ASSERT(ox_frame_calls(frame, n));
    if (status == OX_OK)
        status = check_results(frame, n, call);
    return status == OX_OK ? OX_OK : ox_frame_explain(frame, n, status);
}

/* ---- Describing outputs ------------------------------------------------------------------------------------- */

/* The list of what is described again, if it is as long; NULL for a new one. */
static int64_t *find_list(const ox_frame *frame, int rank, int had_rank, const int64_t *had) {
#if OX_WITH_UPDATES
    return frame->planning.again && rank == had_rank ? (int64_t *)(uintptr_t)had : NULL;
#else
    (void)frame, (void)rank, (void)had_rank, (void)had;
    return NULL;
#endif
}

/* Copies a list of rank numbers to `kept`, or into plan memory where that is NULL. */
static const int64_t *keep_list(ox_frame *frame, int rank, const int64_t *list, int64_t *kept) {
    kept = kept ? kept : ox_pile_array(&frame->plan.pile, (size_t)rank, sizeof *kept);
    if (kept && rank)
        memcpy(kept, list, (size_t)rank * sizeof *kept);
    return kept;
}

/* The dims of an input, if they are the same: most nodes change no shape. Those of a source may change under the plan.
 */
static const int64_t *keep_dims(ox_frame *frame, int n, int k) {
    const ox_node *node = &frame->graph->nodes[n];
    const ox_result *result = &frame->planning.results[k];
    const ox_tensor *had = &ox_frame_own(frame, node->out[k])->tensor;
    for (int i = 0; i < node->nin && !ox_frame_varies(frame); i++) {
        const ox_slot *slot = node->in[i] < 0 ? NULL : ox_frame_slot(frame, node->in[i]);
        if (slot && !slot->source && ox_same_dims(result->rank, result->dims, slot->tensor.rank, slot->tensor.dims))
            return slot->tensor.dims;
    }
    int64_t *list = find_list(frame, result->rank, had->rank, had->dims);
    for (int i = 0; list && result->rank && i < node->nin; i++) {
        const ox_tensor *in = node->in[i] < 0 ? NULL : &ox_frame_slot(frame, node->in[i])->tensor;
        OX_ASSERT(!in || !in->rank || in->dims != list); /* lists of rank 0 are empty, and may begin where others do */
    }
    return keep_list(frame, result->rank, result->dims, list);
}

static const int64_t *keep_strides(ox_frame *frame, int n, int k) {
    const ox_result *result = &frame->planning.results[k];
    const ox_output *outputs = frame->plan.steps[n].outputs;
    const ox_tensor *had = outputs ? &outputs[k].seen : &(ox_tensor){0};
    return keep_list(frame, result->rank, result->strides, find_list(frame, result->rank, had->rank, had->strides));
}

/* Output k of node n as infer gave it; strides only for views. */
static ox_status keep_result(ox_frame *frame, int n, int k, ox_tensor *seen) {
    const ox_result *result = &frame->planning.results[k];
    bool view = result->view_of >= 0 || result->data;
    *seen = (ox_tensor){result->dtype, result->rank, keep_dims(frame, n, k), NULL, result->data};
    if (view)
        seen->strides = keep_strides(frame, n, k);
    if (seen->dims && (seen->strides || !view))
        return OX_OK;
    return out_of_memory(frame, (size_t)result->rank * sizeof *seen->dims);
}

/* Whether the value can be shown as a view, or has to be copied. */
static ox_view choose_view(const ox_life *life, const ox_tensor *seen, const ox_slot *source) {
    if (life->packed_only && !ox_tensor_is_packed(seen))
        return OX_VIEW_COPIED;
    /* An output must not change when the caller changes the input. */
    return life->is_output && source->foreign ? OX_VIEW_COPIED : OX_VIEW_SHOWN;
}

bool ox_node_is_fixed(const ox_frame *frame, int n) {
    const ox_node *node = &frame->graph->nodes[n];
    for (int i = 0; i < node->nin; i++)
        if (node->in[i] >= 0 && !ox_frame_slot(frame, node->in[i])->fixed)
            return false;
    return true;
}

/* Value v, a result of node n, shows what value `from` has. Dims that come from elsewhere may be others in the next
 * session. */
static void describe_view(ox_frame *frame, int n, int v, int from, const ox_output *output) {
    ox_slot *slot = ox_frame_own(frame, v);
    const ox_slot *source = ox_frame_slot(frame, from);
    slot->tensor.strides = ox_tensor_is_packed(&output->seen) ? NULL : output->seen.strides;
    slot->foreign = source->foreign;
    slot->constant = source->constant;
    slot->fixed = source->fixed && ox_node_is_fixed(frame, n);
    slot->weight = source->weight && slot->fixed;
    frame->planning.lives[v].root = frame->planning.lives[from].root;
    if (source->constant)
        slot->tensor.data = (char *)source->tensor.data + output->offset;
}

/* Value v, a result of node n, is the tensor `seen`, packed and not there yet. */
static void describe_value(ox_frame *frame, int n, int v, const ox_tensor *seen) {
    ox_slot *slot = ox_frame_own(frame, v);
    ox_life *life = &frame->planning.lives[v];
    slot->tensor = (ox_tensor){seen->dtype, seen->rank, seen->dims, NULL, NULL};
    slot->constant = slot->fixed = slot->weight = slot->foreign = slot->placed = false;
    life->bytes = (size_t)ox_tensor_count(seen) * ox_dtype_size(seen->dtype);
    life->root = life->owner = -1;
#if OX_WITH_PARTS
    life->at = 0;
#endif
#if !OX_SMALL
    life->room = 0;
#endif
    life->outside = false;
#if OX_WITH_TEMPORARIES
    life->waiting = 0;
    life->temporary = NULL;
#endif
    life->read_until = life->last_use > n ? life->last_use : n;
}

/* The list of how the outputs of node n are made. */
static ox_status need_outputs(ox_frame *frame, int n) {
    ox_step *step = &frame->plan.steps[n];
    const size_t count = (size_t)frame->graph->nodes[n].nout;
    if (!step->outputs)
        step->outputs = ox_pile_array(&frame->plan.pile, count, sizeof *step->outputs);
    return step->outputs ? OX_OK : out_of_memory(frame, count * sizeof *step->outputs);
}

ox_status ox_plan_describe(ox_frame *frame, int n, int k) {
    const ox_node *node = &frame->graph->nodes[n];
    const ox_result *result = &frame->planning.results[k];
    const int v = node->out[k], from = result->view_of < 0 ? -1 : node->in[result->view_of];
    ox_tensor seen;
    if (v < 0)
        return OX_OK;
    OX_TRY(keep_result(frame, n, k, &seen));
    describe_value(frame, n, v, &seen);
    if (from < 0 && !seen.data) {
        frame->planning.lives[v].root = v;
        if (frame->plan.steps[n].outputs)
            frame->plan.steps[n].outputs[k] = (ox_output){.view = OX_VIEW_NONE};
        return OX_OK;
    }
    OX_TRY(need_outputs(frame, n));
    ox_slot *slot = ox_frame_own(frame, v);
    ox_output *output = &frame->plan.steps[n].outputs[k];
    *output = (ox_output){.input = result->view_of, .offset = result->offset, .seen = seen};
    if (seen.data) {
        output->view = OX_VIEW_GIVEN;
        slot->tensor = seen;
        slot->constant = slot->fixed = slot->weight = !ox_op_has(node->op, OX_OP_CONTROL | OX_OP_VALUES);
        slot->foreign = !slot->constant;
        return OX_OK;
    }
    output->view = choose_view(&frame->planning.lives[v], &seen, ox_frame_slot(frame, from));
    if (output->view == OX_VIEW_SHOWN)
        describe_view(frame, n, v, from, output);
    else
        frame->planning.lives[v].root = v;
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

/* An input with strides, for an operator that takes none, is packed into the workspace before it runs, and a weight
 * now.
 */
static ox_status plan_packing(ox_frame *frame, int n, int i, bool once, ox_pile *pile) {
    ox_step *step = &frame->plan.steps[n];
    ox_prepared *prepared = ox_frame_prepared(frame, n);
    const ox_tensor *from = frame->work.in[i];
    ox_packing *packing = ox_pile_get(pile, sizeof *packing);
    if (!packing)
        return out_of_memory(frame, sizeof *packing);
    *packing = (ox_packing){.input = i,
                            .from = from,
                            .to = {from->dtype, from->rank, from->dims, NULL, NULL},
                            .offset = step->work,
                            .next = prepared->packings};
    prepared->packings = packing;
    OX_ASSERT(packing->offset % OX_ALIGN == 0 && !ox_tensor_is_packed(from));
    frame->work.in[i] = &packing->to;
    if (!once && ox_frame_slot(frame, frame->graph->nodes[n].in[i])->weight)
        OX_TRY(ox_packed_once(frame->model->store, frame->loops, from, &packing->packed, frame->error));
    if (packing->packed) {
        packing->to.data = (void *)(uintptr_t)packing->packed; /* only read from */
        frame->work.call.weights |= i < 64 ? (uint64_t)1 << i : 0;
        return OX_OK;
    }
    return add_work(frame, step, (size_t)ox_tensor_count(from) * ox_dtype_size(from->dtype));
}

/* A bit for each of the first inputs whose data stays as long as the plan. */
static uint64_t find_constants(const ox_frame *frame, int n) {
    const ox_node *node = &frame->graph->nodes[n];
    uint64_t set = 0;
    for (int i = 0; i < node->nin && i < 64; i++)
        if (node->in[i] >= 0 && ox_frame_slot(frame, node->in[i])->constant)
            set |= (uint64_t)1 << i;
    return set;
}

ox_call *ox_plan_call(ox_frame *frame, int n, ox_pile *pile) {
    ox_call *call = ox_frame_call(frame, n, pile);
    call->constants = find_constants(frame, n);
    call->weights = 0;
    return call;
}

/* A lane program is one in whatever way the node runs: what is computed when a plan is made has the bits of a run. */
ox_status ox_plan_prepare(ox_frame *frame, int n, bool once, ox_pile *pile) {
    ox_step *step = &frame->plan.steps[n];
    ox_call *call = ox_plan_call(frame, n, pile);
    *ox_frame_prepared(frame, n) = (ox_prepared){0};
    step->work = 0;
    if (!ox_step_runs(step))
        return OX_OK;
    call->state = NULL;
    ox_call_name(call, NULL);
#if OX_SMALL
    call->overwrites = false;
#else
    call->types = 0;
    call->is_transformed = false;
#endif
    call->workspace_size = 0;
#if OX_ASSERTIONS
    call->pieces = &ox_frame_prepared(frame, n)->pieces;
#endif
    for (int i = 0; i < call->nin; i++) {
        int v = frame->graph->nodes[n].in[i];
        if (v < 0)
            continue;
        if (!(call->op->flags & OX_OP_STRIDED) && !ox_tensor_is_packed(call->in[i]))
            OX_TRY(plan_packing(frame, n, i, once, pile));
        else if (!once && i < 64 && ox_frame_slot(frame, v)->weight)
            call->weights |= (uint64_t)1 << i;
    }
    ox_prepared *prepared = ox_frame_prepared(frame, n);
    prepared->is_program = OX_WITH_FUSION && ox_elementwise_fits(call);
    OX_TRY(prepared->is_program ? ox_prepare_elementwise(call) : call->op->prepare(call));
    OX_ASSERT(ox_frame_calls(frame, n));
    prepared->state = call->state;
#if OX_SMALL
    step->overwrites = call->overwrites;
#else
    prepared->algorithm = call->algorithm;
    prepared->is_transformed = call->is_transformed;
    step->types = call->types;
#endif
    return add_work(frame, step, call->workspace_size);
}
