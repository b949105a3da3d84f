/* lanes_pow.c: the loops of Pow. */
#include "loops/lane_loops.h"
#include "loops/lane_math.h"
#include "lane_types.inc"
#define TO i64
#define TA i64
#define TB u64
#include "lane_binary.inc"

/* Squares, cubes and roots are what models ask for; an exponent gives the same whether it repeats or not. The root of
 * -0 is +0 here, and that of -infinity is +infinity. */
#define SQUARE (a * a)
#define CUBE (a * a * a)
#define ROOT (a == -INFINITY ? INFINITY : MATH(sqrt, a) + 0)

#if OX_SMALL
#define POW(T)                                                                                                         \
    LANE2(Pow_##T, T, T, T,                                                                                            \
          b == 2           ? SQUARE                                                                                    \
          : b == 3         ? CUBE                                                                                      \
          : b == REAL(0.5) ? ROOT                                                                                      \
                           : _Generic(a, float                                                                         \
                                      : powf, default                                                                  \
                                      : pow)(a, b))
#else
/* Squares, cubes and roots are computed by themselves. */
static inline bool has_own_loop(float exponent) {
    return exponent == 2 || exponent == 3 || exponent == 0.5f;
}

#ifdef OX_FUSED_MAD
/* b ln a of positive normal floats, in two parts.
 *
 * a = 2^e c (1 + f) where c is one of a few centers, the inverses of numbers of few digits, so that f is exact. ln a is
 * the sum of `high` and `low`, with 2^-30 of it as error: all terms of e and c and the first two of ln (1 + f) are kept
 * in two floats. */
typedef struct centers {
    float inverse[OX_SOME], high[OX_SOME], low[OX_SOME]; /* 1 / c and ln c */
} centers;

#ifdef OX_LOOKUP
/* Sixteen of them, |f| is at most 1/16. */
#define LEAST_FRACTION 1.0f
static const float inverses[OX_PLACES] = {1.0f,     0.90625f, 0.875f,   0.8125f,  0.78125f, 0.75f,    0.71875f, 0.6875f,
                                          0.65625f, 0.625f,   0.59375f, 0.59375f, 0.5625f,  0.53125f, 0.53125f, 0.5f};
static const float centers_high[OX_PLACES] = {
    0x0p-16f,    0x1933p-16f, 0x222fp-16f, 0x3528p-16f, 0x3f32p-16f, 0x49a6p-16f, 0x548bp-16f, 0x5fecp-16f,
    0x6bd5p-16f, 0x7852p-16f, 0x8574p-16f, 0x8574p-16f, 0x934bp-16f, 0xa1edp-16f, 0xa1edp-16f, 0xb172p-16f};
static const float centers_low[OX_PLACES] = {0.0f,
                                             5.62457126e-06f,
                                             1.72953855e-06f,
                                             -2.23678421e-06f,
                                             3.38847849e-06f,
                                             -7.13653253e-06f,
                                             -4.28480917e-06f,
                                             -1.3747773e-06f,
                                             -5.40699421e-06f,
                                             2.40854251e-06f,
                                             -4.34589811e-06f,
                                             -4.34589811e-06f,
                                             9.85723887e-07f,
                                             -2.42643026e-08f,
                                             -2.42643026e-08f,
                                             1.42860677e-06f};
static inline __attribute__((always_inline)) void find_centers(const float *m, centers *c) {
    uint32_t at[OX_SOME];
    OX_EACH_OF_SOME at[i] = ox_bits_of_float(m[i]) >> 19;
    ox_pick(c->inverse, inverses, at);
    ox_pick(c->high, centers_high, at);
    ox_pick(c->low, centers_low, at);
}
static inline __attribute__((always_inline)) float third_term(float f, float square) {
    return OX_MAD(OX_MAD(-0.157708687f, f, 0.200169733f), square, OX_MAD(-0.250012346f, f, 0.333333294f));
}
#else
/* 3/4, 1 or 5/4 inverted: |f| is at most 1/6. Chosen twice from two, which takes fewer comparisons than once from
 * three. */
#define LEAST_FRACTION 0x1.6a09e6p-1f /* the root of 1/2 */
static inline __attribute__((always_inline)) void find_centers(const float *m, centers *c) {
    const bool below = *m < 0.857f;
    const bool above = *m > 1.1667f;
    const float inverse = above ? 0.75f : 1.0f, high = above ? 0x49a6p-16f : 0.0f;
    const float low = above ? -7.13653316e-06f : 0.0f;
    *c->inverse = below ? 1.25f : inverse;
    *c->high = below ? -0x3920p-16f : high;
    *c->low = below ? 9.79935829e-07f : low;
}
static inline __attribute__((always_inline)) float third_term(float f, float square) {
    float q = OX_MAD(-0.120420396f, f, 0.147495001f);
    q = OX_MAD(q, square, OX_MAD(-0.166878372f, f, 0.199942429f));
    return OX_MAD(q, square, OX_MAD(-0.249998361f, f, 0.333333531f));
}
#endif

