/* views.c: operators that show a window on their input: Expand, Transpose, Slice, Split. */
#include "half.h"
#include "ops/axes.h"
#include "iterate/bcast.h"
#include "loops/element.h"

/* ---- Expand ------------------------------------------------------------------------------------------------- */

ox_status ox_infer_expand(ox_call *call) {
    const ox_tensor *in = call->in[0];
    ox_short_list shape;
    OX_TRY(ox_list_input(call, 1, OX_BIT(OX_INT64), &shape));
    for (int d = 0; d < shape.count; d++)
        if (shape.value[d] < 0)
            return ox_call_fail(call, OX_ERROR_SHAPE, "shape %s has a negative dimension",
                                OX_DIMS(shape.count, shape.value));
    int rank = shape.count;
    int64_t dims[OX_MAX_RANK], strides[OX_MAX_RANK];
    for (int d = 0; d < rank; d++)
        dims[d] = shape.value[d];
    if (!ox_broadcast_dims(&rank, dims, in->rank, in->dims))
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s cannot be broadcast to shape %s", OX_INPUT(call, 0),
                            OX_DIMS(shape.count, shape.value));
    ox_broadcast_strides(in, rank, dims, strides);
    return ox_call_view(call, 0, 0, 0, rank, dims, strides);
}

/* ---- Transpose ---------------------------------------------------------------------------------------------- */

ox_status ox_infer_transpose(ox_call *call) {
    const ox_tensor *in = call->in[0];
    ox_short_list perm;
    OX_TRY(ox_list_attr(call, "perm", &perm));
    if (!perm.given)
        for (perm.count = 0; perm.count < in->rank; perm.count++)
            perm.value[perm.count] = in->rank - 1 - perm.count;
    if (perm.count != in->rank)
        return ox_call_fail(call, OX_ERROR_SHAPE, "perm %s does not fit %s", OX_DIMS(perm.count, perm.value),
                            OX_INPUT(call, 0));
    int64_t old[OX_MAX_RANK], dims[OX_MAX_RANK], strides[OX_MAX_RANK];
    ox_axis_set seen = 0;
    ox_tensor_strides(in, old);
    for (int d = 0; d < in->rank; d++) {
        int64_t from = perm.value[d];
        if (from < 0 || from >= in->rank || seen & OX_AXIS(from))
            return ox_call_fail(call, OX_ERROR_SHAPE, "perm %s is not a permutation of the axes of %s",
                                OX_DIMS(perm.count, perm.value), OX_INPUT(call, 0));
        seen |= OX_AXIS(from);
        dims[d] = in->dims[from];
        strides[d] = old[from];
    }
    return ox_call_view(call, 0, 0, 0, in->rank, dims, strides);
}

/* ---- Slice -------------------------------------------------------------------------------------------------- */

typedef struct slice_lists {
    ox_short_list starts, ends, axes, steps;
} slice_lists;

static ox_status read_slices(ox_call *call, slice_lists *lists) {
    if (call->op->since >= 10) {
        OX_TRY(ox_call_check_same(call, 1, 4));
        OX_TRY(ox_list_input(call, 1, OX_BIT(OX_INT32) | OX_BIT(OX_INT64), &lists->starts));
        OX_TRY(ox_list_input(call, 2, OX_BIT(OX_INT32) | OX_BIT(OX_INT64), &lists->ends));
        OX_TRY(ox_list_input(call, 3, OX_BIT(OX_INT32) | OX_BIT(OX_INT64), &lists->axes));
        OX_TRY(ox_list_input(call, 4, OX_BIT(OX_INT32) | OX_BIT(OX_INT64), &lists->steps));
    } else {
        OX_TRY(ox_list_attr(call, "starts", &lists->starts));
        OX_TRY(ox_list_attr(call, "ends", &lists->ends));
        OX_TRY(ox_list_attr(call, "axes", &lists->axes));
        lists->steps = (ox_short_list){.given = false};
    }
    int count = lists->starts.count;
    if (!lists->starts.given || !lists->ends.given)
        return ox_call_fail(call, OX_ERROR_MODEL, "starts or ends are missing");
    if (lists->ends.count != count || (lists->axes.given && lists->axes.count != count) ||
        (lists->steps.given && lists->steps.count != count))
        return ox_call_fail(call, OX_ERROR_SHAPE, "starts %s, ends %s, axes %s and steps %s differ in length",
                            OX_DIMS(count, lists->starts.value), OX_DIMS(lists->ends.count, lists->ends.value),
                            lists->axes.given ? OX_DIMS(lists->axes.count, lists->axes.value) : "(none)",
                            lists->steps.given ? OX_DIMS(lists->steps.count, lists->steps.value) : "(none)");
    return OX_OK;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high) {
    return value < low ? low : value > high ? high : value;
}

