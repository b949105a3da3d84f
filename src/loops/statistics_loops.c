/* statistics_loops.c: the loops of normalisations, ArgMax, ArgMin and TopK. */
#include "statistics_loops.h"
#include "half.h"
#include "lane_loops.h"

#include <math.h>

/* ---- Means and variances ------------------------------------------------------------------------------------ */

enum {
    PARTS = 16
};

#define MOMENTS_ADD(k, p)                                                                                              \
    do {                                                                                                               \
        const double d = (double)x[k] - shift;                                                                         \
        sum[p] += d;                                                                                                   \
        squares[p] += d * d;                                                                                           \
    } while (0)

/* Element k goes into partial result k % PARTS. */
#define MOMENTS(T)                                                                                                     \
    static void moments_row_##T(ox_moments *m, const T *x, int64_t n) {                                                \
        double sum[PARTS] = {0}, squares[PARTS] = {0};                                                                 \
        const double shift = m->shift;                                                                                 \
        int64_t k = 0;                                                                                                 \
        for (; k + PARTS <= n; k += PARTS)                                                                             \
            for (int p = 0; p < PARTS; p++)                                                                            \
                MOMENTS_ADD(k + p, p);                                                                                 \
        for (int p = 0; p < n - k; p++)                                                                                \
            MOMENTS_ADD(k + p, p);                                                                                     \
        for (int half = PARTS / 2; half; half /= 2)                                                                    \
            for (int p = 0; p < half; p++) {                                                                           \
                sum[p] += sum[p + half];                                                                               \
                squares[p] += squares[p + half];                                                                       \
            }                                                                                                          \
        m->sum += sum[0];                                                                                              \
        m->squares += squares[0];                                                                                      \
    }                                                                                                                  \
    static void moments_rows_##T(ox_moments *m, int64_t n, const char *from, int64_t next, int64_t length) {           \
        for (int64_t i = 0; i < n; i++)                                                                                \
            moments_row_##T(m + i, (const void *)(from + i * next), length);                                           \
    }                                                                                                                  \
    static void moments_columns_##T(ox_moments *m, int64_t n, const char *from, int64_t length, int64_t step) {        \
        for (int64_t k = 0; k < length; k++, from += step)                                                             \
            for (int64_t i = 0; i < n; i++) {                                                                          \
                const double d = (double)((const T *)(const void *)from)[i] - m[i].shift;                              \
                m[i].sum += d;                                                                                         \
                m[i].squares += d * d;                                                                                 \
            }                                                                                                          \
    }
MOMENTS(f32)
MOMENTS(f64)

/* ---- Shares of squares -------------------------------------------------------------------------------------- */

/* The usual exponent takes roots alone, the first of them of more than a float may hold. */
#define DIVIDE(T, usual)                                                                                               \
    static void divide_##T(const ox_lrn *lrn, int64_t lanes, const double *sum, const T *x, T *y) {                    \
        const double bias = lrn->bias, alpha = lrn->alpha, beta = lrn->beta;                                           \
        if (beta == 0.75)                                                                                              \
            INDEPENDENT for (int64_t l = 0; l < lanes; l++) {                                                          \
                const T root = (T)sqrt(bias + alpha * sum[l]);                                                         \
                y[l] = usual;                                                                                          \
            }                                                                                                          \
        else                                                                                                           \
            for (int64_t l = 0; l < lanes; l++)                                                                        \
                y[l] = (T)((double)x[l] / pow(bias + alpha * sum[l], beta));                                           \
    }
DIVIDE(f32, x[l] / root / sqrtf(root))
DIVIDE(f64, x[l] / (root * sqrt(root)))

/* Channels are cut into blocks as long as a window. Each window is then the end of one block and the start of the next:
 * the sum of two running sums. No sum is ever subtracted, and larger windows take no more time. sum_ends gives the sums
 * of the last channels of a block, from each channel on. */
