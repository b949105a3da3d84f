/* matmul_integer.c: what MatMulInteger and QLinearMatMul take. */
#include "matmul_integer.h"

const ox_integer_inputs *ox_integer_inputs_of(const ox_call *call) {
    static const ox_integer_inputs integer = {0, 1, 2, 3, -1, -1, -1, -1}, quantized = {0, 3, 2, 5, 1, 4, 6, 7};
    return ox_op_has(call->op, OX_OP_QUANTIZED) ? &quantized : &integer;
}

ox_entries ox_entries_of(const ox_tensor *t, bool by_row) {
    ox_entries e = {.rank = ox_tensor_count(t) == 1 ? 0 : t->rank};
    for (int d = 0; d < e.rank; d++)
        e.dims[d] = t->dims[d];
    if (e.rank == 1 && by_row)
        e.dims[e.rank++] = 1;
    return e;
}

static ox_status check_entries(ox_call *call, int number, int matrix, bool by_row) {
    const ox_tensor *m = call->in[matrix];
    const ox_entries e = ox_entries_of(call->in[number], by_row);
    ox_entries all = {.rank = m->rank};
    for (int d = 0; d < m->rank; d++)
        all.dims[d] = m->dims[d];
    if (m->rank == 1 && !by_row)
        all = (ox_entries){2, {m->dims[0], 1}};
    else if (m->rank == 1)
        all = (ox_entries){2, {1, m->dims[0]}};
    ox_entries both = all;
    int single = by_row ? e.rank - 1 : e.rank - 2; /* the dimension along which one entry serves all */
    if (e.rank <= all.rank && (single < 0 || e.dims[single] == 1) &&
        ox_broadcast_dims(&both.rank, both.dims, e.rank, e.dims) &&
        ox_same_dims(both.rank, both.dims, all.rank, all.dims))
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "%s does not fit %s: it must be one value, or one for each %s",
                        OX_INPUT(call, number), OX_INPUT(call, matrix), by_row ? "row" : "column");
}

ox_status ox_infer_matmul_integer(ox_call *call) {
    const ox_integer_inputs *r = ox_integer_inputs_of(call);
    ox_matmul_shape shape;
    OX_TRY(ox_call_check_dtype(call, r->a, call->op->dtypes));
    OX_TRY(ox_call_check_dtype(call, r->b, call->op->dtypes));
    OX_TRY(ox_matmul_output(call, r->a, r->b, &shape, OX_INT32));
    for (int i = r->a_zero; i <= r->b_zero; i++) {
        int matrix = i == r->a_zero ? r->a : r->b;
        if (!ox_call_given(call, i))
            continue;
        if (call->in[i]->dtype != call->in[matrix]->dtype)
            return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must have the same type", OX_INPUT(call, matrix),
                                OX_INPUT(call, i));
        OX_TRY(check_entries(call, i, matrix, i == r->a_zero));
    }
    return OX_OK;
}

static ox_status check_quantization(ox_call *call, int matrix, int scale, int zero) {
    const ox_tensor *s = call->in[scale], *z = call->in[zero];
    const ox_dtypes halves = OX_BIT(OX_FLOAT16) | OX_BIT(OX_BFLOAT16);
    OX_TRY(ox_call_check_dtype(call, zero, call->op->dtypes));
    OX_TRY(ox_call_check_dtype(call, scale, OX_BIT(OX_FLOAT) | (call->op->since < 21 ? 0 : halves)));
    if (s->dtype != call->in[ox_integer_inputs_of(call)->a_scale]->dtype)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s: all scales must have the same type", OX_INPUT(call, scale));
    if (!ox_same_dims(s->rank, s->dims, z->rank, z->dims) && (ox_tensor_count(s) != 1 || ox_tensor_count(z) != 1))
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must have the same shape", OX_INPUT(call, scale),
                            OX_INPUT(call, zero));
    if (matrix >= 0 && z->dtype != call->in[matrix]->dtype)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must have the same type", OX_INPUT(call, matrix),
                            OX_INPUT(call, zero));
    return OX_OK;
}

ox_status ox_infer_qlinear_matmul(ox_call *call) {
    const ox_integer_inputs *r = ox_integer_inputs_of(call);
    ox_matmul_shape shape;
    OX_TRY(ox_call_check_dtype(call, r->a, call->op->dtypes));
    OX_TRY(ox_call_check_dtype(call, r->b, call->op->dtypes));
    OX_TRY(check_quantization(call, r->a, r->a_scale, r->a_zero));
    OX_TRY(check_quantization(call, r->b, r->b_scale, r->b_zero));
    OX_TRY(check_quantization(call, -1, r->y_scale, r->y_zero));
    OX_TRY(ox_matmul_output(call, r->a, r->b, &shape, call->in[r->y_zero]->dtype));
    OX_TRY(check_entries(call, r->a_scale, r->a, true));
    OX_TRY(check_entries(call, r->b_scale, r->b, false));
    if (ox_tensor_count(call->in[r->y_scale]) != 1)
        return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "%s: more than one scale for the output is not supported",
                            OX_INPUT(call, r->y_scale));
    return OX_OK;
}
