/* gather_elements.c: GatherElements and GatherND. */
#include "elements.h"
#include "iterate/walk.h"
#include "ops/pick.h"

#include <string.h>

/* ---- GatherElements ----------------------------------------------------------------------------------------- */

typedef struct gather_elements {
    int axis;
    ox_bcast plan; /* over the indices: their steps, and those of the data along all axes but one */
} gather_elements;

static ox_status check_dims(ox_call *call, int axis) {
    const ox_tensor *data = call->in[0], *indices = call->in[1];
    bool fits = data->rank == indices->rank;
    for (int d = 0; d < data->rank && fits; d++)
        fits = d == axis || indices->dims[d] <= data->dims[d];
    if (fits)
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have the rank of %s, and be no larger except on axis %d",
                        OX_INPUT(call, 1), OX_INPUT(call, 0), axis);
}

ox_status ox_infer_gather_elements(ox_call *call) {
    const ox_tensor *data = call->in[0], *indices = call->in[1];
    int axis;
    OX_TRY(ox_call_check_dtype(call, 1, OX_BIT(OX_INT32) | OX_BIT(OX_INT64)));
    OX_TRY(ox_call_axis(call, "axis", ox_call_int(call, "axis", 0), data->rank, &axis));
    OX_TRY(check_dims(call, axis));
    return ox_call_output(call, 0, data->dtype, indices->rank, indices->dims);
}

ox_status ox_prepare_gather_elements(ox_call *call) {
    const ox_tensor *data = call->in[0], *indices = call->in[1];
    int64_t along[OX_MAX_RANK], places[OX_MAX_RANK];
    gather_elements *g = ox_call_state(call, sizeof *g);
    if (!g)
        return OX_ERROR_MEMORY;
    OX_TRY(ox_call_axis(call, "axis", ox_call_int(call, "axis", 0), data->rank, &g->axis));
    ox_tensor_strides(indices, along);
    ox_tensor_strides(data, places);
    places[g->axis] = 0;
    OX_TRY(ox_workspace_add(call, ox_pool_parts(call->pool), sizeof(int64_t)));
    return ox_plan_space(call, &g->plan, 2, indices->rank, indices->dims, (const int64_t *const[]){along, places});
}

typedef struct elements_job {
    const ox_call *call;
    ox_index_axis axis;
    int64_t rows;
    const char **faults; /* by part: the first index that is out of range */
} elements_job;

#if !OX_SMALL
/* Picks n elements by packed indices: what is out of range is read from the start of the axis and found afterwards. */
#define PICK(name, index_type, type)                                                                                   \
    static bool name(int64_t n, const index_type *indices, ox_index_axis axis, const char *from, int64_t step,         \
                     type *to) {                                                                                       \
        const uint64_t dim = (uint64_t)axis.dim;                                                                       \
        bool wrong = false;                                                                                            \
        for (int64_t i = 0; i < n; i++, from += step) {                                                                \
            const int64_t index = indices[i];                                                                          \
            const uint64_t at = (uint64_t)index + (index < 0 ? dim : 0);                                               \
            wrong |= at >= dim;                                                                                        \
            to[i] = OX_GET(type, from + (at < dim ? (int64_t)at * axis.step : 0));                                     \
        }                                                                                                              \
        return !wrong;                                                                                                 \
    }
