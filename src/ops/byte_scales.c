/* byte_scales.c: bytes with one scale and one zero point, and what becomes of their sums. */
#include "byte_scales.h"

#include "loops/lanes.h"

#include <math.h>

#if OX_WITH_SOME_OWN
static ox_status check_one(ox_call *call, int i, ox_dtypes dtypes) {
    OX_TRY(ox_call_check_dtype(call, i, dtypes));
    return ox_tensor_count(call->in[i]) == 1
               ? OX_OK
               : ox_call_fail(call, OX_ERROR_SHAPE, "%s: one value is expected", OX_INPUT(call, i));
}

ox_status ox_check_bytes(ox_call *call, int x) {
    OX_TRY(ox_call_check_dtype(call, x, OX_BYTE_TYPES));
    OX_TRY(check_one(call, x + 1, OX_BIT(OX_FLOAT)));
    if (!ox_call_given(call, x + 2))
        return OX_OK;
    if (call->in[x + 2]->dtype != call->in[x]->dtype)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have the type of %s", OX_INPUT(call, x + 2),
                            OX_INPUT(call, x));
    return check_one(call, x + 2, OX_BYTE_TYPES);
}

ox_status ox_check_bytes_out(ox_call *call, int scale) {
    OX_TRY(check_one(call, scale, OX_BIT(OX_FLOAT)));
    return check_one(call, scale + 1, OX_BYTE_TYPES);
}

ox_byte_scale ox_byte_scale_of(const ox_call *call, ox_dtype dtype, int scale) {
    return (ox_byte_scale){dtype == OX_INT8,
                           ox_call_given(call, scale + 1) ? (int32_t)ox_tensor_int(call->in[scale + 1], 0) : 0,
                           OX_GET(ox_f32, call->in[scale]->data)};
}

ox_byte_means ox_byte_means_of(const ox_call *call) {
    const ox_dtype from = call->in[0]->dtype;
    ox_byte_means means = {.from = ox_byte_scale_of(call, from, 1),
                           .to = ox_byte_scale_of(call, call->out[0]->dtype, 3),
                           .flip = from == OX_INT8 ? 0x80 : 0};
#if !OX_SMALL
    means.loops = OX_BUILD_OF(call->loops, ox_byte_builds);
    means.requantize = OX_BUILD_OF(call->loops, ox_integer_builds)->requantize;
#endif
    means.from_zero = means.from.zero + means.flip;
    return means;
}

#if !OX_SMALL
double ox_byte_mean_factor(const ox_byte_means *means, double counted) {
    return (double)means->from.scale / (double)means->to.scale / counted;
}

void ox_end_byte_means(const ox_byte_means *means, int64_t n, const uint32_t *sums, int64_t inside, double factor,
                       char *to) {
    const float one = 1;
    const ox_requantization how = {.dtype = means->to.is_signed ? OX_INT8 : OX_UINT8,
                                   .more = 0U - (uint32_t)(inside * means->from_zero),
                                   .zero = means->to.zero,
                                   .row_scale = factor,
                                   .column_scales = &one};
    means->requantize(n, &how, (char *)(uintptr_t)sums, to);
}

void ox_end_byte_mean(const ox_byte_means *means, uint64_t sum, int64_t inside, double factor, char *to) {
    const double low = (means->to.is_signed ? INT8_MIN : 0) - means->to.zero, high = low + UINT8_MAX;
    double value = (double)((int64_t)sum - inside * means->from_zero) * factor;
    value = value > low ? value : low;
    value = value < high ? value : high;
    *(uint8_t *)to = (uint8_t)((int32_t)rint(value) + means->to.zero);
}
#endif
#endif
