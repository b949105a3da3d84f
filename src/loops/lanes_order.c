/* lanes_order.c: the loops of Max and Min. */
#include "lane_loops.h"
#include "lane_order.h"

#define ORDER(name, e, float_e, double_e)                                                                              \
    UINT_LOOPS(BINARY_, name, e)                                                                                       \
    SINT_LOOPS(BINARY_, name, e)                                                                                       \
    LANE2(name##_any, f32, f32, f32, float_e)                                                                          \
    BINARY_(name, f64, double_e)
ORDER(Max, a > b ? a : b, max_f32(a, b), max_f64(a, b))
ORDER(Min, a < b ? a : b, min_f32(a, b), min_f64(a, b))

/* Against a limit that repeats. */
#define LIMIT_LANE(fn, e)                                                                                              \
    static int fn(int64_t n, char *const arg[], const int64_t step[], const void *attr) {                              \
        f32 *o = (void *)arg[0];                                                                                       \
        const f32 *x = (const void *)arg[1];                                                                           \
        const float limit = *(const f32 *)(const void *)arg[2], zero = zero_below(limit);                              \
        (void)step, (void)attr, (void)zero;                                                                            \
        STREAM1(f32, f32, e)                                                                                           \
        FOR_N {                                                                                                        \
            const float a = x[i];                                                                                      \
            o[i] = e;                                                                                                  \
        }                                                                                                              \
        return 0;                                                                                                      \
    }
LIMIT_LANE(Max_limit, at_least(a, limit, zero))
LIMIT_LANE(Min_limit, at_most(a, limit))

static int Max_f32(int64_t n, char *const arg[], const int64_t step[], const void *attr) {
    const bool quick = !OX_SMALL && step[1] && !step[2] && is_low(*(const f32 *)(const void *)arg[2]);
    return (quick ? Max_limit : Max_any)(n, arg, step, attr);
}

static int Min_f32(int64_t n, char *const arg[], const int64_t step[], const void *attr) {
    const bool quick = !OX_SMALL && step[1] && !step[2] && is_high(*(const f32 *)(const void *)arg[2]);
    return (quick ? Min_limit : Min_any)(n, arg, step, attr);
}

const ox_lanes OX_LANES(Max) = {.fn = {NUM_ROW(Max)}};
const ox_lanes OX_LANES(Min) = {.fn = {NUM_ROW(Min)}};
