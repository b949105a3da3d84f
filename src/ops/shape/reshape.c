/* reshape.c: operators that keep the elements in order and change the shape: Reshape, Flatten, Squeeze, Unsqueeze,
 * Identity. They are views wherever the strides of the input allow it. */
#include "ops/axes.h"
#include "iterate/bcast.h"

#include <string.h>

/* ---- Strides of a reshaped view ----------------------------------------------------------------------------- */

/* A stretch of old dimensions (size 1 left out) and one of new dimensions with the same number of elements. */
typedef struct stretch {
    int first, last; /* [first, last) */
    int64_t count;
} stretch;

/* Lays the new dimensions of a stretch over the old ones, which must continue each other. */
static bool split_stretch(const stretch *old, const int64_t *dims, const int64_t *strides, const stretch *new,
                          const int64_t *new_dims, int64_t *new_strides) {
    for (int d = old->first; d + 1 < old->last; d++) {
        int64_t length;
        if (!ox_mul_i64(strides[d + 1], dims[d + 1], &length) || strides[d] != length)
            return false;
    }
    int64_t step = strides[old->last - 1];
    for (int d = new->last; d-- > new->first;) {
        new_strides[d] = step;
        step *= new_dims[d];
    }
    return true;
}

/* Adds dimensions to the shorter of two stretches until both have the same number of elements, as
 * they do at the last dimension if not before. */
static void match_stretches(stretch *old, const int64_t *dims, stretch *new, const int64_t *new_dims) {
    old->count = dims[old->last++];
    new->count = new_dims[new->last++];
    while (old->count != new->count)
        if (old->count < new->count)
            old->count *= dims[old->last++];
        else
            new->count *= new_dims[new->last++];
}

/* Drops dimensions of size 1. */
static void drop_ones(int rank, int64_t *dims, int64_t *strides) {
    int kept = 0;
    for (int d = 0; d < rank; d++)
        if (dims[d] != 1) {
            dims[kept] = dims[d];
            strides[kept++] = strides[d];
        }
}

/* The byte strides with which the memory of a non-empty tensor shows its elements in another shape; false if there are
 * none. */
static bool view_strides(const ox_tensor *in, int rank, const int64_t *dims, int64_t *strides) {
    int64_t old_dims[OX_MAX_RANK], old_strides[OX_MAX_RANK];
    ox_tensor_strides(in, old_strides);
    for (int d = 0; d < in->rank; d++)
        old_dims[d] = in->dims[d];
    drop_ones(in->rank, old_dims, old_strides);
    stretch old = {0, 0, 0}, new = {0, 0, 0};
    while (new.last < rank) {
        if (dims[new.last] == 1) {
            strides[new.last++] = 0;
            continue;
        }
        old.first = old.last;
        new.first = new.last;
        match_stretches(&old, old_dims, &new, dims);
        if (!split_stretch(&old, old_dims, old_strides, &new, dims, strides))
            return false;
    }
    return true;
}

/* Output 0 is input 0 in another shape of as many elements: a view, or a copy made by run. */
static ox_status reshaped(ox_call *call, int rank, const int64_t *dims) {
    const ox_tensor *in = call->in[0];
    int64_t strides[OX_MAX_RANK] = {0};
    if (ox_tensor_count(in) == 0)
        return ox_call_view(call, 0, 0, 0, rank, dims, strides);
    if (view_strides(in, rank, dims, strides))
        return ox_call_view(call, 0, 0, 0, rank, dims, strides);
    return ox_call_output(call, 0, in->dtype, rank, dims);
}

ox_status ox_run_reshape(ox_call *call) {
    ox_pack(call->loops, call->pool, call->in[0], call->out[0]->data);
    return OX_OK;
}

/* ---- Reshape ------------------------------------------------------------------------------------------------ */

/* Replaces 0 by the input's dimension; finds the place of -1 (-1 if there is none). */
static ox_status copy_dims(ox_call *call, ox_short_list *shape, bool allow_zero, int *unknown) {
    const ox_tensor *in = call->in[0];
    *unknown = -1;
    for (int d = 0; d < shape->count; d++) {
        int64_t *dim = &shape->value[d];
        if (*dim == 0 && !allow_zero) {
            if (d >= in->rank)
                return ox_call_fail(call, OX_ERROR_SHAPE, "the 0 at %d of shape %s copies a dimension that %s lacks", d,
                                    OX_DIMS(shape->count, shape->value), OX_INPUT(call, 0));
            *dim = in->dims[d];
        } else if (*dim == -1 && *unknown < 0) {
            *unknown = d;
        } else if (*dim < 0) {
            return ox_call_fail(call, OX_ERROR_SHAPE, "shape %s has %s", OX_DIMS(shape->count, shape->value),
                                *dim == -1 ? "more than one -1" : "a negative dimension");
        }
    }
    return OX_OK;
}

/* Computes the dimension that -1 stands for; the counts must agree in any case. */
static ox_status infer_unknown(ox_call *call, ox_short_list *shape, bool allow_zero, int unknown) {
    int64_t count = ox_tensor_count(call->in[0]);
    if (unknown >= 0)
        shape->value[unknown] = 1;
    int64_t rest = ox_count(shape->count, shape->value);
    bool fits = rest == count;
    if (unknown >= 0) {
        shape->value[unknown] = -1;
        if (rest == 0)
            return ox_call_fail(call, OX_ERROR_SHAPE, "the -1 of shape %s is ambiguous beside a 0%s",
                                OX_DIMS(shape->count, shape->value), allow_zero ? " (allowzero)" : "");
        fits = rest > 0 && count % rest == 0;
    }
    if (!fits)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s has %lld elements, which do not fit shape %s", OX_INPUT(call, 0),
                            (long long)count, OX_DIMS(shape->count, shape->value));
    if (unknown >= 0)
        shape->value[unknown] = count / rest;
    return OX_OK;
}

