/* requantize.c: factors of sums, and sums whose rounding integers of 32 bits do not tell. */
#include "requantize.h"
#include "soft.h"

static float scale_of(const ox_channel_scales *s, ptrdiff_t channel) {
    return s->w[channel * s->step];
}

ox_channel_scales ox_channel_scales_of(float x, const ox_tensor *w, float y, bool divides_first, ox_dtype dtype,
                                       int32_t zero) {
    const bool is_signed = dtype == OX_INT8;
    ox_channel_scales s = {
        .x = x, .y = y, .w = w->data, .step = ox_tensor_count(w) > 1, .divides_first = divides_first};
    s.zero = zero - (is_signed ? 0 : 128);
    s.flip = is_signed ? 0 : 0x80808080;
    const ox_soft ratio = ox_soft_quotient(ox_soft_float(x), ox_soft_float(y));
    if (ratio.kind == OX_SOFT_NUMBER && !ratio.negative) {
        s.ratio = (uint32_t)(ratio.digits >> 21);
        s.exponent = ratio.exponent + 21;
    }
    return s;
}

ox_factor ox_factor_of(const ox_channel_scales *s, ptrdiff_t channel) {
    return ox_factor_now(s, channel);
}

/* As ox_integer_loops.requantize has it, within limits that saturation is well inside of. */
static int32_t by_doubles(const ox_channel_scales *s, ptrdiff_t channel, int32_t sum) {
    const ox_soft x = ox_soft_float(s->x), y = ox_soft_float(s->y), w = ox_soft_float(scale_of(s, channel));
    const ox_soft scale =
        s->divides_first ? ox_soft_product(ox_soft_quotient(x, y), w) : ox_soft_quotient(ox_soft_product(x, w), y);
    return ox_soft_round(ox_soft_product(ox_soft_integer(sum), scale), -1024, 1024);
}

int32_t ox_requantize_surely(const ox_channel_scales *s, ptrdiff_t channel, int32_t sum) {
    const ox_factor f = ox_factor_of(s, channel);
    if (f.shift) {
        const int64_t one = (int64_t)1 << (32 + f.shift), moved = (int64_t)sum * f.factor + one / 2;
        const int64_t unsure = 2 * (sum < 0 ? -(int64_t)sum : sum) + ((int64_t)1 << 12), rest = moved & (one - 1);
        if (rest > unsure && rest < one - unsure)
            return (int32_t)(moved >> (32 + f.shift)) + s->zero;
    }
    return by_doubles(s, channel, sum) + s->zero;
}
