/* lanes_divide.c: the loops of division and remainder. */
#include "loops/lane_half.h"
#include "loops/lane_loops.h"
#include "lane_maps.h"
#include "lane_types.inc"

#include <float.h>
#include <string.h>

/* a / b towards zero. A divisor of 0 is replaced (the loop reports it), and so is -1, as the quotient of the smallest
 * integer would not fit. */
#define QUOTIENT_UNSIGNED(T)                                                                                           \
    static inline c_##T quotient_##T(c_##T a, c_##T b) {                                                               \
        return (c_##T)(a / (b == 0 ? 1 : b));                                                                          \
    }
#define QUOTIENT_SIGNED(T)                                                                                             \
    static inline c_##T quotient_##T(c_##T a, c_##T b) {                                                               \
        return b == -1 ? (c_##T)(0 - (uint64_t)a) : (c_##T)(a / (b == 0 ? 1 : b));                                     \
    }
QUOTIENT_UNSIGNED(u64)
QUOTIENT_SIGNED(i64)
#if OX_SMALL
QUOTIENT_UNSIGNED(u8)
QUOTIENT_UNSIGNED(u16)
QUOTIENT_UNSIGNED(u32)
QUOTIENT_SIGNED(i8)
QUOTIENT_SIGNED(i16)
QUOTIENT_SIGNED(i32)
#else
/* Processors divide floats many at a time and integers one by one. */

/* A quotient of integers that a float holds exactly is at least 1 / |b| away from the next integer, far more than the
 * float's rounding. */
#define SHORT_QUOTIENT(T)                                                                                              \
    static inline c_##T quotient_##T(c_##T a, c_##T b) {                                                               \
        return (c_##T)((float)a / (float)(b == 0 ? 1 : b));                                                            \
    }
SHORT_QUOTIENT(u8)
SHORT_QUOTIENT(u16)
SHORT_QUOTIENT(i8)
SHORT_QUOTIENT(i16)

/* 1 / b, too large by 2^-40 of it, from a float's estimate and one step of Newton's. Its product with an integer a is
 * not below a / b, and below the next integer, which is 2^-32 of a / b away. */
static inline double inverse_above(float rounded, double b) {
    const double estimate = (double)(1.0f / rounded);
    return OX_MAD(estimate, OX_MAD(-b, estimate, 1 + 0x1p-40), estimate);
}
static inline uint32_t quotient_u32(uint32_t a, uint32_t b) {
    const uint32_t divisor = b == 0 ? 1 : b;
    return (uint32_t)((double)a * inverse_above((float)divisor, (double)divisor));
}

static inline uint32_t size_of_i32(int32_t a) {
    return a < 0 ? 0 - (uint32_t)a : (uint32_t)a;
}

/* What floats make of a / b, smaller by 2^-21 of it, is at most the quotient, and leaves less than |b| + 2^11, which
 * has the sign of a; what they make of that leaves less than 2 |b|. */
static inline int32_t quotient_i32(int32_t a, int32_t b) {
    const int32_t divisor = b + (b == 0);
    const float inverse = (1 - 0x1p-21f) / (float)divisor;
    const uint32_t most = (uint32_t)(int32_t)((float)a * inverse);
    const int32_t rest = (int32_t)((uint32_t)a - most * (uint32_t)divisor);
    const uint32_t more = most + (uint32_t)(int32_t)((float)rest * inverse);
    const int32_t left = (int32_t)((uint32_t)a - more * (uint32_t)divisor);
    const uint32_t one = (a ^ b) < 0 ? UINT32_MAX : 1;
    return (int32_t)(more + (size_of_i32(left) >= size_of_i32(divisor) ? one : 0));
}
#endif

