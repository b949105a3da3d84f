/* lanes_pairs.c: two operations of lanes.c in one loop, (a op b) op c, each of them rounded by itself. a is never one
 * element that repeats. */
#include "lane_loops.h"

#define PAIR_LOOP(second, third, e)                                                                                    \
    FOR_N {                                                                                                            \
        const float a = x[i], b = second, c = third;                                                                   \
        o[i] = e;                                                                                                      \
    }
#define PAIR(name, e)                                                                                                  \
    static int name##_f32(int64_t n, char *const arg[], const int64_t step[], const void *attr) {                      \
        f32 *o = (void *)arg[0];                                                                                       \
        const f32 *x = (const void *)arg[1], *y = (const void *)arg[2], *z = (const void *)arg[3];                     \
        const float y0 = y[0], z0 = z[0];                                                                              \
        (void)attr;                                                                                                    \
        STREAM3(f32, f32, e)                                                                                           \
        if (step[2] && step[3])                                                                                        \
            PAIR_LOOP(y[i], z[i], e)                                                                                   \
        else if (step[2])                                                                                              \
            PAIR_LOOP(y[i], z0, e)                                                                                     \
        else if (step[3])                                                                                              \
            PAIR_LOOP(y0, z[i], e)                                                                                     \
        else                                                                                                           \
            PAIR_LOOP(y0, z0, e)                                                                                       \
        return 0;                                                                                                      \
    }                                                                                                                  \
    const ox_lanes OX_LANES(name) = {.fn = {ENTRY(OX_FLOAT, name##_f32)}};

PAIR(AddAdd, (a + b) + c)
PAIR(AddSub, (a + b) - c)
PAIR(AddMul, (a + b) * c)
PAIR(SubAdd, (a - b) + c)
PAIR(SubSub, (a - b) - c)
PAIR(SubMul, (a - b) * c)
PAIR(MulAdd, (a * b) + c)
PAIR(MulSub, (a * b) - c)
PAIR(MulMul, (a * b) * c)
