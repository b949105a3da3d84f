/* mve.h: vectors of bytes on processors with Helium (Cortex-M55 and the like): sums of products, bytes widened, and
 * four sums made bytes at a time. */
#ifndef OX_BARE_MVE_H
#define OX_BARE_MVE_H

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE & 1
#define OX_MVE 1
#define OX_MVE_FLOATS (__ARM_FEATURE_MVE >> 1 & 1)
#else
#define OX_MVE 0
#define OX_MVE_FLOATS 0
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

/* n bytes, whose bits are turned by `turn`, less `off`. */
static inline void ox_mve_widen(const void *from, ptrdiff_t n, uint8_t turn, int32_t off, int16_t *to) {
    const uint8_t *x = from;
    const uint16x8_t turns = vdupq_n_u16(turn);
#if defined(__OPTIMIZE__)
    __asm__ volatile(
        "wlstp.16 lr, %[n], 2f\n"
        "1:\n"
        "vldrb.u16 q0, [%[x]], #8\n veor q0, q0, %q[turns]\n vsub.i16 q0, q0, %[off]\n vstrh.16 q0, [%[to]], #16\n"
        "letp lr, 1b\n"
        "2:\n"
        : [x] "+r"(x), [to] "+r"(to)
        : [n] "r"(n), [turns] "w"(turns), [off] "r"(off)
        : "q0", "lr", "cc", "memory");
#else
    for (; n > 0; n -= OX_MVE_PAIRS, x += OX_MVE_PAIRS, to += OX_MVE_PAIRS) {
        const mve_pred16_t there = vctp16q((uint32_t)n);
        const uint16x8_t wide = vsubq_n_u16(veorq_u16(vldrbq_z_u16(x, there), turns), (uint16_t)off);
        vstrhq_p_u16((uint16_t *)(void *)to, wide, there);
    }
#endif
}

/* n bytes with their bits turned. */
static inline const int8_t *ox_mve_turn(const void *from, ptrdiff_t n, uint8_t turn, int8_t *to) {
    const uint8_t *x = from;
    for (ptrdiff_t at = 0; at < n; at += OX_MVE_BYTES) {
        const mve_pred16_t there = vctp8q((uint32_t)(n - at));
        vstrbq_p_u8((uint8_t *)to + at, veorq_u8(vldrbq_z_u8(x + at, there), vdupq_n_u8(turn)), there);
    }
    return to;
}

static inline void ox_mve_clear(int16_t *to, ptrdiff_t n) {
    for (; n >= OX_MVE_PAIRS; n -= OX_MVE_PAIRS, to += OX_MVE_PAIRS)
        vstrhq_s16(to, vdupq_n_s16(0));
    if (n > 0)
        vstrhq_p_s16(to, vdupq_n_s16(0), vctp16q((uint32_t)n));
}

/* Four sums that begin with `more`: of products of n bytes of w and of four columns, which lie vector by vector in
 * turns and can be read up to whole ones. The loop ends itself within a vector, which compilers do not make it do. */
#if defined(__OPTIMIZE__)
static inline int32x4_t ox_mve_multiply(const int8_t *x, const int8_t *w, ptrdiff_t n, int32_t more) {
    int32_t a = more, b = more, c = more, d = more;
    int32x4_t sums;
    __asm__("wlstp.8 lr, %[n], 2f\n"
            "1:\n"
            "vldrb.8 q0, [%[w]], #16\n vldrb.8 q1, [%[x]], #16\n vmladava.s8 %[a], q0, q1\n"
            "vldrb.8 q1, [%[x]], #16\n vmladava.s8 %[b], q0, q1\n"
            "vldrb.8 q1, [%[x]], #16\n vmladava.s8 %[c], q0, q1\n"
            "vldrb.8 q1, [%[x]], #16\n vmladava.s8 %[d], q0, q1\n"
            "letp lr, 1b\n"
            "2:\n"
            "vmov %q[sums][2], %q[sums][0], %[a], %[c]\n vmov %q[sums][3], %q[sums][1], %[b], %[d]\n"
            : [x] "+r"(x), [w] "+r"(w), [a] "+Te"(a), [b] "+Te"(b), [c] "+Te"(c), [d] "+Te"(d), [sums] "=&w"(sums)
            : [n] "r"(n)
            : "q0", "q1", "lr", "cc", "memory");
    return sums;
}
#else
static inline int32x4_t ox_mve_multiply(const int8_t *x, const int8_t *w, ptrdiff_t n, int32_t more) {
    int32_t sums[4] = {more, more, more, more};
    for (; n > 0; n -= OX_MVE_BYTES, w += OX_MVE_BYTES) {
        const mve_pred16_t there = vctp8q((uint32_t)n);
        const int8x16_t by = vldrbq_z_s8(w, there);
        for (int j = 0; j < 4; j++, x += OX_MVE_BYTES)
            sums[j] = vmladavaq_p_s8(sums[j], vldrbq_s8(x), by, there);
    }
    return vldrwq_s32(sums);
}
#endif

