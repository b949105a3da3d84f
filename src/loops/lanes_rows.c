/* lanes_rows.c: loops of lanes.c again, for an operand of one element for each row of the other one. They go over short
 * rows line by line, wherever in a line the next row begins: nothing is laid out, and no store crosses a line. */
#include "lane_maps.h"

#include <string.h>

/* The operation on a line from x on, and on what belongs to each of its elements. */
#define ROW_PART(T, to, own_of, a_of, b_of, e)                                                                         \
    INDEPENDENT for (int k = 0; k < LINE; k++) {                                                                       \
        const c_##T each = x[i + k], own = own_of, a = a_of, b = b_of;                                                 \
        (to)[k] = e;                                                                                                   \
    }
#define ROW_LINE(T, own_of, a_of, b_of, e)                                                                             \
    do {                                                                                                               \
        if (prefetches)                                                                                                \
            ox_prefetch_lines((uintptr_t)(x + i), OX_LINE);                                                            \
        if (streams) {                                                                                                 \
            T line[LINE] __attribute__((aligned(OX_LINE)));                                                            \
            ROW_PART(T, line, own_of, a_of, b_of, e)                                                                   \
            ox_stream_lines(o + i, line, OX_LINE);                                                                     \
        } else                                                                                                         \
            ROW_PART(T, o + i, own_of, a_of, b_of, e)                                                                  \
        i += LINE;                                                                                                     \
    } while (0)

/* The elements before i = end. */
#define ROW_ELEMENTS(T, end, own_of, a_of, b_of, e)                                                                    \
    for (; i < (end); i++) {                                                                                           \
        const c_##T each = x[i], own = own_of, a = a_of, b = b_of;                                                     \
        o[i] = e;                                                                                                      \
    }

/* n elements at x, in rows of at least a line, and one for each row at y. */
#define ROWS_OF(fn, T, a_of, b_of, e)                                                                                  \
    static void fn(int64_t n, int64_t row, T *o, const T *x, const T *y, bool streams, bool prefetches) {              \
        enum {                                                                                                         \
            LINE = OX_LINE / sizeof(T)                                                                                 \
        };                                                                                                             \
        streams = streams && (uintptr_t)o % sizeof(T) == 0; /* or no element begins at a line */                       \
        const uintptr_t offset = streams ? (uintptr_t)o % OX_LINE : 0;                                                 \
        const c_##T last = y[n / row - 1];                                                                             \
        int64_t i = 0;                                                                                                 \
        ROW_ELEMENTS(T, (int64_t)((OX_LINE - offset) % OX_LINE / sizeof(T)), y[0], a_of, b_of, e)                      \
        for (int64_t end = row; i + LINE <= n; end += row, y++) {                                                      \
            const c_##T now = y[0];                                                                                    \
            while (i + LINE <= end)                                                                                    \
                ROW_LINE(T, now, a_of, b_of, e);                                                                       \
            if (i == end || i + LINE > n)                                                                              \
                continue;                                                                                              \
            const c_##T next = y[1];                                                                                   \
            const int before = (int)(end - i);                                                                         \
            ROW_LINE(T, k < before ? now : next, a_of, b_of, e);                                                       \
        }                                                                                                              \
        ROW_ELEMENTS(T, n, last, a_of, b_of, e)                                                                        \
    }

#define ROWS_(name, T, e)                                                                                              \
    ROWS_OF(name##_first_##T, T, own, each, e)                                                                         \
    ROWS_OF(name##_second_##T, T, each, own, e)                                                                        \
    static int name##_##T(int64_t n, char *const arg[], const int64_t step[], const void *attr) {                      \
        const int64_t row = *(const int64_t *)attr;                                                                    \
        T *o = (void *)arg[0];                                                                                         \
        const T *x = (const void *)arg[1], *y = (const void *)arg[2];                                                  \
        if (step[1])                                                                                                   \
            name##_second_##T(n, row, o, x, y, step[0] < 0, step[1] < 0);                                              \
        else                                                                                                           \
            name##_first_##T(n, row, o, y, x, step[0] < 0, step[2] < 0);                                               \
        return 0;                                                                                                      \
    }
#define ROWS(name, e)                                                                                                  \
    FLOAT_LOOPS(ROWS_, name##Rows, e) const ox_lanes OX_LANES(name##Rows) = {.fn = {FLOAT_ROW(name##Rows)}};
ARITHMETIC_MAPS(ROWS)
ROWS(Div, a / b)
ROWS(PRelu, BENT(a, b))