/* How many elements of a dimension a slice takes; *start becomes the first one. step is not 0. */
static int64_t slice_dim(int64_t dim, int64_t *start, int64_t end, int64_t step) {
    *start += *start < 0 ? dim : 0;
    end += end < 0 ? dim : 0;
    int64_t length;
    uint64_t stride = step < 0 ? 0 - (uint64_t)step : (uint64_t)step;
    if (step > 0) {
        *start = clamp(*start, 0, dim);
        length = clamp(end, 0, dim) - *start;
    } else {
        *start = clamp(*start, 0, dim - 1);
        length = *start - clamp(end, -1, dim - 1);
    }
    return dim == 0 || length <= 0 ? 0 : (int64_t)(((uint64_t)length - 1) / stride) + 1;
}

ox_status ox_infer_slice(ox_call *call) {
    const ox_tensor *in = call->in[0];
    slice_lists lists;
    OX_TRY(read_slices(call, &lists));
    int64_t dims[OX_MAX_RANK], strides[OX_MAX_RANK], offset = 0;
    ox_axis_set seen = 0;
    bool some = ox_tensor_count(in) > 0;
    ox_tensor_strides(in, strides);
    for (int d = 0; d < in->rank; d++)
        dims[d] = in->dims[d];
    for (int i = 0; i < lists.starts.count; i++) {
        int axis;
        OX_TRY(ox_call_axis(call, "axis", lists.axes.given ? lists.axes.value[i] : i, in->rank, &axis));
        int64_t step = lists.steps.given ? lists.steps.value[i] : 1, start = lists.starts.value[i];
        if (step == 0 || seen & OX_AXIS(axis))
            return ox_call_fail(call, OX_ERROR_SHAPE,
                                step == 0 ? "the step of axis %d is 0" : "axis %d is sliced twice", axis);
        seen |= OX_AXIS(axis);
        dims[axis] = slice_dim(in->dims[axis], &start, lists.ends.value[i], step);
        /* An empty tensor has no memory behind its strides, and a dimension of one element takes no step. Both products
         * could overflow there. */
        offset += some && dims[axis] ? start * strides[axis] : 0;
        strides[axis] = some && dims[axis] > 1 ? strides[axis] * step : 0;
    }
    return ox_call_view(call, 0, 0, ox_count(in->rank, dims) ? offset : 0, in->rank, dims, strides);
}

/* ---- Split -------------------------------------------------------------------------------------------------- */

/* Where the lengths of the parts come from: an input, an attribute, or nothing (equal parts). */
typedef struct split_source {
    const ox_tensor *tensor;
    const int64_t *ints;
    int64_t count, chunk;
} split_source;

/* Version 1 gives the lengths in the element type of the data, which is a floating type. */
static int64_t length_at(const split_source *source, int64_t i) {
    if (source->ints)
        return source->ints[i];
    const ox_tensor *t = source->tensor;
    const char *at = (const char *)t->data + i * (t->rank ? ox_stride(t, 0) : 0);
    double value;
    switch ((int)t->dtype) {
    case OX_FLOAT16:
        value = (double)ox_float_from_half(OX_GET(ox_u16, at));
        break;
    case OX_BFLOAT16:
        value = (double)ox_float_from_bf16(OX_GET(ox_u16, at));
        break;
    case OX_FLOAT:
        value = (double)OX_GET(ox_f32, at);
        break;
    case OX_DOUBLE:
        value = OX_GET(ox_f64, at);
        break;
    default:
        return ox_tensor_int(t, i);
    }
    return value >= 0 && value < 0x1p62 ? (int64_t)value : -1;
}