#define LRN(T)                                                                                                         \
    static void add_squares_##T(int64_t lanes, const T *x, double *sum) {                                              \
        for (int64_t l = 0; l < lanes; l++)                                                                            \
            sum[l] += (double)x[l] * (double)x[l];                                                                     \
    }                                                                                                                  \
    static void sum_ends_##T(const ox_lrn *lrn, int64_t start, int64_t lanes, const T *x, double *ends) {              \
        double sum[OX_LRN_LANES] = {0};                                                                                \
        for (int64_t j = lrn->window; j-- > 0;) {                                                                      \
            if (start + j < lrn->channels)                                                                             \
                add_squares_##T(lanes, x + (start + j) * lrn->inner, sum);                                             \
            memcpy(ends + j * lanes, sum, (size_t)lanes * sizeof *sum);                                                \
        }                                                                                                              \
    }                                                                                                                  \
    static void lrn_##T(const ox_lrn *lrn, int64_t lanes, const void *from, void *to, double *ends) {                  \
        const T *x = from;                                                                                             \
        double all[OX_LRN_LANES];                                                                                      \
        for (int64_t start = 0; start < lrn->channels + lrn->after; start += lrn->window) {                            \
            double sum[OX_LRN_LANES] = {0};                                                                            \
            for (int64_t j = 0; j < lrn->window; j++) {                                                                \
                const int64_t last = start + j, channel = last - lrn->after;                                           \
                const bool has_end = start && j + 1 < lrn->window;                                                     \
                if (last < lrn->channels)                                                                              \
                    add_squares_##T(lanes, x + last * lrn->inner, sum);                                                \
                if (channel < 0 || channel >= lrn->channels)                                                           \
                    continue;                                                                                          \
                memcpy(all, sum, (size_t)lanes * sizeof *all);                                                         \
                for (int64_t l = 0; l < lanes && has_end; l++)                                                         \
                    all[l] += ends[(j + 1) * lanes + l];                                                               \
                divide_##T(lrn, lanes, all, x + channel * lrn->inner, (T *)to + channel * lrn->inner);                 \
            }                                                                                                          \
            sum_ends_##T(lrn, start, lanes, x, ends);                                                                  \
        }                                                                                                              \
    }
LRN(f32)
LRN(f64)
extern const ox_lrn_loops OX_VARIANT(ox_lrn_loops);
const ox_lrn_loops OX_VARIANT(ox_lrn_loops) = {lrn_f32, lrn_f64};

/* ---- The greatest and the least ----------------------------------------------------------------------------- */

/* Whether a comes in the place of b, which was found before. */
#define MORE(a, b, is_nan) (((a) > (b)) | (is_nan(a) & !is_nan(b)))
#define LESS(a, b, is_nan) (((a) < (b)) | (is_nan(a) & !is_nan(b)))
/* True for a NaN, which no integer is. */
#define REAL_NAN(a) ((a) != (a))
#define NO_NAN(a) 0

/* As many as compilers see a loop over. */
enum {
    BLOCK = OX_SMALL ? 2 : 32
};

/* Takes the extremes of twice as many parts together, by a count that compilers know. */
#define HALVE(half, T, takes, is_nan)                                                                                  \
    for (int p = 0; p < (half < BLOCK ? half : 0); p++) {                                                              \
        const c_##T a = part[p + half], b = part[p];                                                                   \
        part[p] = takes(a, b, is_nan) ? a : b;                                                                         \
    }

/* The first or the last place in a block that holds an element, counted from that end: BLOCK for none. */
#define PLACE(name, T, place, is_nan, counted)                                                                         \
    static int64_t name##_##T(const T *x, c_##T wanted) {                                                              \
        place nearest = BLOCK;                                                                                         \
        for (int p = 0; p < BLOCK; p++) {                                                                              \
            const c_##T a = x[p];                                                                                      \
            const place here = ((a == wanted) | is_nan(a)) ? (counted) : BLOCK;                                        \
            nearest = here < nearest ? here : nearest;                                                                 \
        }                                                                                                              \
        return nearest;                                                                                                \
    }

/* The extreme of a row of more than a BLOCK is found first, a BLOCK at a time; then its place in the first block that
 * holds it, from the end that is wanted. The last block overlaps the one before. */
