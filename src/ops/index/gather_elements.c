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
    int64_t *faults; /* rows with an index that is out of range: see ox_faults_clear */
} elements_job;

#if !OX_SMALL
/* Loops over packed indices of `dim` elements: n elements are picked, `step` bytes apart before indices count. An index
 * that is out of range picks the first one. False if there was such an index. */
#define PICK(index_type, type)                                                                                         \
    static bool pick_##index_type##_##type(int64_t n, const index_type *indices, uint64_t dim, const char *from,       \
                                           int64_t axis_step, int64_t step, type *to) {                                \
        bool wrong = false;                                                                                            \
        for (int64_t i = 0; i < n; i++, from += step) {                                                                \
            const int64_t index = OX_ONCE(index_type, indices + i);                                                    \
            const uint64_t at = (uint64_t)index + (dim & (0 - (uint64_t)(index < 0)));                                 \
            wrong |= at >= dim;                                                                                        \
            to[i] = OX_GET(type, from + (int64_t)(at < dim ? at : 0) * axis_step);                                     \
        }                                                                                                              \
        return !wrong;                                                                                                 \
    }
#define PICKS(index_type)                                                                                              \
    PICK(index_type, ox_u8)                                                                                            \
    PICK(index_type, ox_u16)                                                                                           \
    PICK(index_type, ox_u32)                                                                                           \
    PICK(index_type, ox_u64)                                                                                           \
    static bool pick_##index_type(size_t width, int64_t n, const index_type *indices, const char *from,                \
                                  ox_index_axis axis, int64_t step, char *to) {                                        \
        const uint64_t dim = (uint64_t)axis.dim;                                                                       \
        if (width > sizeof(ox_u64) || !dim)                                                                            \
            return false;                                                                                              \
        if (width == sizeof(ox_u8))                                                                                    \
            return pick_##index_type##_ox_u8(n, indices, dim, from, axis.step, step, (void *)to);                      \
        if (width == sizeof(ox_u16))                                                                                   \
            return pick_##index_type##_ox_u16(n, indices, dim, from, axis.step, step, (void *)to);                     \
        if (width == sizeof(ox_u32))                                                                                   \
            return pick_##index_type##_ox_u32(n, indices, dim, from, axis.step, step, (void *)to);                     \
        return pick_##index_type##_ox_u64(n, indices, dim, from, axis.step, step, (void *)to);                         \
    }
PICKS(ox_i64)
PICKS(ox_i32)
#endif

/* Picks n elements, if they are of a common width, and their indices are packed and in range. */
static bool pick_packed(const elements_job *job, int64_t n, const char *indices, const char *from, char *to) {
#if OX_SMALL
    (void)job, (void)n, (void)indices, (void)from, (void)to;
    return false;
#else
    const gather_elements *g = job->call->state;
    const size_t width = ox_dtype_size(job->call->in[0]->dtype);
    const int64_t step = g->plan.step[1];
    const bool wide = job->call->in[1]->dtype == OX_INT64;
    if (g->plan.step[0] != (wide ? (int64_t)sizeof(ox_i64) : (int64_t)sizeof(ox_i32)))
        return false;
    return wide ? pick_ox_i64(width, n, (const void *)indices, from, job->axis, step, to)
                : pick_ox_i32(width, n, (const void *)indices, from, job->axis, step, to);
#endif
}

/* Picks n <= OX_INDEX_PIECE elements. Returns how many indices are in range before the first that is not. */
static int64_t pick_piece(const elements_job *job, int64_t n, const char *indices, const char *from, char *to) {
    const gather_elements *g = job->call->state;
    const bool wide = job->call->in[1]->dtype == OX_INT64;
    int64_t offsets[OX_INDEX_PIECE];
    if (pick_packed(job, n, indices, from, to))
        return n;
    for (int64_t i = 0; i < n; i++)
        offsets[i] = i * g->plan.step[1];
    const int64_t right = ox_index_offsets(wide, n, indices, g->plan.step[0], job->axis, offsets);
    if (right == n)
        ox_pick_blocks(job->call->loops, to, from, (int64_t)ox_dtype_size(job->call->in[0]->dtype), n, offsets);
    return right;
}

/* Picks the elements of one row; NULL, or where an index is out of range. */
static const char *gather_row(const elements_job *job, const char *indices, const char *from, char *to) {
    const gather_elements *g = job->call->state;
    const int64_t width = (int64_t)ox_dtype_size(job->call->in[0]->dtype);
    const int64_t count = g->plan.dim[0], index_step = g->plan.step[0], step = g->plan.step[1];
    for (int64_t at = 0; at < count; at += OX_INDEX_PIECE) {
        const int64_t n = ox_least(count - at, OX_INDEX_PIECE);
        const int64_t right = pick_piece(job, n, indices + at * index_step, from + at * step, to + at * width);
        if (right < n)
            return indices + (at + right) * index_step;
    }
    return NULL;
}

/* Rows from one on, before `end`. Returns where an index is out of range, in row *at; NULL if none is. */
static const char *gather_rows(const elements_job *job, int64_t *at, int64_t end) {
    const gather_elements *g = job->call->state;
    const int64_t row_bytes = g->plan.dim[0] * (int64_t)ox_dtype_size(job->call->in[0]->dtype);
    const char *arg[] = {job->call->in[1]->data, job->call->in[0]->data};
    int64_t index[OX_MAX_RANK + 1] = {0};
    ox_walk_to(&g->plan, 1, *at, index, arg);
    for (; *at < end && !ox_pool_poll(job->call->pool); ++*at) {
        const char *fault = gather_row(job, arg[0], arg[1], (char *)job->call->out[0]->data + *at * row_bytes);
        if (fault)
            return fault;
        ox_walk(&g->plan, 1, index, arg);
    }
    return NULL;
}

static void gather_elements_share(void *context, ox_share *share) {
    const elements_job *job = context;
    int64_t at, end;
    while (ox_share_next(share, &at, &end))
        if (gather_rows(job, &at, end))
            ox_fault_note(share, at, job->faults);
}

ox_status ox_run_gather_elements(ox_call *call) {
    const gather_elements *g = call->state;
    const ox_tensor *data = call->in[0], *out = call->out[0];
    const int64_t count = ox_tensor_count(out);
    const int threads = ox_pool_parts(call->pool);
    size_t used = 0;
    elements_job job = {call,
                        {data->dims[g->axis], ox_stride(data, g->axis)},
                        count / g->plan.dim[0],
                        ox_workspace_take(call, &used, threads, sizeof(int64_t))};
    ox_faults_clear(threads, job.faults);
    ox_pool_share(ox_pool_for(call->pool, (double)count * (double)ox_dtype_size(data->dtype)), job.rows, 1,
                  gather_elements_share, &job);
    int64_t row = ox_first_fault(threads, job.faults);
    const char *fault = row < 0 ? NULL : gather_rows(&job, &row, row + 1);
    return fault ? ox_index_fail(call, ox_index_at(call->in[1]->dtype == OX_INT64, fault, 0, 0), g->axis) : OX_OK;
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
