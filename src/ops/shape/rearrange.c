/* rearrange.c: Tile, DepthToSpace and SpaceToDepth. Each shows its input with more dimensions than it has, and copies
 * that once. */
#include "ops/axes.h"
#include "iterate/bcast.h"
#include "ops/scalar.h"

#include <string.h>

/* ---- Tile --------------------------------------------------------------------------------------------------- */

static ox_status read_repeats(ox_call *call, int64_t *repeats) {
    const int rank = call->in[0]->rank;
    ox_short_list list;
    OX_TRY(ox_list_input(call, 1, OX_BIT(OX_INT64), &list));
    if (list.count != rank)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%d repeats are given for %s", list.count, OX_INPUT(call, 0));
    for (int d = 0; d < rank; d++)
        repeats[d] = list.value[d];
    return OX_OK;
}

/* Version 1 repeats one axis; both numbers come in the element type of the data. */
static ox_status read_repeat(ox_call *call, int64_t *repeats) {
    const ox_tensor *tiles, *which;
    int axis;
    OX_TRY(ox_call_scalar(call, 1, OX_SET_FLOAT, &tiles));
    OX_TRY(ox_call_scalar(call, 2, OX_SET_FLOAT, &which));
    OX_TRY(ox_call_axis(call, "axis", ox_scalar_int(which), call->in[0]->rank, &axis));
    for (int d = 0; d < call->in[0]->rank; d++)
        repeats[d] = 1;
    repeats[axis] = ox_scalar_int(tiles);
    return OX_OK;
}

/* The output's dims; *view is true if no dimension has both elements and repeats. */
static ox_status tiled_dims(ox_call *call, const int64_t *repeats, int64_t *dims, bool *view) {
    const ox_tensor *in = call->in[0];
    *view = true;
    for (int d = 0; d < in->rank; d++) {
        if (repeats[d] < 0 || !ox_mul_i64(in->dims[d], repeats[d], &dims[d]))
            return ox_call_fail(call, OX_ERROR_SHAPE, "axis %d of %s cannot be repeated %lld times", d,
                                OX_INPUT(call, 0), (long long)repeats[d]);
        *view &= in->dims[d] == 1 || repeats[d] == 1;
    }
    return OX_OK;
}

ox_status ox_infer_tile(ox_call *call) {
    const ox_tensor *in = call->in[0];
    int64_t repeats[OX_MAX_RANK], dims[OX_MAX_RANK], strides[OX_MAX_RANK];
    bool view;
    OX_TRY(call->op->since < 6 ? read_repeat(call, repeats) : read_repeats(call, repeats));
    OX_TRY(tiled_dims(call, repeats, dims, &view));
    if (!view)
        return ox_call_output(call, 0, in->dtype, in->rank, dims);
    ox_tensor_strides(in, strides);
    for (int d = 0; d < in->rank; d++)
        strides[d] = in->dims[d] == 1 ? 0 : strides[d];
    return ox_call_view(call, 0, 0, 0, in->rank, dims, strides);
}

/* Repeats what is there of the result along dimension d, whose inner dimensions are complete. */
static void repeat_along(const ox_call *call, int d, const int64_t *strides) {
    const ox_tensor *in = call->in[0], *out = call->out[0];
    const int64_t width = (int64_t)ox_dtype_size(out->dtype), block = in->dims[d] * strides[d];
    int64_t dims[OX_MAX_RANK + 1], to[OX_MAX_RANK + 1], from[OX_MAX_RANK + 1];
    memcpy(dims, in->dims, (size_t)d * sizeof *dims);
    memcpy(to, strides, (size_t)d * sizeof *to);
    memcpy(from, strides, (size_t)d * sizeof *from);
    dims[d] = out->dims[d] / in->dims[d] - 1;
    to[d] = block;
    from[d] = 0;
    dims[d + 1] = block / width;
    to[d + 1] = from[d + 1] = width;
    ox_move(call->loops, call->pool, d + 2, dims, (size_t)width, (char *)out->data + block, to, out->data, from);
}

/* The input first, and then each dimension from the innermost one outwards: short rows are repeated where they are few.
 */
ox_status ox_run_tile(ox_call *call) {
    const ox_tensor *in = call->in[0], *out = call->out[0];
    int64_t from[OX_MAX_RANK], to[OX_MAX_RANK];
    ox_tensor_strides(in, from);
    ox_tensor_strides(out, to);
    ox_move(call->loops, call->pool, in->rank, in->dims, ox_dtype_size(in->dtype), out->data, to, in->data, from);
    for (int d = in->rank - 1; d >= 0; d--)
        if (out->dims[d] > in->dims[d])
            repeat_along(call, d, to);
    return OX_OK;
}

/* ---- DepthToSpace, SpaceToDepth ----------------------------------------------------------------------------- */

