/* conv_loops.c: the loops of convolutions. */
#include "asserts.h"
#include "loops/conv_loops.h"
#include "loops/copy_run.h"
#include "loops/lane_loops.h"

#include <string.h>

ox_gather_for_fn OX_VARIANT(ox_gather_find);
extern const ox_direct_loops OX_VARIANT(ox_direct_loops);

/* ---- Gathering ---------------------------------------------------------------------------------------------- */

#define EVENS_4 0, 2, 4, 6
#define ODDS_4 1, 3, 5, 7
#define EVENS_8 EVENS_4, 8, 10, 12, 14
#define ODDS_8 ODDS_4, 9, 11, 13, 15
#define EVENS_16 EVENS_8, 16, 18, 20, 22, 24, 26, 28, 30
#define ODDS_16 ODDS_8, 17, 19, 21, 23, 25, 27, 29, 31
#define EVENS_32 EVENS_16, 32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56, 58, 60, 62
#define ODDS_32 ODDS_16, 33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63

/* Every second element of more than a vector. A vector of them is picked out of two; those of the last one lie behind
 * an element each, so that nothing is read behind the run. */
#define PICK_SECOND(T, name, lanes)                                                                                    \
    static inline void pick_second_##T##_##lanes(int64_t n, T *o, const T *x) {                                        \
        typedef ox_any_##name##_##lanes some;                                                                          \
        for (int64_t i = 0; i + lanes < n; i += lanes)                                                                 \
            OX_AT(some, o + i) =                                                                                       \
                OX_SHUFFLE(name, lanes, OX_GET(some, x + 2 * i), OX_GET(some, x + 2 * i + lanes), EVENS_##lanes);      \
        x += 2 * (n - lanes) - 1;                                                                                      \
        OX_AT(some, o + n - lanes) = OX_SHUFFLE(name, lanes, OX_GET(some, x), OX_GET(some, x + lanes), ODDS_##lanes);  \
    }

/* Elements in turn into two rows: n for each, a vector at least, the last of which go over those before. */
#define SPLIT_TURNS(T, name, lanes)                                                                                    \
    static inline void split_turns_##T##_##lanes(int64_t n, T *o, T *p, const T *x) {                                  \
        typedef ox_any_##name##_##lanes some;                                                                          \
        for (int64_t i = 0; i < n; i += lanes) {                                                                       \
            const int64_t at = LESS_OF(i, n - lanes);                                                                  \
            const some a = OX_GET(some, x + 2 * at), b = OX_GET(some, x + 2 * at + lanes);                             \
            OX_AT(some, o + at) = OX_SHUFFLE(name, lanes, a, b, EVENS_##lanes);                                        \
            OX_AT(some, p + at) = OX_SHUFFLE(name, lanes, a, b, ODDS_##lanes);                                         \
        }                                                                                                              \
    }
#define BY_TWO(T, name, lanes)                                                                                         \
    PICK_SECOND(T, name, lanes)                                                                                        \
    SPLIT_TURNS(T, name, lanes)
BY_TWO(u32, words, 4)
#ifdef OX_SHUFFLES_WORDS_8
BY_TWO(u32, words, 8)
#else
#define pick_second_u32_8 pick_second_u32_4
#define split_turns_u32_8 split_turns_u32_4
#endif

/* The same of any length, by the longest vectors that it fills; but that rows in turn fill one of the shortest. */
#define BY_LENGTH(T, most, more, least)                                                                                \
    static inline void pick_second_##T(int64_t n, T *o, const T *x) {                                                  \
        if (n > most)                                                                                                  \
            pick_second_##T##_##most(n, o, x);                                                                         \
        else if (n > more)                                                                                             \
            pick_second_##T##_##more(n, o, x);                                                                         \
        else if (n > least)                                                                                            \
            pick_second_##T##_##least(n, o, x);                                                                        \
        else                                                                                                           \
            FOR_N o[i] = x[2 * i];                                                                                     \
    }                                                                                                                  \
    static inline void split_turns_##T(int64_t n, T *o, T *p, const T *x) {                                            \
        if (n >= most)                                                                                                 \
            split_turns_##T##_##most(n, o, p, x);                                                                      \
        else if (n >= more)                                                                                            \
            split_turns_##T##_##more(n, o, p, x);                                                                      \
        else                                                                                                           \
            split_turns_##T##_##least(n, o, p, x);                                                                     \
    }
