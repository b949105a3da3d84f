/* lanes.c: the loops of elementwise operators, expanded from one template. An operation is an expression over a, b, c;
 * the types it is expanded for are a list. */
#include "lane_loops.h"

#include <math.h>
#include <string.h>

/* ---- Arithmetic --------------------------------------------------------------------------------------------- */

BINARY(Add, RING, a + b)
BINARY(Sub, RING, a - b)
BINARY(Mul, RING, a *b)

/* a / b towards zero. A divisor of 0 is replaced (the loop reports it), and so is -1, for INT_MIN / -1 wraps.
 * Processors divide floats many at a time and integers one by one: a quotient of integers that a float holds exactly is
 * at least 1 / |b| away from the next integer, far more than the float's rounding. */
#define UNSIGNED_QUOTIENT(T, real)                                                                                     \
    static inline c_##T quotient_##T(c_##T a, c_##T b) {                                                               \
        return (c_##T)((real)a / (real)(b == 0 ? 1 : b));                                                              \
    }
#define SIGNED_QUOTIENT(T, real)                                                                                       \
    static inline c_##T quotient_##T(c_##T a, c_##T b) {                                                               \
        const c_u64 minus = 0 - (c_u64)(b == -1);                                                                      \
        const c_##T q = (c_##T)((real)a / (real)((c_u64)b + 1 <= 1 ? 1 : b));                                          \
        return (c_##T)(((c_u64)q ^ minus) - minus);                                                                    \
    }
UNSIGNED_QUOTIENT(u8, float)
UNSIGNED_QUOTIENT(u16, float)
UNSIGNED_QUOTIENT(u32, double)
UNSIGNED_QUOTIENT(u64, c_u64)
SIGNED_QUOTIENT(i8, float)
SIGNED_QUOTIENT(i16, float)
SIGNED_QUOTIENT(i32, double)
SIGNED_QUOTIENT(i64, c_i64)

/* Remainders in unsigned arithmetic: all is exact modulo the type. */
#define REMAINDER(T) ((T)((c_u64)a - (c_u64)quotient_##T(a, b) * (c_u64)b))
#define FLOORED(T) (REMAINDER(T) != 0 && (REMAINDER(T) < 0) != (b < 0) ? REMAINDER(T) + b : REMAINDER(T))

/* A loop that divides by its second operand: looks for zeros in it first. */
#define DIVIDING(fn, T, expression)                                                                                    \
    LANE2(fn##_loop, T, T, T, expression)                                                                              \
    static int fn(int64_t n, char *const arg[], const int64_t step[], const void *attr) {                              \
        const T *y = (const void *)arg[2];                                                                             \
        int zero = 0;                                                                                                  \
        for (int64_t i = 0; i < (step[2] ? n : 1); i++)                                                                \
            zero |= y[i] == 0;                                                                                         \
        fn##_loop(n, arg, step, attr);                                                                                 \
        return zero ? OX_FAULT_DIVISOR : 0;                                                                            \
    }

static float mod_f32(float a, float b) {
    float r = fmodf(a, b);
    return r == 0 ? copysignf(r, b) : (r < 0) != (b < 0) ? r + b : r;
}
static double mod_f64(double a, double b) {
    double r = fmod(a, b);
    return r == 0 ? copysign(r, b) : (r < 0) != (b < 0) ? r + b : r;
}

#define DIV_(name, T, e) DIVIDING(Div_##T, T, quotient_##T(a, b))
#define FMOD_(name, T, e) DIVIDING(Fmod_##T, T, REMAINDER(T))
#define UMOD_(name, T, e) DIVIDING(Mod_##T, T, REMAINDER(T))
#define MOD_(name, T, e) DIVIDING(Mod_##T, T, FLOORED(T))
UINT_LOOPS(DIV_, Div, )
SINT_LOOPS(DIV_, Div, )
FLOAT_LOOPS(BINARY_, Div, a / b)
const ox_lanes OX_LANES(Div) = {{NUM_ROW(Div)}};

/* The remainder with the dividend's sign. */
UINT_LOOPS(FMOD_, Fmod, )
SINT_LOOPS(FMOD_, Fmod, )
FLOAT_LOOPS(BINARY_, Fmod, _Generic(a, float : fmodf, default : fmod)(a, b))
const ox_lanes OX_LANES(Fmod) = {{NUM_ROW(Fmod)}};

/* The remainder with the divisor's sign. */
UINT_LOOPS(UMOD_, Mod, )
SINT_LOOPS(MOD_, Mod, )
FLOAT_LOOPS(BINARY_, Mod, _Generic(a, float : mod_f32, default : mod_f64)(a, b))
const ox_lanes OX_LANES(Mod) = {{NUM_ROW(Mod)}};

/* IEEE 754-2019 maximum and minimum: NaN wins, and -0 is less than +0. A processor's own instruction gives its second
 * operand for equals and for NaN: asked in both orders, it gives zeros of both signs, and their bits join. */
#define EXTREMES(T, real, bits)                                                                                        \
    static inline real join_##T(real x, real y, bool both) {                                                           \
        bits p, q;                                                                                                     \
        memcpy(&p, &x, sizeof p);                                                                                      \
        memcpy(&q, &y, sizeof q);                                                                                      \
        p = both ? p & q : p | q;                                                                                      \
        memcpy(&x, &p, sizeof x);                                                                                      \
        return x;                                                                                                      \
    }                                                                                                                  \
    static inline real max_##T(real a, real b) {                                                                       \
        const real top = join_##T(a > b ? a : b, b > a ? b : a, true);                                                 \
        return isunordered(a, b) ? a + b : top;                                                                        \
    }                                                                                                                  \
    static inline real min_##T(real a, real b) {                                                                       \
        const real low = join_##T(a < b ? a : b, b < a ? b : a, false);                                                \
        return isunordered(a, b) ? a + b : low;                                                                        \
    }