/* The depth is a block's rows, its columns and the channels, in the order of the mode. */
typedef struct block_order {
    int64_t size;       /* of a block */
    bool channels_last; /* the channels vary fastest (DCR) */
} block_order;

static ox_status read_block(ox_call *call, block_order *block) {
    ox_string mode = ox_call_string(call, "mode", "DCR");
    block->size = ox_call_int(call, "blocksize", 0);
    block->channels_last = ox_says(mode, "DCR");
    if (!block->channels_last && !ox_says(mode, "CRD"))
        return ox_call_fail(call, OX_ERROR_MODEL, "mode '%.*s' is unknown", OX_SHORT(mode));
    if (block->size < 1)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'blocksize' is %lld", (long long)block->size);
    if (call->in[0]->rank != 4)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have rank 4", OX_INPUT(call, 0));
    return OX_OK;
}

ox_status ox_infer_depth_to_space(ox_call *call) {
    block_order block;
    int64_t area;
    OX_TRY(read_block(call, &block));
    const ox_tensor *in = call->in[0];
    int64_t dims[4] = {in->dims[0]};
    if (!ox_mul_i64(block.size, block.size, &area) || in->dims[1] % area)
        return ox_call_fail(call, OX_ERROR_SHAPE, "the channels of %s are not a multiple of blocks of %lldx%lld",
                            OX_INPUT(call, 0), (long long)block.size, (long long)block.size);
    dims[1] = in->dims[1] / area;
    if (!ox_mul_i64(in->dims[2], block.size, &dims[2]) || !ox_mul_i64(in->dims[3], block.size, &dims[3]))
        return ox_call_fail(call, OX_ERROR_LIMIT, "blocks of %lldx%lld make %s too large", (long long)block.size,
                            (long long)block.size, OX_INPUT(call, 0));
    return ox_call_output(call, 0, in->dtype, 4, dims);
}

ox_status ox_infer_space_to_depth(ox_call *call) {
    block_order block;
    int64_t area;
    OX_TRY(read_block(call, &block));
    const ox_tensor *in = call->in[0];
    int64_t dims[4] = {in->dims[0], 0, in->dims[2] / block.size, in->dims[3] / block.size};
    if (in->dims[2] % block.size || in->dims[3] % block.size)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s cannot be divided into blocks of %lldx%lld", OX_INPUT(call, 0),
                            (long long)block.size, (long long)block.size);
    if (!ox_mul_i64(block.size, block.size, &area) || !ox_mul_i64(in->dims[1], area, &dims[1]))
        return ox_call_fail(call, OX_ERROR_LIMIT, "blocks of %lldx%lld make %s too large", (long long)block.size,
                            (long long)block.size, OX_INPUT(call, 0));
    return ox_call_output(call, 0, in->dtype, 4, dims);
}

/* Dimensions of both sides, in one order: batch, channels, rows, rows of a block, columns, columns of a block. */
enum {
    BLOCK_DIMS = 6
};

/* Strides along them where blocks lie in space. */
static void space_strides(const ox_tensor *tensor, int64_t block, int64_t *strides) {
    int64_t s[4];
    ox_tensor_strides(tensor, s);
    memcpy(strides, (const int64_t[]){s[0], s[1], s[2] * block, s[2], s[3] * block, s[3]},
           BLOCK_DIMS * sizeof *strides);
}

/* The same where they lie in depth. */
static void depth_strides(const ox_tensor *tensor, const block_order *block, int64_t channels, int64_t *strides) {
    int64_t s[4];
    ox_tensor_strides(tensor, s);
    const int64_t inner = block->channels_last ? channels : 1, area = block->size * block->size;
    memcpy(strides,
           (const int64_t[]){s[0], block->channels_last ? s[1] : s[1] * area, s[2], s[1] * inner * block->size, s[3],
                             s[1] * inner},
           BLOCK_DIMS * sizeof *strides);
}

/* Copies between a tensor with blocks in space and one with blocks in depth. */
static ox_status move_blocks(ox_call *call, bool into_space) {
    const ox_tensor *in = call->in[0], *out = call->out[0];
    const ox_tensor *space = into_space ? out : in, *depth = into_space ? in : out;
    int64_t in_space[BLOCK_DIMS], in_depth[BLOCK_DIMS];
    block_order block;
    OX_TRY(read_block(call, &block));
    const int64_t dims[] = {space->dims[0], space->dims[1], depth->dims[2], block.size, depth->dims[3], block.size};
    space_strides(space, block.size, in_space);
    depth_strides(depth, &block, space->dims[1], in_depth);
    ox_move(call->loops, call->pool, BLOCK_DIMS, dims, ox_dtype_size(in->dtype), out->data,
            into_space ? in_space : in_depth, in->data, into_space ? in_depth : in_space);
    return OX_OK;
}

ox_status ox_run_depth_to_space(ox_call *call) {
    return move_blocks(call, true);
}

ox_status ox_run_space_to_depth(ox_call *call) {
    return move_blocks(call, false);
}
