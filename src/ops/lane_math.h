/* lane_math.h: exp, log, tanh and erf of floats, as straight-line code that compilers turn into whole vectors. Each is
 * within 2 units in the last place (tests/unit/test_math.c); tests/math/fit.py finds the coefficients. */
#ifndef OX_OPS_LANE_MATH_H
#define OX_OPS_LANE_MATH_H

#include "../half.h"

#include <math.h>

/* a * b + c, with one rounding where the processor does that in one instruction. */
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define OX_MAD(a, b, c) __builtin_fmaf(a, b, c)
#else
#define OX_MAD(a, b, c) ((a) * (b) + (c))
#endif

/* 2^k for k of a normal float; anything for others. */
static inline __attribute__((always_inline)) float ox_power_of_two(int32_t k) {
    return ox_float_of_bits(((uint32_t)k + 127u) << 23);
}

/* Both sides are computed, whatever the condition is: a branch would keep loops from becoming whole vectors. */
static inline __attribute__((always_inline)) float ox_choose(bool condition, float yes, float no) {
    uint32_t mask = 0u - (uint32_t)condition;
    return ox_float_of_bits((ox_bits_of_float(yes) & mask) | (ox_bits_of_float(no) & ~mask));
}

/* e^x: x = n ln 2 + r, and 2^n in two factors, so that results below the normal floats are rounded once. */
static inline __attribute__((always_inline)) float ox_expf(float x) {
    const float magic = 0x1.8p23f; /* adding it rounds to an integer, which then stands in the low bits */
    float shifted = OX_MAD(x, 1.44269504f, magic), n = shifted - magic;
    int32_t k = (int32_t)(ox_bits_of_float(shifted) - ox_bits_of_float(magic));
    float r = OX_MAD(n, -0.693359375f, x);
    r = OX_MAD(n, 2.12194440e-4f, r);
    float q = OX_MAD(0.00138144648f, r, 0.00836878062f);
    q = OX_MAD(q, r, 0.0416683943f);
    q = OX_MAD(q, r, 0.166665201f);
    q = OX_MAD(q, r, 0.499999934f);
    float p = 1.0f + OX_MAD(q, r * r, r);
    int32_t half = k >> 1;
    float y = p * ox_power_of_two(half) * ox_power_of_two(k - half);
    y = x > 88.73f ? INFINITY : y;
    return x < -104.0f ? 0.0f : y;
}

/* ln x: x = 2^e (1 + f) with 1 + f between the roots of 1/2 and 2. */
static inline __attribute__((always_inline)) float ox_logf(float x) {
    bool small = x < 0x1p-126f;
    float scaled = small ? x * 0x1p23f : x;
    int32_t bits = (int32_t)(ox_bits_of_float(scaled) - 0x3f3504f3u);
    float e = (float)((bits >> 23) - (small ? 23 : 0));
    float f = ox_float_of_bits(((uint32_t)bits & 0x7fffff) + 0x3f3504f3u) - 1.0f;
    float q = OX_MAD(-0.0763442991f, f, 0.127615504f);
    q = OX_MAD(q, f, -0.131601951f);
    q = OX_MAD(q, f, 0.142017625f);
    q = OX_MAD(q, f, -0.166233565f);
    q = OX_MAD(q, f, 0.200012267f);
    q = OX_MAD(q, f, -0.250008211f);
    q = OX_MAD(q, f, 0.333333317f);
    float square = f * f;
    float rest = OX_MAD(q, square * f, e * -2.12194440e-4f);
    float y = OX_MAD(e, 0.693359375f, f + OX_MAD(square, -0.5f, rest));
    y = x == INFINITY ? x : y;
    y = x == 0.0f ? -INFINITY : y;
    return x >= 0.0f ? y : NAN;
}

/* tanh x: a polynomial near 0, 1 - 2 / (e^2x + 1) elsewhere. */
static inline __attribute__((always_inline)) float ox_tanhf(float x) {
    float z = fabsf(x), s = x * x;
    float q = OX_MAD(-0.00571703656f, s, 0.020650579f);
    q = OX_MAD(q, s, -0.0537434953f);
    q = OX_MAD(q, s, 0.133314912f);
    q = OX_MAD(q, s, -0.333332839f);
    float near = OX_MAD(q, s * x, x);
    float far = 1.0f - 2.0f / (ox_expf(2.0f * (z > 10.0f ? 10.0f : z)) + 1.0f);
    return ox_choose(z < 0.625f, near, copysignf(far, x));
}

/* erf x: a polynomial near 0, 1 - e^g(x) elsewhere. */
static inline __attribute__((always_inline)) float ox_erff(float x) {
    float z = fabsf(x), s = x * x;
    float p = OX_MAD(8.39764003e-05f, s, -0.000814976969f);
    p = OX_MAD(p, s, 0.00520171293f);
    p = OX_MAD(p, s, -0.026859701f);
    p = OX_MAD(p, s, 0.112837016f);
    p = OX_MAD(p, s, -0.376126342f);
    p = OX_MAD(p, s, 1.12837917f);
    z = z > 4.0f ? 4.0f : z;
    float g = OX_MAD(-5.02583178e-07f, z, -1.45816768e-05f);
    g = OX_MAD(g, z, 0.000398327137f);
    g = OX_MAD(g, z, -0.00405892608f);
    g = OX_MAD(g, z, 0.0249064244f);
    g = OX_MAD(g, z, -0.108026342f);
    g = OX_MAD(g, z, -0.633532169f);
    g = OX_MAD(g, z, -1.12943908f);
    g = OX_MAD(g, z, 0.000161342023f);
    return ox_choose(z < 0.9219f, x * p, copysignf(1.0f - ox_expf(g), x));
}

#endif
