/* lanes_order.c: the loops of Max and Min. */
#include "lane_maps.h"
#include "lane_order.h"
#include "lane_types.inc"

#define ORDER(name, e, float_e, double_e)                                                                              \
    LANE2(name##_u8, u8, u8, u8, e)                                                                                    \
    LANE2(name##_u16, u16, u16, u16, e)                                                                                \
    LANE2(name##_u32, u32, u32, u32, e)                                                                                \
    LANE2(name##_u64, u64, u64, u64, e)                                                                                \
    LANE2(name##_i8, i8, i8, i8, e)                                                                                    \
    LANE2(name##_i16, i16, i16, i16, e)                                                                                \
    LANE2(name##_i32, i32, i32, i32, e)                                                                                \
    LANE2(name##_i64, i64, i64, i64, e)                                                                                \
    LANE2(name##_any, f32, f32, f32, float_e)                                                                          \
    LANE2(name##_f64, f64, f64, f64, double_e)
ORDER(Max, a > b ? a : b, max_f32(a, b), max_f64(a, b))
ORDER(Min, a < b ? a : b, min_f32(a, b), min_f64(a, b))

/* Against a limit; attr is that, and what zero_below makes of it. */
LANE1(Max_limit, f32, f32, at_least(a, ALPHA, BETA))
LANE1(Min_limit, f32, f32, at_most(a, ALPHA))

/* The loop against a limit does if the second operand is one. */
static int Max_f32(int64_t n, char *const arg[], const int64_t step[], const void *attr) {
    const float limit = *(const f32 *)(const void *)arg[2], limits[] = {limit, zero_below(limit)};
    const bool quick = !OX_SMALL && step[1] && !step[2] && is_low(limit);
    return quick ? Max_limit(n, arg, step, limits) : Max_any(n, arg, step, attr);
}

static int Min_f32(int64_t n, char *const arg[], const int64_t step[], const void *attr) {
    const float limit = *(const f32 *)(const void *)arg[2];
    const bool quick = !OX_SMALL && step[1] && !step[2] && is_high(limit);
    return quick ? Min_limit(n, arg, step, &limit) : Min_any(n, arg, step, attr);
}

const ox_lanes OX_LANES(Max) = {.fn = {UINT_ROW(Max), SINT_ROW(Max), FLOAT_ROW(Max)}};
const ox_lanes OX_LANES(Min) = {.fn = {UINT_ROW(Min), SINT_ROW(Min), FLOAT_ROW(Min)}};