static inline __attribute__((always_inline)) void log_times(const float *a, const float *b, float *product,
                                                            float *rest) {
    const uint32_t least = ox_bits_of_float(LEAST_FRACTION);
    float e[OX_SOME], m[OX_SOME];
    centers c;
    OX_EACH_OF_SOME {
        int32_t bits = (int32_t)(ox_bits_of_float(a[i]) - least);
        e[i] = (float)(bits >> 23);
        m[i] = ox_float_of_bits(((uint32_t)bits & 0x7fffff) + least);
    }
    find_centers(m, &c);
    OX_EACH_OF_SOME {
        float f = OX_MAD(m[i], c.inverse[i], -1.0f);
        float square = f * f, square_low = OX_MAD(f, f, -square);
        float two = OX_MAD(-0.5f, square, f), two_low = OX_MAD(-0.5f, square, f - two);
        float third = OX_MAD(square * f, third_term(f, square), OX_MAD(-0.5f, square_low, two_low));

        float whole = OX_MAD(e[i], 0xb172p-16f, c.high[i]), high = whole + two;
        float low = (two - (high - whole)) + (OX_MAD(e[i], 1.42860677e-06f, c.low[i]) + third);

        product[i] = b[i] * high;
        rest[i] = OX_MAD(b[i], low, OX_MAD(b[i], high, -product[i]));
    }
}

/* Whether that will do for a^b. */
static inline bool is_usual(float a, float b, float product) {
    return ox_is_normal(a) && fabsf(product) < 87.0f && !has_own_loop(b);
}
static const bool has_usual = true;
#else
static const bool has_usual = false;
static inline void log_times(const float *a, const float *b, float *product, float *rest) {
    *product = *a;
    *rest = *b;
}
static inline bool is_usual(float a, float b, float product) {
    (void)a, (void)b, (void)product;
    return false;
}
#endif

#define POWER(T, any)                                                                                                  \
    static inline c_##T power_##T(c_##T a, c_##T b) {                                                                  \
        const c_##T root = ROOT, other = any(a, b);                                                                    \
        return b == 2 ? SQUARE : b == 3 ? CUBE : b == REAL(0.5) ? root : other;                                        \
    }
POWER(f32, powf)
POWER(f64, pow)

/* Whole vectors: of floats, fast where that does for all of a block; of doubles, by the C library. What tells is the
 * largest bits of bases and of products. An exponent with a loop of its own has none of these digits. */
#define DIGITS 0x003fffffu
#define POWERS(name, first, second)                                                                                    \
    static void name##_f32(int64_t count, f32 *o, const f32 *x, const f32 *y) {                                        \
        for (int64_t from = 0; from < count; from += OX_BLOCK) {                                                       \
            const int64_t n = (count - from < OX_BLOCK ? count - from : OX_BLOCK) & -(int64_t)OX_VECTOR;               \
            float product[OX_BLOCK], rest[OX_BLOCK];                                                                   \
            uint32_t base = 0, power = 0, digits = UINT32_MAX;                                                         \
            for (int64_t k = 0; k < n; k += OX_SOME) {                                                                 \
                float a[OX_SOME], b[OX_SOME];                                                                          \
                OX_EACH_OF_SOME a[i] = first(k + i), b[i] = second(k + i);                                             \
                log_times(a, b, product + k, rest + k);                                                                \
            }                                                                                                          \
            FOR_N {                                                                                                    \
                base = MORE_OF(base, ox_bits_of_float(first(i)) - OX_LEAST_NORMAL);                                    \
                power = MORE_OF(power, ox_bits_of_float(product[i] + rest[i]) & INT32_MAX);                            \
                digits = LESS_OF(digits, ox_bits_of_float(second(i)) & DIGITS);                                        \
            }                                                                                                          \
            int rare = !has_usual || base >= OX_NORMALS || power >= ox_bits_of_float(87.0f);                           \
            if (!digits)                                                                                               \
                FOR_N rare |= has_own_loop(second(i));                                                                 \
            if (!rare)                                                                                                 \
                FOR_N o[from + i] = ox_exp_of_sum(product[i], rest[i], 0);                                             \
            else                                                                                                       \
                FOR_N {                                                                                                \
                    const float a = first(i), b = second(i), other = power_f32(a, b);                                  \
                    const float quick = ox_exp_of_sum(product[i], rest[i], 0);                                         \
                    o[from + i] = is_usual(a, b, product[i] + rest[i]) ? quick : other;                                \
                }                                                                                                      \
        }                                                                                                              \
    }                                                                                                                  \
    static void name##_f64(int64_t n, f64 *o, const f64 *x, const f64 *y) {                                            \
        const int64_t from = 0;                                                                                        \
        n &= -(int64_t)OX_VECTOR;                                                                                      \
        FOR_N o[i] = power_f64(first(i), second(i));                                                                   \
    }
