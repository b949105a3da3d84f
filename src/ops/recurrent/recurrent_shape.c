/* recurrent_shape.c: shapes and directions of recurrent operators. */
#include "recurrent.h"

/* Input i, if it is given, has exactly these dimensions. */
static ox_status check_dims(ox_call *call, const ox_recurrent_shape *s, int i, int rank, const int64_t *dims) {
    if (!ox_call_given(call, i) || ox_same_dims(call->in[i]->rank, call->in[i]->dims, rank, dims))
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have shape %s (hidden size %lld, input size %lld, batch %lld)",
                        OX_INPUT(call, i), OX_DIMS(rank, dims), (long long)s->hidden, (long long)s->input,
                        (long long)s->batch);
}

static ox_status read_direction(ox_call *call, ox_recurrent_shape *s) {
    const ox_string direction = ox_call_string(call, "direction", "forward");
    s->backward = ox_says(direction, "reverse");
    s->directions = ox_says(direction, "bidirectional") ? 2 : 1;
    if (s->directions == 1 && !s->backward && !ox_says(direction, "forward"))
        return ox_call_fail(call, OX_ERROR_MODEL,
                            "attribute 'direction' must be forward, reverse or bidirectional, not '%.*s'",
                            OX_SHORT(direction));
    return OX_OK;
}

static ox_status read_sizes(ox_call *call, const ox_cell *cell, ox_recurrent_shape *s) {
    const ox_tensor *x = call->in[0], *r = call->in[2];
    for (int i = 0; i < 3; i++)
        if (call->in[i]->rank != 3)
            return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have 3 dimensions", OX_INPUT(call, i));
    s->by_batch = ox_call_int(call, "layout", 0) != 0;
    s->sequence = x->dims[s->by_batch];
    s->batch = x->dims[!s->by_batch];
    s->input = x->dims[2];
    const int64_t hidden = r->dims[cell->is_quantized ? 1 : 2];
    s->hidden = ox_call_int(call, "hidden_size", hidden);
    if (s->hidden < 0 || s->hidden != hidden)
        return ox_call_fail(call, OX_ERROR_SHAPE, "attribute 'hidden_size' is %lld, but %s has %s dimension of %lld",
                            (long long)s->hidden, OX_INPUT(call, 2), cell->is_quantized ? "a second" : "a last",
                            (long long)hidden);
    return OX_OK;
}

/* What belongs to a row of a batch, in each direction. */
static void state_dims(const ox_recurrent_shape *s, int64_t *dims) {
    dims[s->by_batch] = s->directions;
    dims[!s->by_batch] = s->batch;
    dims[2] = s->hidden;
}

static ox_status check_weights(ox_call *call, const ox_recurrent_shape *s, const ox_cell *cell, int i, int64_t rows,
                               int64_t columns) {
    const bool transposed = cell->is_quantized;
    return check_dims(call, s, i, 3,
                      (const int64_t[]){s->directions, transposed ? columns : rows, transposed ? rows : columns});
}

ox_status ox_recurrent_shape_of(ox_call *call, const ox_cell *cell, ox_recurrent_shape *s) {
    int64_t rows, biases, states[3];
    OX_TRY(read_direction(call, s));
    OX_TRY(read_sizes(call, cell, s));
    if (!ox_mul_i64(s->hidden, cell->gates, &rows) || !ox_mul_i64(rows, 2, &biases))
        return ox_call_fail(call, OX_ERROR_LIMIT, "a hidden size of %lld is too large", (long long)s->hidden);
    state_dims(s, states);
    OX_TRY(check_weights(call, s, cell, 1, rows, s->input));
    OX_TRY(check_weights(call, s, cell, 2, rows, s->hidden));
    OX_TRY(check_dims(call, s, 3, 2, (const int64_t[]){s->directions, biases}));
    OX_TRY(check_dims(call, s, 4, 1, &s->batch));
    for (int i = 0; i < cell->states; i++)
        OX_TRY(check_dims(call, s, cell->initial + i, 3, states));
    if (cell->peepholes >= 0)
        OX_TRY(check_dims(call, s, cell->peepholes, 2, (const int64_t[]){s->directions, 3 * s->hidden}));
    return OX_OK;
}

static ox_status check_types(ox_call *call, const ox_cell *cell) {
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    for (int i = cell->is_quantized ? 3 : 1; i < call->nin && i < 8; i++)
        if (i != 4 && ox_call_given(call, i) && call->in[i]->dtype != call->in[0]->dtype)
            return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must have the same type", OX_INPUT(call, 0),
                                OX_INPUT(call, i));
    return ox_call_given(call, 4) ? ox_call_check_dtype(call, 4, OX_BIT(OX_INT32)) : OX_OK;
}

/* The outputs: all hidden states, the last ones, and the last states of cells. */
static ox_status describe(ox_call *call, const ox_recurrent_shape *s) {
    const ox_dtype dtype = call->in[0]->dtype;
    const int64_t by_time[] = {s->sequence, s->directions, s->batch, s->hidden},
                  by_batch[] = {s->batch, s->sequence, s->directions, s->hidden};
    int64_t states[3];
    state_dims(s, states);
    if (call->nout > 0)
        OX_TRY(ox_call_output(call, 0, dtype, 4, s->by_batch ? by_batch : by_time));
    for (int i = 1; i < call->nout; i++)
        OX_TRY(ox_call_output(call, i, dtype, 3, states));
    return OX_OK;
}

ox_status ox_recurrent_infer(ox_call *call, const ox_cell *cell) {
    ox_recurrent_shape s;
    ox_activation functions[2][OX_RECURRENT_FUNCTIONS];
    ox_gate_loops loops;
    const ox_dtype dtype = ox_dtype_compute(call->in[0]->dtype);
    OX_TRY(check_types(call, cell));
    OX_TRY(ox_recurrent_shape_of(call, cell, &s));
    if (cell->is_quantized)
        OX_TRY(ox_quantized_check(call, &s));
    OX_TRY(ox_recurrent_functions(call, cell, s.directions, dtype, functions));
    OX_TRY(ox_recurrent_loops(call, dtype, &loops));
    return describe(call, &s);
}
