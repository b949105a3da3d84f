/* one_hot.c: OneHot and ReverseSequence. */
#include "elements.h"
#include "loops/lanes.h"
#include "ops/scalar.h"

/* ---- OneHot ------------------------------------------------------------------------------------------------- */

/* Any number as an index: truncated, and one that is out of range for what int64 does not hold. */
static void read_indices(const ox_call *call, int64_t n, const char *from, int64_t *to) {
    const ox_dtype dtype = call->in[0]->dtype, base = ox_dtype_compute(dtype);
    const int64_t step[] = {sizeof(int64_t), base == dtype ? (int64_t)ox_dtype_size(dtype) : (int64_t)sizeof(float)};
    float wide[OX_INDEX_PIECE];
    if (base != dtype)
        ox_widen(dtype, n, from, wide);
    if (dtype == OX_INT64 || dtype == OX_UINT64)
        call->loops->move(sizeof(int64_t))(n, (char *)to, sizeof(int64_t), from, sizeof(int64_t));
    else
        call->loops->cast(base, OX_INT64)(
            n, (char *const[]){(char *)to, base == dtype ? (char *)(uintptr_t)from : (char *)wide}, step, NULL);
    for (int64_t i = 0; i < n && dtype == OX_UINT64; i++)
        to[i] = to[i] < 0 ? INT64_MAX : to[i];
}

ox_status ox_infer_one_hot(ox_call *call) {
    const ox_tensor *indices = call->in[0], *values = call->in[2], *depth;
    const int rank = indices->rank + 1;
    int64_t dims[OX_MAX_RANK + 1];
    int axis;
    OX_TRY(ox_call_check_dtype(call, 0, OX_SET_NUM));
    OX_TRY(ox_call_axis(call, "axis", ox_call_int(call, "axis", -1), rank, &axis));
    if (values->rank != 1 || values->dims[0] != 2)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must be the two values off and on", OX_INPUT(call, 2));
    OX_TRY(ox_call_scalar(call, 1, OX_SET_NUM, &depth));
    for (int d = 0; d < rank; d++)
        dims[d] = d < axis ? indices->dims[d] : d > axis ? indices->dims[d - 1] : ox_scalar_int(depth);
    if (dims[axis] < 0)
        return ox_call_fail(call, OX_ERROR_VALUE, "the depth is %lld", (long long)dims[axis]);
    return ox_call_output(call, 0, values->dtype, rank, dims);
}

/* Where the indices [at, at + n) switch an element on. Behind the new axis there are `inner` indices side by side. */
static void switch_on(const ox_call *call, int64_t inner, int64_t depth, int64_t at, int64_t n, const char *on) {
    const ox_tensor *indices = call->in[0];
    const size_t width = ox_dtype_size(call->out[0]->dtype);
    ox_move_fn *copy = call->loops->move(width);
    char *to = call->out[0]->data;
    int64_t index[OX_INDEX_PIECE], outer = at / inner, lane = at % inner;
    read_indices(call, n, (const char *)indices->data + at * (int64_t)ox_dtype_size(indices->dtype), index);
    for (int64_t i = 0; i < n; i++) {
        const int64_t place = index[i] < 0 ? index[i] + depth : index[i];
        if (index[i] >= -depth && index[i] < depth)
            copy(1, to + ((outer * depth + place) * inner + lane) * (int64_t)width, (int64_t)width, on, 0);
        if (++lane == inner) {
            lane = 0;
            outer++;
        }
    }
}

ox_status ox_run_one_hot(ox_call *call) {
    const ox_tensor *indices = call->in[0], *out = call->out[0];
    const size_t width = ox_dtype_size(out->dtype);
    const char *off = call->in[2]->data, *on = off + width;
    const int64_t none[OX_MAX_RANK] = {0}, count = ox_tensor_count(indices);
    int axis;
    OX_TRY(ox_call_axis(call, "axis", ox_call_int(call, "axis", -1), out->rank, &axis));
    ox_fill_outside(call, out->rank, out->dims, none, none, width, out->data, off);
    const int64_t inner = ox_count(out->rank - axis - 1, out->dims + axis + 1);
    for (int64_t at = 0; at < count && !ox_pool_poll(call->pool); at += OX_INDEX_PIECE)
        switch_on(call, inner, out->dims[axis], at, ox_least(count - at, OX_INDEX_PIECE), on);
    return OX_OK;
}

/* ---- ReverseSequence ---------------------------------------------------------------------------------------- */

static ox_status sequence_axes(ox_call *call, int *batch, int *time) {
    const int64_t batch_axis = ox_call_int(call, "batch_axis", 1), time_axis = ox_call_int(call, "time_axis", 0);
    if (call->in[0]->rank < 2)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have rank 2 or more", OX_INPUT(call, 0));
    if (batch_axis < 0 || batch_axis > 1 || time_axis != 1 - batch_axis)
        return ox_call_fail(call, OX_ERROR_MODEL, "batch_axis %lld and time_axis %lld must be 0 and 1, in any order",
                            (long long)batch_axis, (long long)time_axis);
    *batch = (int)batch_axis;
    *time = (int)time_axis;
    return OX_OK;
}

ox_status ox_infer_reverse_sequence(ox_call *call) {
    const ox_tensor *in = call->in[0], *lengths = call->in[1];
    int batch, time;
    OX_TRY(sequence_axes(call, &batch, &time));
    OX_TRY(ox_call_check_dtype(call, 1, OX_BIT(OX_INT64)));
    if (lengths->rank != 1 || lengths->dims[0] != in->dims[batch])
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have a length for each entry of axis %d of %s",
                            OX_INPUT(call, 1), batch, OX_INPUT(call, 0));
    return ox_call_output(call, 0, in->dtype, in->rank, in->dims);
}

ox_status ox_run_reverse_sequence(ox_call *call) {
    const ox_tensor *in = call->in[0], *out = call->out[0];
    const size_t width = ox_dtype_size(in->dtype);
    int64_t to[OX_MAX_RANK], from[OX_MAX_RANK], back[OX_MAX_RANK], dims[OX_MAX_RANK];
    int batch, time;
    OX_TRY(sequence_axes(call, &batch, &time));
    const bool some = ox_tensor_count(in) > 0;
    ox_tensor_strides(in, from);
    ox_tensor_strides(out, to);
    for (int d = 0; d < in->rank; d++) {
        dims[d] = in->dims[d];
        back[d] = d == time && some ? -from[d] : from[d];
    }
    /* Neighbours of one length are moved together. */
    for (int64_t b = 0; b < in->dims[batch] && !ox_pool_poll(call->pool); b += dims[batch]) {
        const int64_t length = ox_tensor_int(call->in[1], b), all = in->dims[time];
        dims[batch] = 1;
        while (b + dims[batch] < in->dims[batch] && ox_tensor_int(call->in[1], b + dims[batch]) == length)
            dims[batch]++;
        if (length < 0 || length > all)
            return ox_call_fail(call, OX_ERROR_VALUE, "length %lld is out of range for axis %d of size %lld of %s",
                                (long long)length, time, (long long)all, OX_INPUT(call, 0));
        if (!some)
            continue;
        const char *source = (const char *)in->data + b * from[batch];
        char *place = (char *)out->data + b * to[batch];
        dims[time] = length;
        if (length)
            ox_move(call->loops, call->pool, in->rank, dims, width, place, to, source + (length - 1) * from[time],
                    back);
        dims[time] = all - length;
        ox_move(call->loops, call->pool, in->rank, dims, width, place + length * to[time], to,
                source + length * from[time], from);
    }
    return OX_OK;
}