#define ARG_ROW(name, T, takes, is_nan)                                                                                \
    static c_##T extreme_##name##_##T(int64_t n, const T *x) {                                                         \
        c_##T part[BLOCK];                                                                                             \
        for (int p = 0; p < BLOCK; p++)                                                                                \
            part[p] = x[p];                                                                                            \
        for (int64_t k = BLOCK; k < n; k += BLOCK) {                                                                   \
            const T *at = x + (k < n - BLOCK ? k : n - BLOCK);                                                         \
            for (int p = 0; p < BLOCK; p++) {                                                                          \
                const c_##T a = at[p], b = part[p];                                                                    \
                part[p] = takes(a, b, is_nan) ? a : b;                                                                 \
            }                                                                                                          \
        }                                                                                                              \
        HALVE(16, T, takes, is_nan)                                                                                    \
        HALVE(8, T, takes, is_nan)                                                                                     \
        HALVE(4, T, takes, is_nan)                                                                                     \
        HALVE(2, T, takes, is_nan)                                                                                     \
        HALVE(1, T, takes, is_nan)                                                                                     \
        return part[0];                                                                                                \
    }                                                                                                                  \
    static int64_t row_##name##_##T(int64_t n, const T *x, bool last) {                                                \
        const c_##T wanted = extreme_##name##_##T(n, x);                                                               \
        for (int64_t k = 0;; k = k < n - 2 * BLOCK ? k + BLOCK : n - BLOCK) {                                          \
            const int64_t at = last ? last_##T(x + n - BLOCK - k, wanted) : first_##T(x + k, wanted);                  \
            if (at < BLOCK || k == n - BLOCK) { /* no block holds it where another thread changes the row */           \
                const int64_t within = at < BLOCK ? at : 0;                                                            \
                return last ? n - 1 - k - within : k + within;                                                         \
            }                                                                                                          \
        }                                                                                                              \
    }

/* Places are counted in `place`, as wide as an element, from `base` on, and from the end where the last one is wanted.
 * Short rows are turned into columns. */
#define ARG_LANES(name, T, place, takes, is_nan)                                                                       \
    static void name##_##T(int64_t n, int64_t step, int64_t lanes, const void *from, int64_t *index, bool last) {      \
        enum {                                                                                                         \
            MOST = 1 << 30                                                                                             \
        };                                                                                                             \
        const T *x = from;                                                                                             \
        c_##T best[OX_ARG_LANES];                                                                                      \
        T columns[BLOCK * OX_ARG_LANES];                                                                               \
        if (step == 1 && n > BLOCK) {                                                                                  \
            for (int64_t l = 0; l < lanes; l++)                                                                        \
                index[l] = row_##name##_##T(n, x + l * n, last);                                                       \
            return;                                                                                                    \
        }                                                                                                              \
        if (step == 1) {                                                                                               \
            step = OX_ARG_LANES;                                                                                       \
            for (int64_t l = 0; l < lanes; l++)                                                                        \
                for (int64_t k = 0; k < n; k++)                                                                        \
                    columns[k * step + l] = x[l * n + k];                                                              \
            x = columns;                                                                                               \
        }                                                                                                              \
        x = last ? x + (n - 1) * step : x;                                                                             \
        step = last ? -step : step;                                                                                    \
        for (int64_t l = 0; l < lanes; l++) {                                                                          \
            best[l] = x[l];                                                                                            \
            index[l] = 0;                                                                                              \
        }                                                                                                              \
        for (int64_t base = 0; base < n; base += MOST) {                                                               \
            place found[OX_ARG_LANES];                                                                                 \
            memset(found, -1, sizeof found);                                                                           \
            const place count = (place)(n - base < MOST ? n - base : MOST);                                            \
            for (place k = base ? 0 : 1; k < count; k++) {                                                             \
                const T *at = x + (base + k) * step;                                                                   \
                for (int64_t l = 0; l < lanes; l++) {                                                                  \
                    const c_##T a = at[l], b = best[l];                                                                \
                    best[l] = takes(a, b, is_nan) ? a : b;                                                             \
                    found[l] = takes(a, b, is_nan) ? k : found[l];                                                     \
                }                                                                                                      \
            }                                                                                                          \
            for (int64_t l = 0; l < lanes; l++)                                                                        \
                index[l] = found[l] < 0 ? index[l] : base + found[l];                                                  \
        }                                                                                                              \
        for (int64_t l = 0; last && l < lanes; l++)                                                                    \
            index[l] = n - 1 - index[l];                                                                               \
    }                                                                                                                  \
    static void first_##name##_##T(int64_t n, int64_t step, int64_t lanes, const void *from, int64_t *index) {         \
        name##_##T(n, step, lanes, from, index, false);                                                                \
    }                                                                                                                  \
    static void last_##name##_##T(int64_t n, int64_t step, int64_t lanes, const void *from, int64_t *index) {          \
        name##_##T(n, step, lanes, from, index, true);                                                                 \
    }

#define ARG(name, T, place, takes, is_nan)                                                                             \
    ARG_ROW(name, T, takes, is_nan)                                                                                    \
    ARG_LANES(name, T, place, takes, is_nan)
#define ARGS(T, place, is_nan)                                                                                         \
    PLACE(first, T, place, is_nan, p)                                                                                  \
    PLACE(last, T, place, is_nan, BLOCK - 1 - p)                                                                       \
    ARG(most, T, place, MORE, is_nan)                                                                                  \
    ARG(least, T, place, LESS, is_nan)
