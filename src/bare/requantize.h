/* requantize.h: sums of bytes to bytes in integers, where these are sure of the rounding; doubles decide the rest, as
 * they decide all on larger machines, so that results have the same bits. */
#ifndef OX_BARE_REQUANTIZE_H
#define OX_BARE_REQUANTIZE_H

#include "loops/integer_loops.h"

#include <string.h>

#if defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_SIMD32)
#define OX_DSP 1
#else
#define OX_DSP 0
#endif

/* The factor is about `factor` * 2^-(32 + shift). The upper half of a sum's product with it is known to less than 2 at
 * either side, so that it does not tell where it is so near to a boundary of rounding. */
typedef struct ox_requantizer {
    int32_t factor, shift;
    uint32_t half, mask; /* mask 0: never sure */
    int32_t zero;        /* of the result less 128, if that is unsigned */
    uint32_t flip;       /* 0x80 then, otherwise 0 */
    double scale;
} ox_requantizer;

static inline ox_requantizer ox_requantizer_of(ox_dtype dtype, int32_t zero) {
    const bool is_signed = dtype == OX_INT8;
    return (ox_requantizer){.zero = zero - (is_signed ? 0 : 128), .flip = is_signed ? 0 : 0x80};
}

/* The factor of the sums that follow. */
static inline void ox_requantizer_scale(ox_requantizer *q, double scale) {
    uint64_t bits;
    memcpy(&bits, &scale, sizeof bits);
    q->scale = scale;
    q->mask = 0;
    q->factor = (int32_t)(bits >> 23 & 0x1fffffff) + (1 << 29); /* without the sign, which is 0 */
    q->shift = 1020 - (int32_t)(bits >> 52);
    if (q->shift < 3 || q->shift > 28) {
        q->shift = 0;
        return;
    }
    q->half = ((uint32_t)1 << (q->shift - 1)) + 2;
    q->mask = ((uint32_t)1 << q->shift) - 1;
}

/* The result less q->zero, before it is saturated. */
int32_t ox_requantize_surely(const ox_requantizer *q, int32_t sum);

static inline uint8_t ox_requantize_one(const ox_requantizer *q, int32_t sum) {
    const uint32_t upper = (uint32_t)(int32_t)(((int64_t)sum * q->factor) >> 32) + q->half;
    int32_t value = (int32_t)upper >> q->shift;
    if ((upper & q->mask) <= 4)
        value = ox_requantize_surely(q, sum);
    value += q->zero;
#if OX_DSP
    __asm__("ssat %0, #8, %1" : "=r"(value) : "r"(value));
#else
    value = value < -128 ? -128 : value > 127 ? 127 : value;
#endif
    return (uint8_t)((uint32_t)value ^ q->flip);
}

#endif
