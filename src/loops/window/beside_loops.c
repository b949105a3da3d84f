/* beside_loops.c: convolutions whose outputs lie side by side in vectors: a weight of all of them is multiplied with
 * one element of what is laid out, for several windows at once. */
#include "asserts.h"
#include "loops/conv_loops.h"
#include "loops/simd/intrinsics.h"
#include "loops/lane_loops.h"

#include <string.h>

extern const ox_beside_loops OX_VARIANT(ox_beside_loops);

enum {
    FLOATS = OX_WIDEST / (int)sizeof(float),
    VECTORS = OX_BESIDE / FLOATS
};
#define UNROLL OX_UNROLLED

/* Rows and columns of tiles whose sums stay in registers, and how long a sum takes where these are few. */
#if OX_WIDEST >= 64
#define EACH_SHAPE(S)                                                                                                  \
    S(1, 16, 1) S(1, 14, 1) S(1, 12, 1) S(1, 10, 1) S(1, 8, 1) S(1, 7, 1) S(2, 6, 1) S(2, 5, 1) S(2, 4, 1)
#elif OX_WIDEST >= 32 || defined(__aarch64__)
#define EACH_SHAPE(S) S(1, 6, 1) S(1, 5, 1.06) S(1, 4, 1.25)
#endif

#ifdef EACH_SHAPE
/* What becomes of sums, for all outputs of a tile. */
typedef struct beside_end {
    ox_floats bias[VECTORS], scale[VECTORS], add[VECTORS];
    const ox_finish *finish;
} beside_end;

/* Factors or terms of some outputs, and zeros behind them. */
static void load_outputs(const ox_f32 *from, int64_t outputs, ox_floats *to) {
    memset(to, 0, OX_BESIDE * sizeof(float));
    if (from)
        memcpy(to, from, (size_t)outputs * sizeof(float));
}

#define EACH_SUM UNROLL for (int i = 0; i < sums; i++) UNROLL for (int v = 0; v < VECTORS; v++)
OX_INLINED void end_sums(const beside_end *end, ox_floats (*sum)[VECTORS], const int sums) {
    const ox_finish *f = end->finish;
    EACH_SUM sum[i][v] += end->bias[v];
    if (!f)
        return;
    if (f->scale)
        EACH_SUM {
            sum[i][v] *= end->scale[v];
            OX_ROUND_NOW(sum[i][v]);
        }
    if (f->add)
        EACH_SUM sum[i][v] += end->add[v];
    if (f->low > -INFINITY) {
        const ox_floats low = f->low - (ox_floats){0}, behind = f->behind - (ox_floats){0};
        EACH_SUM sum[i][v] = ox_greater_floats(low, sum[i][v]) + behind;
    }
    if (f->high < INFINITY) {
        const ox_floats high = f->high - (ox_floats){0};
        EACH_SUM sum[i][v] = ox_lesser_floats(high, sum[i][v]);
    }
}

/* A tile from a window on. Where rows are shorter than it, the next one writes over what is behind them. */
typedef void shape_fn(const ox_direct_tile *t, const beside_end *end, const float *from, float *to);
#define SHAPE(high, wide, time)                                                                                        \
    static void shape_##high##_##wide(const ox_direct_tile *t, const beside_end *end, const float *from, float *to) {  \
        enum {                                                                                                         \
            SUMS = (high) * (wide)                                                                                     \
        };                                                                                                             \
        ox_floats sum[SUMS][VECTORS];                                                                                  \
        UNROLL for (int i = 0; i < SUMS; i++) UNROLL for (int v = 0; v < VECTORS; v++) sum[i][v] = (ox_floats){0};     \
        const float *weights = t->weights;                                                                             \
        for (int64_t layer = 0; layer < t->layers; layer++, from += t->layer)                                          \
            for (int64_t tap = 0; tap < t->taps; tap++, weights += OX_BESIDE) {                                        \
                const float *x = from + t->offsets[tap];                                                               \
                ox_floats weight[VECTORS];                                                                             \
                UNROLL for (int v = 0; v < VECTORS; v++) weight[v] = OX_GET(ox_floats, weights + v * FLOATS);          \
                UNROLL for (int i = 0; i < SUMS; i++) UNROLL for (int v = 0; v < VECTORS; v++) sum[i][v] +=            \
                    weight[v] * x[i / (wide)*t->from_row + i % (wide)];                                                \
            }                                                                                                          \
        end_sums(end, sum, SUMS);                                                                                      \
        UNROLL for (int i = 0; i < SUMS; i++) UNROLL for (int v = 0; v < VECTORS; v++)                                 \
            OX_AT(ox_floats, to + (i / (wide)*t->columns + i % (wide)) * OX_BESIDE + v * FLOATS) = sum[i][v];          \
    }
EACH_SHAPE(SHAPE)

typedef struct beside_shape {
    int64_t high, wide;
    double time;
    shape_fn *run;
} beside_shape;
#define ROW(high, wide, time) {high, wide, time, shape_##high##_##wide},
static const beside_shape shapes[] = {EACH_SHAPE(ROW)};

static int64_t round_up(int64_t count, int64_t unit) {
    return (count + unit - 1) / unit * unit;
}

static double time_of(const beside_shape *shape, int64_t rows, int64_t columns) {
    return shape->time * (double)(round_up(rows, shape->high) * round_up(columns, shape->wide));
}

/* The shape whose tiles take least time, the largest of these. */
static int find_shape(int64_t rows, int64_t columns, double *time) {
    int best = 0;
    for (int i = 1; i < (int)(sizeof shapes / sizeof *shapes); i++)
        if (time_of(&shapes[i], rows, columns) < time_of(&shapes[best], rows, columns))
            best = i;
    *time = time_of(&shapes[best], rows, columns);
    return best;
}

/* The last tile of a row goes over columns of the one before. */
static void products(const ox_direct_tile *t, int number) {
    OX_ASSERT(number >= 0 && number < (int)(sizeof shapes / sizeof *shapes));
    OX_ASSERT((uintptr_t)t->weights % sizeof(ox_floats) == 0 && (uintptr_t)t->to % sizeof(ox_floats) == 0);
    OX_ASSERT(t->rows > 0 && t->columns > 0 && t->layers > 0 && t->taps > 0);
    OX_ASSERT(t->outputs > 0 && t->outputs <= OX_BESIDE);
    const beside_shape *shape = &shapes[number];
    beside_end end = {.finish = t->finish};
    load_outputs(t->add, t->outputs, end.bias);
    load_outputs(t->finish ? t->finish->scale : NULL, t->outputs, end.scale);
    load_outputs(t->finish ? t->finish->add : NULL, t->outputs, end.add);
    const int64_t last = t->columns > shape->wide ? t->columns - shape->wide : 0;
    for (int64_t r = 0; r < t->rows; r += shape->high)
        for (int64_t c = 0; c < t->columns; c += shape->wide) {
            const int64_t column = LESS_OF(c, last);
            shape->run(t, &end, (const float *)t->from + r * t->from_row + column,
                       (float *)t->to + (r * t->columns + column) * OX_BESIDE);
        }
}

const ox_beside_loops OX_VARIANT(ox_beside_loops) = {products, find_shape};
#else
const ox_beside_loops OX_VARIANT(ox_beside_loops) = {NULL, NULL};
#endif