ARGS(f32, int32_t, REAL_NAN)
ARGS(f64, int64_t, REAL_NAN)
ARGS(i8, int32_t, NO_NAN)
ARGS(u8, int32_t, NO_NAN)
ARGS(i16, int32_t, NO_NAN)
ARGS(u16, int32_t, NO_NAN)
ARGS(i32, int32_t, NO_NAN)
ARGS(u32, int32_t, NO_NAN)
ARGS(i64, int64_t, NO_NAN)
ARGS(u64, int64_t, NO_NAN)

#define ARG_TYPE(dtype, T) [dtype] = {{first_most_##T, last_most_##T}, {first_least_##T, last_least_##T}}
static ox_arg_fn *find_arg(ox_dtype compute, bool least, bool last) {
    static ox_arg_fn *const args[OX_DTYPE_COUNT][2][2] = {
        ARG_TYPE(OX_FLOAT, f32), ARG_TYPE(OX_DOUBLE, f64), ARG_TYPE(OX_INT8, i8),   ARG_TYPE(OX_UINT8, u8),
        ARG_TYPE(OX_INT16, i16), ARG_TYPE(OX_UINT16, u16), ARG_TYPE(OX_INT32, i32), ARG_TYPE(OX_UINT32, u32),
        ARG_TYPE(OX_INT64, i64), ARG_TYPE(OX_UINT64, u64)};
    return args[compute][least][last];
}

/* ---- Keys --------------------------------------------------------------------------------------------------- */

#define TOP_BIT ((uint64_t)1 << 63)

/* Floats are ordered as integers of sign and magnitude; to add 0 makes one of both zeros. */
static inline uint32_t key_of_f32(float value) {
    const uint32_t bits = ox_bits_of_float(value + 0), sign = bits >> 31;
    return value != value ? UINT32_MAX : bits ^ ((0 - sign) | 0x80000000u);
}

static inline uint64_t key_of_f64(double value) {
    const double sum = value + 0;
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    return value != value ? UINT64_MAX : bits ^ ((0 - (bits >> 63)) | TOP_BIT);
}

#define KEYS(T, expression)                                                                                            \
    static uint64_t keys_##T(int64_t n, int64_t step, const void *from, uint64_t flip, uint64_t *keys) {               \
        const T *x = from;                                                                                             \
        uint64_t most = 0;                                                                                             \
        for (int64_t i = 0; step == 1 && i < n; i++) {                                                                 \
            const T a = x[i];                                                                                          \
            keys[i] = (expression) ^ flip;                                                                             \
        }                                                                                                              \
        for (int64_t i = 0; step != 1 && i < n; i++) {                                                                 \
            const T a = x[i * step];                                                                                   \
            keys[i] = (expression) ^ flip;                                                                             \
        }                                                                                                              \
        for (int64_t i = 0; i < n; i++)                                                                                \
            most = keys[i] > most ? keys[i] : most;                                                                    \
        return most;                                                                                                   \
    }
KEYS(f32, (uint64_t)key_of_f32(a))
KEYS(f64, key_of_f64(a))
KEYS(i8, (uint64_t)a ^ TOP_BIT)
KEYS(i16, (uint64_t)a ^ TOP_BIT)
KEYS(i32, (uint64_t)a ^ TOP_BIT)
KEYS(i64, (uint64_t)a ^ TOP_BIT)
KEYS(u8, (uint64_t)a)
KEYS(u16, (uint64_t)a)
KEYS(u32, (uint64_t)a)
KEYS(u64, (uint64_t)a)

static ox_keys_fn *find_keys(ox_dtype compute) {
    static ox_keys_fn *const all[OX_DTYPE_COUNT] = {
        [OX_FLOAT] = keys_f32,  [OX_DOUBLE] = keys_f64, [OX_INT8] = keys_i8,  [OX_INT16] = keys_i16,
        [OX_INT32] = keys_i32,  [OX_INT64] = keys_i64,  [OX_UINT8] = keys_u8, [OX_UINT16] = keys_u16,
        [OX_UINT32] = keys_u32, [OX_UINT64] = keys_u64};
    return all[compute];
}

extern const ox_statistics_loops OX_VARIANT(ox_statistics_loops);
const ox_statistics_loops OX_VARIANT(ox_statistics_loops) = {
    {moments_rows_f32, moments_columns_f32}, {moments_rows_f64, moments_columns_f64}, find_arg, find_keys};