BY_LENGTH(u32, 8, 4, 4)

/* Rows of two runs that begin side by side, every second element in one and the others in the other: true if they are
 * so, and done. */
#define SPLIT(T, least)                                                                                                \
    static bool split_##T(int64_t rows, char *to, int64_t to_row, const char *from, int64_t from_row,                  \
                          const ox_run *runs) {                                                                        \
        const ox_run *first = runs + (runs[1].from < runs[0].from), *second = runs + (first == runs);                  \
        const int64_t n = LESS_OF(first->count, second->count);                                                        \
        if (first->from < 0 || second->from != first->from + 1 || n < least)                                           \
            return false;                                                                                              \
        for (int64_t r = 0; r < rows; r++, to += to_row, from += from_row) {                                           \
            T *o = (T *)(void *)to + first->to, *p = (T *)(void *)to + second->to;                                     \
            const T *x = (const T *)(const void *)from + first->from;                                                  \
            split_turns_##T(n, o, p, x);                                                                               \
            for (int64_t i = n; i < first->count; i++)                                                                 \
                o[i] = x[2 * i];                                                                                       \
            for (int64_t i = n; i < second->count; i++)                                                                \
                p[i] = x[2 * i + 1];                                                                                   \
        }                                                                                                              \
        return true;                                                                                                   \
    }
SPLIT(u32, 4)
#if OX_SMALL
static inline void pick_second_u8(int64_t n, u8 *o, const u8 *x) {
    FOR_N o[i] = x[2 * i];
}
#define split_u8(...) false
#else
BY_TWO(u8, bytes, 8)
BY_TWO(u8, bytes, 16)
#ifdef OX_SHUFFLES_BYTES_32
BY_TWO(u8, bytes, 32)
#else
#define pick_second_u8_32 pick_second_u8_16
#define split_turns_u8_32 split_turns_u8_16
#endif
BY_LENGTH(u8, 32, 16, 8)
SPLIT(u8, 8)
#endif
#define split_u16(...) false
#define split_u64(...) false

static inline void pick_second_u64(int64_t n, u64 *o, const u64 *x) {
    FOR_N o[i] = x[2 * i];
}

static inline void pick_second_u16(int64_t n, u16 *o, const u16 *x) {
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
    MOST_VECTORS = 4,               /* of a row that are computed together */
    SUMS = OX_WIDEST >= 64 ? 16 : 8 /* in registers, of which processors with the widest vectors have more */
};
/* Rows of a tile that are computed together. */
#define ROWS_OF(vectors) (SUMS / (vectors) < (int)OX_DIRECT_ROWS ? SUMS / (vectors) : (int)OX_DIRECT_ROWS)
_Static_assert(MOST_VECTORS *OX_REALS_BYTES <= (int)OX_DIRECT_MARGIN && ROWS_OF(1) <= (int)OX_DIRECT_ROWS,
               "reads stay within the margin");
typedef ox_reals vector, vector_f32;
typedef ox_u8s vector_u8;
typedef ox_i8s vector_i8;
#define LANES_OF(T) (OX_REALS_BYTES / (int)sizeof(T))
#if OX_UNALIGNED
#define LOOSE(T) typedef T loose_##T __attribute__((vector_size(OX_REALS_BYTES), may_alias, aligned(1)));
#else
#define LOOSE(T) typedef T loose_##T __attribute__((vector_size(OX_REALS_BYTES), may_alias, aligned(sizeof(T))));
#endif
LOOSE(f32)
LOOSE(u8)
LOOSE(i8)

#define UNROLL OX_UNROLLED

