/* conv_loops.c: the loops of convolutions. */
#include "conv_loops.h"
#include "copy_run.h"
#include "lane_loops.h"

#include <string.h>

ox_gather_for_fn OX_VARIANT(ox_gather_find);
extern const ox_direct_loops OX_VARIANT(ox_direct_loops);

/* ---- Gathering ---------------------------------------------------------------------------------------------- */

#define EVENS_4 0, 2, 4, 6
#define ODDS_4 1, 3, 5, 7
#define EVENS_8 EVENS_4, 8, 10, 12, 14
#define ODDS_8 ODDS_4, 9, 11, 13, 15

/* Every second element of more than a vector. A vector of them is picked out of two; those of the last one lie behind
 * an element each, so that nothing is read behind the run. */
#define PICK_SECOND(lanes)                                                                                             \
    static inline void pick_second_of_##lanes(int64_t n, u32 *o, const u32 *x) {                                       \
        typedef ox_any_words_##lanes words;                                                                            \
        for (int64_t i = 0; i + lanes < n; i += lanes)                                                                 \
            OX_AT(words, o + i) =                                                                                      \
                OX_SHUFFLE(lanes, OX_GET(words, x + 2 * i), OX_GET(words, x + 2 * i + lanes), EVENS_##lanes);          \
        x += 2 * (n - lanes) - 1;                                                                                      \
        OX_AT(words, o + n - lanes) = OX_SHUFFLE(lanes, OX_GET(words, x), OX_GET(words, x + lanes), ODDS_##lanes);     \
    }

/* Elements in turn into two rows: n for each, a vector at least, the last of which go over those before. */
#define SPLIT_TURNS(lanes)                                                                                             \
    static inline void split_turns_of_##lanes(int64_t n, u32 *o, u32 *p, const u32 *x) {                               \
        typedef ox_any_words_##lanes words;                                                                            \
        for (int64_t i = 0; i < n; i += lanes) {                                                                       \
            const int64_t at = LESS_OF(i, n - lanes);                                                                  \
            const words a = OX_GET(words, x + 2 * at), b = OX_GET(words, x + 2 * at + lanes);                          \
            OX_AT(words, o + at) = OX_SHUFFLE(lanes, a, b, EVENS_##lanes);                                             \
            OX_AT(words, p + at) = OX_SHUFFLE(lanes, a, b, ODDS_##lanes);                                              \
        }                                                                                                              \
    }
PICK_SECOND(4)
SPLIT_TURNS(4)
#ifdef OX_SHUFFLES_EIGHT
PICK_SECOND(8)
SPLIT_TURNS(8)
#else
#define pick_second_of_8 pick_second_of_4
#define split_turns_of_8 split_turns_of_4
#endif

static inline void pick_second_u32(int64_t n, u32 *o, const u32 *x) {
    if (n > 8)
        pick_second_of_8(n, o, x);
    else if (n > 4)
        pick_second_of_4(n, o, x);
    else
        FOR_N o[i] = x[2 * i];
}

/* Rows of two runs that begin side by side, every second element in one and the others in the other: true if they are
 * so, and done. */
static bool split_u32(int64_t rows, char *to, int64_t to_row, const char *from, int64_t from_row, const ox_run *runs) {
    const ox_run *first = runs + (runs[1].from < runs[0].from), *second = runs + (first == runs);
    const int64_t n = LESS_OF(first->count, second->count);
    if (first->from < 0 || second->from != first->from + 1 || n < 4)
        return false;
    for (int64_t r = 0; r < rows; r++, to += to_row, from += from_row) {
        u32 *o = (u32 *)(void *)to + first->to, *p = (u32 *)(void *)to + second->to;
        const u32 *x = (const u32 *)(const void *)from + first->from;
        if (n >= 8)
            split_turns_of_8(n, o, p, x);
        else
            split_turns_of_4(n, o, p, x);
        for (int64_t i = n; i < first->count; i++)
            o[i] = x[2 * i];
        for (int64_t i = n; i < second->count; i++)
            p[i] = x[2 * i + 1];
    }
    return true;
}
#define split_u8(...) false
#define split_u16(...) false
#define split_u64(...) false

static inline void pick_second_u64(int64_t n, u64 *o, const u64 *x) {
    FOR_N o[i] = x[2 * i];
}

static inline void pick_second_u16(int64_t n, u16 *o, const u16 *x) {
    FOR_N o[i] = x[2 * i];
}

static inline void pick_second_u8(int64_t n, u8 *o, const u8 *x) {
    FOR_N o[i] = x[2 * i];
}

#define GATHER(T)                                                                                                      \
    static inline void pick_##T(int64_t n, T *o, const T *x, int64_t stride) {                                         \
        if (stride == 2)                                                                                               \
            pick_second_##T(n, o, x);                                                                                  \
        else                                                                                                           \
            FOR_N o[i] = x[i * stride];                                                                                \
    }                                                                                                                  \
    static void gather_##T(int64_t rows, char *to, int64_t to_row, const char *from, int64_t from_row, int64_t stride, \
                           int64_t count, const ox_run *runs, int fill) {                                              \
        const int64_t width = (int64_t)sizeof(T);                                                                      \
        if (stride == 1 && count == 1 && runs->from >= 0) {                                                            \
            ox_copy_rows(rows, to + runs->to * width, to_row, from + runs->from * width, from_row,                     \
                         runs->count * width);                                                                         \
            return;                                                                                                    \
        }                                                                                                              \
        if (stride == 2 && count == 2 && split_##T(rows, to, to_row, from, from_row, runs))                            \
            return;                                                                                                    \
        for (int64_t r = 0; r < rows; r++, to += to_row, from += from_row) {                                           \
            for (const ox_run *run = runs; run < runs + count; run++) {                                                \
                T *o = (T *)(void *)to + run->to;                                                                      \
                if (run->from < 0) {                                                                                   \
                    memset(o, fill, (size_t)run->count * sizeof *o);                                                   \
                    continue;                                                                                          \
                }                                                                                                      \
                const T *x = (const T *)(const void *)from + run->from;                                                \
                if (stride == 1)                                                                                       \
                    ox_copy_run((char *)o, (const char *)x, run->count *width);                                        \
                else                                                                                                   \
                    pick_##T(run->count, o, x, stride);                                                                \
            }                                                                                                          \
        }                                                                                                              \
    }
GATHER(u8)
GATHER(u16)
GATHER(u32)
GATHER(u64)

ox_gather_fn *OX_VARIANT(ox_gather_find)(size_t width) {
    switch (width) {
    case sizeof(uint8_t):
        return gather_u8;
    case sizeof(uint16_t):
        return gather_u16;
    case sizeof(uint32_t):
        return gather_u32;
    default:
        return gather_u64;
    }
}

/* ---- Direct windows ----------------------------------------------------------------------------------------- */

enum {
    LANES = OX_REALS_BYTES / (int)sizeof(float),
    MOST_VECTORS = 4, /* of a row that are computed together */
    SUMS = 8          /* in registers */
};
typedef ox_reals vector;
#if OX_UNALIGNED
typedef float loose __attribute__((vector_size(OX_REALS_BYTES), may_alias, aligned(1)));
#else
typedef float loose __attribute__((vector_size(OX_REALS_BYTES), may_alias, aligned(sizeof(float))));
#endif
_Static_assert(MOST_VECTORS *LANES <= (int)OX_DIRECT_MARGIN && SUMS <= (int)OX_DIRECT_ROWS,
               "reads stay within the margin");

#define UNROLL _Pragma("GCC unroll 16")

static inline vector take_product(vector sum, vector x, float weight) {
    return sum + x * weight;
}
static inline vector take_sum(vector sum, vector x, float weight) {
    (void)weight;
    return sum + x;
}
static inline vector take_greatest(vector most, vector x, float weight) {
    (void)weight;
    return ox_greatest(x, most);
}
static inline vector take_greatest_or_nan(vector most, vector x, float weight) {
    typedef int32_t bits __attribute__((vector_size(OX_REALS_BYTES)));
    const bits replaces = (x > most) | (x != x);
    (void)weight;
    return (vector)((replaces & (bits)x) | (~replaces & (bits)most));
}

/* A row of a tile, of which `columns` elements are wanted; `room` elements from there on may be written. */
OX_INLINED void store_row(float *to, const vector *sum, const int vectors, int64_t columns, int64_t room) {
    if (room >= (int64_t)vectors * LANES) {
        UNROLL for (int v = 0; v < vectors; v++) OX_AT(loose, to + v * LANES) = sum[v];
        return;
    }
    vector row[MOST_VECTORS]; /* of its own: compilers would keep sums in memory whose address is taken */
    UNROLL for (int v = 0; v < vectors; v++) row[v] = sum[v];
    ox_copy_run((char *)to, (const char *)row, columns * (int64_t)sizeof *to);
}

/* How much row r may write from `column` on: what lies behind its end is written later, if that is the next row. */
static inline int64_t room_of(const ox_direct_tile *t, int64_t r, int64_t column, int64_t columns) {
    return column + columns == t->columns && t->to_row == t->columns ? (t->rows - r) * t->columns - column : columns;
}

/* Some columns of a tile; and all of them, as many vectors at a time as there are such loops, by their vectors. The
 * last ones come first, which may write over the first ones of the next row. */
typedef void columns_fn(const ox_direct_tile *t, int64_t column, int64_t columns);
static void go_across(const ox_direct_tile *t, columns_fn *const by[], int64_t most) {
    const int64_t each = most * LANES;
    int64_t some = (t->columns - 1) % each + 1;
    for (int64_t c = t->columns - some; c >= 0; c -= each, some = each)
        by[(some - 1) / LANES](t, c, some);
}

/* Tiles of `vectors` vectors and as many rows as there are sums left; of the last rows some are computed for nothing.
 */
#define DIRECT_TILE(name, TAKE, first, products, vectors)                                                              \
    static void name##_##vectors(const ox_direct_tile *t, int64_t column, int64_t columns) {                           \
        enum {                                                                                                         \
            ROWS = SUMS / vectors                                                                                      \
        };                                                                                                             \
        for (int64_t r = 0; r < t->rows; r += ROWS) {                                                                  \
            const float *from = t->from + r * t->from_row + column;                                                    \
            vector sum[ROWS][vectors];                                                                                 \
            UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int v = 0; v < vectors; v++) sum[i][v] =                 \
                (vector){0} + (first);                                                                                 \
            for (int64_t layer = 0; layer < t->layers; layer++)                                                        \
                for (int64_t tap = 0; tap < t->taps; tap++) {                                                          \
                    const float *x = from + layer * t->layer + t->offsets[tap];                                        \
                    const float weight = products ? t->weights[layer * t->taps + tap] : 0;                             \
                    UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int v = 0; v < vectors; v++) sum[i][v] =         \
                        TAKE(sum[i][v], OX_GET(loose, x + i * t->from_row + v * LANES), weight);                       \
                }                                                                                                      \
            UNROLL for (int i = 0; i < ROWS; i++) {                                                                    \
                UNROLL for (int v = 0; v < vectors && products; v++) sum[i][v] += t->add[0];                           \
                if (r + i < t->rows)                                                                                   \
                    store_row(t->to + (r + i) * t->to_row + column, sum[i], vectors, columns,                          \
                              room_of(t, r + i, column, columns));                                                     \
            }                                                                                                          \
        }                                                                                                              \
    }
