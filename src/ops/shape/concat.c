/* concat.c: Concat. */
#include "iterate/bcast.h"
#include "ops/op.h"

#include <string.h>

static ox_status concat_axis(ox_call *call, int *axis) {
    if (call->op->since >= 4 && !ox_call_has(call, "axis"))
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'axis' is missing");
    return ox_call_axis(call, "axis", ox_call_int(call, "axis", 1), call->in[0]->rank, axis);
}

/* Fails unless input i differs from the first one on the axis alone. */
static ox_status check_input(ox_call *call, int i, int axis) {
    const ox_tensor *first = call->in[0], *in = call->in[i];
    if (!in)
        return ox_call_fail(call, OX_ERROR_MODEL, "input %d is omitted", i);
    bool fits = in->rank == first->rank;
    for (int d = 0; fits && d < in->rank; d++)
        fits = d == axis || in->dims[d] == first->dims[d];
    if (fits)
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must have one rank, and the same sizes except on axis %d",
                        OX_INPUT(call, 0), OX_INPUT(call, i), axis);
}

ox_status ox_infer_concat(ox_call *call) {
    int axis;
    const ox_tensor *first = call->in[0];
    OX_TRY(ox_call_check_same(call, 0, call->nin - 1));
    OX_TRY(concat_axis(call, &axis));
    int64_t dims[OX_MAX_RANK];
    memcpy(dims, first->dims, (size_t)first->rank * sizeof *dims);
    for (int i = 1; i < call->nin; i++) {
        OX_TRY(check_input(call, i, axis));
        if (!ox_add_i64(dims[axis], call->in[i]->dims[axis], &dims[axis]))
            return ox_call_fail(call, OX_ERROR_LIMIT, "the sizes of axis %d overflow at %s", axis, OX_INPUT(call, i));
    }
    return ox_call_output(call, 0, first->dtype, first->rank, dims);
}

ox_status ox_run_concat(ox_call *call) {
    int axis;
    OX_TRY(concat_axis(call, &axis));
    const ox_tensor *out = call->out[0];
    int64_t to[OX_MAX_RANK], from[OX_MAX_RANK];
    ox_tensor_strides(out, to);
    char *at = out->data;
    for (int i = 0; i < call->nin; i++) {
        const ox_tensor *in = call->in[i];
        ox_tensor_strides(in, from);
        if (in->data != at) /* else it was made there */
            ox_move(call->loops, call->pool, in->rank, in->dims, ox_dtype_size(in->dtype), at, to, in->data, from);
        at += in->dims[axis] * to[axis];
    }
    return OX_OK;
}