static inline vector take_product(vector sum, vector x, float weight) {
    return sum + x * weight;
}
static inline vector take_sum(vector sum, vector x, float weight) {
    (void)weight;
    return sum + x;
}
static inline vector take_greatest_f32(vector most, vector x, float weight) {
    (void)weight;
    return ox_greatest(x, most);
}
static inline vector_u8 take_greatest_u8(vector_u8 most, vector_u8 x, float weight) {
    (void)weight;
    return ox_greatest_u8(x, most);
}
static inline vector_i8 take_greatest_i8(vector_i8 most, vector_i8 x, float weight) {
    (void)weight;
    return ox_greatest_i8(x, most);
}
static inline vector take_greatest_or_nan(vector most, vector x, float weight) {
    typedef int32_t bits __attribute__((vector_size(OX_REALS_BYTES)));
    const bits replaces = (x > most) | (x != x);
    (void)weight;
    return (vector)((replaces & (bits)x) | (~replaces & (bits)most));
}

/* A row of a tile, of which `columns` elements are wanted; `room` elements from there on may be written. */
#define STORE_ROW(T)                                                                                                   \
    OX_INLINED void store_row_##T(T *to, const vector_##T *sum, const int vectors, int64_t columns, int64_t room) {    \
        if (room >= (int64_t)vectors * LANES_OF(T)) {                                                                  \
            UNROLL for (int v = 0; v < vectors; v++) OX_AT(loose_##T, to + v * LANES_OF(T)) = sum[v];                  \
            return;                                                                                                    \
        }                                                                                                              \
        vector_##T row[MOST_VECTORS]; /* of its own: compilers would keep sums in memory whose address is taken */     \
        UNROLL for (int v = 0; v < vectors; v++) row[v] = sum[v];                                                      \
        ox_copy_run((char *)to, (const char *)row, columns *(int64_t)sizeof *to);                                      \
    }
STORE_ROW(f32)
STORE_ROW(u8)
STORE_ROW(i8)

/* Where rows of a tile go, from a column of row r on. What lies behind the end of a row is written later, if that is
 * the next row: it may be written over. */
typedef struct row_place {
    int64_t at;         /* the element that row r begins with, */
    int64_t step;       /* and elements to the next row */
    int64_t room, less; /* elements that this row may write, and by how many the next one may write fewer */
    int64_t left;       /* rows */
} row_place;
static inline row_place place_of(const ox_direct_tile *t, int64_t r, int64_t column, int64_t columns) {
    const bool runs_on = column + columns == t->columns && t->to_row == t->columns;
    return (row_place){r * t->to_row + column, t->to_row, runs_on ? (t->rows - r) * t->columns - column : columns,
                       runs_on ? t->columns : 0, t->rows - r};
}

static void each_plane(const ox_direct_tile *t, ox_direct_fn *loop, size_t width) {
    ox_direct_tile plane = *t;
    ox_finish finish;
    OX_ASSERT(t->rows > 0 && t->columns > 0 && t->taps > 0 && t->planes > 0);
    OX_ASSERT(t->outputs <= 1 || (t->outputs == OX_DIRECT_OUTPUTS && t->planes == 1));
    OX_ASSERT(t->rows == 1 || t->to_row >= t->columns);
    OX_ASSERT(!t->high || (t->taps % t->high == 0 && t->step > 0));
    if (t->finish)
        plane.finish = &finish;
    for (int64_t p = 0; p < t->planes; p++) {
        plane.from = (const char *)t->from + p * t->plane * (int64_t)width;
        plane.to = (char *)t->to + p * t->to_step * (int64_t)width;
        plane.weights = t->weights ? t->weights + p * t->weights_step : NULL;
        plane.add = t->add ? t->add + p : NULL;
        if (t->finish)
            finish = ox_finish_from(t->finish, p, 0);
        loop(&plane);
    }
}

static inline float added_to(const ox_direct_tile *t, int output) {
    return t->add ? t->add[output] : 0;
}

/* Finishes the sums of rows [first, end) of an array, those of one output. */
#define EACH_SUM(first, end, vectors)                                                                                  \
    UNROLL for (int s = first; s < (end); s++) UNROLL for (int v = 0; v < (vectors); v++)