#define DIRECT(name, TAKE, first, products)                                                                            \
    DIRECT_TILE(name, TAKE, first, products, 1)                                                                        \
    DIRECT_TILE(name, TAKE, first, products, 2)                                                                        \
    DIRECT_TILE(name, TAKE, first, products, 3)                                                                        \
    DIRECT_TILE(name, TAKE, first, products, 4)                                                                        \
    static void name(const ox_direct_tile *t) {                                                                        \
        static columns_fn *const by[] = {name##_1, name##_2, name##_3, name##_4};                                      \
        go_across(t, by, sizeof by / sizeof *by);                                                                      \
    }
DIRECT(plain_products, take_product, 0, true)
DIRECT(sums, take_sum, 0, false)
DIRECT(greatest, take_greatest, -INFINITY, false)
DIRECT(greatest_or_nan, take_greatest_or_nan, -INFINITY, false)

/* The same for kernels whose taps lie `high` below each other, as many rows of the tile apart: a vector is loaded once
 * for all of the rows that see it, column by column of the kernel. */
#define TALL_TILE(high, vectors)                                                                                       \
    static void tall_##high##_##vectors(const ox_direct_tile *t, int64_t column, int64_t columns) {                    \
        enum {                                                                                                         \
            ROWS = SUMS / vectors                                                                                      \
        };                                                                                                             \
        const int64_t across = t->taps / high;                                                                         \
        for (int64_t r = 0; r < t->rows; r += ROWS) {                                                                  \
            const float *from = t->from + r * t->from_row + column;                                                    \
            vector sum[ROWS][vectors];                                                                                 \
            UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int v = 0; v < vectors; v++) sum[i][v] = (vector){0};    \
            for (int64_t layer = 0; layer < t->layers; layer++)                                                        \
                for (int64_t tap = 0; tap < across; tap++) {                                                           \
                    const float *x = from + layer * t->layer + t->offsets[tap];                                        \
                    const ox_f32 *weights = t->weights + layer * t->taps + tap;                                        \
                    float weight[high];                                                                                \
                    UNROLL for (int k = 0; k < high; k++) weight[k] = weights[k * across];                             \
                    UNROLL for (int y = 0; y < ROWS + high - 1; y++, x += t->from_row)                                 \
                        UNROLL for (int v = 0; v < vectors; v++) {                                                     \
                        const vector seen = OX_GET(loose, x + v * LANES);                                              \
                        UNROLL for (int k = 0; k < high; k++) if (y >= k && y - k < ROWS) sum[y - k][v] +=             \
                            seen * weight[k];                                                                          \
                    }                                                                                                  \
                }                                                                                                      \
            UNROLL for (int i = 0; i < ROWS; i++) {                                                                    \
                UNROLL for (int v = 0; v < vectors; v++) sum[i][v] += t->add[0];                                       \
                if (r + i < t->rows)                                                                                   \
                    store_row(t->to + (r + i) * t->to_row + column, sum[i], vectors, columns,                          \
                              room_of(t, r + i, column, columns));                                                     \
            }                                                                                                          \
        }                                                                                                              \
    }
