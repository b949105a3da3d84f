/* softmax.c: Softmax. */
#include "dense.h"

#include <math.h>

/* The tensor as outer x n x inner; one softmax over each of the n. */
typedef struct softmax {
    int64_t outer, n, inner;
} softmax;

/* Versions before 13 take all dimensions from the axis on together. */
static ox_status softmax_shape(ox_call *call, softmax *s) {
    const ox_tensor *in = call->in[0];
    bool single = call->op->since >= 13;
    int64_t axis = ox_call_int(call, "axis", single ? -1 : 1);
    int place = 0;
    if (in->rank > 0 && !(axis == in->rank && !single))
        OX_TRY(ox_call_axis(call, "axis", axis, in->rank, &place));
    else if (axis < -1 || axis > (in->rank ? in->rank : 1))
        return ox_call_axis(call, "axis", axis, in->rank, &place);
    else
        place = in->rank;
    bool inside = place < in->rank;
    s->outer = ox_count(place, in->dims);
    s->n = !inside ? 1 : single ? in->dims[place] : ox_count(in->rank - place, in->dims + place);
    s->inner = inside && single ? ox_count(in->rank - place - 1, in->dims + place + 1) : 1;
    return OX_OK;
}

ox_status ox_infer_softmax(ox_call *call) {
    softmax s;
    OX_TRY(ox_call_check_dtype(call, 0, OX_SET_FLOAT));
    OX_TRY(softmax_shape(call, &s));
    return ox_call_output(call, 0, call->in[0]->dtype, call->in[0]->rank, call->in[0]->dims);
}

ox_status ox_prepare_softmax(ox_call *call) {
    const ox_tensor *in = call->in[0];
    softmax *s = ox_call_state(call, sizeof *s);
    if (!s)
        return OX_ERROR_MEMORY;
    OX_TRY(softmax_shape(call, s));
    OX_TRY(ox_dense_plan(call, in));
    return ox_dense_plan_out(call, call->out[0], ox_tensor_count(in));
}

/* `lanes` softmaxes side by side over n elements that are `step` elements apart. The input may be the output. A NaN in
 * the input makes all of its results NaN by way of the sum. */
enum {
    SOFTMAX_LANES = 16
};

#define SOFTMAX(name, type, value, exponential)                                                                        \
    static void name(int64_t n, int64_t step, int lanes, const void *from, void *to) {                                 \
        const type *in = from;                                                                                         \
        type *out = to;                                                                                                \
        value most[SOFTMAX_LANES];                                                                                     \
        double sum[SOFTMAX_LANES] = {0};                                                                               \
        for (int l = 0; l < lanes; l++)                                                                                \
            most[l] = in[l];                                                                                           \
        for (int64_t i = 1; i < n; i++)                                                                                \
            for (int l = 0; l < lanes; l++)                                                                            \
                most[l] = in[i * step + l] > most[l] ? in[i * step + l] : most[l];                                     \
        for (int64_t i = 0; i < n; i++)                                                                                \
            for (int l = 0; l < lanes; l++) {                                                                          \
                out[i * step + l] = exponential(in[i * step + l] - most[l]);                                           \
                sum[l] += (double)out[i * step + l];                                                                   \
            }                                                                                                          \
        for (int l = 0; l < lanes; l++)                                                                                \
            most[l] = (value)sum[l];                                                                                   \
        for (int64_t i = 0; i < n; i++)                                                                                \
            for (int l = 0; l < lanes; l++)                                                                            \
                out[i * step + l] /= most[l];                                                                          \
    }
SOFTMAX(softmax_f32, ox_f32, float, expf)
SOFTMAX(softmax_f64, ox_f64, double, exp)

ox_status ox_run_softmax(ox_call *call) {
    const softmax *s = call->state;
    const ox_tensor *out = call->out[0];
    int64_t count = ox_tensor_count(out);
    size_t used = 0;
    if (count == 0)
        return OX_OK;
    ox_tensor in = ox_dense_in(call, &used, call->in[0]);
    char *result = ox_dense_out(call, &used, out, 0, count);
    const int64_t width = (int64_t)ox_dtype_size(in.dtype);
    for (int64_t o = 0; o < s->outer; o++)
        for (int64_t l = 0; l < s->inner; l += SOFTMAX_LANES) {
            int lanes = s->inner - l < SOFTMAX_LANES ? (int)(s->inner - l) : SOFTMAX_LANES;
            int64_t at = (o * s->n * s->inner + l) * width;
            (in.dtype == OX_FLOAT ? softmax_f32 : softmax_f64)(s->n, s->inner, lanes, (const char *)in.data + at,
                                                               result + at);
        }
    ox_dense_store(out, 0, count, result);
    return OX_OK;
}