#define FINISH_SUMS(f, output, first, end, vectors)                                                                    \
    do {                                                                                                               \
        const vector low = (f)->low - (vector){0}, high = (f)->high - (vector){0};                                     \
        if ((f)->scale)                                                                                                \
            EACH_SUM(first, end, vectors) {                                                                            \
                sum[s][v] *= (f)->scale[output];                                                                       \
                OX_ROUND_NOW(sum[s][v]);                                                                               \
            }                                                                                                          \
        if ((f)->add)                                                                                                  \
            EACH_SUM(first, end, vectors) sum[s][v] += (f)->add[output];                                               \
        if ((f)->low > -INFINITY)                                                                                      \
            EACH_SUM(first, end, vectors) sum[s][v] = ox_greatest(low, sum[s][v]) + (f)->behind;                       \
        if ((f)->high < INFINITY)                                                                                      \
            EACH_SUM(first, end, vectors) sum[s][v] = ox_smallest(high, sum[s][v]);                                    \
    } while (false)

/* What products and elements as they are differ in, within tiles: the weight of a tap, and the end of sums. */
#define WEIGHT_products(tap) t->weights[tap]
#define WEIGHT_elements(tap) 0
#define WEIGHT_most(tap) 0
#define END_products(vectors)                                                                                          \
    do {                                                                                                               \
        const float added = added_to(t, 0);                                                                            \
        EACH_SUM(0, ROWS, vectors) sum[s][v] += added;                                                                 \
        if (t->finish)                                                                                                 \
            FINISH_SUMS(t->finish, 0, 0, ROWS, vectors);                                                               \
    } while (false)
#define END_elements(vectors)
/* Which of two zeros is taken depends on the order of taps: both become +0. */
#define END_most(vectors) EACH_SUM(0, ROWS, vectors) sum[s][v] += 0

/* Some columns of a tile; and all of them, as many vectors at a time as there are such loops, by their vectors. The
 * last ones come first, which may write over the first ones of the next row. */
typedef void columns_fn(const ox_direct_tile *t, int64_t column, int64_t columns);
OX_INLINED void go_across(const ox_direct_tile *t, columns_fn *const by[], int64_t most, int64_t lanes) {
    const int64_t each = most * lanes;
    int64_t some = (t->columns - 1) % each + 1;
    for (int64_t c = t->columns - some; c >= 0; c -= each, some = each)
        by[(some - 1) / lanes](t, c, some);
}

/* Tiles of `vectors` vectors and as many rows as there are sums left; of the last rows some are computed for nothing.
 */
#define DIRECT_TILE(T, name, TAKE, first, kind, vectors)                                                               \
    static void name##_##vectors(const ox_direct_tile *t, int64_t column, int64_t columns) {                           \
        enum {                                                                                                         \
            ROWS = ROWS_OF(vectors)                                                                                    \
        };                                                                                                             \
        for (int64_t r = 0; r < t->rows; r += ROWS) {                                                                  \
            const T *from = (const T *)t->from + r * t->from_row + column;                                             \
            vector_##T sum[ROWS][vectors];                                                                             \
            UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int v = 0; v < vectors; v++) sum[i][v] =                 \
                (vector_##T){0} + (first);                                                                             \
            for (int64_t layer = 0; layer < t->layers; layer++)                                                        \
                for (int64_t tap = 0; tap < t->taps; tap++) {                                                          \
                    const T *x = from + layer * t->layer + t->offsets[tap];                                            \
                    const float weight = WEIGHT_##kind(layer * t->taps + tap);                                         \
                    UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int v = 0; v < vectors; v++) sum[i][v] =         \
                        TAKE(sum[i][v], OX_GET(loose_##T, x + i * t->from_row + v * LANES_OF(T)), weight);             \
                }                                                                                                      \
            END_##kind(vectors);                                                                                       \
            const row_place place = place_of(t, r, column, columns);                                                   \
            T *to = (T *)t->to + place.at;                                                                             \
            UNROLL for (int i = 0; i < ROWS; i++) {                                                                    \
                if (i < place.left)                                                                                    \
                    store_row_##T(to + i * place.step, sum[i], vectors, columns, place.room - i * place.less);         \
            }                                                                                                          \
        }                                                                                                              \
    }
