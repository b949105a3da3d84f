/* lanes_pairs.c: two operations in one loop, (a op b) op c, each of them rounded by itself. a is never one element that
 * repeats. */
#include "lane_loops.h"
#include "lane_order.h"

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

#define ARITHMETIC_AFTER(first, v)                                                                                     \
    PAIR(first##Add, (v) + c)                                                                                          \
    PAIR(first##Sub, (v)-c)                                                                                            \
    PAIR(first##Mul, (v)*c)
#define ORDER_AFTER(first, v)                                                                                          \
    PAIR(first##Max, max_f32(v, c))                                                                                    \
    PAIR(first##Min, min_f32(v, c))
ARITHMETIC_AFTER(Add, a + b)
ARITHMETIC_AFTER(Sub, a - b)
ARITHMETIC_AFTER(Mul, (a * b))
ARITHMETIC_AFTER(Max, max_f32(a, b))
ARITHMETIC_AFTER(Min, min_f32(a, b))
ORDER_AFTER(Add, a + b)
ORDER_AFTER(Sub, a - b)
ORDER_AFTER(Mul, (a * b))
ORDER_AFTER(Min, min_f32(a, b))
PAIR(MaxMax, max_f32(max_f32(a, b), c))

#define RELU_AFTER(first, v)                                                                                           \
    BINARY_(first##Relu, f32, (v) <= 0 ? 0 : (v))                                                                      \
    const ox_lanes OX_LANES(first##Relu) = {.fn = {ENTRY(OX_FLOAT, first##Relu_f32)}};
RELU_AFTER(Add, a + b)
RELU_AFTER(Sub, a - b)
RELU_AFTER(Mul, (a * b))