/* The same of weights whose bits are turned by `flip`. */
static inline int32x4_t ox_mve_multiply_turned(const int8_t *x, const int8_t *w, ptrdiff_t n, int8_t flip,
                                               int32_t more) {
    int32_t a = more, b = more, c = more, d = more;
    const int8x16_t turn = vdupq_n_s8(flip);
    for (; n > 0; n -= OX_MVE_BYTES, w += OX_MVE_BYTES, x += 4 * OX_MVE_BYTES) {
        const mve_pred16_t there = vctp8q((uint32_t)n);
        const int8x16_t by = veorq_s8(vldrbq_z_s8(w, there), turn);
        a = vmladavaq_p_s8(a, vldrbq_s8(x), by, there);
        b = vmladavaq_p_s8(b, vldrbq_s8(x + OX_MVE_BYTES), by, there);
        c = vmladavaq_p_s8(c, vldrbq_s8(x + 2 * OX_MVE_BYTES), by, there);
        d = vmladavaq_p_s8(d, vldrbq_s8(x + 3 * OX_MVE_BYTES), by, there);
    }
    return (int32x4_t){a, b, c, d};
}

/* Results of those sums that are `unsure`; the channels of two sums are `step` apart. */
static __attribute__((noinline, unused)) int32x4_t ox_mve_surely(const ox_channel_scales *s, ptrdiff_t channel,
                                                                 ptrdiff_t step, int32x4_t sums, int32x4_t value,
                                                                 mve_pred16_t unsure) {
    int32_t of[4], values[4];
    vstrwq_s32(of, sums);
    vstrwq_s32(values, value);
    for (int i = 0; i < 4; i++, channel += step)
        if (unsure >> (4 * i) & 1)
            values[i] = ox_requantize_surely(s, channel, of[i]);
    return vldrwq_s32(values);
}

/* What makes four sums bytes: the upper halves of their products with the factor, shifted up by as much as leaves the
 * same to shift down for all channels, so that nearly all are sure. Sums that saturate give results that do, too. */
typedef struct ox_mve_scale {
    int32_t factor, up;
    uint32_t half; /* 0, as the factor is: none is sure */
} ox_mve_scale;

enum {
    OX_MVE_DOWN = OX_MOST_SHIFT
};

static inline uint32_t ox_mve_half(const ox_channel_scales *s) {
    return ((uint32_t)(2 * s->zero + 1) << (OX_MVE_DOWN - 1)) + 1;
}

static inline ox_mve_scale ox_mve_scale_of(const ox_channel_scales *s, ptrdiff_t channel) {
    const ox_factor f = ox_factor_of(s, channel);
    return f.shift ? (ox_mve_scale){f.factor, OX_MVE_DOWN - (int32_t)f.shift, ox_mve_half(s)} : (ox_mve_scale){0, 0, 0};
}

static inline mve_pred16_t ox_mve_unsure(int32x4_t upper) {
    return vcmpeqq_s32(vandq_s32(upper, vdupq_n_s32((1 << OX_MVE_DOWN) - 2)), vdupq_n_s32(0));
}
/* Upper halves as signed bytes, those that do not tell by the sums. */
static inline int32x4_t ox_mve_finish(const ox_channel_scales *s, ptrdiff_t channel, ptrdiff_t step, int32x4_t sums,
                                      int32x4_t upper, mve_pred16_t unsure) {
    int32x4_t value = vshrq_n_s32(upper, OX_MVE_DOWN);
    if (__builtin_expect(unsure != 0, 0))
        value = ox_mve_surely(s, channel, step, sums, value, unsure);
    return vshrq_n_s32(vqshlq_n_s32(value, 24), 24);
}

/* Four sums of a channel as ox_requantize_one makes them bytes, turned by `flip`. */
static inline int32x4_t ox_mve_results(const ox_mve_scale *by, const ox_channel_scales *s, ptrdiff_t channel,
                                       int32x4_t flip, int32x4_t sums) {
    const int32x4_t product = vmulhq_s32(vqshlq_r_s32(sums, by->up), vdupq_n_s32(by->factor));
    const int32x4_t upper = vaddq_n_s32(product, (int32_t)by->half);
    return veorq_s32(ox_mve_finish(s, channel, 0, sums, upper, ox_mve_unsure(upper)), flip);
}

/* What turns results, where all are to be. */
static inline int32x4_t ox_mve_flip(const ox_channel_scales *s) {
    return vdupq_n_s32((int32_t)(s->flip & 0xff));
}

/* Stores the first `count` of four bytes. */
static inline void ox_mve_store(int32x4_t value, ptrdiff_t count, uint8_t *to) {
    if (count >= 4)
        vstrbq_s32((int8_t *)to, value);
    else
        vstrbq_p_s32((int8_t *)to, value, vctp32q((uint32_t)count));
}

