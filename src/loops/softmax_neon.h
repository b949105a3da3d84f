/* softmax_neon.h: Softmax of a row of floats by NEON's vectors, of which compilers would keep those of partial results
 * in memory. The greater of two floats is NaN where one of them is. */
#ifndef OX_LOOPS_SOFTMAX_NEON_H
#define OX_LOOPS_SOFTMAX_NEON_H

#include <arm_neon.h>

enum {
    ROW_VECTORS = PARTS / 4
};

/* ox_expf of what is not above 0. */
static inline __attribute__((always_inline)) float32x4_t exp_below(float32x4_t x) {
    const float32x4_t round = vdupq_n_f32(OX_ROUND);
    x = vmaxq_f32(x, vdupq_n_f32(ox_exp_limits[0]));
    const float32x4_t rounded = vfmaq_f32(round, x, vdupq_n_f32(0.72134752f)), n = vsubq_f32(rounded, round);
    const float32x4_t r = vfmaq_f32(vfmsq_f32(x, n, vdupq_n_f32(2 * 0.693359375f)), n, vdupq_n_f32(2 * 2.12194440e-4f));
    const float32x4_t square = vmulq_f32(r, r),
                      power = vreinterpretq_f32_s32(vshlq_n_s32(vreinterpretq_s32_f32(rounded), 23));
    float32x4_t q = vfmaq_f32(vdupq_n_f32(0.00141044707f), r, vdupq_n_f32(0.000196115998f));
    q = vfmaq_f32(vfmaq_f32(vdupq_n_f32(0.0416612684f), r, vdupq_n_f32(0.00833610317f)), q, square);
    q = vfmaq_f32(vfmaq_f32(vdupq_n_f32(0.500000346f), r, vdupq_n_f32(0.166666141f)), q, square);
    return vmulq_f32(vmulq_f32(vfmaq_f32(vaddq_f32(r, vdupq_n_f32(1)), q, square), power), power);
}

/* Floats may lie anywhere. */
static inline float32x4_t load_floats(const f32 *from) {
    return vreinterpretq_f32_u8(vld1q_u8((const uint8_t *)from));
}
static inline void store_floats(f32 *to, float32x4_t floats) {
    vst1q_u8((uint8_t *)to, vreinterpretq_u8_f32(floats));
}

static inline void row_greatest(const f32 *x, float32x4_t *greatest) {
    OX_UNROLLED for (int v = 0; v < ROW_VECTORS; v++) greatest[v] = vmaxq_f32(greatest[v], load_floats(x + 4 * v));
}

static inline __attribute__((always_inline)) void row_exponentials(const f32 *x, f32 *o, float32x4_t most,
                                                                   float32x4_t *added) {
    OX_UNROLLED for (int v = 0; v < ROW_VECTORS; v++) {
        const float32x4_t power = exp_below(vsubq_f32(load_floats(x + 4 * v), most));
        store_floats(o + 4 * v, power);
        added[v] = vaddq_f32(added[v], power);
    }
}

/* The sum of what was added up so far, which begins anew. */
static inline double row_sum(float32x4_t *added) {
    float64x2_t sum = vdupq_n_f64(0);
    OX_UNROLLED for (int v = 0; v < ROW_VECTORS; v++) {
        sum = vaddq_f64(sum, vaddq_f64(vcvt_f64_f32(vget_low_f32(added[v])), vcvt_high_f64_f32(added[v])));
        added[v] = vdupq_n_f32(0);
    }
    return vaddvq_f64(sum);
}

static void row_f32(int64_t n, const f32 *x, f32 *o) {
    const int64_t whole = n & -(int64_t)PARTS;
    float rest[PARTS];
    float32x4_t greatest[ROW_VECTORS], added[ROW_VECTORS];
    double sum = 0;
    OX_UNROLLED for (int v = 0; v < ROW_VECTORS; v++) {
        vst1q_f32(rest + 4 * v, vdupq_n_f32(-INFINITY)); /* neither the greatest, nor a part of the sum */
        greatest[v] = vdupq_n_f32(-INFINITY), added[v] = vdupq_n_f32(0);
    }
    memcpy(rest, x + whole, (size_t)(n - whole) * sizeof *rest);
    row_greatest(rest, greatest);
    for (int64_t i = 0; i < whole; i += PARTS)
        row_greatest(x + i, greatest);
    OX_UNROLLED for (int v = 1; v < ROW_VECTORS; v++) greatest[0] = vmaxq_f32(greatest[0], greatest[v]);
    const float32x4_t most = vdupq_n_f32(vmaxvq_f32(greatest[0]));
    for (int64_t from = 0, end; from < whole; from = end) {
        end = whole - from < ADDED ? whole : from + ADDED;
        for (int64_t i = from; i < end; i += PARTS)
            row_exponentials(x + i, o + i, most, added);
        sum += row_sum(added);
    }
    if (n > whole) {
        row_exponentials(rest, rest, most, added);
        sum += row_sum(added);
    }
    const float32x4_t share = vdupq_n_f32((float)(1 / sum));
    for (int64_t i = 0; i < whole; i += PARTS)
        OX_UNROLLED for (int v = 0; v < ROW_VECTORS; v++)
            store_floats(o + i + 4 * v, vmulq_f32(load_floats(o + i + 4 * v), share));
    OX_UNROLLED for (int v = 0; v < ROW_VECTORS; v++)
        vst1q_f32(rest + 4 * v, vmulq_f32(vld1q_f32(rest + 4 * v), share));
    memcpy(o + whole, rest, (size_t)(n - whole) * sizeof *rest);
}

#endif
