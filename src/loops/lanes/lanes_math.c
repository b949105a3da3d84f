/* lanes_math.c: the loops of math functions, activations and quantisation. */
#include "lane_maps.h"
#include "lane_types.inc"

#if !OX_SMALL
#define T f32
#include "lane_vectors.inc"
#define T f64
#include "lane_vectors.inc"
#endif

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
VECTOR_LANE(Log_f32, f32)
#endif
MATH_LANE(Log_f64, f64, log(a))
const ox_lanes OX_LANES(Log) = {.fn = {FLOAT_ROW(Log)}, .slow = true};

#if defined(__GLIBC__) || OX_SMALL
#define ACOSH(a) MATH(acosh, a)
#else
/* Other C libraries are wrong below 1, where there is no result, or inexact near it. */
static inline double acosh_f64(double a) {
    const double t = a - 1;
    if (a < 1)
        return NAN;
    return a < 0x1p28 ? log1p(t + sqrt(t * (a + 1))) : log(a) + 0.69314718055994531;
}

static inline float acosh_f32(float a) {
    return (float)acosh_f64(a);
}
#define ACOSH(a) _Generic((a), float : acosh_f32, default : acosh_f64)(a)
#endif

#ifdef _WIN32
#include "loops/angle.h"
#define ANGLE(fn, a) _Generic((a), float : ox_##fn##_f32, default : ox_##fn##_f64)(a)
#else
#define ANGLE(fn, a) MATH(fn, a)
#endif

MATH_MAPS(MATH_UNARY)
MATH_UNARY(Acos, MATH(acos, a))
MATH_UNARY(Acosh, ACOSH(a))
MATH_UNARY(Asin, MATH(asin, a))
MATH_UNARY(Asinh, MATH(asinh, a))
MATH_UNARY(Atan, MATH(atan, a))
MATH_UNARY(Atanh, MATH(atanh, a))
MATH_UNARY(Cos, ANGLE(cos, a))
MATH_UNARY(Cosh, MATH(cosh, a))
MATH_UNARY(Sin, ANGLE(sin, a))
MATH_UNARY(Sinh, MATH(sinh, a))
MATH_UNARY(Tan, ANGLE(tan, a))
#ifdef OX_LOOKUP
/* Of OX_SOME floats at a time. */
#define SOME_VECTORS(name, some)                                                                                       \
    static void name##_vectors(int64_t n, f32 *o, const f32 *x, const void *attr) {                                    \
        (void)attr;                                                                                                    \
        n &= -(int64_t)OX_VECTOR;                                                                                      \
        for (int64_t i = 0; i < n; i += OX_SOME) {                                                                     \
            float v[OX_SOME];                                                                                          \
            memcpy(v, x + i, sizeof v);                                                                                \
            some(v, v);                                                                                                \
            memcpy(o + i, v, sizeof v);                                                                                \
        }                                                                                                              \
    }                                                                                                                  \
    VECTOR_LANE(name, f32)
SOME_VECTORS(Erf_f32, ox_erf_some)
SOME_VECTORS(Exp_f32, ox_exp_some)
SOME_VECTORS(Gelu_f32, ox_gelu_some)
#elif OX_SMALL
MATH_LANE(Erf_f32, f32, ox_erff(a))
MATH_LANE(Exp_f32, f32, ox_expf(a))
MATH_LANE(Gelu_f32, f32, ox_geluf(a))
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
VECTOR_LANE(Erf_f32, f32)
MATH_LANE(Exp_f32, f32, ox_expf(a))
MATH_LANE(Gelu_f32, f32, ox_geluf(a))
#endif
MATH_LANE(Exp_f64, f64, exp(a))
const ox_lanes OX_LANES(Exp) = {.fn = {FLOAT_ROW(Exp)}, .slow = true};
MATH_LANE(Erf_f64, f64, erf(a))
const ox_lanes OX_LANES(Erf) = {.fn = {FLOAT_ROW(Erf)}, .slow = true};
MATH_LANE(Gelu_f64, f64, a / 2 * erfc(-0.70710678118654752440 * a))
const ox_lanes OX_LANES(Gelu) = {.fn = {FLOAT_ROW(Gelu)}, .slow = true};

/* ---- Activations -------------------------------------------------------------------------------------------- */

/* What is positive of a, and what is not (with NaN). */
#define ABOVE (a > 0 ? a : 0)
#define BELOW (a > 0 ? 0 : a)

MATH_UNARY(Softplus, ABOVE + MATH(log1p, SMALL_EXP))
MATH_UNARY(Elu, ABOVE + ALPHA * MATH(expm1, BELOW))
MATH_UNARY(Celu, ABOVE + ALPHA * MATH(expm1, BELOW / ALPHA))
MATH_UNARY(Selu, BETA *(ABOVE + ALPHA * MATH(expm1, BELOW)))

/* ---- Tests -------------------------------------------------------------------------------------------------- */

#define TEST(name, e)                                                                                                  \
    LANE1(name##_f32, truth, f32, e)                                                                                   \
    LANE1(name##_f64, truth, f64, e)                                                                                   \
    const ox_lanes OX_LANES(name) = {.fn = {FLOAT_ROW(name)}};

TEST(IsNaN, a != a)
TEST(IsInf, (a == ALPHA) | (a == BETA))

/* ---- Quantization ------------------------------------------------------------------------------------------- */

QUANTIZE_MAPS(BINARY_FLOAT)
