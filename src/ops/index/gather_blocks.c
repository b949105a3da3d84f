/* gather_blocks.c: GatherBlockQuantized of com.microsoft: picks rows of a table that is quantised in blocks, and gives
 * them as floats. An index that is out of range gives zeros. */
#include "ops/blocks.h"
#include "ops/dense.h"

#include <string.h>

enum {
    DATA,
    INDICES,
    SCALES,
    ZEROS,
    PIECE = 256 /* elements that are computed together */
};

typedef struct gather_blocks {
    int gather, quantize; /* axes */
    int bits;             /* of an element in a byte of uint8; 8 of types that have a byte each */
    int64_t block, blocks;
    int64_t dims[OX_MAX_RANK]; /* of the elements */
    int64_t axis, slice;       /* the axis that is gathered, and elements behind it */
    int64_t length, inner;     /* the axis of the blocks, and elements behind it */
    int64_t slices;            /* of the result */
} gather_blocks;

static bool is_packed(const ox_call *call) {
    return call->in[DATA]->dtype == OX_UINT8;
}

/* What packed bytes hold lies along the last dimension. */
static ox_status read_dims(ox_call *call, gather_blocks *g) {
    const ox_tensor *data = call->in[DATA];
    const int last = data->rank - 1;
    for (int d = 0; d <= last; d++)
        g->dims[d] = data->dims[d];
    if (!is_packed(call))
        return OX_OK;
    if (g->gather != 0 || g->quantize != last || last == 0)
        return ox_call_fail(
            call, OX_ERROR_UNSUPPORTED,
            "%s: axes %d and %d are gathered and quantised, but of bytes these are the first and the last",
            OX_INPUT(call, DATA), g->gather, g->quantize);
    if (!ox_mul_i64(g->dims[last], 8 / g->bits, &g->dims[last]))
        return ox_call_fail(call, OX_ERROR_LIMIT, "%s is too large for this machine", OX_INPUT(call, DATA));
    return OX_OK;
}

static ox_status read_axes(ox_call *call, gather_blocks *g) {
    const ox_tensor *data = call->in[DATA];
    *g = (gather_blocks){.bits = 8};
    if (data->rank == 0)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s: at least one dimension is expected", OX_INPUT(call, DATA));
    OX_TRY(ox_call_axis(call, "gather_axis", ox_call_int(call, "gather_axis", 0), data->rank, &g->gather));
    OX_TRY(ox_call_axis(call, "quantize_axis", ox_call_int(call, "quantize_axis", 1), data->rank, &g->quantize));
    OX_TRY(ox_block_size(call, 128, &g->block));
    if (is_packed(call))
        OX_TRY(ox_block_bits(call, &g->bits));
    OX_TRY(read_dims(call, g));
    g->axis = g->dims[g->gather], g->length = g->dims[g->quantize];
    g->slice = ox_count(data->rank - g->gather - 1, g->dims + g->gather + 1);
    g->inner = ox_count(data->rank - g->quantize - 1, g->dims + g->quantize + 1);
    g->blocks = g->length ? (g->length - 1) / g->block + 1 : 0;
    return OX_OK;
}

/* Scales, or zero points: the shape of the data but for the axis of the blocks. */
static ox_status check_entries(ox_call *call, const gather_blocks *g, int i, int64_t along) {
    const ox_tensor *data = call->in[DATA];
    int64_t dims[OX_MAX_RANK];
    for (int d = 0; d < data->rank; d++)
        dims[d] = d == g->quantize ? along : data->dims[d];
    if (ox_same_dims(call->in[i]->rank, call->in[i]->dims, data->rank, dims))
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have shape %s by %s and block_size", OX_INPUT(call, i),
                        OX_DIMS(data->rank, dims), OX_INPUT(call, DATA));
}

static ox_status check_inputs(ox_call *call, const gather_blocks *g) {
    OX_TRY(ox_call_check_dtype(call, INDICES, OX_BIT(OX_INT32) | OX_BIT(OX_INT64)));
    OX_TRY(ox_call_check_dtype(call, SCALES, OX_BIT(OX_FLOAT) | OX_BIT(OX_FLOAT16) | OX_BIT(OX_BFLOAT16)));
    OX_TRY(check_entries(call, g, SCALES, g->blocks));
    if (!ox_call_given(call, ZEROS))
        return OX_OK;
    OX_TRY(ox_call_check_dtype(call, ZEROS, OX_BIT(call->in[DATA]->dtype)));
    return check_entries(call, g, ZEROS, (g->blocks * g->bits + 7) / 8);
}

ox_status ox_infer_gather_blocks(ox_call *call) {
    const ox_tensor *data = call->in[DATA], *indices = call->in[INDICES];
    gather_blocks g;
    int64_t dims[OX_MAX_RANK];
    int n = 0;
    OX_TRY(ox_call_check_dtype(call, DATA, call->op->dtypes));
    OX_TRY(read_axes(call, &g));
    OX_TRY(check_inputs(call, &g));
    if (data->rank + indices->rank - 1 > OX_MAX_RANK)
        return ox_call_fail(call, OX_ERROR_LIMIT, "the output would have rank %d, at most %d is supported",
                            data->rank + indices->rank - 1, OX_MAX_RANK);
    for (int d = 0; d < g.gather; d++)
        dims[n++] = g.dims[d];
    for (int d = 0; d < indices->rank; d++)
        dims[n++] = indices->dims[d];
    for (int d = g.gather + 1; d < data->rank; d++)
        dims[n++] = g.dims[d];
    return ox_call_output(call, 0, call->in[SCALES]->dtype, n, dims);
}

