/* matmul_shape.c: the shapes of matrix products with batches. */
#include "matmul_shape.h"

ox_status ox_matmul_shape_between(ox_call *call, int left, const ox_tensor *a, int right, const ox_tensor *b,
                                  ox_matmul_shape *s) {
    if (a->rank == 0 || b->rank == 0)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s: a scalar is not a matrix", OX_INPUT(call, left),
                            OX_INPUT(call, right));
    s->m = a->rank > 1 ? a->dims[a->rank - 2] : 1;
    s->k = a->dims[a->rank - 1];
    s->n = b->rank > 1 ? b->dims[b->rank - 1] : 1;
    int64_t k = b->dims[b->rank > 1 ? b->rank - 2 : 0];
    if (k != s->k)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s: inner dimensions %lld and %lld differ",
                            OX_INPUT(call, left), OX_INPUT(call, right), (long long)s->k, (long long)k);
    s->batch = ox_matmul_batch_rank(a->rank);
    for (int d = 0; d < s->batch; d++)
        s->dims[d] = a->dims[d];
    if (!ox_broadcast_dims(&s->batch, s->dims, ox_matmul_batch_rank(b->rank), b->dims))
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s: the dimensions before the last two do not broadcast",
                            OX_INPUT(call, left), OX_INPUT(call, right));
    return OX_OK;
}

ox_status ox_matmul_shape_of(ox_call *call, int left, int right, ox_matmul_shape *s) {
    return ox_matmul_shape_between(call, left, call->in[left], right, call->in[right], s);
}

ox_status ox_matmul_give(ox_call *call, int a_rank, int b_rank, const ox_matmul_shape *s, ox_dtype dtype) {
    int64_t dims[OX_MAX_RANK];
    int rank = s->batch;
    for (int d = 0; d < rank; d++)
        dims[d] = s->dims[d];
    if (a_rank > 1)
        dims[rank++] = s->m;
    if (b_rank > 1)
        dims[rank++] = s->n;
    return ox_call_output(call, 0, dtype, rank, dims);
}

ox_status ox_matmul_output(ox_call *call, int left, int right, ox_matmul_shape *s, ox_dtype dtype) {
    OX_TRY(ox_matmul_shape_of(call, left, right, s));
    return ox_matmul_give(call, call->in[left]->rank, call->in[right]->rank, s, dtype);
}

void ox_matmul_batch_strides(const ox_matmul_shape *s, int rank, const int64_t *dims, const int64_t *operand,
                             int64_t *strides) {
    ox_tensor outer = {OX_UINT8, rank, dims, operand, NULL};
    ox_broadcast_strides(&outer, s->batch, s->dims, strides);
}
