/* lane_order.h: the larger and the smaller of two floats. */
#ifndef OX_LOOPS_LANE_ORDER_H
#define OX_LOOPS_LANE_ORDER_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* IEEE 754-2019 maximum and minimum: NaN wins, and -0 is less than +0. A processor's own instruction gives its second
 * operand for equals and for NaN: told the operands in both orders, it gives both zeros, whose bits are joined. */
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

/* Max and Min against a limit, by one comparison: of NaN and of two zeros it gives x. Behind a lower limit of +0, +0 is
 * added, which makes +0 of -0; behind any other limit -0, which changes nothing. Limits for which that is not enough
 * (is_low, is_high) take the functions above. */
static inline bool is_low(float limit) {
    return !isnan(limit);
}
static inline bool is_high(float limit) {
    return !isnan(limit) && (limit != 0 || !signbit(limit));
}
static inline float zero_below(float limit) {
    return limit == 0 && !signbit(limit) ? 0.0f : -0.0f;
}
static inline float at_least(float x, float limit, float zero) {
    return (limit > x ? limit : x) + zero;
}
static inline float at_most(float x, float limit) {
    return (limit < x ? limit : x) + -0.0f;
}

#endif
