/* lane_maps.h: operations that are one expression over a and b. They are expanded into loops (lanes*.c) and, for
 * floats, into links of chains (lanes_chain.c). Included by files that are built per
 * processor. */
#ifndef OX_LOOPS_LANE_MAPS_H
#define OX_LOOPS_LANE_MAPS_H

#include "loops/lane_loops.h"
#include "loops/lane_math.h"

/* The library's own function for float, C's for double. */
#define FAST(fn, x) _Generic((x), float : ox_##fn##f, default : fn)(x)

/* What an operation has for attributes. */
#define ALPHA ((const float *)attr)[0]
#define BETA ((const float *)attr)[1]

/* What a condition chooses from is computed in any case: only then can compilers choose between whole vectors. */
static inline float bent_f32(float a, float slope) {
    return a < 0 ? a * slope : a;
}
static inline double bent_f64(double a, double slope) {
    return a < 0 ? a * slope : a;
}
#define BENT(a, slope) _Generic(a, float : bent_f32, default : bent_f64)(a, slope)
static inline float within_f32(float a, float least, float most) {
    const float low = a > least ? a : least;
    return low < most ? low : most;
}
static inline double within_f64(double a, double least, double most) {
    const double low = a > least ? a : least;
    return low < most ? low : most;
}
#define WITHIN(a, least, most) _Generic(a, float : within_f32, default : within_f64)(a, least, most)

/* C leaves conversions out of range undefined; here they give the lowest value of the integer. */
static inline int32_t int32_of_f32(float a) {
    return a >= -2147483648.0f && a < 2147483648.0f ? (int32_t)a : INT32_MIN;
}
static inline int32_t int32_of_f64(double a) {
    return a > -2147483649.0 && a < 2147483648.0 ? (int32_t)a : INT32_MIN;
}
#define INT32_OF(a) _Generic(a, float : int32_of_f32, default : int32_of_f64)(a)

/* A rounded number and b, between two limits; NaN gives the smaller one. A zero point of 0 changes nothing, not even
 * the sign of a zero. */
#define QUANTIZE_MAPS(M)                                                                                               \
    M(Quantize, WITHIN(MATH(rint, a) + b, ALPHA, BETA))                                                                \
    M(Offset, a + (b == 0 ? -0.0F : b))

#define ARITHMETIC_MAPS(M)                                                                                             \
    M(Add, a + b)                                                                                                      \
    M(Sub, a - b)                                                                                                      \
    M(Mul, (a * b))

/* For unsigned integers, signed ones, and real numbers. */
#define NUMBER_MAPS(M)                                                                                                 \
    M(Abs, a, a < 0 ? (int64_t)(0 - (uint64_t)a) : a, MATH(fabs, a))                                                   \
    M(Neg, 0 - a, (int64_t)(0 - (uint64_t)a), -a)                                                                      \
    M(Relu, a, a > 0 ? a : 0, a <= 0 ? 0 : a)

/* Of a real number. Round: half-way cases go to the even integer; the rounding mode is left alone. */
#define CLAMPED(x) _Generic(a, float : ox_clamped, default : clamped_f64)(x, ox_unit_limits)
static inline double clamped_f64(double x, const float limits[2]) {
    x = (double)limits[1] < x ? (double)limits[1] : x;
    return x < (double)limits[0] ? (double)limits[0] : x;
}
#define REAL_MAPS(M)                                                                                                   \
    M(Ceil, MATH(ceil, a))                                                                                             \
    M(Floor, MATH(floor, a))                                                                                           \
    M(HardSigmoid, CLAMPED(ALPHA *a + BETA))                                                                           \
    M(HardSwish, a *CLAMPED(a *REAL(0.16666666666666666667) + REAL(0.5)))                                              \
    M(LeakyRelu, BENT(a, ALPHA))                                                                                       \
    M(Reciprocal, 1 / a)                                                                                               \
    M(Round, MATH(rint, a))                                                                                            \
    M(Softsign, a / (1 + MATH(fabs, a)))                                                                               \
    M(Sqrt, MATH(sqrt, a))                                                                                             \
    M(ThresholdedRelu, a > ALPHA ? a : 0)

/* e to no positive power: no overflow. */
#define SMALL_EXP FAST(exp, -MATH(fabs, a))
static inline double sigmoid(double a) {
    return (a < 0 ? SMALL_EXP : 1) / (1 + SMALL_EXP);
}

/* The same, of functions that take long.
 * GeluTanh: a (1 + tanh u) / 2 is a times the sigmoid of 2 u, where u = sqrt(2 / pi) (a + 0.044715 a^3).
 * Mish: tanh(ln(1 + e^a)) = n / (n + 2) where n = e^a (e^a + 2); it is 1 long before n overflows.
 * Swish: a times the sigmoid of alpha a; an infinite power of e gives the right 0. */
#define MISH_EXP FAST(exp, (a > 40 ? 40 : a))
#define MISH_N (MISH_EXP * (MISH_EXP + 2))
#define MATH_MAPS(M)                                                                                                   \
    M(GeluTanh, a / (1 + FAST(exp, REAL(-1.5957691216057307968) * (a + REAL(0.044715) * a * a * a))))                  \
    M(Mish, a *(MISH_N / (MISH_N + 2)))                                                                                \
    M(Sigmoid, FAST(sigmoid, a))                                                                                       \
    M(Swish, a / (1 + FAST(exp, -(ALPHA * a))))                                                                        \
    M(Tanh, FAST(tanh, a))

#endif
