/* lane_math.h: exp, log, sigmoid, tanh, erf and Gelu of floats, as straight-line code that compilers turn into whole
 * vectors. Each is within 4 units in the last place, Gelu within 8 (tests/unit/test_math.c); tests/math/fit.py finds
 * the coefficients. */
#ifndef OX_LOOPS_LANE_MATH_H
#define OX_LOOPS_LANE_MATH_H

#include "half.h"
#include "loops/simd/intrinsics.h"

#include <math.h>

/* a * b + c, with one rounding where the processor does that in one instruction. */
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define OX_FUSED_MAD
#define OX_MAD(a, b, c) _Generic(a, float : __builtin_fmaf, default : __builtin_fma)(a, b, c)
#else
#define OX_MAD(a, b, c) ((a) * (b) + (c))
#endif

/* Added to a float of at most 22 bits before the point, it rounds to an integer n, and n + 127 then stands in the low
 * bits: shifted up, those are 2^n. */
#define OX_ROUND (0x1.8p23f + 127)

/* 2^n of a float that OX_ROUND was added to. */
static inline __attribute__((always_inline)) float ox_power_of_two(float rounded) {
    return ox_float_of_bits(ox_bits_of_float(rounded) << 23);
}

/* Limits of arguments, the lower one first. Compilers clamp by two instructions where they do not know them. */
extern const float ox_exp_limits[2], ox_sigmoid_limits[2], ox_unit_limits[2];
extern const float ox_tanh_most;  /* where the hyperbolic tangent has reached 1 */
extern const float ox_erf_most;   /* where the error function has reached 1 */
extern const float ox_gelu_least; /* what the normal distribution is 0 at, in float, below zero */
extern const float ox_erf_table[6][OX_PLACES], ox_gelu_table[6][OX_PLACES];
extern const uint32_t ox_root_table[OX_PLACES]; /* the bits of 2^(64 + i / 16), less i in their place */

/* x between the limits; NaN stays. */
static inline __attribute__((always_inline)) float ox_clamped(float x, const float limits[2]) {
    x = limits[1] < x ? limits[1] : x;
    return x < limits[0] ? limits[0] : x;
}

/* Polynomials are summed by pairs of terms, which do not wait for each other: a processor looks ahead for other
 * elements to compute meanwhile, but not far. */

/* (e^r - 1 - r) / r^2 for r between the halves of -ln 2 and ln 2. */
static inline __attribute__((always_inline)) float ox_exp_rest(float r, float square) {
    float high = OX_MAD(0.00138825098f, square, OX_MAD(0.0083665475f, r, 0.0416672008f));
    return OX_MAD(high, square, OX_MAD(0.166665434f, r, 0.499999981f));
}

/* e^x: x = 2 n ln 2 + r, and e^x is e^r 2^n 2^n, so that results below the normal floats are rounded once. */
static inline __attribute__((always_inline)) float ox_expf(float x) {
    x = ox_clamped(x, ox_exp_limits);
    float rounded = OX_MAD(x, 0.72134752f, OX_ROUND), n = rounded - OX_ROUND;
    float r = OX_MAD(n, -2 * 0.693359375f, x);
    r = OX_MAD(n, 2 * 2.12194440e-4f, r);
    float square = r * r, power = ox_power_of_two(rounded);
    float q = OX_MAD(0.000196115998f, r, 0.00141044707f);
    q = OX_MAD(q, square, OX_MAD(0.00833610317f, r, 0.0416612684f));
    q = OX_MAD(q, square, OX_MAD(0.166666141f, r, 0.500000346f));
    return OX_MAD(q, square, r + 1.0f) * power * power;
}

