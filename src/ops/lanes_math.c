/* lanes_math.c: the loops of math functions, activations and quantisation. */
#include "lane_loops.h"
#include "lane_math.h"

/* The library's own function for float, C's for double. */
#define FAST(fn, x) _Generic((x), float : ox_##fn##f, default : fn)(x)

/* ---- Powers, logarithms, trigonometry ------------------------------------------------------------------------ */

MATH_UNARY(Exp, FAST(exp, a))
MATH_UNARY(Log, FAST(log, a))
MATH_UNARY(Acos, MATH(acos, a))
MATH_UNARY(Acosh, MATH(acosh, a))
MATH_UNARY(Asin, MATH(asin, a))
MATH_UNARY(Asinh, MATH(asinh, a))
MATH_UNARY(Atan, MATH(atan, a))
MATH_UNARY(Atanh, MATH(atanh, a))
MATH_UNARY(Cos, MATH(cos, a))
MATH_UNARY(Cosh, MATH(cosh, a))
MATH_UNARY(Sin, MATH(sin, a))
MATH_UNARY(Sinh, MATH(sinh, a))
MATH_UNARY(Tan, MATH(tan, a))
MATH_UNARY(Tanh, FAST(tanh, a))
MATH_UNARY(Erf, FAST(erf, a))

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
#define POWER(T, expression)                                                                                           \
    INDEPENDENT for (int64_t i = 0; i < n; i++) {                                                                      \
        const c_##T a = x[i];                                                                                          \
        o[i] = (T)(expression);                                                                                        \
    }

/* n is a multiple of OX_VECTOR. */
#define POWERS(T, name, first, second)                                                                                 \
    static void name##_##T(int64_t n, T *o, const T *x, const T *y) {                                                  \
        n &= -(int64_t)OX_VECTOR;                                                                                      \
        FOR_N {                                                                                                        \
            const c_##T a = first, b = second;                                                                         \
            const c_##T any = _Generic(a, float : powf, default : pow)(a, b);                                          \
            const c_##T root = ROOT;                                                                                   \
            o[i] = b == 2 ? SQUARE : b == 3 ? CUBE : b == REAL(0.5) ? root : any;                                      \
        }                                                                                                              \
    }

#define POW(T)                                                                                                         \
    POWERS(T, powers, x[i], y[i])                                                                                      \
    POWERS(T, powers_of_one, x[0], y[i])                                                                               \
    POWERS(T, powers_to_one, x[i], y[0])                                                                               \
    static int Pow_##T(int64_t n, char *const arg[], const int64_t step[], const void *attr) {                         \
        T *o = (void *)arg[0];                                                                                         \
        const T *x = (const void *)arg[1], *y = (const void *)arg[2];                                                  \
        (void)attr;                                                                                                    \
        if (step[1] && !step[2] && (y[0] == 2 || y[0] == 3)) {                                                         \
            const bool square = y[0] == 2;                                                                             \
            if (square)                                                                                                \
                POWER(T, SQUARE)                                                                                       \
            else                                                                                                       \
                POWER(T, CUBE)                                                                                         \
            return 0;                                                                                                  \
        }                                                                                                              \
        int64_t done = n & -(int64_t)OX_VECTOR;                                                                        \
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

LANE2(Pow_i64, i64, i64, i64, power_signed(a, b, &fault))
LANE2(Pow_u64, i64, i64, u64, power((uint64_t)a, b))
const ox_lanes OX_LANES(Pow) = {{FLOAT_ROW(Pow), ENTRY(OX_INT64, Pow_i64)}};
const ox_lanes OX_LANES(PowUnsigned) = {{ENTRY(OX_INT64, Pow_u64)}};

/* ---- Activations -------------------------------------------------------------------------------------------- */

#define ALPHA ((const float *)attr)[0]
#define BETA ((const float *)attr)[1]

/* What is positive of a, and what is not (with NaN). */
#define ABOVE (a > 0 ? a : 0)
#define BELOW (a > 0 ? 0 : a)

/* e to no positive power: no overflow. */
#define SMALL_EXP FAST(exp, -MATH(fabs, a))
MATH_UNARY(Sigmoid, (a < 0 ? SMALL_EXP : 1) / (1 + SMALL_EXP))
MATH_UNARY(Softplus, ABOVE + MATH(log1p, SMALL_EXP))
MATH_UNARY(Elu, ABOVE + ALPHA * MATH(expm1, BELOW))
MATH_UNARY(Celu, ABOVE + ALPHA * MATH(expm1, BELOW / ALPHA))
MATH_UNARY(Selu, BETA *(ABOVE + ALPHA * MATH(expm1, BELOW)))

/* a times the sigmoid of alpha a; an infinite power of e gives the right 0. */
MATH_UNARY(Swish, a / (1 + FAST(exp, -(ALPHA *a))))

/* tanh(ln(1 + e^a)) = n / (n + 2) where n = e^a (e^a + 2); it is 1 long before n overflows. */
#define MISH_EXP FAST(exp, (a > 40 ? 40 : a))
#define MISH_N (MISH_EXP * (MISH_EXP + 2))
MATH_UNARY(Mish, a *(MISH_N / (MISH_N + 2)))

/* a (1 + erf(a / sqrt 2)) / 2; erfc loses nothing where a is negative. */
MATH_UNARY(Gelu, a / 2 * MATH(erfc, a *REAL(-0.70710678118654752440)))
/* a (1 + tanh u) / 2 is a times the sigmoid of 2 u, where u = sqrt(2 / pi) (a + 0.044715 a^3). */
MATH_UNARY(GeluTanh, a / (1 + FAST(exp, REAL(-1.5957691216057307968) * (a + REAL(0.044715) * a * a * a))))

/* Half-way cases go to the even integer: the rounding mode is left alone. */
UNARY(Round, FLOAT, MATH(rint, a))
UNARY(Softsign, FLOAT, a / (1 + MATH(fabs, a)))
UNARY(ThresholdedRelu, FLOAT, a > ALPHA ? a : 0)

/* a < -lambd: a + bias; a > lambd: a - bias; otherwise 0. */
UNARY(Shrink, FLOAT, a<-ALPHA ? a + BETA : a> ALPHA ? a - BETA : 0)

#define CLAMPED(x) ((x) < 0 ? 0 : (x) > 1 ? 1 : (x))
UNARY(HardSigmoid, FLOAT, CLAMPED(ALPHA *a + BETA))
UNARY(HardSwish, FLOAT, a *CLAMPED(a / 6 + (float)0.5))

/* ---- Tests -------------------------------------------------------------------------------------------------- */

#define TEST_(name, T, e) LANE1(name##_##T, u8, T, e)
#define TEST(name, e) FLOAT_LOOPS(TEST_, name, e) const ox_lanes OX_LANES(name) = {{FLOAT_ROW(name)}};

TEST(IsNaN, a != a)
TEST(IsInf, (a == INFINITY && *(const int *)attr & OX_POSITIVE) || (a == -INFINITY && *(const int *)attr & OX_NEGATIVE))

/* ---- Quantization ------------------------------------------------------------------------------------------- */

/* attr: the smallest and the largest integer; NaN gives the smallest */
#define ROUNDED (MATH(rint, a) + b)
BINARY(Quantize, FLOAT, ROUNDED > ALPHA ? (ROUNDED < BETA ? ROUNDED : BETA) : ALPHA)
/* A zero point of 0 changes nothing, not even the sign of a zero. */
BINARY(Offset, FLOAT, a + (b == 0 ? -0.0F : b))
