/* onednn.c: StaticUnsqueeze and StaticExpand of the oneDNN Graph API, in the domain onednn.graph. Both are views. They
 * are written against the public header alone, as an operator from outside would be. */
#include "ox.h"

/* f32, f16 and bf16. */
enum {
    FLOATS = 1 << OX_FLOAT | 1 << OX_FLOAT16 | 1 << OX_BFLOAT16
};

ox_call_fn ox_infer_static_unsqueeze, ox_infer_static_expand;

static ox_status check_attribute(ox_call *call, const char *name) {
    return ox_call_has(call, name) ? OX_OK : ox_call_fail(call, OX_ERROR_MODEL, "attribute '%s' is missing", name);
}

/* ---- StaticUnsqueeze ---------------------------------------------------------------------------------------- */

ox_status ox_infer_static_unsqueeze(ox_call *call) {
    const ox_tensor *src = ox_call_input(call, 0);
    int64_t dims[OX_TENSOR_RANK + 1], strides[OX_TENSOR_RANK + 1];
    int rank = src->rank + 1;
    ox_status status = ox_call_check_dtype(call, 0, FLOATS);
    if (!status)
        status = check_attribute(call, "dim");
    if (status)
        return status;
    int64_t dim = ox_call_int(call, "dim", 0);
    if (dim < -rank || dim >= rank)
        return ox_call_fail(call, OX_ERROR_SHAPE, "attribute 'dim': axis %lld is out of range for rank %d (%d to %d)",
                            (long long)dim, src->rank, -rank, src->rank);
    int at = (int)(dim < 0 ? dim + rank : dim);
    ox_tensor_strides(src, strides);
    for (int d = src->rank; d > at; d--)
        strides[d] = strides[d - 1];
    for (int d = 0; d < rank; d++)
        dims[d] = d < at ? src->dims[d] : d > at ? src->dims[d - 1] : 1;
    strides[at] = 0;
    return ox_call_view(call, 0, 0, 0, rank, dims, strides);
}

/* ---- StaticExpand ------------------------------------------------------------------------------------------- */

typedef struct expansion {
    int rank; /* of the output */
    int64_t dims[OX_TENSOR_RANK], strides[OX_TENSOR_RANK];
    int axes[OX_TENSOR_RANK]; /* of the output, by axis of the input */
} expansion;

static ox_status read_target_shape(ox_call *call, expansion *e) {
    size_t count;
    ox_status status = check_attribute(call, "target_shape");
    if (status)
        return status;
    const int64_t *dims = ox_call_ints(call, "target_shape", &count);
    if (count > OX_TENSOR_RANK)
        return ox_call_fail(call, OX_ERROR_LIMIT,
                            "attribute 'target_shape' has %zu dimensions, at most %d are supported", count,
                            OX_TENSOR_RANK);
    for (size_t d = 0; d < count; d++) {
        if (dims[d] < 0)
            return ox_call_fail(call, OX_ERROR_SHAPE, "attribute 'target_shape': %lld at axis %zu is negative",
                                (long long)dims[d], d);
        e->dims[d] = dims[d];
        e->strides[d] = 0;
    }
    e->rank = (int)count;
    return OX_OK;
}

/* Without axes_mapping, axes correspond one to one. */
static ox_status same_axes(ox_call *call, const ox_tensor *src, expansion *e) {
    if (e->rank != src->rank)
        return ox_call_fail(
            call, OX_ERROR_SHAPE,
            "attribute 'target_shape' has %d dimensions and src has rank %d: they must be equal without "
            "'axes_mapping'",
            e->rank, src->rank);
    for (int d = 0; d < src->rank; d++)
        e->axes[d] = d;
    return OX_OK;
}

static ox_status read_axes_mapping(ox_call *call, const ox_tensor *src, expansion *e) {
    bool taken[OX_TENSOR_RANK] = {false};
    size_t count;
    const int64_t *axes = ox_call_ints(call, "axes_mapping", &count);
    if (count != (size_t)src->rank)
        return ox_call_fail(call, OX_ERROR_SHAPE, "attribute 'axes_mapping' has %zu axes, but src has rank %d", count,
                            src->rank);
    for (int d = 0; d < src->rank; d++) {
        if (axes[d] < 0 || axes[d] >= e->rank)
            return ox_call_fail(call, OX_ERROR_SHAPE,
                                "attribute 'axes_mapping': axis %lld is out of range for 'target_shape' of rank %d",
                                (long long)axes[d], e->rank);
        if (taken[axes[d]])
            return ox_call_fail(call, OX_ERROR_SHAPE, "attribute 'axes_mapping' names axis %lld twice",
                                (long long)axes[d]);
        taken[axes[d]] = true;
        e->axes[d] = (int)axes[d];
    }
    return OX_OK;
}

/* An axis of the input keeps its length, or repeats its one element. */
static ox_status expand(ox_call *call, const ox_tensor *src, expansion *e) {
    int64_t strides[OX_TENSOR_RANK];
    ox_tensor_strides(src, strides);
    for (int d = 0; d < src->rank; d++) {
        int to = e->axes[d];
        if (src->dims[d] != e->dims[to] && src->dims[d] != 1)
            return ox_call_fail(
                call, OX_ERROR_SHAPE,
                "attribute 'target_shape': axis %d is %lld, but axis %d of src is %lld, which cannot be "
                "repeated",
                to, (long long)e->dims[to], d, (long long)src->dims[d]);
        e->strides[to] = src->dims[d] == 1 ? 0 : strides[d];
    }
    return ox_call_view(call, 0, 0, 0, e->rank, e->dims, e->strides);
}

ox_status ox_infer_static_expand(ox_call *call) {
    const ox_tensor *src = ox_call_input(call, 0);
    expansion e;
    ox_status status = ox_call_check_dtype(call, 0, FLOATS);
    if (!status)
        status = read_target_shape(call, &e);
    if (!status)
        status = ox_call_has(call, "axes_mapping") ? read_axes_mapping(call, src, &e) : same_axes(call, src, &e);
    return status ? status : expand(call, src, &e);
}