#define EACH_X(i) x[from + (i)]
#define EACH_Y(i) y[from + (i)]
#define ONE_X(i) x[0]
#define ONE_Y(i) y[0]
POWERS(powers, EACH_X, EACH_Y)
POWERS(powers_of_one, ONE_X, EACH_Y)
POWERS(powers_to_one, EACH_X, ONE_Y)

#define ONE_EXPONENT(name, expression)                                                                                 \
    static void name##_f32(int64_t n, f32 *o, const f32 *x) {                                                          \
        FOR_N {                                                                                                        \
            const float a = x[i];                                                                                      \
            o[i] = (expression);                                                                                       \
        }                                                                                                              \
    }                                                                                                                  \
    static void name##_f64(int64_t n, f64 *o, const f64 *x) {                                                          \
        FOR_N {                                                                                                        \
            const double a = x[i];                                                                                     \
            o[i] = (expression);                                                                                       \
        }                                                                                                              \
    }
ONE_EXPONENT(squares, SQUARE)
ONE_EXPONENT(cubes, CUBE)
ONE_EXPONENT(roots, ROOT)

#define POW(T)                                                                                                         \
    static int Pow_##T(int64_t n, char *const arg[], const int64_t step[], const void *attr) {                         \
        T *o = (void *)arg[0];                                                                                         \
        const T *x = (const void *)arg[1], *y = (const void *)arg[2];                                                  \
        const c_##T exponent = step[1] && !step[2] ? y[0] : 1;                                                         \
        (void)attr;                                                                                                    \
        if (exponent == 2)                                                                                             \
            return squares_##T(n, o, x), 0;                                                                            \
        if (exponent == 3)                                                                                             \
            return cubes_##T(n, o, x), 0;                                                                              \
        if (exponent == (c_##T)0.5)                                                                                    \
            return roots_##T(n, o, x), 0;                                                                              \
        const int64_t done = step[1] || step[2] ? n & -(int64_t)OX_VECTOR : 0;                                         \
        (step[1] && step[2] ? powers_##T : step[1] ? powers_to_one_##T : powers_of_one_##T)(done, o, x, y);            \
        if (done == n)                                                                                                 \
            return 0;                                                                                                  \
        T p[OX_VECTOR], q[OX_VECTOR], out[OX_VECTOR];                                                                  \
        for (int k = 0; k < OX_VECTOR; k++) {                                                                          \
            p[k] = x[step[1] && done + k < n ? done + k : 0];                                                          \
            q[k] = y[step[2] && done + k < n ? done + k : 0];                                                          \
        }                                                                                                              \
        powers_##T(OX_VECTOR, out, p, q);                                                                              \
        for (int64_t i = done; i < n; i++)                                                                             \
            o[i] = out[i % OX_VECTOR];                                                                                 \
        return 0;                                                                                                      \
    }
#endif
POW(f32)
POW(f64)

static uint64_t power(uint64_t base, uint64_t exponent) {
    uint64_t result = 1;
    for (; exponent; exponent >>= 1, base *= base)
        if (exponent & 1)
            result *= base;
    return result;
}

/* Integer to integer: exact and wrapping; a negative exponent divides, which leaves 0 but for 1 and -1. */
static int64_t power_signed(int64_t base, int64_t exponent, int *fault) {
    if (exponent >= 0)
        return (int64_t)power((uint64_t)base, (uint64_t)exponent);
    if (base == 0)
        *fault = OX_FAULT_DIVISOR;
    return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
}

LANE2(Pow_i64, i64, i64, i64, power_signed(a, b, fault))
LANE2(Pow_u64, i64, i64, u64, power((uint64_t)a, b))
const ox_lanes OX_LANES(Pow) = {.fn = {FLOAT_ROW(Pow), ENTRY(OX_INT64, Pow_i64)}, .slow = true};
const ox_lanes OX_LANES(PowUnsigned) = {.fn = {ENTRY(OX_INT64, Pow_u64)}, .slow = true};
