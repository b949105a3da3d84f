/* concat.c: ConcatFromSequence: the tensors of a sequence along an axis that they have, or a new one. */
#include "iterate/bcast.h"
#include "ops/values.h"

#include <string.h>

static ox_status read_axis(ox_call *call, const ox_value *list, bool *is_new, int *axis) {
    const int64_t kind = ox_call_int(call, "new_axis", 0);
    if (kind != 0 && kind != 1)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'new_axis' must be 0 or 1, not %lld", (long long)kind);
    *is_new = kind == 1;
    if (!list->count)
        return ox_call_fail(call, OX_ERROR_VALUE, "%s is empty", OX_INPUT(call, 0));
    return ox_call_axis(call, "axis", ox_call_int(call, "axis", 0), list->items[0]->tensor.rank + *is_new, axis);
}

/* Item i as a part of the result: with the new axis, of size 1. */
static ox_tensor part_of(const ox_value *list, size_t i, bool is_new, int axis, int64_t *dims) {
    ox_tensor part = list->items[i]->tensor;
    for (int d = 0; d < part.rank; d++)
        dims[d + (is_new && d >= axis)] = part.dims[d];
    if (is_new)
        dims[axis] = 1;
    part.rank += is_new;
    part.dims = dims;
    return part;
}

/* True if an item joins the result so far, of that shape, which grows by it. */
static bool join(const ox_value *list, size_t i, bool is_new, int axis, int rank, int64_t *dims) {
    int64_t room[OX_MAX_RANK + 1];
    if (list->items[i]->tensor.rank + is_new != rank)
        return false;
    const ox_tensor part = part_of(list, i, is_new, axis, room);
    for (int d = 0; d < rank; d++)
        if (d != axis && part.dims[d] != dims[d])
            return false;
    return ox_add_i64(dims[axis], part.dims[axis], &dims[axis]);
}

ox_status ox_infer_concat_from_sequence(ox_call *call) {
    const ox_value *list;
    int64_t dims[OX_MAX_RANK + 1];
    bool is_new;
    int axis;
    OX_TRY(ox_call_check_kind(call, 0, OX_KIND_SEQUENCE));
    OX_TRY(ox_call_value(call, 0, &list));
    OX_TRY(read_axis(call, list, &is_new, &axis));
    const ox_tensor first = part_of(list, 0, is_new, axis, dims);
    for (size_t i = 1; i < list->count && !ox_pool_poll(call->pool); i++) {
        const ox_tensor *item = &list->items[i]->tensor;
        if (join(list, i, is_new, axis, first.rank, dims))
            continue;
        return ox_call_fail(call, OX_ERROR_SHAPE, "items 0 %s and %zu %s of %s do not join on axis %d",
                            OX_DIMS(list->items[0]->tensor.rank, list->items[0]->tensor.dims), i,
                            OX_DIMS(item->rank, item->dims), OX_INPUT(call, 0), axis);
    }
    return ox_call_output(call, 0, first.dtype, first.rank, dims);
}

ox_status ox_run_concat_from_sequence(ox_call *call) {
    const ox_value *list = ox_call_held(call, 0);
    const ox_tensor *out = call->out[0];
    int64_t dims[OX_MAX_RANK + 1], to[OX_MAX_RANK], from[OX_MAX_RANK];
    bool is_new;
    int axis;
    OX_TRY(read_axis(call, list, &is_new, &axis));
    ox_tensor_strides(out, to);
    char *at = out->data;
    for (size_t i = 0; i < list->count && !ox_pool_poll(call->pool); i++) {
        const ox_tensor part = part_of(list, i, is_new, axis, dims);
        ox_tensor_strides(&part, from);
        ox_move(call->loops, call->pool, part.rank, dims, ox_dtype_size(part.dtype), at, to, part.data, from);
        at += dims[axis] * to[axis];
    }
    return OX_OK;
}
