/* softmax_loops.c: the loops of Softmax. A NaN in the input makes all of its results NaN by way of the sum. */
#include "lane_loops.h"
#include "lane_math.h"

#if OX_SMALL
/* One after another; most devices have no instructions for sums in double. */
#define SOFTMAX(name, T, exponential)                                                                                  \
    void OX_VARIANT(name)(int64_t n, int64_t step, int64_t lanes, const void *from, void *to) {                        \
        const T *x = from;                                                                                             \
        T *o = to;                                                                                                     \
        for (; lanes; lanes--, x++, o++) {                                                                             \
            c_##T most = x[0], sum = 0;                                                                                \
            for (int64_t i = 1; i < n; i++)                                                                            \
                most = x[i * step] > most ? x[i * step] : most;                                                        \
            for (int64_t i = 0; i < n; i++)                                                                            \
                sum += o[i * step] = exponential(x[i * step] - most);                                                  \
            for (int64_t i = 0; i < n; i++)                                                                            \
                o[i * step] /= sum;                                                                                    \
        }                                                                                                              \
    }
#else
enum {
    PARTS = 16 /* greatest elements and sums that a row keeps at a time */
};

/* One softmax over n neighbours. Which element goes into which partial result depends on its place alone. */
#define SOFTMAX_ROW(name, T, exponential)                                                                              \
    static void name(int64_t n, const T *x, T *o) {                                                                    \
        const int64_t whole = n & -(int64_t)PARTS;                                                                     \
        c_##T part[PARTS], most = x[0];                                                                                \
        double sums[PARTS] = {0}, sum = 0;                                                                             \
        for (int p = 0; p < PARTS; p++)                                                                                \
            part[p] = x[0];                                                                                            \
        for (int64_t i = 0; i < whole; i += PARTS)                                                                     \
            for (int p = 0; p < PARTS; p++)                                                                            \
                part[p] = x[i + p] > part[p] ? x[i + p] : part[p];                                                     \
        for (int p = 0; p < PARTS; p++)                                                                                \
            most = part[p] > most ? part[p] : most;                                                                    \
        for (int64_t i = whole; i < n; i++)                                                                            \
            most = x[i] > most ? x[i] : most;                                                                          \
        INDEPENDENT for (int64_t i = 0; i < n; i++) o[i] = exponential(x[i] - most);                                   \
        for (int64_t i = 0; i < whole; i += PARTS)                                                                     \
            for (int p = 0; p < PARTS; p++)                                                                            \
                sums[p] += (double)o[i + p];                                                                           \
        for (int64_t i = whole; i < n; i++)                                                                            \
            sum += (double)o[i];                                                                                       \
        for (int p = 0; p < PARTS; p++)                                                                                \
            sum += sums[p];                                                                                            \
        const c_##T total = (c_##T)sum;                                                                                \
        for (int64_t i = 0; i < n; i++)                                                                                \
            o[i] /= total;                                                                                             \
    }

/* Several side by side. */
#define SOFTMAX_LANES(name, T, exponential)                                                                            \
    static void name(int64_t n, int64_t step, int64_t lanes, const T *x, T *o) {                                       \
        c_##T most[OX_SOFTMAX_LANES];                                                                                  \
        double sum[OX_SOFTMAX_LANES] = {0};                                                                            \
        for (int64_t l = 0; l < lanes; l++)                                                                            \
            most[l] = x[l];                                                                                            \
        for (int64_t i = 1; i < n; i++)                                                                                \
            for (int64_t l = 0; l < lanes; l++)                                                                        \
                most[l] = x[i * step + l] > most[l] ? x[i * step + l] : most[l];                                       \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            INDEPENDENT for (int64_t l = 0; l < lanes; l++) o[i * step + l] = exponential(x[i * step + l] - most[l]);  \
            for (int64_t l = 0; l < lanes; l++)                                                                        \
                sum[l] += (double)o[i * step + l];                                                                     \
        }                                                                                                              \
        for (int64_t l = 0; l < lanes; l++)                                                                            \
            most[l] = (c_##T)sum[l];                                                                                   \
        for (int64_t i = 0; i < n; i++)                                                                                \
            for (int64_t l = 0; l < lanes; l++)                                                                        \
                o[i * step + l] /= most[l];                                                                            \
    }

#define SOFTMAX(name, T, exponential)                                                                                  \
    SOFTMAX_ROW(row_##T, T, exponential)                                                                               \
    SOFTMAX_LANES(lanes_##T, T, exponential)                                                                           \
    void OX_VARIANT(name)(int64_t n, int64_t step, int64_t lanes, const void *from, void *to) {                        \
        if (step == 1)                                                                                                 \
            row_##T(n, from, to);                                                                                      \
        else                                                                                                           \
            lanes_##T(n, step, lanes, from, to);                                                                       \
    }
#endif
SOFTMAX(ox_softmax_f32, f32, ox_expf)
SOFTMAX(ox_softmax_f64, f64, exp)
