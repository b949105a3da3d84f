/* bcast.h: the shared iterator. All that is elementwise, and all that only moves elements, runs on it. */
#ifndef OX_ITERATE_BCAST_H
#define OX_ITERATE_BCAST_H

#include "pool.h"
#include "tensor.h"

struct ox_loops; /* lanes.h */

/* Broadcasts `dims` with `other`, multidirectionally: right-aligned, each output dimension is the one that is not 1 (so
 * 1 with 0 gives 0). False if they do not fit. */
bool ox_broadcast_dims(int *rank, int64_t dims[OX_MAX_RANK], int other_rank, const int64_t *other);

/* Byte strides of `tensor` seen as a tensor of shape dims: right-aligned, 0 where it repeats. The shapes must fit. */
void ox_broadcast_strides(const ox_tensor *tensor, int rank, const int64_t *dims, int64_t *strides);

/* An iteration space and the byte steps of n operands through it. Dimension 0 is the innermost; dimensions of size 1
 * are dropped and neighbours merged where outer step == inner step * inner dim for every operand. ndim >= 1; a space
 * without elements has ndim 1 and dim[0] == 0. */
typedef struct ox_bcast {
    int nargs, ndim;
    int64_t *dim;  /* ndim entries */
    int64_t *step; /* step[d * nargs + a] */
} ox_bcast;

/* Plans a space of `rank` dims (outermost first, as in tensors); strides[a] has the rank byte strides of operand a.
 * plan->dim and plan->step must have room for max(rank, 1) and max(rank, 1) * nargs entries; strides are left
 * unchanged. */
void ox_bcast_plan(ox_bcast *plan, int nargs, int rank, const int64_t *dims, const int64_t *const *strides);

/* Copies elements of `width` bytes from src to dst, both of shape dims with byte strides of their own (0 in src
 * repeats). They must not overlap. Large copies are split over the pool's threads (NULL: none). */
void ox_move(const struct ox_loops *loops, ox_pool *pool, int rank, const int64_t *dims, size_t width, void *dst,
             const int64_t *dst_strides, const void *src, const int64_t *src_strides);

/* Copies a tensor of any strides into packed memory. */
void ox_pack(const struct ox_loops *loops, ox_pool *pool, const ox_tensor *tensor, void *dst);

#endif
