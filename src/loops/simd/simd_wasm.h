/* simd_wasm.h: what WebAssembly's vectors of 128 bits have of the names in intrinsics.h. */
#ifndef OX_LOOPS_SIMD_WASM_H
#define OX_LOOPS_SIMD_WASM_H

#include <wasm_simd128.h>

#include "simd_types.h"

/* ---- The greater and the smaller of each two ------------------------------------------------------------------- */

/* pmax(x, y) is x < y ? y : x, and pmin y < x ? y : x. */
#define ox_greatest ox_greatest
static inline ox_reals ox_greatest(ox_reals a, ox_reals b) {
    return (ox_reals)wasm_f32x4_pmax((v128_t)b, (v128_t)a);
}
static inline ox_reals ox_smallest(ox_reals a, ox_reals b) {
    return (ox_reals)wasm_f32x4_pmin((v128_t)b, (v128_t)a);
}

#define ox_greatest_u8 ox_greatest_u8
static inline ox_u8s ox_greatest_u8(ox_u8s a, ox_u8s b) {
    return (ox_u8s)wasm_u8x16_max((v128_t)a, (v128_t)b);
}

#define ox_greatest_i8 ox_greatest_i8
static inline ox_i8s ox_greatest_i8(ox_i8s a, ox_i8s b) {
    return (ox_i8s)wasm_i8x16_max((v128_t)a, (v128_t)b);
}

#define ox_greater_floats ox_greater_floats
static inline ox_floats ox_greater_floats(ox_floats a, ox_floats b) {
    return (ox_floats)ox_greatest((ox_reals)a, (ox_reals)b);
}
static inline ox_floats ox_lesser_floats(ox_floats a, ox_floats b) {
    return (ox_floats)ox_smallest((ox_reals)a, (ox_reals)b);
}

/* ---- Conversions ----------------------------------------------------------------------------------------------- */

#define ox_load_words ox_load_words
static inline ox_words ox_load_words(const void *from) {
    return (ox_words)wasm_u32x4_load16x4(from);
}

/* ---- Sums of products ------------------------------------------------------------------------------------------ */

#define ox_dot ox_dot
static inline ox_dot_lanes ox_dot(ox_dot_lanes sum, ox_dot_lanes a, ox_dot_lanes b) {
    return sum + (ox_dot_lanes)wasm_i32x4_dot_i16x8((v128_t)a, (v128_t)b);
}

#define ox_dot_load ox_dot_load
static inline ox_dot_lanes ox_dot_load(const void *bytes) {
    return (ox_dot_lanes)wasm_i16x8_load8x8(bytes);
}

/* No instruction multiplies and adds. */
#define OX_ROUND_NOW(value) (void)(value)

#endif