/* 1 / (1 + e^-x) as 2^-64 / (2^-64 + 2^-64 e^-x): the power stays a normal float for all x that matter. */
static inline __attribute__((always_inline)) float ox_sigmoidf(float x) {
    const float round = OX_ROUND - 64;
    x = ox_clamped(x, ox_sigmoid_limits);
    float rounded = OX_MAD(x, -1.44269504f, round), n = rounded - round;
    float r = OX_MAD(n, -0.693359375f, -x);
    r = OX_MAD(n, 2.12194440e-4f, r);
    float square = r * r, p = OX_MAD(ox_exp_rest(r, square), square, r + 1.0f);
    return 0x1p-64f / OX_MAD(p, ox_power_of_two(rounded), 0x1p-64f);
}

/* e^x - 1 for x from -30 to 30, where an error of 1e-8 n in the exponent 2^n does not matter to the caller. */
static inline __attribute__((always_inline)) float ox_expm1_near(float x) {
    float rounded = OX_MAD(x, 1.44269504f, OX_ROUND), n = rounded - OX_ROUND;
    float r = OX_MAD(n, -0.693147182f, x), square = r * r, power = ox_power_of_two(rounded);
    return OX_MAD(OX_MAD(ox_exp_rest(r, square), square, r), power, power - 1.0f);
}

/* tanh x = 2h / (1 + h^2) where h = tanh (x / 2) = n / 2d, and n and d are polynomials: that is nd / (nd + e^2) with
 * e = d - n / 2, and never above 1. What h lacks matters the less, the nearer it is to 1. */
static inline __attribute__((always_inline)) float ox_tanhf(float x) {
    float z = fabsf(x);
    z = ox_tanh_most < z ? ox_tanh_most : z;
    float square = z * z;
    float n = OX_MAD(OX_MAD(0.00011434301f, square, 0.0297778976f), z * square, z);
    float above = OX_MAD(OX_MAD(1.23089603e-06f, square, 0.00120697871f), square, 0.113111197f) * square; /* d - 1 */
    float nd = OX_MAD(n, above, n), below = OX_MAD(n, -0.5f, above);                                      /* e - 1 */
#ifdef OX_FUSED_MAD
    float e = below + 1.0f, y = nd / OX_MAD(e, e, nd);
#else /* a rounded square would be too far off */
    float y = nd / (OX_MAD(below, below + 2.0f, nd) + 1.0f);
    y = 1.0f < y ? 1.0f : y;
#endif
    return ox_float_of_bits(ox_bits_of_float(y) | (ox_bits_of_float(x) & 0x80000000u)); /* y has no sign */
}

/* What is computed by tables takes as many floats at a time as are looked up at once, and elsewhere one. gcc must not
 * unroll these loops before it makes vectors of them. */
#ifdef OX_LOOKUP
#define OX_SOME OX_LOOKUP
#else
#define OX_SOME 1
#endif
#if defined(__clang__)
#define OX_EACH_OF_SOME for (int i = 0; i < OX_SOME; i++)
#else
#define OX_EACH_OF_SOME _Pragma("GCC unroll 1") for (int i = 0; i < OX_SOME; i++)
#endif

/* e^x of OX_SOME floats. */
static inline __attribute__((always_inline)) void ox_exp_some(float *o, const float *x) {
#ifdef OX_LOOKUP
    float r[OX_SOME], p[OX_SOME], n[OX_SOME];
    OX_EACH_OF_SOME {
        float a = ox_clamped(x[i], ox_exp_limits), rounded = OX_MAD(a, 1.44269504f, OX_ROUND);
        n[i] = rounded - OX_ROUND;
        r[i] = OX_MAD(n[i], 2.12194440e-4f, OX_MAD(n[i], -0.693359375f, a));
        float square = r[i] * r[i];
        p[i] = OX_MAD(ox_exp_rest(r[i], square), square, r[i] + 1.0f);
    }
    ox_scale(o, p, n);
#else
    OX_EACH_OF_SOME o[i] = ox_expf(x[i]);
#endif
}

#ifdef OX_LOOKUP
/* Polynomials of r, which have the coefficients at one of OX_PLACES places of a table with a row for each power. */
#define OX_TERM(power)                                                                                                 \
    ox_pick(term, table[power], at);                                                                                   \
    OX_EACH_OF_SOME sum[i] = OX_MAD(sum[i], r[i], term[i]);
