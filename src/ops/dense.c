/* dense.c: workspace and widened copies. */
#include "dense.h"

static size_t aligned(size_t size) {
    return (size + OX_ALIGN - 1) / OX_ALIGN * OX_ALIGN;
}

ox_status ox_workspace_add(ox_call *call, int64_t count, size_t size) {
    size_t bytes;
    if ((uint64_t)count > SIZE_MAX / 4 || !ox_mul_size((size_t)count, size, &bytes) || bytes > SIZE_MAX / 4 ||
        call->workspace_size > SIZE_MAX / 4)
        return ox_call_fail(call, OX_ERROR_LIMIT, "a workspace of %lld elements is too large for this machine",
                            (long long)count);
    call->workspace_size += aligned(bytes);
    return OX_OK;
}

void *ox_workspace_take(const ox_call *call, size_t *used, int64_t count, size_t size) {
    char *piece = (char *)call->workspace + *used;
    *used += aligned((size_t)count * size);
    return piece;
}

ox_status ox_plan_space(ox_call *call, ox_bcast *plan, int nargs, int rank, const int64_t *dims,
                        const int64_t *const *strides) {
    size_t most = rank > 1 ? (size_t)rank : 1;
    plan->dim = ox_pile_array(call->pile, most * (size_t)(1 + nargs), sizeof *plan->dim);
    if (!plan->dim)
        return ox_fail_memory(call->error, "an iteration plan", most * (size_t)(1 + nargs) * sizeof *plan->dim);
    plan->step = plan->dim + most;
    ox_bcast_plan(plan, nargs, rank, dims, strides);
    return OX_OK;
}

static bool is_native(const ox_tensor *tensor) {
    return ox_dtype_compute(tensor->dtype) == tensor->dtype;
}

ox_status ox_dense_plan(ox_call *call, const ox_tensor *tensor) {
    if (is_native(tensor))
        return OX_OK;
    int64_t count = ox_tensor_count(tensor);
    OX_TRY(ox_workspace_add(call, count, sizeof(float)));
    return ox_tensor_is_packed(tensor) ? OX_OK : ox_workspace_add(call, count, ox_dtype_size(tensor->dtype));
}

ox_tensor ox_dense_in(const ox_call *call, size_t *used, const ox_tensor *tensor) {
    if (is_native(tensor))
        return *tensor;
    int64_t count = ox_tensor_count(tensor);
    float *wide = ox_workspace_take(call, used, count, sizeof *wide);
    const void *from = tensor->data;
    if (!ox_tensor_is_packed(tensor)) {
        void *packed = ox_workspace_take(call, used, count, ox_dtype_size(tensor->dtype));
        ox_pack(call->loops, call->pool, tensor, packed);
        from = packed;
    }
    ox_widen(tensor->dtype, count, from, wide);
    return (ox_tensor){OX_FLOAT, tensor->rank, tensor->dims, NULL, wide};
}

void ox_dense_strides(const ox_tensor *tensor, int64_t *strides) {
    if (is_native(tensor))
        ox_tensor_strides(tensor, strides);
    else
        ox_packed_strides(tensor->rank, tensor->dims, sizeof(float), strides);
}

/* True if output 0 is computed in another type, and brought into its own by ox_dense_store. */
static bool is_rounded(const ox_call *call) {
    return !call->epilogue && !is_native(call->out[0]);
}

ox_status ox_dense_plan_out(ox_call *call, int64_t count) {
    return is_rounded(call) ? ox_workspace_add(call, count, sizeof(float)) : OX_OK;
}

void *ox_dense_out(const ox_call *call, size_t *used, int64_t count) {
    if (is_rounded(call))
        return ox_workspace_take(call, used, count, sizeof(float));
    return call->epilogue ? NULL : call->out[0]->data;
}

void ox_dense_store(const ox_call *call, int64_t count, const void *computed) {
    const ox_tensor *out = call->out[0];
    if (is_rounded(call))
        ox_narrow(&(ox_narrowing){.dtype = out->dtype}, count, computed, out->data);
}
