/* lanes_rows.c: loops of lanes.c again, for an operand of one element for each row of the other one. They go over short
 * rows line by line, wherever in a line the next row begins: nothing is laid out, and no store crosses a line. */
#include "lane_maps.h"

#include <string.h>

#define T f32
#include "lane_rows.inc"
#define T f64
#include "lane_rows.inc"

#define ROWS_LANE(fn, T, e)                                                                                            \
    OX_INLINED T fn##_of(c_##T a, c_##T b) {                                                                           \
        return e;                                                                                                      \
    }                                                                                                                  \
    static int fn(int64_t n, char *const arg[], const int64_t step[], const void *attr) {                              \
        const int64_t row = *(const int64_t *)attr;                                                                    \
        T *o = (void *)arg[0];                                                                                         \
        const T *x = (const void *)arg[1], *y = (const void *)arg[2];                                                  \
        if (step[1])                                                                                                   \
            rows_##T(n, row, o, x, y, false, step[0] < 0, step[1] < 0, fn##_of);                                       \
        else                                                                                                           \
            rows_##T(n, row, o, y, x, true, step[0] < 0, step[2] < 0, fn##_of);                                        \
        return 0;                                                                                                      \
    }
#define ROWS(name, e)                                                                                                  \
    ROWS_LANE(name##Rows_f32, f32, e)                                                                                  \
    ROWS_LANE(name##Rows_f64, f64, e)                                                                                  \
    const ox_lanes OX_LANES(name##Rows) = {.fn = {FLOAT_ROW(name##Rows)}};
ARITHMETIC_MAPS(ROWS)
ROWS(Div, a / b)
ROWS(PRelu, BENT(a, b))