#define PICKS(type)                                                                                                    \
    PICK(pick_wide_##type, ox_i64, type)                                                                               \
    PICK(pick_##type, ox_i32, type)
PICKS(ox_u8)
PICKS(ox_u16)
PICKS(ox_u32)
PICKS(ox_u64)

#define PICK_ROW(type)                                                                                                 \
    case sizeof(type):                                                                                                 \
        return wide ? pick_wide_##type(g->plan.dim[0], (const void *)indices, job->axis, from, step, (void *)to)       \
                    : pick_##type(g->plan.dim[0], (const void *)indices, job->axis, from, step, (void *)to)

/* Picks the elements of one row, if they are of a common width, their indices are packed, and none is out of range. */
static bool pick_row(const elements_job *job, const char *indices, const char *from, char *to) {
    const gather_elements *g = job->call->state;
    const bool wide = job->call->in[1]->dtype == OX_INT64;
    const int64_t step = g->plan.step[1];
    if (job->axis.dim == 0 || g->plan.step[0] != (wide ? (int64_t)sizeof(ox_i64) : (int64_t)sizeof(ox_i32)))
        return false;
    switch (ox_dtype_size(job->call->in[0]->dtype)) {
        PICK_ROW(ox_u8);
        PICK_ROW(ox_u16);
        PICK_ROW(ox_u32);
        PICK_ROW(ox_u64);
    default:
        return false;
    }
}
#endif

/* Picks the elements of one row; NULL, or where an index is out of range. */
static const char *gather_row(const elements_job *job, const char *indices, const char *from, char *to) {
    const gather_elements *g = job->call->state;
    const bool wide = job->call->in[1]->dtype == OX_INT64;
    const int64_t width = (int64_t)ox_dtype_size(job->call->in[0]->dtype);
    const int64_t count = g->plan.dim[0], index_step = g->plan.step[0], step = g->plan.step[1];
    int64_t offsets[OX_INDEX_PIECE];
#if !OX_SMALL
    if (pick_row(job, indices, from, to))
        return NULL;
#endif
    for (int64_t at = 0; at < count; at += OX_INDEX_PIECE) {
        const int64_t n = ox_least(count - at, OX_INDEX_PIECE);
        for (int64_t i = 0, place = at * step; i < n; i++, place += step)
            offsets[i] = place;
        const int64_t right = ox_index_offsets(wide, n, indices + at * index_step, index_step, job->axis, offsets);
        if (right < n)
            return indices + (at + right) * index_step;
        ox_pick_blocks(job->call->loops, to + at * width, from, width, n, offsets);
    }
    return NULL;
}

static void gather_elements_part(void *context, int part, int parts) {
    const elements_job *job = context;
    const gather_elements *g = job->call->state;
    const int64_t row_bytes = g->plan.dim[0] * (int64_t)ox_dtype_size(job->call->in[0]->dtype);
    const char *arg[] = {job->call->in[1]->data, job->call->in[0]->data}, *fault = NULL;
    int64_t at, end, index[OX_MAX_RANK + 1] = {0};
    ox_pool_range(job->rows, part, parts, &at, &end);
    if (at < end)
        ox_walk_to(&g->plan, 1, at, index, arg);
    for (; at < end && !fault && !ox_pool_poll(job->call->pool); at++) {
        fault = gather_row(job, arg[0], arg[1], (char *)job->call->out[0]->data + at * row_bytes);
        ox_walk(&g->plan, 1, index, arg);
    }
    job->faults[part] = fault;
}

ox_status ox_run_gather_elements(ox_call *call) {
    const gather_elements *g = call->state;
    const ox_tensor *data = call->in[0], *out = call->out[0];
    const int64_t count = ox_tensor_count(out);
    elements_job job = {call, {data->dims[g->axis], ox_stride(data, g->axis)}, count / g->plan.dim[0], call->workspace};
    ox_pool *pool = ox_pool_for(call->pool, (double)count * (double)ox_dtype_size(data->dtype));
    ox_pool_run(pool, gather_elements_part, &job);
    for (int part = 0; part < ox_pool_parts(pool); part++)
        if (job.faults[part])
            return ox_index_fail(call, ox_index_at(call->in[1]->dtype == OX_INT64, job.faults[part], 0, 0), g->axis);
    return OX_OK;
}

/* ---- GatherND ----------------------------------------------------------------------------------------------- */

static ox_status read_batch_rank(ox_call *call, int *batch_rank) {
    const int64_t rank = call->op->since < 12 ? 0 : ox_call_int(call, "batch_dims", 0);
    if (rank < 0 || rank > OX_MAX_RANK)
        return ox_call_fail(call, OX_ERROR_SHAPE, "batch_dims %lld is out of range", (long long)rank);
    *batch_rank = (int)rank;
    return OX_OK;
}

ox_status ox_infer_gather_nd(ox_call *call) {
    int batch_rank = 0, rank = 0;
    int64_t dims[OX_MAX_RANK];
    OX_TRY(read_batch_rank(call, &batch_rank));
    OX_TRY(ox_tuples_infer(call, batch_rank, &rank, dims));
    return ox_call_output(call, 0, call->in[0]->dtype, rank, dims);
}

ox_status ox_run_gather_nd(ox_call *call) {
    int batch_rank = 0;
    int64_t offsets[OX_INDEX_PIECE];
    OX_TRY(read_batch_rank(call, &batch_rank));
    const ox_tuples tuples = ox_tuples_of(call, batch_rank);
    const int64_t count = ox_tensor_count(call->out[0]) ? tuples.batches * tuples.tuples : 0;
    for (int64_t at = 0; at < count && !ox_pool_poll(call->pool); at += OX_INDEX_PIECE) {
        const int64_t n = ox_least(count - at, OX_INDEX_PIECE);
        OX_TRY(ox_tuples_offsets(call, &tuples, at, n, offsets));
        ox_pick_blocks(call->loops, (char *)call->out[0]->data + at * tuples.block, call->in[0]->data, tuples.block, n,
                       offsets);
    }
    return OX_OK;
}
