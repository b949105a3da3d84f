/* gather.c: Gather. */
#include "ops/dense.h"
#include "iterate/walk.h"
#include "ops/pick.h"

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
    if (!ox_tensor_is_packed(call->in[1]))
        OX_TRY(ox_workspace_add(call, g->count, sizeof(int64_t)));
    OX_TRY(ox_workspace_add(call, ox_pool_parts(call->pool), sizeof(int64_t)));
    return ox_workspace_add(call, g->count, sizeof(int64_t));
}

/* Indices become byte offsets. */
typedef struct offsets_job {
    const char *indices; /* packed */
    bool wide;
    int64_t count, dim, step;
    int64_t *offsets;
    int64_t *faults; /* indices that are out of range: see ox_faults_clear */
} offsets_job;

static int64_t index_at(const offsets_job *job, int64_t i) {
    return job->wide ? OX_ONCE(ox_i64, job->indices + i * 8) : OX_ONCE(ox_i32, job->indices + i * 4);
}

static void offsets_share(void *context, ox_share *share) {
    const offsets_job *job = context;
    int64_t i, end;
    while (ox_share_next(share, &i, &end)) {
        for (; i < end; i++) {
            int64_t index = index_at(job, i);
            if (index < -job->dim || index >= job->dim)
                break;
            job->offsets[i] = (index < 0 ? index + job->dim : index) * job->step;
        }
        if (i < end)
            ox_fault_note(share, i, job->faults);
    }
}

static ox_status gather_offsets(ox_call *call, const gather *g, size_t *used, int64_t **offsets) {
    const ox_tensor *indices = call->in[1];
    const int parts = ox_pool_parts(call->pool);
    offsets_job job = {.wide = indices->dtype == OX_INT64, .count = g->count, .dim = call->in[0]->dims[g->axis]};
    job.step = g->block ? ox_stride(call->in[0], g->axis) : 0;
    job.indices = indices->data;
    if (!ox_tensor_is_packed(indices)) {
        char *packed = ox_workspace_take(call, used, g->count, sizeof(int64_t));
        ox_pack(call->loops, call->pool, indices, packed);
        job.indices = packed;
    }
    job.faults = ox_workspace_take(call, used, parts, sizeof *job.faults);
    job.offsets = *offsets = ox_workspace_take(call, used, g->count, sizeof **offsets);
    ox_pool *pool = ox_pool_for(call->pool, (double)g->count * sizeof **offsets);
    ox_faults_clear(parts, job.faults);
    ox_pool_share(pool, g->count, 1, offsets_share, &job);
    const int64_t fault = ox_first_fault(parts, job.faults);
    if (fault >= 0)
        return ox_call_fail(call, OX_ERROR_VALUE, "index %lld is out of range for axis %d of size %lld of %s",
                            (long long)index_at(&job, fault), g->axis, (long long)job.dim, OX_INPUT(call, 0));
    return OX_OK;
}

/* Blocks that do not lie packed in the data. */
static void move_blocks(const ox_call *call, char *to, const char *from, int64_t n, const int64_t *offsets) {
    const gather *g = call->state;
    const ox_tensor *data = call->in[0];
    const int64_t *dims = data->dims + g->axis + 1;
    size_t width = ox_dtype_size(data->dtype);
    int64_t strides[OX_MAX_RANK], packed[OX_MAX_RANK];
    ox_tensor_strides(data, strides);
    ox_packed_strides(g->after, dims, width, packed);
    for (int64_t i = 0; i < n; i++)
        ox_move(call->loops, NULL, g->after, dims, width, to + i * g->block, packed, from + offsets[i],
                strides + g->axis + 1);
}

typedef struct gather_job {
    const ox_call *call;
    const int64_t *offsets;
    int64_t count; /* blocks of the output */
} gather_job;

static void gather_part(void *context, int part, int parts) {
    const gather_job *job = context;
    const gather *g = job->call->state;
    const char *from = job->call->in[0]->data;
    char *to = job->call->out[0]->data;
    int64_t at, end, index[OX_MAX_RANK] = {0};
    ox_pool_range(job->count, part, parts, &at, &end);
    ox_walk_to(&g->outer, 0, at / g->count, index, &from);
    for (int64_t i = at % g->count; at < end; i = 0) {
        int64_t n = g->count - i < end - at ? g->count - i : end - at;
        if (g->packed)
            ox_pick_blocks(job->call->loops, to + at * g->block, from, g->block, n, job->offsets + i);
        else
            move_blocks(job->call, to + at * g->block, from, n, job->offsets + i);
        at += n;
        ox_walk(&g->outer, 0, index, &from);
    }
}

ox_status ox_run_gather(ox_call *call) {
    const gather *g = call->state;
    size_t used = 0;
    int64_t *offsets;
    OX_TRY(gather_offsets(call, g, &used, &offsets));
    if (!g->block)
        return OX_OK;
    gather_job job = {call, offsets, g->count * ox_count(g->outer.ndim, g->outer.dim)};
    ox_pool_run_pieces(call->pool, (double)job.count * (double)g->block, gather_part, &job);
    return OX_OK;
}