/* A loop that divides by its second operand: looks for zeros in it first. */
#define DIVIDING(fn, T, expression)                                                                                    \
    LANE2(fn##_loop, T, T, T, expression)                                                                              \
    static int fn(int64_t n, char *const arg[], const int64_t step[], const void *attr) {                              \
        const T *y = (const void *)arg[2];                                                                             \
        const int64_t divisors = step[2] ? n : 1;                                                                      \
        T zero = 0;                                                                                                    \
        for (int64_t i = 0; i < divisors; i++)                                                                         \
            zero = (T)(zero | (y[i] == 0 ? (T)-1 : 0));                                                                \
        fn##_loop(n, arg, step, attr);                                                                                 \
        return zero ? OX_FAULT_DIVISOR : 0;                                                                            \
    }

/* Remainders in unsigned arithmetic: all is exact modulo the type. */
#define REMAINDER(T, U)                                                                                                \
    static inline c_##T remainder_##T(c_##T a, c_##T b) {                                                              \
        return (T)((U)a - (U)quotient_##T(a, b) * (U)b);                                                               \
    }
REMAINDER(u8, uint32_t)
REMAINDER(u16, uint32_t)
REMAINDER(u32, uint32_t)
REMAINDER(u64, uint64_t)
REMAINDER(i8, uint32_t)
REMAINDER(i16, uint32_t)
REMAINDER(i32, uint32_t)
REMAINDER(i64, uint64_t)

/* The remainder with the divisor's sign. */
#define FLOORED(T)                                                                                                     \
    static inline c_##T floored_##T(c_##T a, c_##T b) {                                                                \
        const c_##T r = remainder_##T(a, b);                                                                           \
        return r != 0 && (r < 0) != (b < 0) ? r + b : r;                                                               \
    }
FLOORED(i8)
FLOORED(i16)
FLOORED(i32)
FLOORED(i64)

