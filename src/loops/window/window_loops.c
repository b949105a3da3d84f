/* window_loops.c: the loops of windows, expanded for each element type. */
#include "loops/lane_loops.h"

/* A NaN, once taken, stays. */
#define GREATER_OR_NAN(a, b) ((((b) > (a)) | ((b) != (b))) ? (b) : (a))

/* Up to three taps at a time, as `stride` may be a constant: neighbours are then loaded as vectors. */
#define SLIDE_BY(name, T, op)                                                                                          \
    static inline void name##_by(int64_t n, T *o, const T *x, int64_t stride, int64_t taps, int64_t step) {            \
        if (taps == 1)                                                                                                 \
            FOR_N o[i] = x[i * stride];                                                                                \
        else if (taps == 2)                                                                                            \
            FOR_N o[i] = op(x[i * stride], x[i * stride + step]);                                                      \
        else                                                                                                           \
            FOR_N {                                                                                                    \
                const T two = op(x[i * stride], x[i * stride + step]);                                                 \
                o[i] = op(two, x[i * stride + 2 * step]);                                                              \
            }                                                                                                          \
        int64_t t = 3;                                                                                                 \
        for (; t + 2 <= taps; t += 2)                                                                                  \
            FOR_N {                                                                                                    \
                const T two = op(o[i], x[i * stride + t * step]);                                                      \
                o[i] = op(two, x[i * stride + (t + 1) * step]);                                                        \
            }                                                                                                          \
        if (t < taps)                                                                                                  \
            FOR_N o[i] = op(o[i], x[i * stride + t * step]);                                                           \
    }                                                                                                                  \
    static void name(int64_t n, void *to, const void *from, int64_t stride, int64_t taps, int64_t step) {              \
        if (stride == 1)                                                                                               \
            name##_by(n, to, from, 1, taps, step);                                                                     \
        else if (stride == 2)                                                                                          \
            name##_by(n, to, from, 2, taps, step);                                                                     \
        else                                                                                                           \
            name##_by(n, to, from, stride, taps, step);                                                                \
    }

#define FIND(name, T)                                                                                                  \
    static void name(int64_t n, const char *from, int64_t step, int64_t at, int64_t at_step, void *most,               \
                     int64_t *place) {                                                                                 \
        T best = *(const T *)most;                                                                                     \
        for (int64_t i = 0; i < n; i++, from += step, at += at_step) {                                                 \
            const T x = *(const T *)(const void *)from;                                                                \
            if (*place < 0 || x > best || (x != x && best == best)) {                                                  \
                best = x;                                                                                              \
                *place = at;                                                                                           \
            }                                                                                                          \
        }                                                                                                              \
        *(T *)most = best;                                                                                             \
    }

#define ORDER_LOOPS(T, op)                                                                                             \
    SLIDE_BY(slide_max_##T, T, op)                                                                                     \
    FIND(find_##T, T)
ORDER_LOOPS(f32, GREATER_OR_NAN)
ORDER_LOOPS(f64, GREATER_OR_NAN)
ORDER_LOOPS(i8, MORE_OF)
ORDER_LOOPS(u8, MORE_OF)
#define SIGN_ZEROS(T)                                                                                                  \
    static void sign_zeros_##T(int64_t n, void *to) {                                                                  \
        T *o = to;                                                                                                     \
        FOR_N o[i] += 0;                                                                                               \
    }
SIGN_ZEROS(f32)
SIGN_ZEROS(f64)
#define sign_zeros_i8 NULL
#define sign_zeros_u8 NULL
SLIDE_BY(slide_sum, f64, SUM_OF)

#define REAL_LOOPS(T)                                                                                                  \
    static void power_##T(int64_t n, const char *from, int64_t step, double p, double *to) {                           \
        if (p == 1)                                                                                                    \
            FOR_N to[i] = fabs((double)*(const T *)(const void *)(from + i * step));                                   \
        else if (p == 2)                                                                                               \
            FOR_N {                                                                                                    \
                const double x = (double)*(const T *)(const void *)(from + i * step);                                  \
                to[i] = x * x;                                                                                         \
            }                                                                                                          \
        else                                                                                                           \
            for (int64_t i = 0; i < n; i++)                                                                            \
                to[i] = pow(fabs((double)*(const T *)(const void *)(from + i * step)), p);                             \
    }                                                                                                                  \
    static void mean_##T(int64_t n, const double *sums, double count, const double *counts, void *to) {                \
        T *o = to;                                                                                                     \
        FOR_N o[i] = (T)(sums[i] / (count * counts[i]));                                                               \
    }                                                                                                                  \
    static void root_##T(int64_t n, const double *sums, double p, void *to) {                                          \
        T *o = to;                                                                                                     \
        for (int64_t i = 0; i < n; i++)                                                                                \
            o[i] = (T)(p == 1 ? sums[i] : p == 2 ? sqrt(sums[i]) : pow(sums[i], 1 / p));                               \
    }
