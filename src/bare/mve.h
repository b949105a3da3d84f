/* mve.h: vectors of bytes on processors with Helium (Cortex-M55 and the like): sums of products, and four sums made
 * bytes at a time. */
#ifndef OX_BARE_MVE_H
#define OX_BARE_MVE_H

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE & 1
#define OX_MVE 1
#else
#define OX_MVE 0
#endif

#if OX_MVE
#include "requantize.h"

#include <arm_mve.h>

enum {
    OX_MVE_BYTES = 16 /* of a vector */
};

/* The sum of n bytes whose bits are turned by `flip`; vectors lie `step` bytes apart. */
static inline int32_t ox_mve_sum(const int8_t *x, ptrdiff_t step, ptrdiff_t n, int8_t flip) {
    int32_t sum = 0;
    for (; n > 0; n -= OX_MVE_BYTES, x += step) {
        const mve_pred16_t there = vctp8q((uint32_t)n);
        sum = vaddvaq_p_s8(sum, veorq_s8(vldrbq_z_s8(x, there), vdupq_n_s8(flip)), there);
    }
    return sum;
}

/* Four sums that begin with `more`: of products of n bytes of w, turned by `flip`, and of four columns, which lie
 * vector by vector in turns and can be read up to whole ones. */
static inline int32x4_t ox_mve_multiply(const int8_t *x, const int8_t *w, ptrdiff_t n, int8_t flip, int32_t more) {
    int32_t a = more, b = more, c = more, d = more;
    const int8x16_t turn = vdupq_n_s8(flip);
    for (; n >= OX_MVE_BYTES; n -= OX_MVE_BYTES, x += 4 * OX_MVE_BYTES, w += OX_MVE_BYTES) {
        const int8x16_t by = veorq_s8(vldrbq_s8(w), turn);
        a = vmladavaq_s8(a, vldrbq_s8(x), by);
        b = vmladavaq_s8(b, vldrbq_s8(x + OX_MVE_BYTES), by);
        c = vmladavaq_s8(c, vldrbq_s8(x + 2 * OX_MVE_BYTES), by);
        d = vmladavaq_s8(d, vldrbq_s8(x + 3 * OX_MVE_BYTES), by);
    }
    if (n) {
        const mve_pred16_t there = vctp8q((uint32_t)n);
        const int8x16_t by = veorq_s8(vldrbq_z_s8(w, there), turn);
        a = vmladavaq_p_s8(a, vldrbq_s8(x), by, there);
        b = vmladavaq_p_s8(b, vldrbq_s8(x + OX_MVE_BYTES), by, there);
        c = vmladavaq_p_s8(c, vldrbq_s8(x + 2 * OX_MVE_BYTES), by, there);
        d = vmladavaq_p_s8(d, vldrbq_s8(x + 3 * OX_MVE_BYTES), by, there);
    }
    const int32_t all[] = {a, b, c, d};
    return vldrwq_s32(all);
}

/* Stores `count` of four sums as bytes, as ox_requantize_one makes them. */
static inline void ox_mve_store(const ox_requantizer *q, const ox_channel_scales *s, ptrdiff_t channel, int32x4_t sums,
                                ptrdiff_t count, uint8_t *to) {
    const mve_pred16_t there = vctp32q((uint32_t)count);
    const int32x4_t upper = vaddq_n_s32(vmulhq_s32(sums, vdupq_n_s32(q->factor)), (int32_t)q->half);
    int32x4_t value = vshlq_r_s32(upper, -(int32_t)q->shift);
    const mve_pred16_t unsure = vcmpeqq_m_n_s32(vandq_s32(upper, vdupq_n_s32((int32_t)q->mask)), 0, there);
    if (__builtin_expect(unsure, 0)) {
        int32_t of[4], values[4];
        vstrwq_s32(of, sums);
        vstrwq_s32(values, value);
        for (int i = 0; i < 4; i++)
            if (unsure >> (4 * i) & 1)
                values[i] = ox_requantize_surely(s, channel, of[i]);
        value = vldrwq_s32(values);
    }
    value = vminq_s32(vmaxq_s32(value, vdupq_n_s32(INT8_MIN)), vdupq_n_s32(INT8_MAX));
    vstrbq_p_s32((int8_t *)to, veorq_s32(value, vdupq_n_s32((int32_t)(s->flip & 0xff))), there);
}
#endif

#endif
