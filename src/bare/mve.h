/* mve.h: vectors of bytes on processors with Helium (Cortex-M55 and the like): sums of products, bytes widened, and
 * four sums made bytes at a time. */
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
#include <stdbool.h>

enum {
    OX_MVE_BYTES = 16, /* of a vector */
    OX_MVE_PAIRS = 8   /* numbers of 16 bits */
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

/* Eight bytes, whose bits are turned by `turn`, less `off`. */
static inline uint16x8_t ox_mve_wide(uint16x8_t bytes, uint8_t turn, int32_t off) {
    return vsubq_n_u16(veorq_u16(bytes, vdupq_n_u16(turn)), (uint16_t)off);
}
static inline void ox_mve_widen(const void *from, ptrdiff_t n, uint8_t turn, int32_t off, int16_t *to) {
    const uint8_t *x = from;
    uint16_t *at = (uint16_t *)(void *)to;
    for (; n >= OX_MVE_PAIRS; n -= OX_MVE_PAIRS, x += OX_MVE_PAIRS, at += OX_MVE_PAIRS)
        vstrhq_u16(at, ox_mve_wide(vldrbq_u16(x), turn, off));
    if (n > 0) {
        const mve_pred16_t there = vctp16q((uint32_t)n);
        vstrhq_p_u16(at, ox_mve_wide(vldrbq_z_u16(x, there), turn, off), there);
    }
}

static inline void ox_mve_clear(int16_t *to, ptrdiff_t n) {
    for (; n >= OX_MVE_PAIRS; n -= OX_MVE_PAIRS, to += OX_MVE_PAIRS)
        vstrhq_s16(to, vdupq_n_s16(0));
    if (n > 0)
        vstrhq_p_s16(to, vdupq_n_s16(0), vctp16q((uint32_t)n));
}

/* Four sums that begin with `more`: of products of n bytes of w, turned by `flip` if `turned`, a constant where this is
 * inlined, and of four columns, which lie vector by vector in turns and can be read up to whole ones. */
static inline __attribute__((always_inline)) int32x4_t ox_mve_multiply(const int8_t *x, const int8_t *w, ptrdiff_t n,
                                                                       const bool turned, int8_t flip, int32_t more) {
    int32_t a = more, b = more, c = more, d = more;
    for (ptrdiff_t left = n / OX_MVE_BYTES; left; left--, x += 4 * OX_MVE_BYTES, w += OX_MVE_BYTES) {
        int8x16_t by = vldrbq_s8(w);
        if (turned)
            by = veorq_s8(by, vdupq_n_s8(flip));
        a = vmladavaq_s8(a, vldrbq_s8(x), by);
        b = vmladavaq_s8(b, vldrbq_s8(x + OX_MVE_BYTES), by);
        c = vmladavaq_s8(c, vldrbq_s8(x + 2 * OX_MVE_BYTES), by);
        d = vmladavaq_s8(d, vldrbq_s8(x + 3 * OX_MVE_BYTES), by);
    }
    if (n & (OX_MVE_BYTES - 1)) {
        const mve_pred16_t there = vctp8q((uint32_t)(n & (OX_MVE_BYTES - 1)));
        int8x16_t by = vldrbq_z_s8(w, there);
        if (turned)
            by = veorq_s8(by, vdupq_n_s8(flip));
        a = vmladavaq_p_s8(a, vldrbq_s8(x), by, there);
        b = vmladavaq_p_s8(b, vldrbq_s8(x + OX_MVE_BYTES), by, there);
        c = vmladavaq_p_s8(c, vldrbq_s8(x + 2 * OX_MVE_BYTES), by, there);
        d = vmladavaq_p_s8(d, vldrbq_s8(x + 3 * OX_MVE_BYTES), by, there);
    }
    const int32_t all[] = {a, b, c, d};
    return vldrwq_s32(all);
}

/* Results of those of the first `count` sums that are `unsure`. */
static inline int32x4_t ox_mve_surely(const ox_channel_scales *s, ptrdiff_t channel, int32x4_t sums, int32x4_t value,
                                      mve_pred16_t unsure, ptrdiff_t count) {
    int32_t of[4], values[4];
    vstrwq_s32(of, sums);
    vstrwq_s32(values, value);
    for (int i = 0; i < 4 && i < count; i++)
        if (unsure >> (4 * i) & 1)
            values[i] = ox_requantize_surely(s, channel, of[i]);
    return vldrwq_s32(values);
}

/* Stores `count` of four sums as bytes, as ox_requantize_one makes them. */
static inline void ox_mve_store(const ox_requantizer *q, const ox_channel_scales *s, ptrdiff_t channel, int32x4_t sums,
                                ptrdiff_t count, uint8_t *to) {
    const int32x4_t upper = vaddq_n_s32(vmulhq_s32(sums, vdupq_n_s32(q->factor)), (int32_t)q->half);
    int32x4_t value = vshlq_r_s32(upper, -(int32_t)q->shift);
    const mve_pred16_t unsure = vcmpeqq_s32(vandq_s32(upper, vdupq_n_s32((int32_t)q->mask)), vdupq_n_s32(0));
    if (__builtin_expect(unsure != 0, 0))
        value = ox_mve_surely(s, channel, sums, value, unsure, count);
    value = vshrq_n_s32(vqshlq_n_s32(value, 24), 24);
    value = veorq_s32(value, vdupq_n_s32((int32_t)(s->flip & 0xff)));
    if (count >= 4)
        vstrbq_s32((int8_t *)to, value);
    else
        vstrbq_p_s32((int8_t *)to, value, vctp32q((uint32_t)count));
}
#endif

#endif