#define DIRECT(T, name, TAKE, first, kind)                                                                             \
    DIRECT_TILE(T, name, TAKE, first, kind, 1)                                                                         \
    DIRECT_TILE(T, name, TAKE, first, kind, 2)                                                                         \
    DIRECT_TILE(T, name, TAKE, first, kind, 3)                                                                         \
    DIRECT_TILE(T, name, TAKE, first, kind, 4)                                                                         \
    static void name(const ox_direct_tile *t) {                                                                        \
        static columns_fn *const by[] = {name##_1, name##_2, name##_3, name##_4};                                      \
        go_across(t, by, sizeof by / sizeof *by, LANES_OF(T));                                                         \
    }
DIRECT(f32, plain_products, take_product, 0, products)
DIRECT(f32, plain_sums, take_sum, 0, elements)
DIRECT(f32, plain_greatest_f32, take_greatest_f32, -INFINITY, most)
DIRECT(u8, plain_greatest_u8, take_greatest_u8, 0, most)
DIRECT(i8, plain_greatest_i8, take_greatest_i8, INT8_MIN, most)
DIRECT(f32, plain_greatest_or_nan, take_greatest_or_nan, -INFINITY, most)

/* The same for kernels whose taps lie `high` below each other, as many rows of the tile apart: a vector is loaded once
 * for all of the rows that see it, column by column of the kernel. */
#define TALL_TILE(high, apart, vectors)                                                                                \
    static void tall_##high##_##apart##_##vectors(const ox_direct_tile *t, int64_t column, int64_t columns) {          \
        enum {                                                                                                         \
            ROWS = ROWS_OF(vectors)                                                                                    \
        };                                                                                                             \
        const int64_t across = t->taps / high, row = t->from_row / apart;                                              \
        for (int64_t r = 0; r < t->rows; r += ROWS) {                                                                  \
            const float *from = (const float *)t->from + r * t->from_row + column;                                     \
            vector sum[ROWS][vectors];                                                                                 \
            UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int v = 0; v < vectors; v++) sum[i][v] = (vector){0};    \
            for (int64_t layer = 0; layer < t->layers; layer++)                                                        \
                for (int64_t tap = 0; tap < across; tap++) {                                                           \
                    const float *x = from + layer * t->layer + t->offsets[tap];                                        \
                    const ox_f32 *weights = t->weights + layer * t->taps + tap;                                        \
                    float weight[high];                                                                                \
                    UNROLL for (int k = 0; k < high; k++) weight[k] = weights[k * across];                             \
                    UNROLL for (int y = 0; y < (ROWS - 1) * apart + high; y++, x += row)                               \
                        UNROLL for (int v = 0; v < vectors; v++) {                                                     \
                        const vector seen = OX_GET(loose_f32, x + v * LANES_OF(f32));                                  \
                        UNROLL for (int k = 0; k < high;                                                               \
                                    k++) if (y >= k && (y - k) % apart == 0 && (y - k) / apart < ROWS)                 \
                            sum[(y - k) / apart][v] += seen * weight[k];                                               \
                    }                                                                                                  \
                }                                                                                                      \
            END_products(vectors);                                                                                     \
            const row_place place = place_of(t, r, column, columns);                                                   \
            f32 *to = (f32 *)t->to + place.at;                                                                         \
            UNROLL for (int i = 0; i < ROWS; i++) {                                                                    \
                if (i < place.left)                                                                                    \
                    store_row_f32(to + i * place.step, sum[i], vectors, columns, place.room - i * place.less);         \
            }                                                                                                          \
        }                                                                                                              \
    }
