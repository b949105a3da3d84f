/* winograd_loops.h: the transforms of convolutions 3x3 by Winograd's way: a tile of 2x2 or 4x4 results is a sum over
 * channels of 4x4 or 6x6 products, where the plain way takes 9 for each result.
 *
 * Tiles lie side by side in vectors. The points that polynomials are evaluated at are 0, 1, -1 for tiles of 2, and 0,
 * 3/2, -3/2, 3/4, -3/4 for tiles of 4: all factors are exact in binary, and the error stays near that of plain sums. */
#ifndef OX_LOOPS_WINOGRAD_LOOPS_H
#define OX_LOOPS_WINOGRAD_LOOPS_H

#include "element.h"

enum {
    OX_WINOGRAD_MARGIN = 16 /* elements that may be read and written behind the last tile */
};

/* A row of an image in phases: to[p * to_phase + i] = from[i * phases + p] for `count` i; phases: 2 or 4. */
typedef void ox_winograd_part_fn(int64_t phases, int64_t count, const float *from, float *to, int64_t to_phase);

/* The other way round, for `count` elements of the row. */
typedef void ox_winograd_weave_fn(int64_t phases, int64_t count, const float *from, int64_t from_phase, float *to);

/* What a row of tiles sees becomes the elements of its products: from rows in phases, phases `phase` elements and rows
 * `row` elements apart, to elements `step` apart, tiles side by side. */
typedef void ox_winograd_enter_fn(int64_t tiles, const float *from, int64_t row, int64_t phase, float *to,
                                  int64_t step);

/* The sums of products become rows of results plus `add`, in phases: each row is `phase` times the phases long. */
typedef void ox_winograd_leave_fn(int64_t tiles, const float *from, int64_t step, float add, float *to, int64_t phase);

/* Nine weights of each of `count` channels, side by side, become the factors of the products, `step` elements apart.
 * Computed as doubles, and rounded once. */
typedef void ox_winograd_weights_fn(int64_t count, const ox_f32 *from, float *to, int64_t step);

typedef struct ox_winograd_size {
    ox_winograd_enter_fn *enter;
    ox_winograd_leave_fn *leave;
    ox_winograd_weights_fn *weights;
} ox_winograd_size;

typedef struct ox_winograd_loops {
    ox_winograd_part_fn *part;
    ox_winograd_weave_fn *weave;
    ox_winograd_size two, four;
} ox_winograd_loops;

extern const ox_winograd_loops *const ox_winograd_builds[];

#endif
