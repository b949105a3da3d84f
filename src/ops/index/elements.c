/* elements.c: offsets that indices lead to. */
#include "elements.h"

#include <string.h>

/* All offsets first: nothing in the loop waits for whether an index is in range. */
#define ADD_OFFSETS(type, apart)                                                                                       \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
        const int64_t index = OX_ONCE(type, indices + i * (apart));                                                    \
        const uint64_t at = (uint64_t)index + (index < 0 ? dim : 0);                                                   \
        wrong |= at >= dim;                                                                                            \
        offsets[i] = (int64_t)((uint64_t)offsets[i] + at * (uint64_t)axis.step);                                       \
    }

int64_t ox_index_offsets(bool wide, int64_t n, const char *indices, int64_t index_step, ox_index_axis axis,
                         int64_t *offsets) {
    const uint64_t dim = (uint64_t)axis.dim;
    bool wrong = false;
    if (wide && index_step == sizeof(ox_i64))
        ADD_OFFSETS(ox_i64, (int64_t)sizeof(ox_i64))
    else if (wide)
        ADD_OFFSETS(ox_i64, index_step)
    else
        ADD_OFFSETS(ox_i32, index_step)
    int64_t right = wrong ? 0 : n;
    for (int64_t index; right < n; right++) {
        index = ox_index_at(wide, indices, index_step, right);
        if (index < -axis.dim || index >= axis.dim)
            break;
    }
    return wrong && right == n ? n - 1 : right; /* an index that has changed since */
}

ox_status ox_index_fail(const ox_call *call, int64_t index, int axis) {
    return ox_call_fail(call, OX_ERROR_VALUE, "index %lld is out of range for axis %d of size %lld of %s",
                        (long long)index, axis, (long long)call->in[0]->dims[axis], OX_INPUT(call, 0));
}

/* ---- Tuples ------------------------------------------------------------------------------------------------- */

static ox_status check_tuples(ox_call *call, int batch_rank) {
    const ox_tensor *data = call->in[0], *indices = call->in[1];
    OX_TRY(ox_call_check_dtype(call, 1, OX_BIT(OX_INT64)));
    if (data->rank < 1 || indices->rank < 1)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must have rank 1 or more", OX_INPUT(call, 0),
                            OX_INPUT(call, 1));
    if (batch_rank >= data->rank || batch_rank >= indices->rank)
        return ox_call_fail(call, OX_ERROR_SHAPE, "batch_dims %d is too large for %s and %s", batch_rank,
                            OX_INPUT(call, 0), OX_INPUT(call, 1));
    for (int d = 0; d < batch_rank; d++)
        if (data->dims[d] != indices->dims[d])
            return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s differ on axis %d, which is a batch",
                                OX_INPUT(call, 0), OX_INPUT(call, 1), d);
    const int64_t size = indices->dims[indices->rank - 1];
    if (size < 1 || size > data->rank - batch_rank)
        return ox_call_fail(call, OX_ERROR_SHAPE, "tuples of %lld indices do not fit %s behind %d batch dimensions",
                            (long long)size, OX_INPUT(call, 0), batch_rank);
    return OX_OK;
}

ox_status ox_tuples_infer(ox_call *call, int batch_rank, int *rank, int64_t *dims) {
    const ox_tensor *data = call->in[0], *indices = call->in[1];
    OX_TRY(check_tuples(call, batch_rank));
    const int skip = batch_rank + (int)indices->dims[indices->rank - 1];
    *rank = indices->rank - 1 + data->rank - skip;
    if (*rank > OX_MAX_RANK)
        return ox_call_fail(call, OX_ERROR_LIMIT, "the output would have rank %d, at most %d is supported", *rank,
                            OX_MAX_RANK);
    for (int d = 0; d < indices->rank - 1; d++)
        dims[d] = indices->dims[d];
    for (int d = skip; d < data->rank; d++)
        dims[indices->rank - 1 + d - skip] = data->dims[d];
    return OX_OK;
}

ox_tuples ox_tuples_of(const ox_call *call, int batch_rank) {
    const ox_tensor *data = call->in[0], *indices = call->in[1];
    const int size = (int)indices->dims[indices->rank - 1];
    int64_t strides[OX_MAX_RANK];
    ox_tuples tuples = {.batch_rank = batch_rank, .size = size};
    ox_packed_strides(data->rank, data->dims, ox_dtype_size(data->dtype), strides);
    tuples.batches = ox_count(batch_rank, indices->dims);
    tuples.tuples = ox_count(indices->rank - 1 - batch_rank, indices->dims + batch_rank);
    tuples.block =
        ox_count(data->rank - batch_rank - size, data->dims + batch_rank + size) * (int64_t)ox_dtype_size(data->dtype);
    tuples.batch = ox_count(data->rank - batch_rank, data->dims + batch_rank) * (int64_t)ox_dtype_size(data->dtype);
    for (int k = 0; k < size; k++)
        tuples.axis[k] = (ox_index_axis){data->dims[batch_rank + k], strides[batch_rank + k]};
    return tuples;
}

ox_status ox_tuples_offsets(const ox_call *call, const ox_tuples *tuples, int64_t at, int64_t n, int64_t *offsets) {
    const int64_t step = tuples->size * (int64_t)sizeof(int64_t);
    const char *indices = (const char *)call->in[1]->data + at * step;
    for (int64_t i = 0, place = at % tuples->tuples, start = at / tuples->tuples * tuples->batch; i < n; i++) {
        offsets[i] = start;
        if (++place == tuples->tuples) {
            place = 0;
            start += tuples->batch;
        }
    }
    for (int k = 0; k < tuples->size; k++) {
        const char *from = indices + k * (int64_t)sizeof(int64_t);
        const int64_t right = ox_index_offsets(true, n, from, step, tuples->axis[k], offsets);
        if (right < n)
            return ox_index_fail(call, ox_index_at(true, from, step, right), tuples->batch_rank + k);
    }
    return OX_OK;
}