static ox_status split_lengths(ox_call *call, split_source *source) {
    size_t count = 0;
    *source = (split_source){.ints = NULL};
    if (call->op->since < 13)
        source->ints = ox_call_ints(call, "split", &count);
    source->count = (int64_t)count;
    if (source->ints || !ox_call_given(call, 1))
        return OX_OK;
    OX_TRY(ox_call_check_dtype(call, 1, call->op->since == 1 ? OX_SET_FLOAT : OX_BIT(OX_INT64)));
    OX_TRY(ox_call_data(call, 1, &source->tensor));
    if (source->tensor->rank != 1)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must be a list of lengths", OX_INPUT(call, 1));
    source->count = source->tensor->dims[0];
    return OX_OK;
}

/* Equal parts; from version 18 on the last one may be shorter. */
static ox_status equal_lengths(ox_call *call, int axis, split_source *source) {
    const int64_t dim = call->in[0]->dims[axis], parts = call->nout, chunk = dim / parts + (dim % parts != 0);
    if (call->op->since < 18 && dim % parts)
        return ox_call_fail(call, OX_ERROR_SHAPE, "axis %d of %s cannot be split into %lld equal parts", axis,
                            OX_INPUT(call, 0), (long long)parts);
    if (chunk && parts - 1 > dim / chunk)
        return ox_call_fail(call, OX_ERROR_SHAPE,
                            "axis %d of %s cannot be split into %lld parts of %lld and a smaller one", axis,
                            OX_INPUT(call, 0), (long long)parts - 1, (long long)chunk);
    source->count = parts;
    source->chunk = chunk;
    return OX_OK;
}

/* From version 18 on, a node says in one of two ways how its input is split. */
static ox_status check_split(ox_call *call, bool listed) {
    if (call->op->since < 18)
        return OX_OK;
    if (listed == ox_call_has(call, "num_outputs"))
        return ox_call_fail(call, OX_ERROR_MODEL,
                            listed ? "both the input split and the attribute num_outputs are given"
                                   : "neither the input split nor the attribute num_outputs is given");
    const int64_t parts = ox_call_int(call, "num_outputs", call->nout);
    if (parts != call->nout)
        return ox_call_fail(call, OX_ERROR_MODEL, "num_outputs is %lld, but the node has %d output%s", (long long)parts,
                            call->nout, call->nout == 1 ? "" : "s");
    return OX_OK;
}

/* Describes every part; listed lengths must make up the whole dimension. */
static ox_status split_parts(ox_call *call, int axis, const split_source *source) {
    const ox_tensor *in = call->in[0];
    int64_t dims[OX_MAX_RANK], strides[OX_MAX_RANK], start = 0;
    ox_tensor_strides(in, strides);
    for (int d = 0; d < in->rank; d++)
        dims[d] = in->dims[d];
    bool empty = ox_tensor_count(in) == 0, listed = source->ints || source->tensor;
    for (int i = 0; i < call->nout; i++) {
        int64_t left = in->dims[axis] - start, length = source->chunk < left ? source->chunk : left;
        if (listed)
            length = length_at(source, i);
        if (length < 0 || length > left)
            return ox_call_fail(call, OX_ERROR_SHAPE, "part %d of length %lld does not fit the %lld left on axis %d", i,
                                (long long)length, (long long)left, axis);
        dims[axis] = length;
        OX_TRY(ox_call_view(call, i, 0, empty || !length ? 0 : start * strides[axis], in->rank, dims, strides));
        start += length;
    }
    if (listed && start != in->dims[axis])
        return ox_call_fail(call, OX_ERROR_SHAPE, "the parts have %lld elements together, axis %d has %lld",
                            (long long)start, axis, (long long)in->dims[axis]);
    return OX_OK;
}

ox_status ox_infer_split(ox_call *call) {
    int axis;
    split_source source;
    OX_TRY(ox_call_axis(call, "axis", ox_call_int(call, "axis", 0), call->in[0]->rank, &axis));
    OX_TRY(split_lengths(call, &source));
    const bool listed = source.ints || source.tensor;
    OX_TRY(check_split(call, listed));
    if (!listed)
        OX_TRY(equal_lengths(call, axis, &source));
    if (source.count != call->nout)
        return ox_call_fail(call, OX_ERROR_SHAPE, "lengths for %lld part%s, but %d output%s", (long long)source.count,
                            source.count == 1 ? "" : "s", call->nout, call->nout == 1 ? "" : "s");
    return split_parts(call, axis, &source);
}
