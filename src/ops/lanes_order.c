/* lanes_order.c: the loops of Max, of Min, and of both. */
#include "lane_loops.h"
#include "lane_order.h"

#define ORDER(name, e, float_e, double_e)                                                                              \
    UINT_LOOPS(BINARY_, name, e)                                                                                       \
    SINT_LOOPS(BINARY_, name, e)                                                                                       \
    LANE2(name##_any, f32, f32, f32, float_e)                                                                          \
    BINARY_(name, f64, double_e)
ORDER(Max, a > b ? a : b, max_f32(a, b), max_f64(a, b))
ORDER(Min, a < b ? a : b, min_f32(a, b), min_f64(a, b))

/* Limits that the order of operands does for: a comparison with NaN gives x, as does one of two zeros. A lower limit of
 * +0 has +0 added, which makes that of -0; what cannot be had that way is left to the other loops. */
typedef struct clamp {
    float low, zero, high;
} clamp;

static bool is_low(float limit) {
    return !isnan(limit);
}
static bool is_high(float limit) {
    return !isnan(limit) && (limit != 0 || !signbit(limit));
}
static clamp between(float low, float high) {
    return (clamp){low, low == 0 && !signbit(low) ? 0.0f : -0.0f, high};
}

static inline float clamped(float x, clamp limits) {
    x = (limits.low > x ? limits.low : x) + limits.zero;
    return limits.high < x ? limits.high : x;
}
static int clamp_all(int64_t n, char *const arg[], const int64_t step[], clamp limits) {
    f32 *o = (void *)arg[0];
    const f32 *x = (const void *)arg[1];
    (void)step;
    STREAM1(f32, f32, clamped(a, limits))
    FOR_N o[i] = clamped(x[i], limits);
    return 0;
}

static int Max_f32(int64_t n, char *const arg[], const int64_t step[], const void *attr) {
    const float limit = *(const f32 *)(const void *)arg[2];
    if (!OX_SMALL && step[1] && !step[2] && is_low(limit))
        return clamp_all(n, arg, step, between(limit, INFINITY));
    return Max_any(n, arg, step, attr);
}

static int Min_f32(int64_t n, char *const arg[], const int64_t step[], const void *attr) {
    const float limit = *(const f32 *)(const void *)arg[2];
    if (!OX_SMALL && step[1] && !step[2] && is_high(limit))
        return clamp_all(n, arg, step, between(-INFINITY, limit));
    return Min_any(n, arg, step, attr);
}

/* (a max b) min c. */
static int MaxMin_f32(int64_t n, char *const arg[], const int64_t step[], const void *attr) {
    const float low = *(const f32 *)(const void *)arg[2], high = *(const f32 *)(const void *)arg[3];
    if (!step[2] && !step[3] && is_low(low) && is_high(high))
        return clamp_all(n, arg, step, between(low, high));
    const int64_t width = (int64_t)sizeof(float);
    char *o = arg[0], *x = arg[1], *y = arg[2], *z = arg[3];
    for (int64_t count; n > 0; n -= count) {
        f32 block[OX_BLOCK];
        count = LESS_OF(n, OX_BLOCK);
        Max_f32(count, (char *[]){(char *)block, x, y}, (const int64_t[]){width, step[1], step[2]}, attr);
        Min_f32(count, (char *[]){o, (char *)block, z}, (const int64_t[]){step[0], width, step[3]}, attr);
        o += count * width;
        x += count * step[1];
        y += count * step[2];
        z += count * step[3];
    }
    return 0;
}

const ox_lanes OX_LANES(Max) = {.fn = {NUM_ROW(Max)}};
const ox_lanes OX_LANES(Min) = {.fn = {NUM_ROW(Min)}};
const ox_lanes OX_LANES(MaxMin) = {.fn = {ENTRY(OX_FLOAT, MaxMin_f32)}};