#define UINT_DIVIDING(T)                                                                                               \
    DIVIDING(Div_##T, T, quotient_##T(a, b))                                                                           \
    DIVIDING(Fmod_##T, T, remainder_##T(a, b))                                                                         \
    DIVIDING(Mod_##T, T, remainder_##T(a, b))
#define SINT_DIVIDING(T)                                                                                               \
    DIVIDING(Div_##T, T, quotient_##T(a, b))                                                                           \
    DIVIDING(Fmod_##T, T, remainder_##T(a, b))                                                                         \
    DIVIDING(Mod_##T, T, floored_##T(a, b))
UINT_DIVIDING(u8)
UINT_DIVIDING(u16)
UINT_DIVIDING(u32)
UINT_DIVIDING(u64)
SINT_DIVIDING(i8)
SINT_DIVIDING(i16)
SINT_DIVIDING(i32)
SINT_DIVIDING(i64)

/* ---- Division of floats ------------------------------------------------------------------------------------- */

BF16_LANE(Div_bf16, a / b)
HALF_LANE(Div_half, a / b)
LANE2(Div_f64, f64, f64, f64, a / b)
#if defined(OX_FUSED_MAD) && defined(__AVX512F__)
/* Many quotients by one divisor. A division takes a processor three times as long as the steps below, which in vectors
 * of this width is more than loading and storing take. */
LANE2(divide_any, f32, f32, f32, a / b)

/* Between 2^-60 and 2^60 none of the steps leaves the normal floats. */
static const uint32_t least_usual = 0x21800000, most_usual = 0x5d800000;

/* a / b of a positive b, where y is the float nearest to 1 / b. What a first quotient lacks, times y, is added in one
 * rounding: of a sum that differs from a / b by at most 3 / 2^24 of its last place. No quotient of two floats is that
 * close to the middle of its neighbours unless |2^k a - m b| < 8 for some odd m, and each of those 93 million
 * pairs comes out right (tests/unit/test_divide.c tries some). The steps lose the signs of zeros. */
static inline float quotient_of_usual(float a, float b, float y) {
    const float q = a * y;
    return OX_MAD(OX_MAD(-b, q, a), y, q);
}

/* Whether all are zeros or between 2^-60 and 2^60. */
static bool all_usual(int64_t n, const f32 *x) {
    uint32_t most = 0, least = UINT32_MAX;
    for (int64_t i = 0; i < n; i++) {
        const uint32_t bits = ox_bits_of_float(x[i]) & INT32_MAX, other = bits - 1; /* zero is no least */
        most = bits > most ? bits : most;
        least = other < least ? other : least;
    }
    return most <= most_usual && least >= least_usual;
}

/* Whether all are between 2^-64 and 2^64, where the steps of a divisor between 2^-60 and 2^60 do not leave the normal
 * floats either: less than two octaves of the exponent, in one bit. */
static bool none_is_zero_and_all_usual(int64_t n, const f32 *x) {
    uint32_t outside = 0;
    FOR_N outside |= ox_bits_of_float(x[i]) - 0x1f800000;
    return !(outside & 0x40000000);
}

static int Div_f32(int64_t n, char *const arg[], const int64_t step[], const void *attr) {
    f32 *o = (void *)arg[0];
    const f32 *x = (const void *)arg[1], *y = (const void *)arg[2];
    if (step[0] < 0 || n < OX_VECTOR || !step[1] || step[2] || !(y[0] > 0) || !all_usual(1, y))
        return divide_any(n, arg, step, attr);
    const float b = y[0], inverse = 1 / b;
    for (int64_t count = n; count > 0; count -= n, o += n, x += n) {
        n = count < OX_BLOCK ? count : OX_BLOCK;
        if (none_is_zero_and_all_usual(n, x))
            FOR_N o[i] = quotient_of_usual(x[i], b, inverse);
        else if (all_usual(n, x))
            FOR_N o[i] = copysignf(quotient_of_usual(x[i], b, inverse), x[i]);
        else
            FOR_N o[i] = x[i] / b;
    }
    return 0;
}
#else
LANE2(Div_f32, f32, f32, f32, a / b)
#endif
const ox_lanes OX_LANES(Div) = {.fn = {UINT_ROW(Div), SINT_ROW(Div), FLOAT_ROW(Div), SMALL_ROW(Div)}};

/* ---- Remainders of floats ----------------------------------------------------------------------------------- */

/* What makes a remainder with the divisor's sign of one with the dividend's. */
static inline float floored_f32(float r, float b) {
    const float other = (r < 0) != (b < 0) ? r + b : r;
    return r == 0 ? copysignf(r, b) : other;
}
static inline double floored_f64(double r, double b) {
    return r == 0 ? copysign(r, b) : (r < 0) != (b < 0) ? r + b : r;
}
LANE2(Fmod_f64, f64, f64, f64, fmod(a, b))
LANE2(Mod_f64, f64, f64, f64, floored_f64(fmod(a, b), b))
#if OX_SMALL
LANE2(Fmod_f32, f32, f32, f32, fmodf(a, b))
LANE2(Mod_f32, f32, f32, f32, floored_f32(fmodf(a, b), b))
#else
/* Where it stays below 2^27, the quotient of two floats is farther from the next integer than a double's rounding, and
 * the rest is exact. C's function divides bit by bit. */
static inline bool is_far(float a, float b) {
    return !(fabsf(a) < 0x1p27f * fabsf(b)) | !(fabsf(b) <= FLT_MAX);
}
static inline float remainder_near(float a, float b) {
    const double quotient = (double)a / (double)b;
    return copysignf((float)((double)a - (double)INT32_OF(quotient) * (double)b), a);
}
#define REMAINDER_LANE(fn, near, any)                                                                                  \
    LANE2(fn##_near, f32, f32, f32, (*fault |= is_far(a, b), near))                                                    \
    LANE2(fn##_any, f32, f32, f32, any)                                                                                \
    static int fn(int64_t count, char *const arg[], const int64_t step[], const void *attr) {                          \
        f32 block[OX_BLOCK];                                                                                           \
        const int64_t width = (int64_t)sizeof *block, steps[] = {width, step[1], step[2]};                             \
        for (int64_t at = 0; at < count; at += OX_BLOCK) {                                                             \
            const int64_t n = LESS_OF(count - at, OX_BLOCK);                                                           \
            char *const part[] = {(char *)&block[0], arg[1] + (step[1] ? at * width : 0),                              \
                                  arg[2] + (step[2] ? at * width : 0)};                                                \
            if (fn##_near(n, part, steps, attr))                                                                       \
                fn##_any(n, part, steps, attr);                                                                        \
            memcpy(arg[0] + at * width, block, (size_t)(n * width));                                                   \
        }                                                                                                              \
        return 0;                                                                                                      \
    }
REMAINDER_LANE(Fmod_f32, remainder_near(a, b), fmodf(a, b))
REMAINDER_LANE(Mod_f32, floored_f32(remainder_near(a, b), b), floored_f32(fmodf(a, b), b))
#endif

const ox_lanes OX_LANES(Fmod) = {.fn = {UINT_ROW(Fmod), SINT_ROW(Fmod), FLOAT_ROW(Fmod)}};
const ox_lanes OX_LANES(Mod) = {.fn = {UINT_ROW(Mod), SINT_ROW(Mod), FLOAT_ROW(Mod)}};
