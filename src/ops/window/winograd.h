/* winograd.h: convolutions 3x3 with stride 1 by Winograd's algorithm (loops/winograd_loops.h), where that takes fewer
 * steps than the product of gathered columns. Devices leave it out. */
#ifndef OX_OPS_WINDOW_WINOGRAD_H
#define OX_OPS_WINDOW_WINOGRAD_H

#include "loops/winograd_loops.h"
#include "window.h"
#include "ops/gemm/gemm.h"

/* What a convolution is, apart from its window. */
typedef struct ox_winograd_shape {
    const ox_window *window;
    int64_t images, groups;
    int64_t in_channels, out_channels; /* per group */
} ox_winograd_shape;

/* How the work is cut. Tiles are grouped into panels, each of some whole images, of some rows of tiles of one image, or
 * of a part of one row. */
typedef struct ox_winograd {
    ox_winograd_shape shape;
    int64_t size;                  /* of the results of a tile in each direction; 0: nothing is planned */
    int64_t points;                /* products of a tile */
    int64_t down, across;          /* tiles of an image */
    int64_t images, rows, columns; /* tiles of a panel, at most */
    int64_t stretches;             /* of rows of an image, all of about one size */
    int64_t panels;
    int64_t pitch;                        /* elements from channel to channel in what the products read and give */
    int64_t value_step, sum_step;         /* and from point to point, in each of these */
    int64_t depths;                       /* blocks along the input channels, of even size */
    int64_t depth;                        /* channels of each, at most */
    int64_t a_row;                        /* bytes from output channel to output channel in the weights */
    int64_t block;                        /* output channels whose sums lie in a cache together */
    int64_t phase;                        /* elements of each phase of a row that is laid out */
    bool apart;                           /* threads take panels of their own */
    size_t values;                        /* bytes of what the products read, */
    size_t lines, sums, results, scratch; /* and of each thread */
    const void *weights;
    const ox_winograd_size *transforms;
    const ox_winograd_loops *loops;
    const ox_gemm_kernel *kernel;
    ox_pool *pool;
} ox_winograd;

/* Bytes that each thread works in, apart from what products read. */
size_t ox_winograd_room(const ox_winograd *plan);

#endif
