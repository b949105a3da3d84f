/* lanes.c: the loops of elementwise operators, expanded from one template. An operation is an expression over a, b, c;
 * the types it is expanded for are a list. */
#include "loops/lane_half.h"
#include "lane_maps.h"
#include "lane_types.inc"

#include <math.h>
#include <string.h>

/* Copies, for moves and for what operations do to some types. */
LANE1(copy_u8, u8, u8, a)
LANE1(copy_u16, u16, u16, a)
LANE1(copy_u32, u32, u32, a)
LANE1(copy_u64, u64, u64, a)
LANE1(copy_b16, b16, b16, a)

/* ---- Arithmetic --------------------------------------------------------------------------------------------- */

#define ARITHMETIC(name, e)                                                                                            \
    LANE2(name##_u8, u8, u8, u8, e)                                                                                    \
    LANE2(name##_u16, u16, u16, u16, e)                                                                                \
    LANE2(name##_u32, u32, u32, u32, e)                                                                                \
    LANE2(name##_u64, u64, u64, u64, e)                                                                                \
    LANE2(name##_f32, f32, f32, f32, e)                                                                                \
    LANE2(name##_f64, f64, f64, f64, e)                                                                                \
    BF16_LANE(name##_bf16, e)                                                                                          \
    HALF_LANE(name##_half, e)                                                                                          \
    const ox_lanes OX_LANES(name) = {.fn = {UINT_ROW(name), WRAP_ROW(name), FLOAT_ROW(name), SMALL_ROW(name)}};
ARITHMETIC_MAPS(ARITHMETIC)

/* a < 0 ? slope * a : a; integers wrap, and unsigned ones are copies. */
LANE2(PRelu_i32, i32, i32, i32, a < 0 ? (int32_t)((uint32_t)a * (uint32_t)b) : a)
LANE2(PRelu_i64, i64, i64, i64, a < 0 ? (int64_t)((uint64_t)a * (uint64_t)b) : a)
LANE2(PRelu_f32, f32, f32, f32, a < 0 ? a * b : a)
LANE2(PRelu_f64, f64, f64, f64, a < 0 ? a * b : a)
const ox_lanes OX_LANES(PRelu) = {
    .fn = {UINT_ROW(copy), FLOAT_ROW(PRelu), ENTRY(OX_INT32, PRelu_i32), ENTRY(OX_INT64, PRelu_i64)}};

/* ---- Logic and bits ----------------------------------------------------------------------------------------- */

/* A bool out of a file may be any byte; what is not 0 is true. */
#define BOOL_LANES(name) const ox_lanes OX_LANES(name) = {.fn = {ENTRY(OX_BOOL, name##_bool)}};
LANE2(And_bool, u8, u8, u8, (a != 0) & (b != 0))
LANE2(Or_bool, u8, u8, u8, (a | b) != 0)
LANE2(Xor_bool, u8, u8, u8, (a != 0) ^ (b != 0))
LANE1(Not_bool, u8, u8, a == 0)
BOOL_LANES(And)
BOOL_LANES(Or)
BOOL_LANES(Xor)
BOOL_LANES(Not)

#define UNARY_BITS(name, e)                                                                                            \
    LANE1(name##_u8, u8, u8, e)                                                                                        \
    LANE1(name##_u16, u16, u16, e)                                                                                     \
    LANE1(name##_u32, u32, u32, e)                                                                                     \
    LANE1(name##_u64, u64, u64, e)                                                                                     \
    const ox_lanes OX_LANES(name) = {.fn = {UINT_ROW(name), WRAP_ROW(name)}};
#define BINARY_BITS(name, e)                                                                                           \
    LANE2(name##_u8, u8, u8, u8, e)                                                                                    \
    LANE2(name##_u16, u16, u16, u16, e)                                                                                \
    LANE2(name##_u32, u32, u32, u32, e)                                                                                \
    LANE2(name##_u64, u64, u64, u64, e)                                                                                \
    const ox_lanes OX_LANES(name) = {.fn = {UINT_ROW(name), WRAP_ROW(name)}};
BINARY_BITS(BitwiseAnd, a &b)
BINARY_BITS(BitwiseOr, a | b)
BINARY_BITS(BitwiseXor, a ^ b)
UNARY_BITS(BitwiseNot, ~a)

/* Shifts by negative amounts, or by the width and more, leave what sign extension alone leaves (BitShift-28). */
#define IN_WIDTH ((c_u64)b < (c_u64)BITS)
#define LEFT (IN_WIDTH ? (c_u64)a << (b & 63) : 0)
#define RIGHT_UNSIGNED (IN_WIDTH ? (c_u64)a >> (b & 63) : 0)
#define RIGHT_SIGNED (IN_WIDTH ? (c_i64)a >> (b & 63) : a < 0 ? -1 : 0)
#define SHIFT(name, e)                                                                                                 \
    LANE2(name##_u8, u8, u8, u8, e)                                                                                    \
    LANE2(name##_u16, u16, u16, u16, e)                                                                                \
    LANE2(name##_u32, u32, u32, u32, e)                                                                                \
    LANE2(name##_u64, u64, u64, u64, e)
SHIFT(ShiftLeft, LEFT)
SHIFT(ShiftRight, RIGHT_UNSIGNED)
LANE2(ShiftRight_i8, i8, i8, i8, RIGHT_SIGNED)
LANE2(ShiftRight_i16, i16, i16, i16, RIGHT_SIGNED)
LANE2(ShiftRight_i32, i32, i32, i32, RIGHT_SIGNED)
LANE2(ShiftRight_i64, i64, i64, i64, RIGHT_SIGNED)
const ox_lanes OX_LANES(ShiftLeft) = {.fn = {UINT_ROW(ShiftLeft), WRAP_ROW(ShiftLeft)}};
const ox_lanes OX_LANES(ShiftRight) = {.fn = {UINT_ROW(ShiftRight), SINT_ROW(ShiftRight)}};

/* ---- Comparisons -------------------------------------------------------------------------------------------- */

#define COMPARE(name, e)                                                                                               \
    LANE2(name##_u8, truth, u8, u8, e)                                                                                 \
    LANE2(name##_u16, truth, u16, u16, e)                                                                              \
    LANE2(name##_u32, truth, u32, u32, e)                                                                              \
    LANE2(name##_u64, truth, u64, u64, e)                                                                              \
    LANE2(name##_i8, truth, i8, i8, e)                                                                                 \
    LANE2(name##_i16, truth, i16, i16, e)                                                                              \
    LANE2(name##_i32, truth, i32, i32, e)                                                                              \
    LANE2(name##_i64, truth, i64, i64, e)                                                                              \
    LANE2(name##_f32, truth, f32, f32, e)                                                                              \
    LANE2(name##_f64, truth, f64, f64, e)                                                                              \
    const ox_lanes OX_LANES(name) = {.fn = {UINT_ROW(name), SINT_ROW(name), FLOAT_ROW(name)}};
COMPARE(Less, a < b)
COMPARE(LessOrEqual, a <= b)

/* a > b is b < a: the loop of that, with operands that trade places. */
#define TURNED_LANE(fn, other)                                                                                         \
    static int fn(int64_t n, char *const arg[], const int64_t step[], const void *attr) {                              \
        return other(n, (char *[]){arg[0], arg[2], arg[1]}, (const int64_t[]){step[0], step[2], step[1]}, attr);       \
    }
#define TURNED(name, other)                                                                                            \
    TURNED_LANE(name##_u8, other##_u8)                                                                                 \
    TURNED_LANE(name##_u16, other##_u16)                                                                               \
    TURNED_LANE(name##_u32, other##_u32)                                                                               \
    TURNED_LANE(name##_u64, other##_u64)                                                                               \
    TURNED_LANE(name##_i8, other##_i8)                                                                                 \
    TURNED_LANE(name##_i16, other##_i16)                                                                               \
    TURNED_LANE(name##_i32, other##_i32)                                                                               \
    TURNED_LANE(name##_i64, other##_i64)                                                                               \
    TURNED_LANE(name##_f32, other##_f32)                                                                               \
    TURNED_LANE(name##_f64, other##_f64)                                                                               \
    const ox_lanes OX_LANES(name) = {.fn = {UINT_ROW(name), SINT_ROW(name), FLOAT_ROW(name)}};
TURNED(Greater, Less)
TURNED(GreaterOrEqual, LessOrEqual)

LANE2(Equal_u8, truth, u8, u8, a == b)
LANE2(Equal_u16, truth, u16, u16, a == b)
LANE2(Equal_u32, truth, u32, u32, a == b)
LANE2(Equal_u64, truth, u64, u64, a == b)
LANE2(Equal_f32, truth, f32, f32, a == b)
LANE2(Equal_f64, truth, f64, f64, a == b)
LANE2(Equal_bool, truth, u8, u8, (a != 0) == (b != 0))
LANE2(Equal_str, truth, str, str, a.size == b.size && (a.size == 0 || !memcmp(a.data, b.data, a.size)))
const ox_lanes OX_LANES(Equal) = {.fn = {UINT_ROW(Equal), WRAP_ROW(Equal), FLOAT_ROW(Equal), ENTRY(OX_BOOL, Equal_bool),
                                         ENTRY(OX_STRING, Equal_str)}};

/* ---- One operand -------------------------------------------------------------------------------------------- */

#define UNARY_NUMBER(name, uint_e, sint_e, float_e)                                                                    \
    LANE1(name##_u8, u8, u8, uint_e)                                                                                   \
    LANE1(name##_u16, u16, u16, uint_e)                                                                                \
    LANE1(name##_u32, u32, u32, uint_e)                                                                                \
    LANE1(name##_u64, u64, u64, uint_e)                                                                                \
    LANE1(name##_i8, i8, i8, sint_e)                                                                                   \
    LANE1(name##_i16, i16, i16, sint_e)                                                                                \
    LANE1(name##_i32, i32, i32, sint_e)                                                                                \
    LANE1(name##_i64, i64, i64, sint_e)                                                                                \
    LANE1(name##_f32, f32, f32, float_e)                                                                               \
    LANE1(name##_f64, f64, f64, float_e)                                                                               \
    const ox_lanes OX_LANES(name) = {.fn = {UINT_ROW(name), SINT_ROW(name), FLOAT_ROW(name)}};
NUMBER_MAPS(UNARY_NUMBER)
UNARY_NUMBER(Sign, a != 0, (a > 0) - (a < 0), a > 0 ? 1 : a < 0 ? -1 : a == 0 ? 0 : a)
REAL_MAPS(UNARY_FLOAT)
/* a < -lambd: a + bias; a > lambd: a - bias; otherwise 0. */
#define SHRUNK(name, real)                                                                                             \
    static inline real name(real a, real limit, real bias) {                                                           \
        const real less = a - bias, more = a + bias, above = a > limit ? less : 0;                                     \
        return a < -limit ? more : above;                                                                              \
    }
SHRUNK(shrunk_f32, float)
SHRUNK(shrunk_f64, double)

/* The whole part of a bias as its last 64 bits, for integers wrap; *rest is the sign of what is behind the point. */
static inline uint64_t whole_bias(float bias, int *rest) {
    uint32_t bits;
    memcpy(&bits, &bias, sizeof bits);
    const int shift = (int)(bits >> 23 & 255) - 150;
    const uint64_t digits = (bits & 0x7fffff) | 0x800000;
    *rest = 0;
    if (bias > -0x1p24f && bias < 0x1p24f) {
        *rest = (bias > (float)(int32_t)bias) - (bias < (float)(int32_t)bias);
        return (uint64_t)(int64_t)(int32_t)bias;
    }
    const uint64_t size = shift < 64 ? digits << shift : 0; /* of what is infinite or no number, too */
    return bias < 0 ? 0 - size : size;
}

/* The same for whole numbers from least to below most: what double has no bits for is not lost. A sum with a fraction
 * is cut off towards 0. */
#define SHRUNK_WHOLE(name, whole, least, most)                                                                         \
    static inline bool name##_below(whole a, float x) {                                                                \
        return x >= most || (x > least && (a < (whole)x || (a == (whole)x && (float)(whole)x < x)));                   \
    }                                                                                                                  \
    static inline bool name##_above(whole a, float x) {                                                                \
        return x < least || (x < most && (a > (whole)x || (a == (whole)x && (float)(whole)x > x)));                    \
    }                                                                                                                  \
    static inline uint64_t name##_plus(whole a, float bias) {                                                          \
        int rest;                                                                                                      \
        const uint64_t more = whole_bias(bias, &rest), sum = (uint64_t)a + more;                                       \
        if (rest == 0)                                                                                                 \
            return sum;                                                                                                \
        const float zero = -(float)(int64_t)more; /* where the sum is 0 */                                             \
        return sum + (rest > 0 && name##_below(a, zero)) - (rest < 0 && name##_above(a, zero));                        \
    }                                                                                                                  \
    static inline uint64_t name(whole a, float limit, float bias) {                                                    \
        return name##_below(a, -limit) ? name##_plus(a, bias) : name##_above(a, limit) ? name##_plus(a, -bias) : 0;    \
    }
SHRUNK_WHOLE(shrunk_u64, uint64_t, 0, 0x1p64f)
SHRUNK_WHOLE(shrunk_i64, int64_t, -0x1p63f, 0x1p63f)
UNARY_NUMBER(Shrink, shrunk_u64(a, ALPHA, BETA), shrunk_i64(a, ALPHA, BETA),
             (_Generic(a, float
                       : shrunk_f32, default
                       : shrunk_f64)(a, ALPHA, BETA)))

/* ---- Moves -------------------------------------------------------------------------------------------------- */

ox_lane *OX_VARIANT(ox_lane_copy)(size_t width) {
    return width == 1 ? copy_u8 : width == 2 ? copy_u16 : width == 4 ? copy_u32 : width == 8 ? copy_u64 : copy_b16;
}

#define T u8
#include "lane_where.inc"
#define T u16
#include "lane_where.inc"
#define T u32
#include "lane_where.inc"
#define T u64
#include "lane_where.inc"
#define T b16
#include "lane_where.inc"

ox_lane *OX_VARIANT(ox_lane_where)(size_t width) {
    return width == 1 ? where_u8 : width == 2 ? where_u16 : width == 4 ? where_u32 : width == 8 ? where_u64 : where_b16;
}