#define TALL(high, apart)                                                                                              \
    TALL_TILE(high, apart, 1)                                                                                          \
    TALL_TILE(high, apart, 2)                                                                                          \
    TALL_TILE(high, apart, 4)                                                                                          \
    static void tall_##high##_##apart(const ox_direct_tile *t) {                                                       \
        static columns_fn *const by[] = {tall_##high##_##apart##_1, tall_##high##_##apart##_2,                         \
                                         tall_##high##_##apart##_4, tall_##high##_##apart##_4};                        \
        /* few rows leave sums for more of them */                                                                     \
        const int64_t most = t->rows > ROWS_OF(MOST_VECTORS) ? 2 : MOST_VECTORS;                                       \
        go_across(t, by, most, LANES_OF(f32));                                                                         \
    }
TALL(3, 1)
TALL(5, 1)
TALL(7, 1)
TALL(5, 2)

/* The same without weights: the taps of each row are taken together once for all rows of the tile that see it, which
 * are then taken together down the kernel. */
#define POOLED_TILE(T, name, TAKE, first, high, vectors)                                                               \
    static void name##_##high##_##vectors(const ox_direct_tile *t, int64_t column, int64_t columns) {                  \
        enum {                                                                                                         \
            ROWS = ROWS_OF(vectors)                                                                                    \
        };                                                                                                             \
        const int64_t across = t->taps / high;                                                                         \
        for (int64_t r = 0; r < t->rows; r += ROWS) {                                                                  \
            vector_##T row[ROWS + high - 1][vectors];                                                                  \
            UNROLL for (int y = 0; y < ROWS + high - 1; y++) UNROLL for (int v = 0; v < vectors; v++) row[y][v] =      \
                (vector_##T){0} + (first);                                                                             \
            for (int64_t tap = 0; tap < across; tap++) {                                                               \
                const T *x = (const T *)t->from + r * t->from_row + column + t->offsets[tap];                          \
                UNROLL for (int y = 0; y < ROWS + high - 1; y++, x += t->from_row)                                     \
                    UNROLL for (int v = 0; v < vectors; v++) row[y][v] =                                               \
                        TAKE(row[y][v], OX_GET(loose_##T, x + v * LANES_OF(T)), 0);                                    \
            }                                                                                                          \
            UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int k = 1; k < high; k++)                                \
                UNROLL for (int v = 0; v < vectors; v++) row[i][v] = TAKE(row[i][v], row[i + k][v], 0);                \
            UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int v = 0; v < vectors; v++) row[i][v] += 0;             \
            const row_place place = place_of(t, r, column, columns);                                                   \
            T *to = (T *)t->to + place.at;                                                                             \
            UNROLL for (int i = 0; i < ROWS; i++) if (i < place.left)                                                  \
                store_row_##T(to + i * place.step, row[i], vectors, columns, place.room - i * place.less);             \
        }                                                                                                              \
    }