ox_status ox_prepare_gather_blocks(ox_call *call) {
    gather_blocks *g = ox_call_state(call, sizeof *g);
    if (!g)
        return OX_ERROR_MEMORY;
    OX_TRY(read_axes(call, g));
    const int64_t count = ox_tensor_count(call->out[0]);
    g->slices = count ? count / g->slice : 0;
    return OX_OK;
}

/* ---- Runs --------------------------------------------------------------------------------------------------- */

/* Element i of a tensor of integers, of the type that the data has. */
static float integer_at(const ox_tensor *t, int64_t i, int bits) {
    const uint8_t *bytes = t->data;
    return t->dtype == OX_INT4 ? (float)((const int8_t *)t->data)[i] : (float)ox_bits_at(bytes, i, bits);
}

/* The zero point that belongs to scale i. Rows of packed ones begin with a byte. */
static float zero_at(const ox_call *call, const gather_blocks *g, int64_t i) {
    if (!ox_call_given(call, ZEROS))
        return is_packed(call) ? (float)(1 << (g->bits - 1)) : 0;
    if (g->bits == 8)
        return integer_at(call->in[ZEROS], i, 8);
    const int64_t row = i / g->blocks, each = 8 / g->bits;
    return integer_at(call->in[ZEROS], row * ox_bits_bytes(g->blocks, g->bits) * each + i % g->blocks, g->bits);
}

static float scale_at(const ox_tensor *scales, int64_t i) {
    float scale;
    if (scales->dtype == OX_FLOAT)
        return ((const ox_f32 *)scales->data)[i];
    ox_widen(scales->dtype, 1, (const ox_u16 *)scales->data + i, &scale);
    return scale;
}

/* Elements [i, i + count) of the data, of which each has the next scale, or all have one. */
static void widen_run(const ox_call *call, const gather_blocks *g, int64_t i, int64_t count, float *to) {
    const int64_t place = i / g->inner, at = place % g->length;
    const int64_t first = (place / g->length * g->blocks + at / g->block) * g->inner + i % g->inner;
    float scale = scale_at(call->in[SCALES], first), zero = zero_at(call, g, first);
    for (int64_t k = 0; k < count; k++) {
        if (g->inner > 1 && k)
            scale = scale_at(call->in[SCALES], first + k), zero = zero_at(call, g, first + k);
        to[k] = (integer_at(call->in[DATA], i + k, g->bits) - zero) * scale;
    }
}

/* Elements that share a block, or lie side by side in neighbouring ones. */
static int64_t run_length(const gather_blocks *g, int64_t i, int64_t most) {
    const int64_t at = i % g->length;
    const int64_t rest = g->inner > 1 ? g->inner - i % g->inner : ox_least(g->length - at, g->block - at % g->block);
    return ox_least(most, rest);
}

static void widen_slice(const ox_call *call, const gather_blocks *g, int64_t from, char *to) {
    const ox_tensor *out = call->out[0];
    const int64_t width = (int64_t)ox_dtype_size(out->dtype);
    float room[PIECE];
    for (int64_t done = 0, count; done < g->slice; done += count) {
        count = run_length(g, from + done, ox_least(PIECE, g->slice - done));
        widen_run(call, g, from + done, count, room);
        if (out->dtype == OX_FLOAT)
            memcpy(to + done * width, room, (size_t)(count * width));
        else
            ox_narrow(&(ox_narrowing){.dtype = out->dtype}, count, room, to + done * width);
    }
}

static void gather_part(void *context, int part, int parts) {
    const ox_call *call = context;
    const gather_blocks *g = call->state;
    const ox_tensor *indices = call->in[INDICES];
    const int64_t count = ox_tensor_count(indices), bytes = g->slice * (int64_t)ox_dtype_size(call->out[0]->dtype);
    int64_t i, end;
    ox_pool_range(g->slices, part, parts, &i, &end);
    for (; i < end; i++) {
        char *to = (char *)call->out[0]->data + i * bytes;
        const char *at = (const char *)indices->data + i % count * (int64_t)ox_dtype_size(indices->dtype);
        const int64_t index = indices->dtype == OX_INT64 ? OX_ONCE(ox_i64, at) : OX_ONCE(ox_i32, at);
        if (index < -g->axis || index >= g->axis)
            memset(to, 0, (size_t)bytes);
        else
            widen_slice(call, g, (i / count * g->axis + index + (index < 0 ? g->axis : 0)) * g->slice, to);
    }
}

ox_status ox_run_gather_blocks(ox_call *call) {
    const gather_blocks *g = call->state;
    const double bytes = (double)g->slices * (double)g->slice * sizeof(float);
    if (g->slices)
        ox_pool_run_pieces(call->pool, bytes, gather_part, call);
    return OX_OK;
}