#define TALL(high)                                                                                                     \
    TALL_TILE(high, 1)                                                                                                 \
    TALL_TILE(high, 2)                                                                                                 \
    TALL_TILE(high, 4)                                                                                                 \
    static void tall_##high(const ox_direct_tile *t) {                                                                 \
        static columns_fn *const by[] = {tall_##high##_1, tall_##high##_2, tall_##high##_4, tall_##high##_4};          \
        go_across(t, by, t->rows > SUMS / MOST_VECTORS ? 2 : MOST_VECTORS); /* few rows leave sums for more of them */ \
    }
TALL(3)
TALL(5)
TALL(7)

/* The same for several outputs of one input: a vector is loaded once for all of them. */
enum {
    OUTPUTS = OX_DIRECT_OUTPUTS
};
#define WIDE_TILE(vectors)                                                                                             \
    static void wide_##vectors(const ox_direct_tile *t, int64_t column, int64_t columns) {                             \
        for (int64_t r = 0; r < t->rows; r++) {                                                                        \
            const float *from = t->from + r * t->from_row + column;                                                    \
            float *to = t->to + r * t->to_row + column;                                                                \
            vector sum[OUTPUTS][vectors];                                                                              \
            UNROLL for (int i = 0; i < OUTPUTS; i++) UNROLL for (int v = 0; v < vectors; v++) sum[i][v] = (vector){0}; \
            for (int64_t layer = 0; layer < t->layers; layer++)                                                        \
                for (int64_t tap = 0; tap < t->taps; tap++) {                                                          \
                    const float *x = from + layer * t->layer + t->offsets[tap];                                        \
                    const ox_f32 *weight = t->weights + layer * t->taps + tap;                                         \
                    vector seen[vectors];                                                                              \
                    UNROLL for (int v = 0; v < vectors; v++) seen[v] = OX_GET(loose, x + v * LANES);                   \
                    UNROLL for (int i = 0; i < OUTPUTS; i++) UNROLL for (int v = 0; v < vectors; v++) sum[i][v] +=     \
                        seen[v] * weight[i * t->weights_step];                                                         \
                }                                                                                                      \
            UNROLL for (int i = 0; i < OUTPUTS; i++) {                                                                 \
                UNROLL for (int v = 0; v < vectors; v++) sum[i][v] += t->add[i];                                       \
                store_row(to + i * t->to_step, sum[i], vectors, columns, room_of(t, r, column, columns));              \
            }                                                                                                          \
        }                                                                                                              \
    }
