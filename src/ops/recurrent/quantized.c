/* quantized.c: weights of bytes, and operands that are quantized by what is in them. Products are of whole numbers. */
#include "recurrent.h"

#include <math.h>

/* Inputs of weights, by the number of the product. */
static const int weights_of[] = {1, 2}, scales_of[] = {8, 10}, zeros_of[] = {9, 11};

/* A scale or zero point for each direction, or each column of each. */
static ox_status check_entries(ox_call *call, const ox_recurrent_shape *s, int i) {
    const ox_tensor *t = call->in[i];
    if (!(t->rank == 1 || (t->rank == 2 && t->dims[1] == 4 * s->hidden)) || t->dims[0] != s->directions)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have shape [%d] or [%d,%lld]", OX_INPUT(call, i),
                            s->directions, s->directions, (long long)(4 * s->hidden));
    return OX_OK;
}

ox_status ox_quantized_check(ox_call *call, const ox_recurrent_shape *s) {
    for (int i = 0; i < OX_LAST_PRODUCT; i++) {
        if (!ox_call_given(call, scales_of[i]) || !ox_call_given(call, zeros_of[i]))
            return ox_call_fail(call, OX_ERROR_MODEL, "inputs %d and %d, scale and zero point of %s, must be given",
                                scales_of[i], zeros_of[i], OX_INPUT(call, weights_of[i]));
        OX_TRY(ox_call_check_dtype(call, weights_of[i], OX_BIT(OX_INT8) | OX_BIT(OX_UINT8)));
        OX_TRY(ox_call_check_dtype(call, scales_of[i], OX_BIT(OX_FLOAT)));
        OX_TRY(ox_call_check_dtype(call, zeros_of[i], OX_BIT(call->in[weights_of[i]]->dtype)));
        OX_TRY(check_entries(call, s, scales_of[i]));
        OX_TRY(check_entries(call, s, zeros_of[i]));
    }
    return OX_OK;
}

ox_status ox_quantized_plan(ox_call *call, const ox_recurrent *r) {
    const ox_recurrent_shape *s = &r->shape;
    const int64_t depths[] = {s->input, s->hidden};
    for (int i = 0; i < OX_LAST_PRODUCT; i++)
        OX_TRY(ox_workspace_add(call, ox_count(3, (const int64_t[]){s->directions, depths[i], 4 * s->hidden}),
                                sizeof(int32_t)));
    const int64_t inputs = ox_count(3, (const int64_t[]){s->sequence, s->batch, s->input}),
                  states = ox_count(2, (const int64_t[]){s->batch, s->hidden});
    return ox_workspace_add(call, inputs > states ? inputs : states, sizeof(int32_t));
}

static int32_t byte_at(const ox_tensor *t, int64_t i) {
    return t->dtype == OX_INT8 ? ((const int8_t *)t->data)[i] : ((const uint8_t *)t->data)[i];
}

/* The entry of a column. */
static int64_t entry(const ox_tensor *t, const ox_recurrent *r, int direction, int64_t column) {
    return t->rank == 1 ? direction : direction * 4 * r->shape.hidden + column;
}

void ox_quantized_weights(const ox_call *call, const ox_recurrent *r, int number, int32_t *to) {
    const ox_tensor *weights = call->in[weights_of[number]], *zeros = call->in[zeros_of[number]];
    const int64_t rows = weights->dims[1], columns = weights->dims[2];
    for (int64_t i = 0; i < weights->dims[0] * rows; i++)
        for (int64_t j = 0; j < columns; j++)
            to[i * columns + j] =
                byte_at(weights, i * columns + j) - byte_at(zeros, entry(zeros, r, (int)(i / rows), j));
}

/* Within what a byte holds; NaN is 0. */
static float limited(float value) {
    return value > 0 ? value < 255 ? value : 255 : 0;
}

float ox_quantized_operand(int64_t n, const ox_f32 *from, int32_t *to) {
    float low = 0, high = 0;
    for (int64_t i = 0; i < n; i++) {
        low = from[i] < low ? from[i] : low;
        high = from[i] > high ? from[i] : high;
    }
    const float scale = high > low ? (high - low) / 255 : 1, zero = limited(rintf(-low / scale));
    for (int64_t i = 0; i < n; i++)
        to[i] = (int32_t)limited(rintf(from[i] / scale) + zero) - (int32_t)zero;
    return scale;
}

void ox_quantized_row(const ox_call *call, const ox_recurrent *r, int number, int direction, float scale,
                      int64_t column, int64_t n, const int32_t *sums, const ox_f32 *add, ox_f32 *to) {
    const ox_tensor *scales = call->in[scales_of[number]];
    const ox_f32 *each = (const ox_f32 *)scales->data + entry(scales, r, direction, column);
    const int64_t step = scales->rank == 1 ? 0 : 1;
    for (int64_t j = 0; j < n; j++)
        to[j] = (float)sums[j] * (scale * each[j * step]) + add[j];
}
