/* dropout.c: Dropout. What drops nothing is a view, with a mask of ones. */
#include <string.h>

#include "iterate/bcast.h"
#include "loops/lanes.h"
#include "ops/generator.h"
#include "ops/reals.h"
#include "ops/scalar.h"

/* Input i, a scalar; `otherwise` if it is omitted. OX_DEFER if it is not known before the run. */
static ox_status read_scalar(ox_call *call, int i, ox_dtypes set, double otherwise, double *value) {
    const ox_tensor *t;
    *value = otherwise;
    if (!ox_call_given(call, i))
        return OX_OK;
    OX_TRY(ox_call_scalar(call, i, set, &t));
    *value = ox_scalar_float(t);
    return OX_OK;
}

/* How much is dropped: nothing but in the training of a network. */
static ox_status read_ratio(ox_call *call, double *ratio) {
    double training = call->op->since < 7 && !ox_call_int(call, "is_test", 0);
    *ratio = (double)ox_call_float(call, "ratio", 0.5f);
    if (ox_call_given(call, 1))
        OX_TRY(ox_call_check_dtype(call, 1, call->op->dtypes));
    if (call->op->since >= 12)
        OX_TRY(read_scalar(call, 2, OX_SET_BOOL, 0, &training));
    if (call->op->since >= 12 && training != 0)
        OX_TRY(read_scalar(call, 1, call->op->dtypes, 0.5, ratio));
    if (training == 0)
        *ratio = 0;
    if (!(*ratio >= 0 && *ratio < 1))
        return ox_call_fail(call, OX_ERROR_VALUE, "the ratio is %g, not within 0 and 1", *ratio);
    return OX_OK;
}

ox_status ox_infer_dropout(ox_call *call) {
    const ox_tensor *x = call->in[0];
    int64_t strides[OX_MAX_RANK];
    double ratio;
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(read_ratio(call, &ratio));
    ox_tensor_strides(x, strides);
    OX_TRY(ratio != 0 ? ox_call_output(call, 0, x->dtype, x->rank, x->dims)
                      : ox_call_view(call, 0, 0, 0, x->rank, x->dims, strides));
    if (call->nout < 2)
        return OX_OK;
    return ox_call_output(call, 1, call->op->since < 10 ? x->dtype : OX_BOOL, x->rank, x->dims);
}

typedef struct dropout {
    double ratio;
    ox_generator generator;
} dropout;

ox_status ox_prepare_dropout(ox_call *call) {
    double ratio;
    OX_TRY(read_ratio(call, &ratio));
    if (ratio == 0)
        return OX_OK;
    dropout *state = ox_call_state(call, sizeof *state);
    if (!state)
        return OX_ERROR_MEMORY;
    state->ratio = ratio;
    ox_generator_prepare(call, OX_ATTR_INT, &state->generator);
    return OX_OK;
}

/* Drops some of the n elements from `first` on. What stays is scaled, so that the mean stays, too. */
static void drop(dropout *state, const ox_tensor *y, const ox_tensor *mask, int64_t first, int64_t n) {
    const int64_t width = (int64_t)ox_dtype_size(y->dtype);
    double kept[OX_REALS_PIECE], piece[OX_REALS_PIECE];
    for (int64_t i = 0; i < n; i++)
        kept[i] = ox_generator_uniform(&state->generator) >= state->ratio;
    if (mask) {
        const int64_t step = (int64_t)ox_dtype_size(mask->dtype);
        ox_reals_store(mask->dtype, n, kept, 1, (char *)mask->data + first * step, step);
    }
    if (!y->data)
        return;
    char *data = (char *)y->data + first * width;
    ox_reals_load(y->dtype, n, data, width, piece, 1);
    for (int64_t i = 0; i < n; i++)
        piece[i] *= kept[i] / (1 - state->ratio);
    ox_reals_store(y->dtype, n, piece, 1, data, width);
}

static void fill_mask(const ox_call *call, const ox_tensor *mask) {
    if (!mask)
        return;
    const int64_t width = (int64_t)ox_dtype_size(mask->dtype);
    double one = 0;
    ox_real_put(mask->dtype, 1, &one);
    call->loops->move((size_t)width)(ox_tensor_count(mask), mask->data, width, (const char *)&one, 0);
}

ox_status ox_run_dropout(ox_call *call) {
    const ox_tensor *x = call->in[0], *mask = call->nout > 1 ? call->out[1] : NULL;
    const int64_t count = ox_tensor_count(x);
    dropout *state = call->state;
    if (!state) {
        fill_mask(call, mask);
        return OX_OK;
    }
    ox_tensor y = {.dtype = x->dtype, .data = call->out[0] ? call->out[0]->data : NULL};
    if (y.data)
        ox_pack(call->loops, call->pool, x, y.data);
    ox_generator_start(&state->generator);
    for (int64_t i = 0; i < count && !ox_pool_poll(call->pool); i += OX_REALS_PIECE)
        drop(state, &y, mask, i, ox_least(OX_REALS_PIECE, count - i));
    return OX_OK;
}