WIDE_TILE(1)
WIDE_TILE(2)
WIDE_TILE(3)
static void wide(const ox_direct_tile *t) {
    static columns_fn *const by[] = {wide_1, wide_2, wide_3};
    go_across(t, by, sizeof by / sizeof *by);
}

static void products(const ox_direct_tile *t) {
    if (t->outputs == OUTPUTS)
        wide(t);
    else if (t->high == 3)
        tall_3(t);
    else if (t->high == 5)
        tall_5(t);
    else if (t->high == 7)
        tall_7(t);
    else
        plain_products(t);
}

/* Two elements by one comparison. */
static bool find_nan(int64_t n, const float *from) {
    const int64_t half = n / 2;
    const float *other = from + half;
    int32_t found = n > 0 && isunordered(from[n - 1], from[n - 1]);
    _Pragma("GCC unroll 4") for (int64_t i = 0; i < half; i++) found |= isunordered(from[i], other[i]);
    return found != 0;
}

static void divide(int64_t rows, int64_t columns, float *to, int64_t to_row, const float *row_counts,
                   const float *column_counts) {
    for (int64_t r = 0; r < rows; r++, to += to_row)
        for (int64_t c = 0; c < columns; c++)
            to[c] /= row_counts[r] * column_counts[c];
}

const ox_direct_loops OX_VARIANT(ox_direct_loops) = {
    .products = products,
    .sums = sums,
    .greatest = greatest,
    .greatest_or_nan = greatest_or_nan,
    .find_nan = find_nan,
    .divide = divide,
};
