/* lanes_math.c: the loops of math functions, activations and quantisation. */
#include "lane_loops.h"
#include "lane_math.h"

/* The library's own function for float, C's for double. */
#define FAST(fn, x) _Generic((x), float : ox_##fn##f, default : fn)(x)

/* ---- Logarithms, exponentials, trigonometry ------------------------------------------------------------------ */

/* ln of zeros, of negative and subnormal floats, of infinity and NaN. */
static inline float log_of_any(float a) {
    const float subnormal = ox_logf(a * 0x1p23f) - 15.9423852f;
    return a > 0 && a < 1 ? subnormal : a == 0 ? -INFINITY : a > 0 ? a : NAN;
}

#if OX_SMALL
static inline float log_of(float a) {
    return ox_is_normal(a) ? ox_logf(a) : log_of_any(a);
}
MATH_LANE(Log_f32, f32, log_of(a))
#else
static void Log_f32_vectors(int64_t count, f32 *o, const f32 *x, const void *attr) {
    (void)attr;
    for (int64_t n = 0; count > 0; count -= n, o += n, x += n) {
        uint32_t most = 0;
        n = (count < OX_BLOCK ? count : OX_BLOCK) & -(int64_t)OX_VECTOR;
        FOR_N most = MORE_OF(most, ox_bits_of_float(x[i]) - OX_LEAST_NORMAL);
        if (most < OX_NORMALS)
            FOR_N o[i] = ox_logf(x[i]);
        else
            FOR_N {
                const float a = x[i], usual = ox_logf(a), other = log_of_any(a);
                o[i] = ox_is_normal(a) ? usual : other;
            }
    }
}
MATH_WHOLE(Log_f32, f32, STREAM_VECTORS(f32, Log_f32_vectors))
#endif
MATH_LANE(Log_f64, f64, log(a))
const ox_lanes OX_LANES(Log) = {.fn = {FLOAT_ROW(Log)}, .slow = true};

MATH_UNARY(Exp, FAST(exp, a))
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
#if OX_SMALL
MATH_LANE(Erf_f32, f32, ox_erff(a))
#else
static void Erf_f32_vectors(int64_t count, f32 *o, const f32 *x, const void *attr) {
    (void)attr;
    for (int64_t n = 0; count > 0; count -= n, o += n, x += n) {
        float exponent[OX_BLOCK];
        n = (count < OX_BLOCK ? count : OX_BLOCK) & -(int64_t)OX_VECTOR;
        FOR_N exponent[i] = ox_erf_exponent(x[i]);
        FOR_N o[i] = copysignf(ox_expm1_near(exponent[i]), x[i]);
    }
}
MATH_WHOLE(Erf_f32, f32, STREAM_VECTORS(f32, Erf_f32_vectors))
#endif
MATH_LANE(Erf_f64, f64, erf(a))
const ox_lanes OX_LANES(Erf) = {.fn = {FLOAT_ROW(Erf)}, .slow = true};

/* ---- Activations -------------------------------------------------------------------------------------------- */

#define ALPHA ((const float *)attr)[0]
#define BETA ((const float *)attr)[1]

/* What is positive of a, and what is not (with NaN). */
#define ABOVE (a > 0 ? a : 0)
#define BELOW (a > 0 ? 0 : a)

/* e to no positive power: no overflow. */
#define SMALL_EXP FAST(exp, -MATH(fabs, a))
MATH_UNARY(Softplus, ABOVE + MATH(log1p, SMALL_EXP))
MATH_UNARY(Elu, ABOVE + ALPHA * MATH(expm1, BELOW))
MATH_UNARY(Celu, ABOVE + ALPHA * MATH(expm1, BELOW / ALPHA))
MATH_UNARY(Selu, BETA *(ABOVE + ALPHA * MATH(expm1, BELOW)))

static inline double sigmoid(double a) {
    return (a < 0 ? SMALL_EXP : 1) / (1 + SMALL_EXP);
}
MATH_UNARY(Sigmoid, FAST(sigmoid, a))
BINARY_(SigmoidMul, f32, ox_sigmoidf(a) * b)
const ox_lanes OX_LANES(SigmoidMul) = {.fn = {ENTRY(OX_FLOAT, SigmoidMul_f32)}, .slow = true};

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
#define TEST(name, e) FLOAT_LOOPS(TEST_, name, e) const ox_lanes OX_LANES(name) = {.fn = {FLOAT_ROW(name)}};

TEST(IsNaN, a != a)
TEST(IsInf, (a == INFINITY && *(const int *)attr & OX_POSITIVE) || (a == -INFINITY && *(const int *)attr & OX_NEGATIVE))

/* ---- Quantization ------------------------------------------------------------------------------------------- */

/* attr: the smallest and the largest integer; NaN gives the smallest */
#define ROUNDED (MATH(rint, a) + b)
BINARY(Quantize, FLOAT, ROUNDED > ALPHA ? (ROUNDED < BETA ? ROUNDED : BETA) : ALPHA)
/* A zero point of 0 changes nothing, not even the sign of a zero. */
BINARY(Offset, FLOAT, a + (b == 0 ? -0.0F : b))
