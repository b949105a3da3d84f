/* cumulate_loops.c: the loops of CumSum and CumProd. */
#include "cumulate_loops.h"
#include "lane_loops.h"

enum {
    ROWS = 4, /* that are gone through at once */
    AHEAD = 4 /* rows of lines side by side that are prefetched: no processor expects them */
};

/* Lines side by side. Compilers make vectors of loops that do not ask which results are wanted. */
#define CUMULATE_COLUMNS(name, T, total, start, op)                                                                    \
    static void columns_##name(int64_t n, int64_t step, int64_t lanes, const T *x, T *o, bool exclusive) {             \
        total sum[OX_CUMULATE_LANES];                                                                                  \
        for (int64_t l = 0; l < lanes; l++)                                                                            \
            sum[l] = start;                                                                                            \
        for (int64_t k = 0; k < n; k++, x += step, o += step) {                                                        \
            for (int64_t l = 0; !OX_SMALL && lanes > 1 && l < lanes; l += OX_LINE / (int64_t)sizeof(T))                \
                ox_prefetch((uintptr_t)x + (uintptr_t)((AHEAD * step + l) * (int64_t)sizeof(T)));                      \
            if (exclusive)                                                                                             \
                for (int64_t l = 0; l < lanes; l++) {                                                                  \
                    const T value = x[l];                                                                              \
                    o[l] = (T)sum[l];                                                                                  \
                    sum[l] = sum[l] op(total) value;                                                                   \
                }                                                                                                      \
            else                                                                                                       \
                for (int64_t l = 0; l < lanes; l++) {                                                                  \
                    sum[l] = sum[l] op(total) x[l];                                                                    \
                    o[l] = (T)sum[l];                                                                                  \
                }                                                                                                      \
        }                                                                                                              \
    }

/* Lines of neighbours: each waits for its sums, but not for those of the others. `lines` is a constant. */
#define CUMULATE_ROWS(name, T, total, start, op)                                                                       \
    OX_INLINED void lines_##name(int lines, int64_t n, int64_t step, int64_t next, const T *x, T *o, bool exclusive) { \
        total sum[ROWS];                                                                                               \
        for (int l = 0; l < lines; l++)                                                                                \
            sum[l] = start;                                                                                            \
        for (int64_t k = 0; k < n; k++, x += step, o += step)                                                          \
            for (int l = 0; l < lines; l++) {                                                                          \
                const total before = sum[l];                                                                           \
                sum[l] = before op(total) x[l * next];                                                                 \
                o[l * next] = (T)(exclusive ? before : sum[l]);                                                        \
            }                                                                                                          \
    }                                                                                                                  \
    static void rows_##name(int64_t n, int64_t step, int64_t rows, int64_t next, const T *x, T *o, bool exclusive) {   \
        for (; rows >= ROWS; rows -= ROWS, x += ROWS * next, o += ROWS * next)                                         \
            lines_##name(ROWS, n, step, next, x, o, exclusive);                                                        \
        for (; rows > 0; rows--, x += next, o += next)                                                                 \
            lines_##name(1, n, step, next, x, o, exclusive);                                                           \
    }

#define CUMULATE(name, T, total, start, op)                                                                            \
    CUMULATE_COLUMNS(name, T, total, start, op)                                                                        \
    CUMULATE_ROWS(name, T, total, start, op)                                                                           \
    static void name(int64_t n, int64_t step, int64_t lanes, int64_t next, const void *from, void *to,                 \
                     bool exclusive) {                                                                                 \
        if (step == 1 || step == -1)                                                                                   \
            rows_##name(n, step, lanes, next, from, to, exclusive);                                                    \
        else                                                                                                           \
            columns_##name(n, step, lanes, from, to, exclusive);                                                       \
    }
#define CUMULATES(T, total)                                                                                            \
    CUMULATE(sums_##T, T, total, 0, +)                                                                                 \
    CUMULATE(products_##T, T, total, 1, *)
CUMULATES(f32, double)
CUMULATES(f64, double)
CUMULATES(u32, uint32_t)
CUMULATES(u64, uint64_t)

ox_cumulate_find_fn OX_VARIANT(ox_cumulate_find);
ox_cumulate_fn *OX_VARIANT(ox_cumulate_find)(ox_dtype dtype, bool products) {
    switch ((int)dtype) {
    case OX_FLOAT:
        return products ? products_f32 : sums_f32;
    case OX_DOUBLE:
        return products ? products_f64 : sums_f64;
    case OX_INT32:
    case OX_UINT32:
        return products ? products_u32 : sums_u32;
    default:
        return products ? products_u64 : sums_u64;
    }
}
