/* winograd_loops.h: the transforms of Winograd's algorithm, F(2x2, 3x3) and F(4x4, 3x3). It computes a convolution in
 * tiles of 2x2 or 4x4 results. For each input channel, a tile takes 4x4 or 6x6 products: 4 or 2.25 for each result,
 * where a direct sum takes 9.
 *
 * A vector holds the same element of as many tiles, which lie side by side in the image. The interpolation points are
 * 0, 1, -1 and infinity for tiles of 2x2, and 0, 3/2, -3/2, 3/4, -3/4 and infinity for tiles of 4x4. All factors of
 * those are exact in binary, and the error stays near that of direct sums. */
#ifndef OX_LOOPS_WINOGRAD_LOOPS_H
#define OX_LOOPS_WINOGRAD_LOOPS_H

#include "element.h"

enum {
    OX_WINOGRAD_MARGIN = 16 /* elements that may be read and written behind the last tile */
};

/* Parts a row of an image into phases, so that what is a tile's width apart lies side by side:
 * to[p * to_phase + i] = from[i * phases + p] for i < count. phases: the width of a tile, 2 or 4. */
typedef void ox_winograd_part_fn(int64_t phases, int64_t count, const float *from, float *to, int64_t to_phase);

/* Weaves phases into a row of `count` elements. */
typedef void ox_winograd_weave_fn(int64_t phases, int64_t count, const float *from, int64_t from_phase, float *to);

/* The input transform of a row of tiles. from: the rows of the image that the tiles see, in phases; phases lie `phase`
 * elements apart, rows `row`. to: the elements of the tiles, `step` apart; an element of all tiles lies side by side.
 */
typedef void ox_winograd_enter_fn(int64_t tiles, const float *from, int64_t row, int64_t phase, float *to,
                                  int64_t step);

/* The output transform of a row of tiles, plus `add`. from: sums of products, as the input transform gives its
 * elements. to: as many rows of results as a tile is high, in phases that lie `phase` elements apart, one row behind
 * the other. */
typedef void ox_winograd_leave_fn(int64_t tiles, const float *from, int64_t step, float add, float *to, int64_t phase);

/* The weight transform of `count` kernels, which lie packed. to: the factors of the products, `step` elements apart; a
 * factor of all kernels lies side by side. They are stored by whole cache lines, at which `to` and `step` are aligned,
 * and past the caches. Computed in double, and rounded once. */
typedef void ox_winograd_weights_fn(int64_t count, const ox_f32 *from, float *to, int64_t step);

/* The transforms of one size of tiles. */
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