ox_status ox_infer_reshape(ox_call *call) {
    ox_short_list shape;
    int unknown;
    bool allow_zero = call->op->since >= 14 && ox_call_int(call, "allowzero", 0) != 0;
    OX_TRY(ox_op_takes(call->op, 1) ? ox_list_input(call, 1, OX_BIT(OX_INT64), &shape)
                                    : ox_list_attr(call, "shape", &shape));
    if (!shape.given)
        return ox_call_fail(call, OX_ERROR_MODEL, "the shape is missing");
    OX_TRY(copy_dims(call, &shape, allow_zero, &unknown));
    OX_TRY(infer_unknown(call, &shape, allow_zero, unknown));
    return reshaped(call, shape.count, shape.value);
}

/* ---- Flatten, Squeeze, Unsqueeze, Identity ------------------------------------------------------------------ */

ox_status ox_infer_flatten(ox_call *call) {
    const ox_tensor *in = call->in[0];
    int64_t axis = ox_call_int(call, "axis", 1);
    if (axis < -in->rank || axis > in->rank)
        return ox_call_fail(call, OX_ERROR_SHAPE, "axis %lld is out of range for rank %d (%d to %d)", (long long)axis,
                            in->rank, -in->rank, in->rank);
    int split = (int)(axis < 0 ? axis + in->rank : axis);
    int64_t dims[2] = {ox_count(split, in->dims), ox_count(in->rank - split, in->dims + split)};
    if (dims[0] < 0 || dims[1] < 0)
        return ox_call_fail(call, OX_ERROR_LIMIT, "%s overflows when flattened at axis %d", OX_INPUT(call, 0), split);
    return reshaped(call, 2, dims);
}

/* The dimensions of size 1 that Squeeze takes away: the listed ones, or all. */
static ox_status squeezed_axes(ox_call *call, ox_axis_set *set) {
    const ox_tensor *in = call->in[0];
    ox_short_list axes;
    OX_TRY(ox_list_axes(call, &axes));
    OX_TRY(ox_axes_set(call, &axes, in->rank, set));
    for (int d = 0; d < in->rank; d++)
        if (!axes.given && in->dims[d] == 1)
            *set |= OX_AXIS(d);
        else if (*set & OX_AXIS(d) && in->dims[d] != 1)
            return ox_call_fail(call, OX_ERROR_SHAPE, "axis %d of %s is not 1", d, OX_INPUT(call, 0));
    return OX_OK;
}

ox_status ox_infer_squeeze(ox_call *call) {
    const ox_tensor *in = call->in[0];
    ox_axis_set dropped;
    OX_TRY(squeezed_axes(call, &dropped));
    int64_t old[OX_MAX_RANK], dims[OX_MAX_RANK], strides[OX_MAX_RANK];
    ox_tensor_strides(in, old);
    int rank = 0;
    for (int d = 0; d < in->rank; d++)
        if (!(dropped & OX_AXIS(d))) {
            dims[rank] = in->dims[d];
            strides[rank++] = old[d];
        }
    return ox_call_view(call, 0, 0, 0, rank, dims, strides);
}

/* The places of the new dimensions in the output of Unsqueeze. */
static ox_status unsqueezed_axes(ox_call *call, int *rank, ox_axis_set *set) {
    ox_short_list axes;
    OX_TRY(ox_list_axes(call, &axes));
    if (!axes.given)
        return ox_call_fail(call, OX_ERROR_MODEL, "the axes are missing");
    *rank = call->in[0]->rank + axes.count;
    if (*rank > OX_MAX_RANK)
        return ox_call_fail(call, OX_ERROR_LIMIT, "the output would have rank %d, at most %d is supported", *rank,
                            OX_MAX_RANK);
    OX_TRY(ox_axes_set(call, &axes, *rank, set));
    int distinct = 0;
    for (int d = 0; d < *rank; d++)
        distinct += (*set & OX_AXIS(d)) != 0;
    if (distinct != axes.count)
        return ox_call_fail(call, OX_ERROR_SHAPE, "axes %s repeat an axis of the output of rank %d",
                            OX_DIMS(axes.count, axes.value), *rank);
    return OX_OK;
}

ox_status ox_infer_unsqueeze(ox_call *call) {
    const ox_tensor *in = call->in[0];
    int rank = 0;
    ox_axis_set added = 0;
    OX_TRY(unsqueezed_axes(call, &rank, &added));
    int64_t old[OX_MAX_RANK], dims[OX_MAX_RANK], strides[OX_MAX_RANK];
    ox_tensor_strides(in, old);
    for (int d = 0, from = 0; d < rank; d++) {
        bool one = (added & OX_AXIS(d)) != 0;
        dims[d] = one ? 1 : in->dims[from];
        strides[d] = one ? 0 : old[from++];
    }
    return ox_call_view(call, 0, 0, 0, rank, dims, strides);
}

ox_status ox_infer_identity(ox_call *call) {
    const ox_tensor *in = call->in[0];
    int64_t strides[OX_MAX_RANK];
    ox_tensor_strides(in, strides);
    return ox_call_view(call, 0, 0, 0, in->rank, in->dims, strides);
}