#define POOLED(T, name, TAKE, first)                                                                                   \
    POOLED_TILE(T, name, TAKE, first, 3, 1)                                                                            \
    POOLED_TILE(T, name, TAKE, first, 3, 2)                                                                            \
    POOLED_TILE(T, name, TAKE, first, 5, 1)                                                                            \
    POOLED_TILE(T, name, TAKE, first, 5, 2)                                                                            \
    static void some_##name(const ox_direct_tile *t) {                                                                 \
        static columns_fn *const by[][2] = {{name##_3_1, name##_3_2}, {name##_5_1, name##_5_2}};                       \
        go_across(t, by[t->high == 5], 2, LANES_OF(T));                                                                \
    }                                                                                                                  \
    static void pool_##name(const ox_direct_tile *t) {                                                                 \
        each_plane(t, t->step == 1 && (t->high == 3 || t->high == 5) ? some_##name : plain_##name, sizeof(T));         \
    }
POOLED(f32, sums, take_sum, 0)
POOLED(f32, greatest_f32, take_greatest_f32, -INFINITY)
POOLED(u8, greatest_u8, take_greatest_u8, 0)
POOLED(i8, greatest_i8, take_greatest_i8, INT8_MIN)
static void greatest_or_nan(const ox_direct_tile *t) {
    each_plane(t, plain_greatest_or_nan, sizeof(f32));
}

/* The same for several outputs of one input: a vector is loaded once for all of them, and a weight for some rows. */
enum {
    OUTPUTS = OX_DIRECT_OUTPUTS
};
#define WIDE_TILE(vectors)                                                                                             \
    static void wide_##vectors(const ox_direct_tile *t, int64_t column, int64_t columns) {                             \
        enum {                                                                                                         \
            ROWS = SUMS / OUTPUTS > vectors ? SUMS / OUTPUTS / vectors : 1                                             \
        };                                                                                                             \
        for (int64_t r = 0; r < t->rows; r += ROWS) {                                                                  \
            const float *from = (const float *)t->from + r * t->from_row + column;                                     \
            vector sum[OUTPUTS * ROWS][vectors];                                                                       \
            EACH_SUM(0, OUTPUTS *ROWS, vectors) sum[s][v] = (vector){0};                                               \
            for (int64_t layer = 0; layer < t->layers; layer++)                                                        \
                for (int64_t tap = 0; tap < t->taps; tap++) {                                                          \
                    const float *x = from + layer * t->layer + t->offsets[tap];                                        \
                    const ox_f32 *weight = t->weights + layer * t->taps + tap;                                         \
                    vector seen[ROWS][vectors];                                                                        \
                    EACH_SUM(0, ROWS, vectors)                                                                         \
                    seen[s][v] = OX_GET(loose_f32, x + s * t->from_row + v * LANES_OF(f32));                           \
                    EACH_SUM(0, OUTPUTS *ROWS, vectors)                                                                \
                    sum[s][v] += seen[s % ROWS][v] * weight[s / ROWS * t->weights_step];                               \
                }                                                                                                      \
            const row_place place = place_of(t, r, column, columns);                                                   \
            f32 *to = (f32 *)t->to + place.at;                                                                         \
            UNROLL for (int i = 0; i < OUTPUTS; i++) {                                                                 \
                const float added = added_to(t, i);                                                                    \
                EACH_SUM(i *ROWS, (i + 1) * ROWS, vectors) sum[s][v] += added;                                         \
                if (t->finish)                                                                                         \
                    FINISH_SUMS(t->finish, i, i *ROWS, (i + 1) * ROWS, vectors);                                       \
                UNROLL for (int y = 0; y < ROWS; y++) {                                                                \
                    if (y < place.left)                                                                                \
                        store_row_f32(to + i * t->to_step + y * place.step, sum[i * ROWS + y], vectors, columns,       \
                                      place.room - y * place.less);                                                    \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }
WIDE_TILE(1)
WIDE_TILE(2)
WIDE_TILE(3)
static void wide(const ox_direct_tile *t) {
    static columns_fn *const by[] = {wide_1, wide_2, wide_3};
    go_across(t, by, sizeof by / sizeof *by, LANES_OF(f32));
}

/* Windows of 3x3 that are 2 rows and columns apart, of an image where it lies: each row is loaded once for all rows of
 * the tile that see it, and its columns are split in registers. */
#ifdef OX_SHUFFLES_WORDS_8
enum {
    SECOND_HIGH = 3,
    SECOND_ROWS = 4,
    SECOND_SEEN = 2 * (SECOND_ROWS - 1) + SECOND_HIGH
};

/* A vector of a row from element `at` on; `whole` if the row has all that is loaded. */
OX_INLINED ox_words_8 load_columns(const float *row, int at, uint32_t within, const bool whole) {
    if (whole)
        return (ox_words_8)OX_GET(loose_f32, row + at);
    return (ox_words_8)ox_load_within(within >> at, row + at);
}

/* Some columns of as many rows. Tap 0 of a window lies in an odd column of what is loaded, or in an even one. */
OX_INLINED void second_columns(const float *const *rows, int64_t at, uint32_t within, const vector *weight,
                               vector (*sum)[1], const bool odd, const bool whole) {
    EACH_SUM(0, SECOND_ROWS, 1) sum[s][v] = (vector){0};
    UNROLL for (int y = 0; y < SECOND_SEEN; y++) {
        const float *x = rows[y] + at;
        const ox_words_8 a = load_columns(x, 0, within, whole), b = load_columns(x, LANES_OF(f32), within, whole),
                         c = load_columns(x, 2, within, whole), d = load_columns(x, LANES_OF(f32) + 2, within, whole);
        const vector second = (vector)OX_SHUFFLE(words, 8, a, b, ODDS_8),
                     third = (vector)OX_SHUFFLE(words, 8, c, d, EVENS_8);
        const vector seen[] = {odd ? second : (vector)OX_SHUFFLE(words, 8, a, b, EVENS_8), odd ? third : second,
                               odd ? (vector)OX_SHUFFLE(words, 8, c, d, ODDS_8) : third};
        UNROLL for (int i = 0; i < SECOND_ROWS; i++) if (y >= 2 * i && y - 2 * i < SECOND_HIGH)
            UNROLL for (int k = 0; k < SECOND_HIGH; k++) sum[i][0] += seen[k] * weight[(y - 2 * i) * SECOND_HIGH + k];
    }
}

OX_INLINED void second_rows(const ox_direct_tile *t, const bool odd) {
    vector weight[SECOND_HIGH * SECOND_HIGH];
    UNROLL for (int k = 0; k < SECOND_HIGH * SECOND_HIGH; k++) weight[k] = t->weights[k] - (vector){0};
    const vector added = added_to(t, 0) - (vector){0};
    for (int64_t r = 0; r < t->rows; r += SECOND_ROWS) {
        const float *rows[SECOND_SEEN];
        for (int y = 0; y < SECOND_SEEN; y++) {
            const int64_t row = 2 * r + y - t->above;
            rows[y] = row >= 0 && row < t->inside ? (const float *)t->from + row * t->from_row : t->outside;
        }
        int64_t columns = (t->columns - 1) % LANES_OF(f32) + 1;
        for (int64_t column = t->columns - columns; column >= 0; column -= LANES_OF(f32), columns = LANES_OF(f32)) {
            vector sum[SECOND_ROWS][1];
            const int64_t at = t->start + 2 * column - odd;
            const uint32_t within = ox_reals_within(at, t->wide), all = (1u << (2 * LANES_OF(f32) + 2)) - 1;
            if ((within & all) == all)
                second_columns(rows, at, within, weight, sum, odd, true);
            else
                second_columns(rows, at, within, weight, sum, odd, false);
            EACH_SUM(0, SECOND_ROWS, 1) sum[s][v] += added;
            if (t->finish)
                FINISH_SUMS(t->finish, 0, 0, SECOND_ROWS, 1);
            const row_place place = place_of(t, r, column, columns);
            UNROLL for (int i = 0; i < SECOND_ROWS; i++) if (i < place.left) store_row_f32(
                (float *)t->to + place.at + i * place.step, sum[i], 1, columns, place.room - i * place.less);
        }
    }
}
static void second_windows(const ox_direct_tile *t) {
    if (t->start % 2)
        second_rows(t, true);
    else
        second_rows(t, false);
}
#else
#define second_windows plain_products
#endif

static ox_direct_fn *find_products(const ox_direct_tile *t) {
    if (t->outputs == OUTPUTS)
        return wide;
    if (t->outside)
        return second_windows;
    switch (t->high) {
    case 3:
        return tall_3_1;
    case 5:
        return t->step == 1 ? tall_5_1 : tall_5_2;
    case 7:
        return tall_7_1;
    default:
        return plain_products;
    }
}

static void products(const ox_direct_tile *t) {
    each_plane(t, find_products(t), sizeof(f32));
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
    .sums = pool_sums,
    .greatest_f32 = pool_greatest_f32,
    .greatest_u8 = pool_greatest_u8,
    .greatest_i8 = pool_greatest_i8,
    .greatest_or_nan = greatest_or_nan,
#ifdef OX_SHUFFLES_WORDS_8
    .takes_images = true,
#endif
    .find_nan = find_nan,
    .divide = divide,
};
