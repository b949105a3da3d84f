/* lane_order.h: the larger and the smaller of two floats. */
#ifndef OX_OPS_LANE_ORDER_H
#define OX_OPS_LANE_ORDER_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

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

#endif