EXTREMES(f32, float, uint32_t)
EXTREMES(f64, double, uint64_t)
BINARY3(Max, a > b ? a : b, a > b ? a : b, _Generic(a, float : max_f32, default : max_f64)(a, b))
BINARY3(Min, a < b ? a : b, a < b ? a : b, _Generic(a, float : min_f32, default : min_f64)(a, b))

/* a < 0 ? slope * a : a; integers wrap. */
UINT_LOOPS(BINARY_, PRelu, ((void)b, a))
BINARY_(PRelu, i32, a < 0 ? (int32_t)((uint32_t)a * (uint32_t)b) : a)
BINARY_(PRelu, i64, a < 0 ? (int64_t)((uint64_t)a * (uint64_t)b) : a)
FLOAT_LOOPS(BINARY_, PRelu, a < 0 ? a * b : a)
const ox_lanes OX_LANES(PRelu) = {
    {UINT_ROW(PRelu), FLOAT_ROW(PRelu), ENTRY(OX_INT32, PRelu_i32), ENTRY(OX_INT64, PRelu_i64)}};

/* ---- Logic and bits ----------------------------------------------------------------------------------------- */

/* A bool out of a file may be any byte; what is not 0 is true. */
BINARY(And, BOOL, (a != 0) & (b != 0))
BINARY(Or, BOOL, (a | b) != 0)
BINARY(Xor, BOOL, (a != 0) ^ (b != 0))
UNARY(Not, BOOL, a == 0)

BINARY(BitwiseAnd, BITS, a &b)
BINARY(BitwiseOr, BITS, a | b)
BINARY(BitwiseXor, BITS, a ^ b)
UNARY(BitwiseNot, BITS, ~a)

/* Shifts by negative amounts, or by the width and more, leave what sign extension alone leaves (BitShift-28). */
#define BITS_OF_RESULT ((c_u64)sizeof(*o) * 8)
#define IN_WIDTH ((c_u64)b < BITS_OF_RESULT)
#define LEFT (IN_WIDTH ? (c_u64)a << (b & 63) : 0)
#define RIGHT_UNSIGNED (IN_WIDTH ? (c_u64)a >> (b & 63) : 0)
#define RIGHT_SIGNED (IN_WIDTH ? (c_i64)a >> (b & 63) : a < 0 ? -1 : 0)
UINT_LOOPS(BINARY_, ShiftLeft, LEFT)
SINT_LOOPS(BINARY_, ShiftLeft, LEFT)
const ox_lanes OX_LANES(ShiftLeft) = {{UINT_ROW(ShiftLeft), SINT_ROW(ShiftLeft)}};
UINT_LOOPS(BINARY_, ShiftRight, RIGHT_UNSIGNED)
SINT_LOOPS(BINARY_, ShiftRight, RIGHT_SIGNED)
const ox_lanes OX_LANES(ShiftRight) = {{UINT_ROW(ShiftRight), SINT_ROW(ShiftRight)}};

/* ---- Comparisons -------------------------------------------------------------------------------------------- */

COMPARE(Less, a < b)
COMPARE(LessOrEqual, a <= b)
COMPARE(Greater, a > b)
COMPARE(GreaterOrEqual, a >= b)

UINT_LOOPS(COMPARE_, Equal, a == b)
FLOAT_LOOPS(COMPARE_, Equal, a == b)
LANE2(Equal_bool, u8, u8, u8, (a != 0) == (b != 0))
LANE2(Equal_str, u8, str, str, a.size == b.size && (a.size == 0 || !memcmp(a.data, b.data, a.size)))
const ox_lanes OX_LANES(Equal) = {{RING_ROW(Equal), ENTRY(OX_BOOL, Equal_bool), ENTRY(OX_STRING, Equal_str)}};

