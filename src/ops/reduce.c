/* reduce.c: ReduceSum, ReduceMean, ReduceProd, ReduceMax, ReduceMin, GlobalMaxPool. */
#include "axes.h"
#include "dense.h"
#include "lanes.h"
#include "walk.h"

#include <string.h>

enum {
    REDUCE_TILE = 256
}; /* accumulators at a time, on the stack */

typedef struct reduce {
    ox_folder folder;
    ox_fold_fn *fold;
    int64_t count; /* elements that go into each result */
    ox_bcast kept, reduced;
} reduce;

/* ---- Shapes ------------------------------------------------------------------------------------------------- */

static ox_status reduced_axes(ox_call *call, ox_axis_set *set) {
    int rank = call->in[0]->rank;
    ox_short_list axes;
    OX_TRY(ox_list_axes(call, &axes));
    OX_TRY(ox_axes_set(call, &axes, rank, set));
    bool all = axes.count == 0 && !(call->op->max_in > 1 && ox_call_int(call, "noop_with_empty_axes", 0));
    for (int d = 0; all && d < rank; d++)
        *set |= OX_AXIS(d);
    return OX_OK;
}

static ox_status infer_reduced(ox_call *call, ox_axis_set set, bool keep) {
    const ox_tensor *in = call->in[0];
    int64_t dims[OX_MAX_RANK];
    int rank = 0;
    for (int d = 0; d < in->rank; d++)
        if (!(set & OX_AXIS(d)))
            dims[rank++] = in->dims[d];
        else if (keep)
            dims[rank++] = 1;
    return ox_call_output(call, 0, in->dtype, rank, dims);
}

ox_status ox_infer_reduce(ox_call *call) {
    ox_axis_set set = 0;
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(reduced_axes(call, &set));
    return infer_reduced(call, set, ox_call_int(call, "keepdims", 1) != 0);
}

ox_status ox_infer_reduce_mean(ox_call *call) {
    OX_TRY(ox_infer_reduce(call));
    const ox_result *out = &call->results[0];
    if (ox_tensor_count(call->in[0]) == 0 && ox_count(out->rank, out->dims) != 0 && OX_BIT(out->dtype) & OX_SET_INT)
        return ox_call_fail(call, OX_ERROR_VALUE, "%s: the mean of no integers is undefined", OX_INPUT(call, 0));
    return OX_OK;
}

/* All dimensions but those of image and channel. */
static ox_axis_set pooled_axes(const ox_tensor *in) {
    ox_axis_set set = 0;
    for (int d = 2; d < in->rank; d++)
        set |= OX_AXIS(d);
    return set;
}

ox_status ox_infer_global_max_pool(ox_call *call) {
    OX_TRY(ox_call_check_dtype(call, 0, OX_SET_FLOAT));
    if (call->in[0]->rank < 2)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s: dimensions for images and channels are expected",
                            OX_INPUT(call, 0));
    return infer_reduced(call, pooled_axes(call->in[0]), true);
}

/* ---- Plans -------------------------------------------------------------------------------------------------- */

/* The dimensions inside (or outside) the set, with the input's strides. */
static ox_status plan_axes(ox_call *call, ox_axis_set set, bool inside, const int64_t *strides, ox_bcast *plan,
                           int64_t *count) {
    const ox_tensor *in = call->in[0];
    int64_t dims[OX_MAX_RANK], steps[OX_MAX_RANK];
    int rank = 0;
    for (int d = 0; d < in->rank; d++)
        if (((set & OX_AXIS(d)) != 0) == inside) {
            dims[rank] = in->dims[d];
            steps[rank++] = strides[d];
        }
    *count = ox_count(rank, dims);
    return ox_plan_space(call, plan, 1, rank, dims, (const int64_t *const[]){steps});
}

/* By the shape alone, so that a result does not depend on how the work is split. */
static ox_fold_fn *choose_fold(const reduce *r, int64_t width) {
    bool side_by_side = r->kept.step[0] == width && r->kept.dim[0] >= 8 && r->reduced.step[0] != width;
    return side_by_side ? r->folder.columns : r->folder.rows;
}

