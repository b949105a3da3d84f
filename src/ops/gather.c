/* gather.c: Gather. */
#include "dense.h"
#include "walk.h"

#include <string.h>

/* The parts of the data: dimensions before the axis are walked, those after it are moved as a block. */
typedef struct gather {
    int axis, after; /* rank of the block */
    bool packed;     /* the block lies packed in the data */
    int64_t count;   /* indices */
    int64_t block;   /* bytes */
    ox_bcast outer;
} gather;

ox_status ox_infer_gather(ox_call *call) {
    const ox_tensor *data = call->in[0], *indices = call->in[1];
    int axis;
    OX_TRY(ox_call_check_dtype(call, 1, OX_BIT(OX_INT32) | OX_BIT(OX_INT64)));
    OX_TRY(ox_call_axis(call, "axis", ox_call_int(call, "axis", 0), data->rank, &axis));
    int rank = data->rank + indices->rank - 1;
    if (rank > OX_MAX_RANK)
        return ox_call_fail(call, OX_ERROR_LIMIT, "the output would have rank %d, at most %d is supported", rank,
                            OX_MAX_RANK);
    int64_t dims[OX_MAX_RANK];
    int n = 0;
    for (int d = 0; d < axis; d++)
        dims[n++] = data->dims[d];
    for (int d = 0; d < indices->rank; d++)
        dims[n++] = indices->dims[d];
    for (int d = axis + 1; d < data->rank; d++)
        dims[n++] = data->dims[d];
    return ox_call_output(call, 0, data->dtype, rank, dims);
}

ox_status ox_prepare_gather(ox_call *call) {
    const ox_tensor *data = call->in[0];
    gather *g = ox_call_state(call, sizeof *g);
    if (!g)
        return OX_ERROR_MEMORY;
    OX_TRY(ox_call_axis(call, "axis", ox_call_int(call, "axis", 0), data->rank, &g->axis));
    int64_t strides[OX_MAX_RANK];
    ox_tensor_strides(data, strides);
    g->after = data->rank - g->axis - 1;
    ox_tensor block = {data->dtype, g->after, data->dims + g->axis + 1, strides + g->axis + 1, NULL};
    g->packed = ox_tensor_is_packed(&block);
    g->count = ox_tensor_count(call->in[1]);
    g->block = ox_tensor_count(call->out[0]) ? ox_tensor_count(&block) * (int64_t)ox_dtype_size(data->dtype) : 0;
    OX_TRY(ox_plan_space(call, &g->outer, 1, g->axis, data->dims, (const int64_t *const[]){strides}));
    return ox_workspace_add(call, g->count, sizeof(int64_t));
}

/* Indices become byte offsets, each checked. They are read from the end of the buffer that they are written to. */
static ox_status gather_offsets(ox_call *call, const gather *g, int64_t *offsets) {
    const ox_tensor *indices = call->in[1];
    int64_t dim = call->in[0]->dims[g->axis], step = g->block ? ox_stride(call->in[0], g->axis) : 0;
    bool wide = indices->dtype == OX_INT64;
    char *raw = (char *)offsets + (wide ? 0 : g->count * 4);
    ox_pack(NULL, indices, raw);
    for (int64_t i = 0; i < g->count; i++) {
        int64_t index = wide ? OX_GET(ox_i64, raw + i * 8) : OX_GET(ox_i32, raw + i * 4);
        if (index < -dim || index >= dim)
            return ox_call_fail(call, OX_ERROR_VALUE, "index %lld is out of range for axis %d of size %lld",
                                (long long)index, g->axis, (long long)dim);
        OX_AT(ox_i64, offsets + i) = (index < 0 ? index + dim : index) * step;
    }
    return OX_OK;
}

/* Single elements: a typed copy, as memcpy of a variable length costs a call each. */
#define COPY_ELEMENTS(type)                                                                                            \
    for (int64_t i = 0; i < n; i++)                                                                                    \
        OX_AT(type, to + i * (int64_t)sizeof(type)) = OX_GET(type, from + offsets[i]);                                 \
    return

static void copy_blocks(char *to, const char *from, int64_t block, int64_t n, const int64_t *offsets) {
    switch (block) {
    case 1:
        COPY_ELEMENTS(ox_u8);
    case 2:
        COPY_ELEMENTS(ox_u16);
    case 4:
        COPY_ELEMENTS(ox_u32);
    case 8:
        COPY_ELEMENTS(ox_u64);
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy(to + i * block, from + offsets[i], (size_t)block);
    }
}

/* Blocks that do not lie packed in the data. */
static void move_blocks(const ox_call *call, const gather *g, char *to, const char *from, const int64_t *offsets) {
    const ox_tensor *data = call->in[0];
    const int64_t *dims = data->dims + g->axis + 1;
    size_t width = ox_dtype_size(data->dtype);
    int64_t strides[OX_MAX_RANK], packed[OX_MAX_RANK];
    ox_tensor_strides(data, strides);
    ox_packed_strides(g->after, dims, width, packed);
    for (int64_t i = 0; i < g->count; i++)
        ox_move(NULL, g->after, dims, width, to + i * g->block, packed, from + offsets[i], strides + g->axis + 1);
}

ox_status ox_run_gather(ox_call *call) {
    const gather *g = call->state;
    size_t used = 0;
    int64_t *offsets = ox_workspace_take(call, &used, g->count, sizeof *offsets), index[OX_MAX_RANK] = {0};
    OX_TRY(gather_offsets(call, g, offsets));
    if (!g->block)
        return OX_OK;
    const char *from = call->in[0]->data;
    char *to = call->out[0]->data;
    do {
        if (g->packed)
            copy_blocks(to, from, g->block, g->count, offsets);
        else
            move_blocks(call, g, to, from, offsets);
        to += g->count * g->block;
    } while (ox_walk(&g->outer, 0, index, &from));
    return OX_OK;
}
