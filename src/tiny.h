/* tiny.h: conversion of the floating types of one byte and less to float, and back with one rounding to nearest even,
 * as branch-free code that compilers vectorize. */
#ifndef OX_TINY_H
#define OX_TINY_H

#include "half.h"

/* Sign, exponent and mantissa of the types that fit one byte; `top` is the largest finite code without sign. */
typedef struct ox_tiny {
    int exponent_bits, mantissa_bits, bias;
    uint8_t top;
    uint8_t infinity, nan; /* codes, 0 if the type has none */
} ox_tiny;

/* NULL for other types, float8e8m0 among them. */
const ox_tiny *ox_tiny_of(ox_dtype dtype);

static inline __attribute__((always_inline)) float ox_float_from_tiny(const ox_tiny *f, uint32_t code) {
    const uint32_t sign_bit = 1u << (f->exponent_bits + f->mantissa_bits), magnitude = code & (sign_bit - 1);
    const uint32_t sign = (code & sign_bit) << (31 - f->exponent_bits - f->mantissa_bits);
    const uint32_t one = (uint32_t)(127 - f->bias) << 23, bits = (magnitude << (23 - f->mantissa_bits)) + one;
    /* Without the implicit bit of a normal float: one is added to the exponent, and what that stands for taken off. */
    const float subnormal = ox_float_of_bits(bits + (1u << 23)) - ox_float_of_bits(one + (1u << 23));
    uint32_t result = magnitude >> f->mantissa_bits ? bits : ox_bits_of_float(subnormal);
    result = magnitude > f->top ? (magnitude == f->infinity ? 0x7f800000u : 0x7fc00000u) : result;
    result = f->nan == sign_bit && code == sign_bit ? 0x7fc00000u : result;
    return ox_float_of_bits(result | sign);
}

/* The code, without sign, of what is too large: the largest value, or with `overflow` infinity or NaN. */
static inline uint32_t ox_tiny_beyond(const ox_tiny *f, bool overflow) {
    return !overflow || !f->nan ? f->top : f->infinity ? f->infinity : f->nan;
}

/* The code of a value; ox_tiny_beyond returns `beyond`. For types without NaN, NaN becomes -0: its sign is ignored,
 * because it depends on the loop that produced it. */
static inline __attribute__((always_inline)) uint32_t ox_tiny_from_float(const ox_tiny *f, uint32_t beyond,
                                                                         float value) {
    const int shift = 23 - f->mantissa_bits, width = f->exponent_bits + f->mantissa_bits;
    const uint32_t sign_bit = 1u << width, sign_of_zero = sign_bit & ~(uint32_t)f->nan; /* none if its code is NaN's */
    const uint32_t one = (uint32_t)(127 - f->bias) << 23;
    const uint32_t bits = ox_bits_of_float(value), absolute = bits & 0x7fffffff;
    /* Adding a power of two whose last place is that of the subnormals rounds to nearest even. */
    const uint32_t power = (uint32_t)(127 + 24 - f->bias - f->mantissa_bits) << 23;
    const uint32_t subnormal = ox_bits_of_float(ox_float_of_bits(absolute) + ox_float_of_bits(power)) - power;
    const uint32_t normal = (absolute - one + (1u << (shift - 1)) - 1 + (absolute >> shift & 1)) >> shift;
    uint32_t magnitude = absolute < one + (1u << 23) ? subnormal : normal, sign = bits >> 31 << width;
    magnitude = magnitude > f->top ? beyond : magnitude;
    magnitude = absolute > 0x7f800000u ? f->nan : magnitude;
    sign = absolute > 0x7f800000u && !f->nan ? sign_bit : sign;
    return magnitude | (sign & (magnitude ? sign_bit : sign_of_zero));
}

#endif
