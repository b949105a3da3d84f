/* half.h: float16 and bfloat16 to float, and back with one rounding to nearest even. */
#ifndef OX_HALF_H
#define OX_HALF_H

#include "dtype.h"

#include <string.h>

static inline __attribute__((always_inline)) float ox_float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline __attribute__((always_inline)) uint32_t ox_bits_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline __attribute__((always_inline)) float ox_float_from_half(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, magnitude = (uint32_t)(bits & 0x7fff) << 13;
    /* Scaling by 2^112 turns half subnormals into normal floats; infinities and NaN want the full exponent. */
    float scaled = ox_float_of_bits(magnitude) * 0x1p112f;
    uint32_t special = (bits & 0x7c00) == 0x7c00 ? 0x7f800000u | (magnitude & 0x7fffff) : ox_bits_of_float(scaled);
    return ox_float_of_bits(sign | special);
}

static inline __attribute__((always_inline)) uint16_t ox_half_from_float(float value) {
    uint32_t bits = ox_bits_of_float(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    /* Adding a power of two whose last place is the half's rounds to nearest even, in the processor's own way. */
    uint32_t subnormal = ox_bits_of_float(ox_float_of_bits(magnitude) + 0.5f) - 0x3f000000u;
    uint32_t normal = (magnitude + 0xc8000fffu + (magnitude >> 13 & 1)) >> 13;
    uint32_t result = magnitude < 0x38800000u ? subnormal : normal;
    result = magnitude >= 0x47800000u ? 0x7c00u : result;
    result = magnitude > 0x7f800000u ? 0x7e00u : result;
    return (uint16_t)(sign | result);
}

static inline __attribute__((always_inline)) float ox_float_from_bf16(uint16_t bits) {
    return ox_float_of_bits((uint32_t)bits << 16);
}

static inline __attribute__((always_inline)) uint16_t ox_bf16_from_float(float value) {
    uint32_t bits = ox_bits_of_float(value), rounded = bits + 0x7fffu + (bits >> 16 & 1);
    return (uint16_t)((value != value ? bits | 0x400000u : rounded) >> 16);
}

#endif