/* Stores `count` sums of channels side by side as bytes, by the factors of ox_factor_of. Scales may lie anywhere. */
static inline void ox_mve_store_channels(const ox_channel_scales *s, ptrdiff_t channel, int32x4_t flip, int32x4_t sums,
                                         ptrdiff_t count, uint8_t *to) {
    const mve_pred16_t there = vctp32q((uint32_t)count);
    const uint32x4_t scale = s->step ? vreinterpretq_u32_u8(vldrbq_z_u8((const uint8_t *)(s->w + channel), there))
                                     : vdupq_n_u32(ox_word_at(s->w));
    const uint32x4_t exponent = vshrq_n_u32(scale, 23); /* with the sign */
    const uint32x4_t digits = vorrq_u32(vshlq_n_u32(scale, 8), vdupq_n_u32(0x80000000));
    const uint32x4_t product = vmulhq_u32(digits, vdupq_n_u32(s->ratio)), top = vshrq_n_u32(product, 31);
    const int32x4_t factor = vreinterpretq_s32_u32(vshlq_u32(product, vnegq_s32(vreinterpretq_s32_u32(top))));
    const uint32x4_t up =
        vaddq_n_u32(vaddq_u32(exponent, top), (uint32_t)s->exponent + OX_MVE_DOWN + 32 + 24 - 127 - 23);
    mve_pred16_t known = vcmphiq_u32(vdupq_n_u32(OX_MVE_DOWN - OX_LEAST_SHIFT + 1), up);
    known = vcmphiq_m_u32(vdupq_n_u32(254), vsubq_n_u32(exponent, 1), known);
    const int32x4_t raised = vqshlq_s32(sums, vreinterpretq_s32_u32(up));
    const int32x4_t upper = vaddq_n_s32(vmulhq_s32(raised, factor), (int32_t)ox_mve_half(s));
    const mve_pred16_t unsure = (mve_pred16_t)(ox_mve_unsure(upper) | (s->ratio ? ~known : 0xffff)) & there;
    vstrbq_p_s32((int8_t *)to, veorq_s32(ox_mve_finish(s, channel, 1, sums, upper, unsure), flip), there);
}

/* Sums of products of n bytes of x and of four rows w, less x's zero point. */
#if defined(__OPTIMIZE__)
#define OX_MVE_TWO(lanes)                                                                                              \
    __asm__("wlstp.8 lr, %[n], 2f\n"                                                                                   \
            "1:\n"                                                                                                     \
            "vldrb.8 q0, [%[x]], #16\n"                                                                                \
            "vldrb.8 q1, [%[w]], #16\n vmladava.s8 %[a], q0, q1\n vaddva.s8 %[more], q1\n"                             \
            "vldrb.8 q1, [%[other]], #16\n vmladava.s8 %[b], q0, q1\n vaddva.s8 %[others], q1\n"                       \
            "letp lr, 1b\n"                                                                                            \
            "2:\n" lanes("%q[sums]", "%[a], %[b]") lanes("%q[weights]", "%[more], %[others]")                          \
            : [x] "+r"(from), [w] "+r"(w), [other] "+r"(other), [a] "+Te"(a), [b] "+Te"(b), [more] "+Te"(more),        \
              [others] "+Te"(others), [sums] "+w"(sums), [weights] "+w"(weights)                                       \
            : [n] "r"(n)                                                                                               \
            : "q0", "q1", "lr", "cc", "memory")
#define OX_MVE_EVEN(q, of) "vmov " q "[2], " q "[0], " of "\n"
#define OX_MVE_ODD(q, of) "vmov " q "[3], " q "[1], " of "\n"
static inline int32x4_t ox_mve_dots(const int8_t *x, const int8_t *const rows[4], ptrdiff_t n, int32_t zero) {
    int32x4_t sums = vuninitializedq_s32(), weights = vuninitializedq_s32();
    const int8_t *from = x, *w = rows[0], *other = rows[2];
    int32_t a = 0, b = 0, more = 0, others = 0;
    OX_MVE_TWO(OX_MVE_EVEN);
    from = x, w = rows[1], other = rows[3];
    a = 0, b = 0, more = 0, others = 0;
    OX_MVE_TWO(OX_MVE_ODD);
    return vmlaq_n_s32(sums, weights, -zero);
}
#undef OX_MVE_TWO
#undef OX_MVE_EVEN
#undef OX_MVE_ODD
#else
static inline int32x4_t ox_mve_dots(const int8_t *x, const int8_t *const rows[4], ptrdiff_t n, int32_t zero) {
    int32_t sums[4] = {0};
    for (int i = 0; i < 4; i++)
        for (ptrdiff_t at = 0; at < n; at++)
            sums[i] = ox_plus(sums[i], (x[at] - zero) * rows[i][at]);
    return vldrwq_s32(sums);
}
#endif
#endif

#endif