/* ---- One operand -------------------------------------------------------------------------------------------- */

UNARY3(Abs, a, a < 0 ? (int64_t)(0 - (uint64_t)a) : a, MATH(fabs, a))
UNARY3(Neg, 0 - a, (int64_t)(0 - (uint64_t)a), -a)
UNARY3(Sign, a != 0, (a > 0) - (a < 0), a > 0 ? 1 : a < 0 ? -1 : a == 0 ? 0 : a)
UNARY3(Relu, a, a > 0 ? a : 0, a <= 0 ? 0 : a)
UNARY(Floor, FLOAT, MATH(floor, a))
UNARY(Ceil, FLOAT, MATH(ceil, a))
UNARY(Sqrt, FLOAT, MATH(sqrt, a))
UNARY(Reciprocal, FLOAT, 1 / a)
UNARY(LeakyRelu, FLOAT, a < 0 ? a * *(const float *)attr : a)

/* ---- Moves -------------------------------------------------------------------------------------------------- */

#define COPY(T) LANE1(copy_##T, T, T, a)
COPY(u8)
COPY(u16)
COPY(u32)
COPY(u64)
#define EXPAND_STRUCT(T)                                                                                               \
    static int copy_##T(int64_t n, char *const arg[], const int64_t step[], const void *attr) {                        \
        T *o = (void *)arg[0];                                                                                         \
        const T *x = (const void *)arg[1];                                                                             \
        (void)attr;                                                                                                    \
        for (int64_t i = 0; i < n; i++)                                                                                \
            o[i] = x[step[1] ? i : 0];                                                                                 \
        return 0;                                                                                                      \
    }
EXPAND_STRUCT(b16)

ox_lane *OX_VARIANT(ox_lane_copy)(size_t width) {
    return width == 1 ? copy_u8 : width == 2 ? copy_u16 : width == 4 ? copy_u32 : width == 8 ? copy_u64 : copy_b16;
}

#if OX_SMALL
#define WHERE(T)                                                                                                       \
    static int where_##T(int64_t n, char *const arg[], const int64_t step[], const void *attr) {                       \
        T *o = (void *)arg[0], *const end = o + (size_t)n;                                                             \
        const u8 *c = (const void *)arg[1];                                                                            \
        const T *x = (const void *)arg[2], *y = (const void *)arg[3];                                                  \
        const size_t dc = step[1] != 0, dx = step[2] != 0, dy = step[3] != 0;                                          \
        (void)attr;                                                                                                    \
        for (; o < end; o++, c += dc, x += dx, y += dy)                                                                \
            *o = *c ? *x : *y;                                                                                         \
        return 0;                                                                                                      \
    }
#else
/* Both are loaded, whatever the condition is: only then can the compiler choose between whole vectors. */
#define SELECT(T, first, second)                                                                                       \
    FOR_N {                                                                                                            \
        const T p = first, q = second;                                                                                 \
        o[i] = c[i] ? p : q;                                                                                           \
    }
#define WHERE(T)                                                                                                       \
    static int where_##T(int64_t n, char *const arg[], const int64_t step[], const void *attr) {                       \
        T *o = (void *)arg[0];                                                                                         \
        const u8 *c = (const void *)arg[1];                                                                            \
        const T *x = (const void *)arg[2], *y = (const void *)arg[3];                                                  \
        const T x0 = x[0], y0 = y[0];                                                                                  \
        (void)attr;                                                                                                    \
        if (!step[1] && c[0])                                                                                          \
            return copy_##T(n, (char *[]){arg[0], arg[2]}, (const int64_t[]){step[0], step[2]}, NULL);                 \
        if (!step[1])                                                                                                  \
            return copy_##T(n, (char *[]){arg[0], arg[3]}, (const int64_t[]){step[0], step[3]}, NULL);                 \
        if (step[2] && step[3])                                                                                        \
            SELECT(T, x[i], y[i])                                                                                      \
        else if (step[2])                                                                                              \
            SELECT(T, x[i], y0)                                                                                        \
        else if (step[3])                                                                                              \
            SELECT(T, x0, y[i])                                                                                        \
        else                                                                                                           \
            SELECT(T, x0, y0)                                                                                          \
        return 0;                                                                                                      \
    }
#endif
WHERE(u8)
WHERE(u16)
WHERE(u32)
WHERE(u64)
WHERE(b16)

ox_lane *OX_VARIANT(ox_lane_where)(size_t width) {
    return width == 1 ? where_u8 : width == 2 ? where_u16 : width == 4 ? where_u32 : width == 8 ? where_u64 : where_b16;
}
