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
    PARTS = 16, /* greatest elements and sums that a row keeps at a time */
    ADDED = 512 /* elements that are added up in their own type before that sum is added in double */
};

/* All parts become one, in part[0]. */
#define JOIN_PARTS(op, part)                                                                                           \
    FOLD_HALF(op, part, PARTS / 2);                                                                                    \
    FOLD_HALF(op, part, PARTS / 4);                                                                                    \
    FOLD_HALF(op, part, PARTS / 8);                                                                                    \
    FOLD_HALF(op, part, PARTS / 16);

/* One softmax over n neighbours. Which element goes into which partial result depends on its place alone. */
#define SOFTMAX_ROW(name, T, exponentials)                                                                             \
    static void name(int64_t n, const T *x, T *o) {                                                                    \
        const int64_t whole = n & -(int64_t)PARTS;                                                                     \
        const size_t left = (size_t)(n - whole) * sizeof(T);                                                           \
        c_##T greatest[PARTS], power[PARTS], rest[PARTS], added[PARTS] = {0};                                          \
        double sums[PARTS] = {0};                                                                                      \
        for (int p = 0; p < PARTS; p++) {                                                                              \
            greatest[p] = x[0];                                                                                        \
            rest[p] = -INFINITY; /* neither the greatest, nor a part of the sum */                                     \
        }                                                                                                              \
        ox_load_first(rest, sizeof rest, x + whole, left);                                                             \
        for (int64_t i = 0; i < whole; i += PARTS)                                                                     \
            for (int p = 0; p < PARTS; p++)                                                                            \
                greatest[p] = MORE_OF(x[i + p], greatest[p]);                                                          \
        for (int p = 0; p < PARTS; p++)                                                                                \
            greatest[p] = MORE_OF(rest[p], greatest[p]);                                                               \
        JOIN_PARTS(MORE_OF, greatest)                                                                                  \
        const c_##T most = greatest[0];                                                                                \
        for (int64_t i = 0; i < whole; i += PARTS) {                                                                   \
            for (int p = 0; p < PARTS; p++)                                                                            \
                power[p] = x[i + p] - most;                                                                            \
            exponentials(power);                                                                                       \
            for (int p = 0; p < PARTS; p++) {                                                                          \
                o[i + p] = power[p];                                                                                   \
                added[p] += power[p];                                                                                  \
            }                                                                                                          \
            if ((i + PARTS) % ADDED == 0)                                                                              \
                for (int p = 0; p < PARTS; p++) {                                                                      \
                    sums[p] += (double)added[p];                                                                       \
                    added[p] = 0;                                                                                      \
                }                                                                                                      \
        }                                                                                                              \
        if (left) {                                                                                                    \
            for (int p = 0; p < PARTS; p++)                                                                            \
                rest[p] -= most;                                                                                       \
            exponentials(rest);                                                                                        \
            for (int p = 0; p < PARTS; p++)                                                                            \
                added[p] += rest[p];                                                                                   \
        }                                                                                                              \
        for (int p = 0; p < PARTS; p++)                                                                                \
            sums[p] += (double)added[p];                                                                               \
        JOIN_PARTS(SUM_OF, sums)                                                                                       \
        const c_##T share = (c_##T)(1 / sums[0]);                                                                      \
        for (int64_t i = 0; i < whole; i += PARTS)                                                                     \
            for (int p = 0; p < PARTS; p++)                                                                            \
                o[i + p] *= share;                                                                                     \
        for (int p = 0; p < PARTS; p++)                                                                                \
            rest[p] *= share;                                                                                          \
        ox_store_first(o + whole, left, rest, sizeof rest);                                                            \
    }
static inline void exponentials_f32(float *x) {
    for (int i = 0; i < PARTS; i += OX_SOME)
        ox_exp_some(x + i, x + i);
}
static inline void exponentials_f64(double *x) {
    for (int i = 0; i < PARTS; i++)
        x[i] = exp(x[i]);
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
            most[l] = (c_##T)(1 / sum[l]);                                                                             \
        for (int64_t i = 0; i < n; i++)                                                                                \
            for (int64_t l = 0; l < lanes; l++)                                                                        \
                o[i * step + l] *= most[l];                                                                            \
    }

#define SOFTMAX(name, T, exponential)                                                                                  \
    SOFTMAX_ROW(row_##T, T, exponentials_##T)                                                                          \
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