static inline __attribute__((always_inline)) void ox_polynomials(float *sum, const float table[6][OX_PLACES],
                                                                 const uint32_t *at, const float *r) {
    float term[OX_SOME];
    ox_pick(sum, table[5], at);
    OX_TERM(4)
    OX_TERM(3)
    OX_TERM(2)
    OX_TERM(1)
    OX_TERM(0)
}

/* erf of OX_SOME floats: |x| is r from the middle of one of OX_PLACES intervals. */
#define OX_ERF_STEP 0.25390625f
static inline __attribute__((always_inline)) void ox_erf_some(float *o, const float *x) {
    const float round = 0x1.8p23f;
    float r[OX_SOME], sum[OX_SOME];
    uint32_t at[OX_SOME];
    OX_EACH_OF_SOME {
        float z = fabsf(x[i]);
        z = ox_erf_most < z ? ox_erf_most : z;
        float rounded = OX_MAD(z, 1 / OX_ERF_STEP, round);
        at[i] = ox_bits_of_float(rounded);
        r[i] = OX_MAD(rounded - round, -OX_ERF_STEP, z);
    }
    ox_polynomials(sum, ox_erf_table, at, r);
    OX_EACH_OF_SOME o[i] = copysignf(sum[i], x[i]);
}
#else
/* erf |x| = 1 - e^(p |x|) where p is a polynomial; this is the exponent p |x|. */
static inline __attribute__((always_inline)) float ox_erf_exponent(float x) {
    float z = fabsf(x);
    z = ox_erf_most < z ? ox_erf_most : z;
    float square = z * z, fourth = square * square;
    float low = OX_MAD(OX_MAD(0.0191530638f, z, -0.10277783f), square, OX_MAD(-0.636619382f, z, -1.12837917f));
    float high = OX_MAD(-0.000117641323f, z, 0.00063283703f);
    high = OX_MAD(high, square, OX_MAD(-0.00166702777f, z, 0.000160396358f));
    return OX_MAD(OX_MAD(9.25627116e-06f, fourth, high), fourth, low) * z;
}
static inline __attribute__((always_inline)) float ox_erff(float x) {
    return copysignf(ox_expm1_near(ox_erf_exponent(x)), x);
}
#endif

/* e^(product + rest) 2^scale, where that is between the ends of the normal floats. */
static inline __attribute__((always_inline)) float ox_exp_of_sum(float product, float rest, float scale) {
    float round = OX_ROUND + scale, rounded = OX_MAD(product + rest, 1.44269504f, round), n = rounded - round;
    float r = OX_MAD(n, -0.693359375f, product) + OX_MAD(n, 2.12194440e-4f, rest), square = r * r;
    return OX_MAD(ox_exp_rest(r, square), square, r + 1.0f) * ox_power_of_two(rounded);
}

/* Half the square of z, below zero, in two parts: nothing of it is lost. */
static inline __attribute__((always_inline)) void ox_half_square(float z, float *product, float *rest) {
#ifdef OX_FUSED_MAD
    float half = -0.5f * z;
    *product = half * z;
    *rest = OX_MAD(half, z, -*product);
#else
    float front = ox_float_of_bits(ox_bits_of_float(z) & 0xfffff000u);
    *product = -0.5f * front * front;
    *rest = -0.5f * (z - front) * (z + front);
#endif
}

/* Gelu, x times the normal distribution at x, is x less y for positive x, and less y for negative ones, where
 * y = z e^(-z^2 / 2) w(z) and z = |x|. */
static inline __attribute__((always_inline)) float ox_gelu_of(float x, float z, float w, float power) {
    return OX_MAD(w * power * z, -0x1p-64f, x < 0 ? 0 : x); /* the power is 2^64 times that of e */
}
static inline __attribute__((always_inline)) float ox_gelu_size(float x) {
    float z = fabsf(x);
    return ox_gelu_least < z ? ox_gelu_least : z;
}

