/* simd_neon.h: what NEON has of the names in intrinsics.h. */
#ifndef OX_LOOPS_SIMD_NEON_H
#define OX_LOOPS_SIMD_NEON_H

#include <arm_neon.h>

#if defined(__ARM_FEATURE_DOTPROD)
#define OX_DOT_VALUES 4
#endif
#include "simd_types.h"

/* ---- The greater and the smaller of each two ------------------------------------------------------------------- */

/* Instructions for the greater of two floats give a NaN where one of them is; these pick one of two. */
#define ox_greatest ox_greatest
static inline ox_reals ox_greatest(ox_reals a, ox_reals b) {
    return (ox_reals)vbslq_f32(vcgtq_f32((float32x4_t)a, (float32x4_t)b), (float32x4_t)a, (float32x4_t)b);
}
static inline ox_reals ox_smallest(ox_reals a, ox_reals b) {
    return (ox_reals)vbslq_f32(vcltq_f32((float32x4_t)a, (float32x4_t)b), (float32x4_t)a, (float32x4_t)b);
}

#define ox_greatest_u8 ox_greatest_u8
static inline ox_u8s ox_greatest_u8(ox_u8s a, ox_u8s b) {
    return (ox_u8s)vmaxq_u8((uint8x16_t)a, (uint8x16_t)b);
}

#define ox_greatest_i8 ox_greatest_i8
static inline ox_i8s ox_greatest_i8(ox_i8s a, ox_i8s b) {
    return (ox_i8s)vmaxq_s8((int8x16_t)a, (int8x16_t)b);
}

#define ox_greater_floats ox_greater_floats
static inline ox_floats ox_greater_floats(ox_floats a, ox_floats b) {
    return (ox_floats)ox_greatest((ox_reals)a, (ox_reals)b);
}
static inline ox_floats ox_lesser_floats(ox_floats a, ox_floats b) {
    return (ox_floats)ox_smallest((ox_reals)a, (ox_reals)b);
}

/* ---- Conversions ----------------------------------------------------------------------------------------------- */

/* As in simd_x86.h. */
#define OX_HALF_VECTOR 4
static inline void ox_widen_vector(void *to, const void *from) {
    vst1q_f32(to, vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(from))));
}
static inline void ox_narrow_vector(void *to, const void *from) {
    vst1_u8(to, vreinterpret_u8_f16(vcvt_f16_f32(vld1q_f32(from))));
}
#define ox_narrow_past ox_narrow_vector
#define OX_HALF_WIDEST OX_HALF_VECTOR
#define ox_widen_widest ox_widen_vector
#define ox_narrow_widest ox_narrow_vector

#define ox_load_words ox_load_words
static inline ox_words ox_load_words(const void *from) {
    return (ox_words)vmovl_u16(vreinterpret_u16_u8(vld1_u8(from)));
}

#define ox_turn_words ox_turn_words
static inline void ox_turn_words(ox_words *rows) {
    const uint32x4_t a = (uint32x4_t)rows[0], b = (uint32x4_t)rows[1], c = (uint32x4_t)rows[2], d = (uint32x4_t)rows[3];
    const uint64x2_t even = (uint64x2_t)vtrn1q_u32(a, b), odd = (uint64x2_t)vtrn2q_u32(a, b);
    const uint64x2_t evens = (uint64x2_t)vtrn1q_u32(c, d), odds = (uint64x2_t)vtrn2q_u32(c, d);
    rows[0] = (ox_words)vtrn1q_u64(even, evens);
    rows[1] = (ox_words)vtrn1q_u64(odd, odds);
    rows[2] = (ox_words)vtrn2q_u64(even, evens);
    rows[3] = (ox_words)vtrn2q_u64(odd, odds);
}

/* ---- Sums of products ------------------------------------------------------------------------------------------ */

#define ox_dot ox_dot
static inline ox_dot_lanes ox_dot(ox_dot_lanes sum, ox_dot_lanes a, ox_dot_lanes b) {
#if defined(__ARM_FEATURE_MATMUL_INT8)
    return (ox_dot_lanes)vusdotq_s32((int32x4_t)sum, (uint8x16_t)a, (int8x16_t)b);
#elif defined(__ARM_FEATURE_DOTPROD) /* a - 128 is signed, and 128 is twice a signed 64 */
    const int8x16_t half = vdupq_n_s8(64), low = (int8x16_t)veorq_u8((uint8x16_t)a, vdupq_n_u8(0x80));
    const int32x4_t twice = vdotq_s32(vdotq_s32((int32x4_t)sum, (int8x16_t)b, half), (int8x16_t)b, half);
    return (ox_dot_lanes)vdotq_s32(twice, low, (int8x16_t)b);
#else
    const int16x8_t x = (int16x8_t)a, y = (int16x8_t)b;
    return sum + (ox_dot_lanes)vpaddq_s32(vmull_s16(vget_low_s16(x), vget_low_s16(y)), vmull_high_s16(x, y));
#endif
}

#if OX_DOT_VALUES == 2
#define ox_dot_load ox_dot_load
static inline ox_dot_lanes ox_dot_load(const void *bytes) {
    return (ox_dot_lanes)vmovl_s8(vreinterpret_s8_u8(vld1_u8(bytes)));
}
#endif

/* ---- Tables of bytes --------------------------------------------------------------------------------------------- */

/* An instruction picks from 64 entries, and leaves a byte alone that names none of them. */
#define OX_BYTES_LOOKED_UP 16
typedef struct ox_byte_parts {
    uint8x16x4_t parts[4];
} ox_byte_parts;
static inline void ox_byte_parts_read(ox_byte_parts *p, const void *table) {
    OX_UNROLLED for (int k = 0; k < 16; k++) p->parts[k / 4].val[k % 4] = vld1q_u8((const uint8_t *)table + 16 * k);
}
static inline void ox_look_up(const ox_byte_parts *p, const void *from, void *to) {
    uint8x16_t at = vld1q_u8(from), found = vqtbl4q_u8(p->parts[0], at);
    OX_UNROLLED for (int k = 1; k < 4; k++) {
        at = vsubq_u8(at, vdupq_n_u8(64));
        found = vqtbx4q_u8(found, p->parts[k], at);
    }
    vst1q_u8(to, found);
}

#define OX_ROUND_NOW(value) __asm__("" : "+w"(value))

#endif
