/* lanes_math.c: the loops of activation functions and of other functions of one floating-point operand. */
#include "lane_loops.h"

#include <math.h>

/* ---- Trigonometry ------------------------------------------------------------------------------------------- */

UNARY(Acos, FLOAT, MATH(acos, a))
UNARY(Acosh, FLOAT, MATH(acosh, a))
UNARY(Asin, FLOAT, MATH(asin, a))
UNARY(Asinh, FLOAT, MATH(asinh, a))
UNARY(Atan, FLOAT, MATH(atan, a))
UNARY(Atanh, FLOAT, MATH(atanh, a))
UNARY(Cos, FLOAT, MATH(cos, a))
UNARY(Cosh, FLOAT, MATH(cosh, a))
UNARY(Sin, FLOAT, MATH(sin, a))
UNARY(Sinh, FLOAT, MATH(sinh, a))
UNARY(Tan, FLOAT, MATH(tan, a))

/* ---- Activations -------------------------------------------------------------------------------------------- */

#define ALPHA ((const float *)attr)[0]
#define BETA ((const float *)attr)[1]

UNARY(Erf, FLOAT, MATH(erf, a))
/* Half-way cases go to the even integer: the rounding mode is left alone. */
UNARY(Round, FLOAT, MATH(rint, a))
UNARY(Elu, FLOAT, a > 0 ? a : ALPHA *MATH(expm1, a))
UNARY(Celu, FLOAT, a > 0 ? a : ALPHA *MATH(expm1, a / ALPHA))
UNARY(Selu, FLOAT, BETA *(a > 0 ? a : ALPHA * MATH(expm1, a)))
UNARY(Softsign, FLOAT, a / (1 + MATH(fabs, a)))
UNARY(ThresholdedRelu, FLOAT, a > ALPHA ? a : 0)

/* x < -lambd: x + bias; x > lambd: x - bias; otherwise 0. */
UNARY(Shrink, FLOAT, a < -ALPHA ? a + BETA : a > ALPHA ? a - BETA : 0)

/* ln(1 + e^x), with e to no positive power: no overflow. */
UNARY(Softplus, FLOAT, a > 0 ? a + MATH(log1p, MATH(exp, -a)) : MATH(log1p, MATH(exp, a)))

/* x times the sigmoid of alpha x; an infinite power of e gives the right 0. */
UNARY(Swish, FLOAT, a / (1 + MATH(exp, -(ALPHA * a))))

#define CLAMPED(x) ((x) < 0 ? 0 : (x) > 1 ? 1 : (x))
UNARY(HardSigmoid, FLOAT, CLAMPED(ALPHA *a + BETA))
UNARY(HardSwish, FLOAT, a *CLAMPED(a / 6 + (float)0.5))

/* A constant in the type that is computed in. */
#define REAL(number) _Generic(a, float : number##f, default : number)

/* tanh(ln(1 + e^x)) = n / (n + 2) where n = e^x (e^x + 2); it is 1 long before n overflows. */
#define MISH(e) (a * ((e) * ((e) + 2) / ((e) * ((e) + 2) + 2)))
UNARY(Mish, FLOAT, a > 40 ? a : MISH(MATH(exp, a)))

/* x (1 + erf(x / sqrt 2)) / 2; erfc loses nothing where x is negative. */
UNARY(Gelu, FLOAT, a / 2 * MATH(erfc, a *REAL(-0.70710678118654752440)))
/* x (1 + tanh u) / 2 is x times the sigmoid of 2 u, where u = sqrt(2 / pi) (x + 0.044715 x^3). */
UNARY(GeluTanh, FLOAT, a / (1 + MATH(exp, REAL(-1.5957691216057307968) * (a + REAL(0.044715) * a * a * a))))

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
