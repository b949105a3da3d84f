/* lanes.c: the loops of elementwise operators, expanded from one template. An operation is an expression over a, b, c;
 * the types it is expanded for are a list. */
#include "lane_half.h"
#include "lane_maps.h"

#include <math.h>
#include <string.h>

/* ---- Arithmetic --------------------------------------------------------------------------------------------- */

#define ARITHMETIC(name, e)                                                                                            \
    RING_LOOPS(BINARY_, name, e)                                                                                       \
    SMALL_LOOPS(name, e) const ox_lanes OX_LANES(name) = {.fn = {RING_ROW(name), SMALL_ROW(name)}};
ARITHMETIC_MAPS(ARITHMETIC)

/* a < 0 ? slope * a : a; integers wrap. */
UINT_LOOPS(BINARY_, PRelu, ((void)b, a))
BINARY_(PRelu, i32, a < 0 ? (int32_t)((uint32_t)a * (uint32_t)b) : a)
BINARY_(PRelu, i64, a < 0 ? (int64_t)((uint64_t)a * (uint64_t)b) : a)
FLOAT_LOOPS(BINARY_, PRelu, a < 0 ? a * b : a)
const ox_lanes OX_LANES(PRelu) = {
    .fn = {UINT_ROW(PRelu), FLOAT_ROW(PRelu), ENTRY(OX_INT32, PRelu_i32), ENTRY(OX_INT64, PRelu_i64)}};

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
const ox_lanes OX_LANES(ShiftLeft) = {.fn = {UINT_ROW(ShiftLeft), SINT_ROW(ShiftLeft)}};
UINT_LOOPS(BINARY_, ShiftRight, RIGHT_UNSIGNED)
SINT_LOOPS(BINARY_, ShiftRight, RIGHT_SIGNED)
const ox_lanes OX_LANES(ShiftRight) = {.fn = {UINT_ROW(ShiftRight), SINT_ROW(ShiftRight)}};

/* ---- Comparisons -------------------------------------------------------------------------------------------- */

COMPARE(Less, a < b)
COMPARE(LessOrEqual, a <= b)
COMPARE(Greater, a > b)
COMPARE(GreaterOrEqual, a >= b)

UINT_LOOPS(COMPARE_, Equal, a == b)
FLOAT_LOOPS(COMPARE_, Equal, a == b)
LANE2(Equal_bool, u8, u8, u8, (a != 0) == (b != 0))
LANE2(Equal_str, u8, str, str, a.size == b.size && (a.size == 0 || !memcmp(a.data, b.data, a.size)))
const ox_lanes OX_LANES(Equal) = {.fn = {RING_ROW(Equal), ENTRY(OX_BOOL, Equal_bool), ENTRY(OX_STRING, Equal_str)}};

/* ---- One operand -------------------------------------------------------------------------------------------- */

NUMBER_MAPS(UNARY3)
UNARY3(Sign, a != 0, (a > 0) - (a < 0), a > 0 ? 1 : a < 0 ? -1 : a == 0 ? 0 : a)
#define REAL_LOOP(name, e) UNARY(name, FLOAT, e)
REAL_MAPS(REAL_LOOP)
/* a < -lambd: a + bias; a > lambd: a - bias; otherwise 0. */
#define SHRUNK(name, real)                                                                                             \
    static inline real name(real a, real limit, real bias) {                                                           \
        const real less = a - bias, more = a + bias, above = a > limit ? less : 0;                                     \
        return a < -limit ? more : above;                                                                              \
    }
SHRUNK(shrunk_f32, float)
SHRUNK(shrunk_f64, double)
UNARY(Shrink, FLOAT, (_Generic(a, float : shrunk_f32, default : shrunk_f64)(a, ALPHA, BETA)))

/* ---- Moves -------------------------------------------------------------------------------------------------- */

#define COPY(T) LANE1(copy_##T, T, T, a)
COPY(u8)
COPY(u16)
COPY(u32)
COPY(u64)
COPY(b16)

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
        o[i] = x[i] ? p : q;                                                                                           \
    }
#define WHERE(T)                                                                                                       \
    static int where_##T(int64_t n, char *const arg[], const int64_t step[], const void *attr) {                       \
        T *o = (void *)arg[0];                                                                                         \
        const u8 *x = (const void *)arg[1];                                                                            \
        const T *y = (const void *)arg[2], *z = (const void *)arg[3];                                                  \
        const T y0 = y[0], z0 = z[0];                                                                                  \
        (void)attr;                                                                                                    \
        if (!step[1] && x[0])                                                                                          \
            return copy_##T(n, (char *[]){arg[0], arg[2]}, (const int64_t[]){step[0], step[2]}, NULL);                 \
        if (!step[1])                                                                                                  \
            return copy_##T(n, (char *[]){arg[0], arg[3]}, (const int64_t[]){step[0], step[3]}, NULL);                 \
        STREAM3(T, u8, a ? b : c)                                                                                      \
        if (step[2] && step[3])                                                                                        \
            SELECT(T, y[i], z[i])                                                                                      \
        else if (step[2])                                                                                              \
            SELECT(T, y[i], z0)                                                                                        \
        else if (step[3])                                                                                              \
            SELECT(T, y0, z[i])                                                                                        \
        else                                                                                                           \
            SELECT(T, y0, z0)                                                                                          \
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