#ifdef OX_LOOKUP
/* Gelu of OX_SOME floats: w is a polynomial of how far 1 + z is from the middle of the floats with the same exponent
 * and first two digits. The power is a whole power of the 16th root of 2, times that of a small rest q. */
static inline __attribute__((always_inline)) void ox_gelu_some(float *o, const float *x) {
    const float round = 0x1.8p23f;
    float z[OX_SOME], r[OX_SOME], w[OX_SOME], power[OX_SOME];
    uint32_t at[OX_SOME], root[OX_SOME];
    OX_EACH_OF_SOME {
        z[i] = ox_gelu_size(x[i]);
        uint32_t bits = ox_bits_of_float(z[i] + 1.0f);
        at[i] = bits >> 21;
        r[i] = z[i] - (ox_float_of_bits((bits & 0xffe00000u) | 0x00100000u) - 1.0f);
    }
    ox_polynomials(w, ox_gelu_table, at, r);
    OX_EACH_OF_SOME {
        float product, rest;
        ox_half_square(z[i], &product, &rest);
        float rounded = OX_MAD(product, 16 * 1.44269504f, round), n = rounded - round;
        float q = OX_MAD(n, -0.693359375f / 16, product) + OX_MAD(n, 2.12194440e-4f / 16, rest);
        at[i] = ox_bits_of_float(rounded);
        power[i] = OX_MAD(OX_MAD(OX_MAD(0.166667214f, q, 0.500016174f), q, 1.0f), q, 1.0f);
    }
    ox_pick(root, ox_root_table, at);
    OX_EACH_OF_SOME {
        power[i] *= ox_float_of_bits(root[i] + (at[i] << 19));
        o[i] = ox_gelu_of(x[i], z[i], w[i], power[i]);
    }
}
#else
/* Gelu, with w(z) = t q(t) and t = 1 / (1 + 0.35 z). */
static inline __attribute__((always_inline)) float ox_geluf(float x) {
    float z = ox_gelu_size(x), product, rest;
    float t = 1.0f / OX_MAD(0.35f, z, 1.0f), square = t * t, fourth = square * square;
    float low = OX_MAD(OX_MAD(0.105558513f, t, 0.119819725f), square, OX_MAD(0.139863737f, t, 0.139621294f));
    float high = OX_MAD(OX_MAD(0.144038944f, t, -0.255855897f), square, OX_MAD(0.159339389f, t, -0.0232262145f));
    float q = OX_MAD(OX_MAD(-0.0291595066f, fourth, high), fourth, low);
    ox_half_square(z, &product, &rest);
    return ox_gelu_of(x, z, t * q, ox_exp_of_sum(product, rest, 64));
}
#endif

/* The bits of the least positive normal float, and how many there are. */
#define OX_LEAST_NORMAL 0x00800000u
#define OX_NORMALS 0x7f000000u

/* Whether x is a positive normal float. */
static inline __attribute__((always_inline)) bool ox_is_normal(float x) {
    return ox_bits_of_float(x) - OX_LEAST_NORMAL < OX_NORMALS;
}

/* ln x of a positive normal float: x = 2^e (1 + f) with 1 + f between the roots of 1/2 and 2. */
static inline __attribute__((always_inline)) float ox_logf(float x) {
    int32_t bits = (int32_t)(ox_bits_of_float(x) - 0x3f3504f3u);
    float e = (float)(bits >> 23);
    float f = ox_float_of_bits(((uint32_t)bits & 0x7fffff) + 0x3f3504f3u) - 1.0f;
    float square = f * f;
    float low = OX_MAD(OX_MAD(0.199620721f, f, -0.250017552f), square, OX_MAD(0.333339502f, f, -0.499999916f));
    float high = OX_MAD(OX_MAD(0.0873483634f, f, -0.14307519f), square, OX_MAD(0.149179747f, f, -0.165705086f));
    float q = OX_MAD(high, square * square, low);
    float rest = OX_MAD(q, square, e * -2.12194440e-4f);
    return OX_MAD(e, 0.693359375f, f + rest);
}

#endif
