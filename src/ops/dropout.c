/* dropout.c: Dropout, as far as it drops nothing: the output is the input, the mask all ones. */
#include "lanes.h"
#include "op.h"

#include <string.h>

/* Input i, a scalar, as a float; `otherwise` if it is omitted. OX_DEFER if it is not known before the run. */
static ox_status read_scalar(ox_call *call, int i, ox_dtypes set, float otherwise, float *value) {
    const ox_tensor *t;
    *value = otherwise;
    if (!ox_call_given(call, i))
        return OX_OK;
    OX_TRY(ox_call_check_dtype(call, i, set));
    if (ox_tensor_count(call->in[i]) != 1)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must be a scalar", OX_INPUT(call, i));
    OX_TRY(ox_call_data(call, i, &t));
    double wide;
    if (t->dtype == OX_BOOL)
        *value = *(const uint8_t *)t->data != 0;
    else if (t->dtype == OX_FLOAT)
        memcpy(value, t->data, sizeof *value);
    else if (t->dtype == OX_DOUBLE)
        *value = (float)*(const double *)memcpy(&wide, t->data, sizeof wide);
    else
        ox_widen(t->dtype, 1, t->data, value);
    return OX_OK;
}

/* Whether this is the training of a network, and how much it drops. */
static ox_status read_training(ox_call *call, bool *training, float *ratio) {
    float mode = 0;
    *ratio = ox_call_float(call, "ratio", 0.5f);
    if (call->op->since >= 12) {
        OX_TRY(read_scalar(call, 2, OX_SET_BOOL, 0, &mode));
        *training = mode != 0;
        return *training ? read_scalar(call, 1, call->op->dtypes, 0.5f, ratio) : OX_OK;
    }
    *training = call->op->since < 7 && !ox_call_int(call, "is_test", 0);
    return OX_OK;
}

ox_status ox_infer_dropout(ox_call *call) {
    const ox_tensor *x = call->in[0];
    int64_t strides[OX_MAX_RANK];
    bool training = false;
    float ratio = 0;
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(read_training(call, &training, &ratio));
    if (training && ratio != 0)
        return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "dropping at random, in training mode, is not supported");
    ox_tensor_strides(x, strides);
    OX_TRY(ox_call_view(call, 0, 0, 0, x->rank, x->dims, strides));
    if (call->nout < 2)
        return OX_OK;
    return ox_call_output(call, 1, call->op->since < 10 ? x->dtype : OX_BOOL, x->rank, x->dims);
}

/* Fills the mask. */
ox_status ox_run_dropout(ox_call *call) {
    const ox_tensor *mask = call->out[1];
    const uint8_t truth = 1;
    const float single = 1;
    const double wide = 1;
    uint16_t half = 0x3c00;
    const void *one = mask->dtype == OX_BOOL     ? &truth
                      : mask->dtype == OX_FLOAT  ? (const void *)&single
                      : mask->dtype == OX_DOUBLE ? (const void *)&wide
                                                 : &half;
    int64_t width = (int64_t)ox_dtype_size(mask->dtype);
    call->loops->move((size_t)width)(ox_tensor_count(mask), mask->data, width, one, 0);
    return OX_OK;
}