REAL_LOOPS(f32)
REAL_LOOPS(f64)

#define ADD_APART(T)                                                                                                   \
    static void add_apart_##T(int64_t rows, int64_t n, char *to, int64_t to_row, int64_t to_step, const char *from,    \
                              int64_t from_row) {                                                                      \
        for (; rows > 0; rows--, to += to_row, from += from_row) {                                                     \
            const T *x = (const T *)(const void *)from;                                                                \
            if (!OX_SMALL && to_step == (int64_t)sizeof(T)) {                                                          \
                T *o = (T *)(void *)to;                                                                                \
                FOR_N o[i] = (T)(o[i] + x[i]);                                                                         \
            } else                                                                                                     \
                for (int64_t i = 0; i < n; i++)                                                                        \
                    *(T *)(void *)(to + i * to_step) = (T)(*(T *)(void *)(to + i * to_step) + x[i]);                   \
        }                                                                                                              \
    }
ADD_APART(f32)
ADD_APART(f64)
ADD_APART(u8)
ADD_APART(u16)
ADD_APART(u32)
ADD_APART(u64)

#define MOST(dtype, T)                                                                                                 \
    if (OX_REDUCES(dtype) && compute == dtype)                                                                         \
        return (ox_window_loops){.slide = slide_max_##T, .find = find_##T, .sign_zeros = sign_zeros_##T};
ox_window_loops OX_VARIANT(ox_window_most)(ox_dtype compute) {
    MOST(OX_FLOAT, f32)
    MOST(OX_DOUBLE, f64)
    MOST(OX_INT8, i8)
    MOST(OX_UINT8, u8)
    return (ox_window_loops){.find = NULL};
}

ox_window_loops OX_VARIANT(ox_window_sums)(ox_dtype compute) {
    if (OX_REDUCES(OX_FLOAT) && compute == OX_FLOAT)
        return (ox_window_loops){.slide = slide_sum, .mean = mean_f32};
    if (OX_REDUCES(OX_DOUBLE) && compute == OX_DOUBLE)
        return (ox_window_loops){.slide = slide_sum, .mean = mean_f64};
    return (ox_window_loops){.find = NULL};
}

ox_norm_loops OX_VARIANT(ox_norm_find)(ox_dtype compute) {
    return compute == OX_DOUBLE ? (ox_norm_loops){power_f64, root_f64} : (ox_norm_loops){power_f32, root_f32};
}

#if OX_WITH_OWN_OPERATORS
#define ADD_TIMES(T)                                                                                                   \
    static void add_times_##T(const ox_add_times *job) {                                                               \
        const uint32_t factor = job->factor, take = job->take;                                                         \
        const int64_t n = job->n, step = job->to_step;                                                                 \
        char *to = job->to;                                                                                            \
        const char *from = job->from;                                                                                  \
        for (int64_t rows = job->rows; rows > 0; rows--, to += job->to_row, from += job->from_row) {                   \
            const T *x = (const T *)(const void *)from;                                                                \
            if (step == (int64_t)sizeof(u32)) {                                                                        \
                u32 *restrict o = (u32 *)(void *)to;                                                                   \
                FOR_N o[i] += (uint32_t)x[i] * factor - take;                                                          \
            } else                                                                                                     \
                for (int64_t i = 0; i < n; i++)                                                                        \
                    *(u32 *)(void *)(to + i * step) += (uint32_t)x[i] * factor - take;                                 \
        }                                                                                                              \
    }
ADD_TIMES(i8)
ADD_TIMES(u8)

ox_add_times_fn *OX_VARIANT(ox_add_times_find)(ox_dtype from) {
    return from == OX_INT8 ? add_times_i8 : add_times_u8;
}
#endif

/* Integers of both signs give the same bits. */
ox_add_apart_fn *OX_VARIANT(ox_add_apart_find)(ox_dtype compute) {
    if (compute == OX_FLOAT)
        return add_apart_f32;
    if (compute == OX_DOUBLE)
        return add_apart_f64;
    switch (ox_dtype_size(compute)) {
    case 1:
        return add_apart_u8;
    case 2:
        return add_apart_u16;
    case 4:
        return add_apart_u32;
    default:
        return add_apart_u64;
    }
}
