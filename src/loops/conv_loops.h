/* conv_loops.h: what convolutions do to the rows of an image, apart from where these lie. */
#ifndef OX_LOOPS_CONV_LOOPS_H
#define OX_LOOPS_CONV_LOOPS_H

#include "finish.h"

/* `count` elements of a row that is gathered, from element `to` on: of the source, from element `from` on, a stride
 * apart; padding if `from` is negative. */
typedef struct ox_run {
    int64_t to, count, from;
} ox_run;

/* Gathers `rows` rows alike, each out of a source of its own; steps are bytes, and `fill` is what padding is made of.
 */
typedef void ox_gather_fn(int64_t rows, char *to, int64_t to_row, const char *from, int64_t from_row, int64_t stride,
                          int64_t count, const ox_run *runs, int fill);

/* For elements of 1, 2, 4 or 8 bytes. */
typedef ox_gather_fn *ox_gather_for_fn(size_t width);

enum {
    OX_DIRECT_ROWS = 8,
    OX_DIRECT_MARGIN = 256,
    OX_DIRECT_OUTPUTS = 4,
    OX_BESIDE = 16 /* outputs that lie side by side */
};

/* What the taps of a kernel see of elements that are laid out in rows: to[r][c] out of from[r][c + offsets[t]] for each
 * tap t, in order; products go over several such layers, each with weights of its own. Up to OX_DIRECT_ROWS rows and
 * OX_DIRECT_MARGIN bytes behind what is asked for are read, too. */
typedef struct ox_direct_tile {
    int64_t taps;
    int64_t high, step; /* not 0: the taps are as many rows, and from_row is `step` times from one to the next */
    const int64_t *offsets;
    int64_t layers, layer;   /* of products: how many, and elements from one to the next */
    const ox_f32 *weights;   /* of products: of each tap of each layer */
    int64_t outputs;         /* of products: 1, or OX_DIRECT_OUTPUTS at once that see the same layers */
    int64_t planes, plane;   /* of products: so many results of one output, and elements from the layers of one to
                                those of the next */
    int64_t weights_step;    /* elements from the weights of one output or plane to those of the next, */
    const ox_f32 *add;       /* what is added behind the products of each; NULL: nothing, */
    const ox_finish *finish; /* and what becomes of these sums, outputs or planes being rows; NULL: nothing */
    int64_t rows, columns;
    const void *from; /* floats, of pools bytes, too */
    void *to;
    int64_t from_row, to_row; /* elements from row to row, */
    int64_t to_step;          /* and from output or plane to the next */
    const float *outside;     /* not NULL: `from` is a row of an image that is read where it lies, and this is a row of
                                 padding */
    int64_t above, inside;    /* rows of padding before `from`, and rows of the image from there on */
    int64_t start, wide;      /* the column of the first window, and columns of the image */
} ox_direct_tile;
typedef void ox_direct_fn(const ox_direct_tile *tile);

/* True if one of n elements is a NaN. */
typedef bool ox_find_nan_fn(int64_t n, const float *from);

/* to[r][c] /= rows[r] * columns[c] */
typedef void ox_divide_fn(int64_t rows, int64_t columns, float *to, int64_t to_row, const float *row_counts,
                          const float *column_counts);

typedef struct ox_direct_loops {
    ox_direct_fn *products, *sums;
    ox_direct_fn *greatest_f32; /* without NaN */
    ox_direct_fn *greatest_u8, *greatest_i8;
    ox_direct_fn *greatest_or_nan;
    bool takes_images; /* products are computed of windows of 3x3 that are 2 rows and columns apart where images lie */
    ox_find_nan_fn *find_nan;
    ox_divide_fn *divide;
} ox_direct_loops;

/* Products of up to OX_BESIDE outputs that see the same layers: the weights of each tap of each layer lie side by side,
 * aligned, with zeros for outputs that are none. So do results, window by window, row behind row; up to a row and
 * OX_BESIDE windows behind them are written, too. */
typedef struct ox_beside_loops {
    void (*products)(const ox_direct_tile *tile, int shape);  /* NULL where vectors are too small or too few for that */
    int (*find)(int64_t rows, int64_t columns, double *time); /* the best shape of what is computed together for so many
                                       windows, and the time that they take: 1 for each where none are wasted */
} ox_beside_loops;

extern const ox_direct_loops *const ox_direct_builds[];
extern const ox_beside_loops *const ox_beside_builds[];
extern ox_gather_for_fn *const ox_gather_builds[];

#endif
