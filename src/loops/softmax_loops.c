/* softmax_loops.c: the loops of Softmax. A NaN in the input makes all of its results NaN by way of the sum. */
#include "lane_loops.h"
#include "lane_math.h"

#if OX_SMALL
/* One after another; most devices have no instructions for sums in double. */
#define SOFTMAX(name, T, exponential)                                                                                  \
    void OX_VARIANT(name)(int64_t n, int64_t step, int64_t lanes, const void *from, void *to) {                        \
        const T *x = from;                                                                                             \
        T *o = to;                                                                                                     \
        for (const int64_t next = step == 1 ? n : 1; lanes; lanes--, x += next, o += next) {                           \
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
        c_##T greatest[PARTS], rest[PARTS], added[PARTS] = {0};                                                        \
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
        for (int64_t from = 0; from < whole; from += ADDED) {                                                          \
            const int64_t end = whole - from < ADDED ? whole : from + ADDED;                                           \
            exponentials(end - from, o + from, x + from, most);                                                        \
            for (int64_t i = from; i < end; i += PARTS)                                                                \
                for (int p = 0; p < PARTS; p++)                                                                        \
                    added[p] += o[i + p];                                                                              \
            for (int p = 0; end - from == ADDED && p < PARTS; p++) {                                                   \
                sums[p] += (double)added[p];                                                                           \
                added[p] = 0;                                                                                          \
            }                                                                                                          \
        }                                                                                                              \
        if (left) {                                                                                                    \
            exponentials(PARTS, rest, rest, most);                                                                     \
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
/* e^(x - most) of n elements, a multiple of PARTS. */
static inline void exponentials_f32(int64_t n, f32 *o, const f32 *x, float most) {
#ifdef OX_LOOKUP
    for (int64_t i = 0; i < n; i += OX_SOME) {
        float less[OX_SOME], power[OX_SOME];
        for (int k = 0; k < OX_SOME; k++)
            less[k] = x[i + k] - most;
        ox_exp_some(power, less);
        for (int k = 0; k < OX_SOME; k++)
            o[i + k] = power[k];
    }
#else
    FOR_N o[i] = ox_expf(x[i] - most);
#endif
}
static inline void exponentials_f64(int64_t n, f64 *o, const f64 *x, double most) {
    FOR_N o[i] = exp(x[i] - most);
}

/* Rows of at most PARTS elements, PARTS rows at a time in columns, with the sums of SOFTMAX_ROW. */
#define SOFTMAX_SHORT(name, T, exponentials)                                                                           \
    static void name(int64_t n, int64_t rows, const T *x, T *o) {                                                      \
        for (; rows > 0; rows -= PARTS, x += PARTS * n, o += PARTS * n) {                                              \
            const int64_t some = rows < PARTS ? rows : PARTS;                                                          \
            c_##T tile[PARTS][PARTS], most[PARTS];                                                                     \
            double sums[PARTS][PARTS];                                                                                 \
            for (int64_t k = 0; some < PARTS && k < n; k++)                                                            \
                memset(tile[k], 0, sizeof tile[k]);                                                                    \
            for (int64_t r = 0; r < some; r++)                                                                         \
                for (int64_t k = 0; k < n; k++)                                                                        \
                    tile[k][r] = x[r * n + k];                                                                         \
            memcpy(most, tile[0], sizeof most);                                                                        \
            for (int64_t k = 1; k < n; k++)                                                                            \
                for (int r = 0; r < PARTS; r++)                                                                        \
                    most[r] = MORE_OF(tile[k][r], most[r]);                                                            \
            for (int64_t k = 0; k < n; k++) {                                                                          \
                for (int r = 0; r < PARTS; r++)                                                                        \
                    tile[k][r] -= most[r];                                                                             \
                exponentials(PARTS, tile[k], tile[k], 0);                                                              \
                for (int r = 0; r < PARTS; r++)                                                                        \
                    sums[k][r] = (double)tile[k][r];                                                                   \
            }                                                                                                          \
            for (int64_t half = PARTS / 2; half; half /= 2)                                                            \
                for (int64_t k = 0; k < half && k + half < n; k++)                                                     \
                    for (int r = 0; r < PARTS; r++)                                                                    \
                        sums[k][r] += sums[k + half][r];                                                               \
            for (int r = 0; r < PARTS; r++)                                                                            \
                most[r] = (c_##T)(1 / sums[0][r]);                                                                     \
            for (int64_t k = 0; k < n; k++)                                                                            \
                for (int r = 0; r < PARTS; r++)                                                                        \
                    tile[k][r] *= most[r];                                                                             \
            for (int64_t r = 0; r < some; r++)                                                                         \
                for (int64_t k = 0; k < n; k++)                                                                        \
                    o[r * n + k] = tile[k][r];                                                                         \
        }                                                                                                              \
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

#if defined(__aarch64__)
#include "softmax_neon.h"
#else
SOFTMAX_ROW(row_f32, f32, exponentials_f32)
#endif
SOFTMAX_ROW(row_f64, f64, exponentials_f64)

#define SOFTMAX(name, T, exponential)                                                                                  \
    SOFTMAX_SHORT(short_##T, T, exponentials_##T)                                                                      \
    SOFTMAX_LANES(lanes_##T, T, exponential)                                                                           \
    void OX_VARIANT(name)(int64_t n, int64_t step, int64_t lanes, const void *from, void *to) {                        \
        const T *x = from;                                                                                             \
        T *o = to;                                                                                                     \
        if (step == 1 && n <= PARTS)                                                                                   \
            short_##T(n, lanes, x, o);                                                                                 \
        else if (step == 1)                                                                                            \
            for (; lanes > 0; lanes--, x += n, o += n)                                                                 \
                row_##T(n, x, o);                                                                                      \
        else                                                                                                           \
            lanes_##T(n, step, lanes, x, o);                                                                           \
    }
#endif
SOFTMAX(ox_softmax_f32, f32, ox_expf)
SOFTMAX(ox_softmax_f64, f64, exp)
