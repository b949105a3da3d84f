/* lanes_order.c: the loops of Max and Min. */
#include "lane_loops.h"

#include <string.h>

/* IEEE 754-2019 maximum and minimum: NaN wins, and -0 is less than +0. */
static inline float join_f32(float a, float b, bool maximum) {
    uint32_t p, q;
    memcpy(&p, &a, sizeof p);
    memcpy(&q, &b, sizeof q);
    p = maximum ? p & q : p | q;
    memcpy(&a, &p, sizeof a);
    return a;
}
static inline double join_f64(double a, double b, bool maximum) {
    uint64_t p, q;
    memcpy(&p, &a, sizeof p);
    memcpy(&q, &b, sizeof q);
    p = maximum ? p & q : p | q;
    memcpy(&a, &p, sizeof a);
    return a;
}
#define JOIN(maximum) _Generic(a, float : join_f32, default : join_f64)(a, b, maximum)
BINARY3(Max, a > b ? a : b, a > b ? a : b, a == b ? JOIN(true) : a != a ? a : a > b ? a : b)
BINARY3(Min, a < b ? a : b, a < b ? a : b, a == b ? JOIN(false) : a != a ? a : a < b ? a : b)