static ox_status prepare(ox_call *call, ox_fold fold, ox_axis_set set) {
    const ox_tensor *in = call->in[0];
    reduce *r = ox_call_state(call, sizeof *r);
    if (!r)
        return OX_ERROR_MEMORY;
    if (!OX_BUILD_OF(call->loops, ox_folder_builds)(fold, ox_dtype_compute(in->dtype), &r->folder))
        return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "%s: no reduction for this type", OX_INPUT(call, 0));
    int64_t strides[OX_MAX_RANK], kept;
    if (ox_tensor_count(call->out[0]) == 0)
        return OX_OK;
    ox_dense_strides(in, strides);
    OX_TRY(plan_axes(call, set, false, strides, &r->kept, &kept));
    OX_TRY(plan_axes(call, set, true, strides, &r->reduced, &r->count));
    r->fold = choose_fold(r, (int64_t)ox_dtype_size(ox_dtype_compute(in->dtype)));
    if (!r->count) /* nothing is read, from no memory */
        memset(r->kept.step, 0, (size_t)r->kept.ndim * sizeof *r->kept.step);
    OX_TRY(ox_dense_plan(call, in));
    return ox_dense_plan_out(call, call->out[0], kept);
}

static ox_status prepare_axes(ox_call *call, ox_fold fold) {
    ox_axis_set set = 0;
    OX_TRY(reduced_axes(call, &set));
    return prepare(call, fold, set);
}

ox_status ox_prepare_reduce_sum(ox_call *call) {
    return prepare_axes(call, OX_FOLD_SUM);
}
ox_status ox_prepare_reduce_mean(ox_call *call) {
    return prepare_axes(call, OX_FOLD_MEAN);
}
ox_status ox_prepare_reduce_prod(ox_call *call) {
    return prepare_axes(call, OX_FOLD_PROD);
}
ox_status ox_prepare_reduce_max(ox_call *call) {
    return prepare_axes(call, OX_FOLD_MAX);
}
ox_status ox_prepare_reduce_min(ox_call *call) {
    return prepare_axes(call, OX_FOLD_MIN);
}

ox_status ox_prepare_global_max_pool(ox_call *call) {
    return prepare(call, OX_FOLD_MAX, pooled_axes(call->in[0]));
}

/* ---- Run ---------------------------------------------------------------------------------------------------- */

/* Accumulators of any type. */
typedef union reduce_tile {
    double f64[REDUCE_TILE];
    float f32[REDUCE_TILE];
    uint64_t u64[REDUCE_TILE];
    uint32_t u32[REDUCE_TILE];
    uint8_t u8[REDUCE_TILE];
} reduce_tile;

/* Results of a stretch of n <= REDUCE_TILE neighbours along the innermost kept dimension. */
static void reduce_stretch(const reduce *r, int64_t n, const char *from, void *to) {
    reduce_tile sums;
    int64_t index[OX_MAX_RANK] = {0};
    for (int64_t i = 0; i < n; i++)
        memcpy((char *)&sums + i * r->folder.width, &r->folder.identity, (size_t)r->folder.width);
    if (r->count)
        do
            r->fold(&sums, n, from, r->kept.step[0], r->reduced.dim[0], r->reduced.step[0]);
        while (ox_walk(&r->reduced, 1, index, &from));
    r->folder.end(n, &sums, r->count, to);
}

typedef struct reduce_job {
    const reduce *r;
    const char *from;
    char *to;
    int64_t count, width; /* results, and the bytes of one */
} reduce_job;

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* A part of the results: no sum is split. */
static void reduce_part(void *context, int part, int parts) {
    const reduce_job *job = context;
    const ox_bcast *kept = &job->r->kept;
    const char *from = job->from;
    int64_t at, end, index[OX_MAX_RANK] = {0};
    ox_pool_range(job->count, part, parts, &at, &end);
    ox_walk_to(kept, 1, at / kept->dim[0], index, &from);
    for (int64_t i = at % kept->dim[0]; at < end;) {
        int64_t n = least(least(kept->dim[0] - i, REDUCE_TILE), end - at);
        reduce_stretch(job->r, n, from + i * kept->step[0], job->to + at * job->width);
        at += n;
        i += n;
        if (i == kept->dim[0]) {
            i = 0;
            ox_walk(kept, 1, index, &from);
        }
    }
}

ox_status ox_run_reduce(ox_call *call) {
    const reduce *r = call->state;
    const ox_tensor *out = call->out[0];
    int64_t count = ox_tensor_count(out);
    size_t used = 0;
    if (count == 0)
        return OX_OK;
    ox_tensor in = ox_dense_in(call, &used, call->in[0]);
    char *result = ox_dense_out(call, &used, out, 0, count);
    reduce_job job = {r, r->count ? in.data : result, result, count, (int64_t)ox_dtype_size(in.dtype)};
    ox_pool_run_pieces(call->pool, (double)count * (double)r->count * (double)job.width, reduce_part, &job);
    ox_dense_store(out, 0, count, result);
    return OX_OK;
}
