/* reduce.c: the operators ReduceSum, ReduceMax, ... but ReduceLogSumExp; GlobalMaxPool, GlobalAveragePool. */
#include "ops/axes.h"
#include "ops/dense.h"
#include "ops/elementwise.h"
#include "loops/simd/intrinsics.h"
#include "reduce.h"
#include "iterate/fold.h"
#include "iterate/walk.h"

#include <string.h>

/* Few rows that are longer than two blocks are cut into blocks, for threads to share. */
enum {
    FEW_ROWS = 16,
    BLOCK = 1 << 15
};

/* How the elements of results lie, as against the order in which they are taken. */
typedef enum layout {
    AS_TAKEN,
    ROWS_BESIDE,   /* rows that lie as columns */
    ROWS_SHORT,    /* packed rows of few elements, one behind the other */
    COLUMNS_APART, /* columns that lie as rows, or anyhow */
    SCATTERED      /* parts of rows: the input is packed first */
} layout;

typedef struct reduce {
    ox_folder folder, joins; /* of elements, and of their accumulators */
    ox_fold_fn *fold;
    int64_t count; /* elements that go into each result */
    ox_bcast kept, reduced;
    layout layout;
    bool prefetches;       /* columns that come from memory */
    struct reduce *blocks; /* what gives an accumulator for each whole block; NULL if rows are not cut */
} reduce;

/* ---- Shapes ------------------------------------------------------------------------------------------------- */

ox_status ox_reduced_axes(ox_call *call, ox_axis_set *set) {
    int rank = call->in[0]->rank;
    ox_short_list axes;
    OX_TRY(ox_list_axes(call, &axes));
    OX_TRY(ox_axes_set(call, &axes, rank, set));
    bool all = axes.count == 0 && !(ox_op_takes(call->op, 1) && ox_call_int(call, "noop_with_empty_axes", 0));
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
    OX_TRY(ox_reduced_axes(call, &set));
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

ox_status ox_infer_global_pool(ox_call *call) {
    OX_TRY(ox_call_check_dtype(call, 0, OX_SET_FLOAT));
    if (call->in[0]->rank < 2)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s: dimensions for images and channels are expected",
                            OX_INPUT(call, 0));
    return infer_reduced(call, pooled_axes(call->in[0]), true);
}

/* ---- Rows --------------------------------------------------------------------------------------------------- */

/* True if the dimensions from `axis` on lie packed, so that a pass can read them as one row. */
static bool is_packed_from(const ox_tensor *tensor, int axis) {
    uint64_t step = ox_dtype_size(tensor->dtype);
    for (int d = tensor->rank; tensor->strides && d-- > axis; step *= (uint64_t)tensor->dims[d])
        if (tensor->dims[d] != 1 && tensor->strides[d] != (int64_t)step)
            return false;
    return true;
}

int ox_rows_reduce(const ox_call *call) {
    const ox_tensor *in = call->in[0];
    ox_call asked = *call;
    ox_axis_set set;
    if (ox_reduced_axes(&asked, &set) != OX_OK)
        return 0;
    int axis = in->rank;
    while (axis > 0 && (set & OX_AXIS(axis - 1) || in->dims[axis - 1] == 1))
        axis--;
    for (int d = 0; d < axis; d++)
        if (set & OX_AXIS(d) && in->dims[d] != 1)
            return 0;
    return is_packed_from(in, axis) ? ox_row_axes(in, axis) : 0;
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

/* In which order elements go into a result: by the shape alone, so that neither strides nor threads change a sum. */
typedef struct order {
    bool side_by_side; /* one after the other, many results at once */
    int64_t run;       /* else so many at a time, by way of partial results */
} order;

/* The elements of dimensions before *end that are all reduced, or all kept; *end is then the outermost of them. */
static int64_t take_group(const ox_tensor *in, ox_axis_set set, bool reduced, int *end) {
    int64_t size = 1;
    for (; *end > 0 && (in->dims[*end - 1] == 1 || ((set & OX_AXIS(*end - 1)) != 0) == reduced); --*end)
        size *= in->dims[*end - 1];
    return size;
}

static order choose_order(const ox_tensor *in, ox_axis_set set) {
    int end = in->rank;
    const int64_t beside = take_group(in, set, false, &end);
    return (order){beside >= 8, take_group(in, set, true, &end)};
}

static ox_status plan_space(ox_call *call, ox_axis_set set, const int64_t *strides, reduce *r, int64_t *kept) {
    OX_TRY(plan_axes(call, set, false, strides, &r->kept, kept));
    return plan_axes(call, set, true, strides, &r->reduced, &r->count);
}

/* Undoes what strides of 0 have merged beyond a run. */
static void split_at(ox_bcast *plan, int64_t run) {
    if (plan->dim[0] <= run)
        return;
    for (int d = plan->ndim++; d > 0; d--) {
        plan->dim[d] = plan->dim[d - 1];
        plan->step[d] = plan->step[d - 1];
    }
    plan->dim[1] /= run;
    plan->step[1] *= run;
    plan->dim[0] = run;
}

static layout find_layout(const reduce *r, const order *wanted, int64_t width) {
    enum {
        MANY = 16
    };
    const bool beside = r->kept.step[0] == width, many = r->kept.dim[0] >= MANY && r->reduced.dim[0] >= MANY;
    const bool is_short = r->kept.dim[0] >= MANY && ox_is_short_row(&r->folder, r->reduced.dim[0]);
    if (wanted->side_by_side)
        return beside ? AS_TAKEN : COLUMNS_APART;
    if (r->reduced.dim[0] != wanted->run)
        return SCATTERED;
    if (!OX_SMALL && is_short && r->reduced.step[0] == width)
        return ROWS_SHORT;
    return !OX_SMALL && beside && many && r->reduced.step[0] != width ? ROWS_BESIDE : AS_TAKEN;
}

/* Takes the elements in the order of the shape, wherever they lie. */
static ox_status plan_order(ox_call *call, ox_axis_set set, reduce *r, int64_t *kept) {
    const ox_tensor *in = call->in[0];
    const size_t width = ox_dtype_size(ox_dtype_compute(in->dtype));
    const order wanted = choose_order(in, set);
    r->fold = wanted.side_by_side ? r->folder.columns : r->folder.rows;
    if (!wanted.side_by_side)
        split_at(&r->reduced, wanted.run);
    r->layout = find_layout(r, &wanted, (int64_t)width);
    if (r->layout != SCATTERED)
        return OX_OK;
    int64_t strides[OX_MAX_RANK];
    ox_packed_strides(in->rank, in->dims, width, strides);
    OX_TRY(plan_space(call, set, strides, r, kept));
    return ox_workspace_add(call, ox_tensor_count(in), width);
}

/* Accumulators of sums and products are kept as they are; those of other reductions are elements anyway. */
static void keep_accumulators(int64_t n, const void *sums, int64_t count, void *to) {
    (void)count;
    memcpy(to, sums, (size_t)n * sizeof(double));
}

static bool is_cut(const reduce *r, int64_t kept) {
    return kept < FEW_ROWS && r->count >= 2 * BLOCK && r->reduced.ndim == 1 && r->fold == r->folder.rows;
}

/* Blocks of a row become one more dimension that is kept. By the shape alone, so that threads do not change a sum. */
static ox_status plan_blocks(ox_call *call, reduce *r, int64_t kept) {
    const int64_t number = r->count / BLOCK, step = r->reduced.step[0];
    const int ndim = r->kept.ndim;
    reduce *each = ox_pile_get(call->pile, sizeof *each);
    int64_t *lists = ox_pile_array(call->pile, 2 * (size_t)ndim + 4, sizeof *lists);
    if (!each || !lists)
        return ox_fail_memory(call->error, "a prepared operator", sizeof *each);
    *each = (reduce){.folder = r->folder, .fold = r->fold, .count = BLOCK};
    if (!r->folder.ends)
        each->folder.end = keep_accumulators;
    each->reduced = (ox_bcast){1, 1, lists, lists + 1};
    each->kept = (ox_bcast){1, ndim + 1, lists + 2, lists + 3 + ndim};
    each->reduced.dim[0] = BLOCK;
    each->reduced.step[0] = step;
    each->kept.dim[0] = number;
    each->kept.step[0] = BLOCK * step;
    memcpy(each->kept.dim + 1, r->kept.dim, (size_t)ndim * sizeof *lists);
    memcpy(each->kept.step + 1, r->kept.step, (size_t)ndim * sizeof *lists);
    r->blocks = each;
    return ox_workspace_add(call, kept * number, (size_t)r->folder.width);
}

/* False if the type is not one that reductions are computed in. */
static bool find_folders(const ox_call *call, ox_fold fold, reduce *r) {
    const ox_dtype dtype = ox_dtype_compute(call->in[0]->dtype);
    return OX_BUILD_OF(call->loops, fold)(dtype, &r->folder) && r->folder.joins(r->folder.sums, &r->joins);
}

ox_status ox_reduce_prepare(ox_call *call, ox_fold fold, ox_axis_set set) {
    const ox_tensor *in = call->in[0];
    reduce *r = ox_call_state(call, sizeof *r);
    if (!r)
        return OX_ERROR_MEMORY;
    if (!find_folders(call, fold, r))
        return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "%s: no reduction for this type", OX_INPUT(call, 0));
    int64_t strides[OX_MAX_RANK], kept;
    ox_dense_strides(in, strides);
    OX_TRY(plan_space(call, set, strides, r, &kept));
    OX_TRY(ox_dense_plan(call, in));
    if (r->count)
        OX_TRY(plan_order(call, set, r, &kept));
    else /* nothing is read, from no memory */
        memset(r->kept.step, 0, (size_t)r->kept.ndim * sizeof *r->kept.step);
    OX_TRY(ox_dense_plan_out(call, kept));
    if (is_cut(r, kept))
        OX_TRY(plan_blocks(call, r, kept));
    r->prefetches = !OX_SMALL && r->fold == r->folder.columns &&
                    ox_tensor_count(in) >= (int64_t)(OX_PREFETCH_BYTES / ox_dtype_size(in->dtype));
    return OX_OK;
}

static ox_status prepare_axes(ox_call *call, ox_fold fold) {
    ox_axis_set set = 0;
    OX_TRY(ox_reduced_axes(call, &set));
    return ox_reduce_prepare(call, fold, set);
}

/* What each operator prepares to run by itself, and writes into a pass. */
#define REDUCE(name, fold)                                                                                             \
    ox_status ox_prepare_##name(ox_call *call) {                                                                       \
        return prepare_axes(call, fold);                                                                               \
    }                                                                                                                  \
    ox_reg ox_emit_##name(ox_call *call, ox_pass_builder *b, const ox_reg *in) {                                       \
        (void)call;                                                                                                    \
        return ox_pass_fold(b, fold, in[0]);                                                                           \
    }
REDUCE(reduce_sum, OX_FOLD_SUM)
REDUCE(reduce_mean, OX_FOLD_MEAN)
REDUCE(reduce_prod, OX_FOLD_PROD)
REDUCE(reduce_max, OX_FOLD_MAX)
REDUCE(reduce_min, OX_FOLD_MIN)
REDUCE(reduce_l1, OX_FOLD_L1)
REDUCE(reduce_l2, OX_FOLD_L2)
REDUCE(reduce_log_sum, OX_FOLD_LOG)
REDUCE(reduce_sum_square, OX_FOLD_SQUARES)

ox_status ox_prepare_global_max_pool(ox_call *call) {
    return ox_reduce_prepare(call, OX_FOLD_MAX, pooled_axes(call->in[0]));
}

ox_status ox_prepare_global_average_pool(ox_call *call) {
    return ox_reduce_prepare(call, OX_FOLD_MEAN, pooled_axes(call->in[0]));
}

/* ---- Run ---------------------------------------------------------------------------------------------------- */

typedef struct reduce_job {
    const ox_loops *loops;
    const reduce *r;
    const char *from;
    char *to;
    int64_t count, width; /* results, and the bytes of one */
} reduce_job;

#if !OX_SMALL
/* Prefetches the next rows of columns, a piece at a time, before some are added. */
static void fold_prefetching(const reduce_job *job, char *sums, int64_t n, const char *from, int64_t length,
                             int64_t step) {
    enum {
        ROWS = 8,
        BYTES = 4 * OX_LINE
    };
    const ox_folder *folder = &job->r->folder;
    const int64_t some = BYTES / job->width;
    for (int64_t k = 0; k < length; k += ROWS)
        for (int64_t i = 0; i < n; i += some) {
            const char *at = from + k * step + i * job->width;
            ox_prefetch_rows((uintptr_t)at + (uintptr_t)(ROWS * step), step, ROWS, BYTES);
            folder->columns(sums + i * folder->width, ox_least(n - i, some), at, job->width, ox_least(length - k, ROWS),
                            step);
        }
}
#endif

static void fold_stretch(const reduce_job *job, ox_fold_sums *sums, int64_t n, const char *from) {
    const reduce *r = job->r;
    const int64_t next = r->kept.step[0], length = r->reduced.dim[0], step = r->reduced.step[0];
    if (r->layout == COLUMNS_APART)
        ox_fold_columns_apart(job->loops, &r->folder, sums, n, from, job->width, next, length, step);
#if !OX_SMALL
    else if (r->layout == ROWS_BESIDE)
        ox_fold_rows_beside(&r->folder, &r->joins, sums, n, from, job->width, length, step);
    else if (r->layout == ROWS_SHORT)
        ox_fold_short_rows(job->loops, &r->folder, &r->joins, sums, n, from, job->width, next, length);
    else if (r->prefetches)
        fold_prefetching(job, (char *)sums, n, from, length, step);
#endif
    else
        r->fold(sums, n, from, next, length, step);
}

/* Results of a stretch of n <= OX_FOLD_TILE neighbours along the innermost kept dimension. */
static void reduce_stretch(const reduce_job *job, int64_t n, const char *from, void *to) {
    const reduce *r = job->r;
    ox_fold_sums sums;
    int64_t index[OX_MAX_RANK] = {0};
    ox_fold_start(&r->folder, n, &sums);
    if (r->count)
        do
            fold_stretch(job, &sums, n, from);
        while (ox_walk(&r->reduced, 1, index, &from));
    r->folder.end(n, &sums, r->count, to);
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
        int64_t n = ox_least(ox_least(kept->dim[0] - i, OX_FOLD_TILE), end - at);
        reduce_stretch(job, n, from + i * kept->step[0], job->to + at * job->width);
        at += n;
        i += n;
        if (i == kept->dim[0]) {
            i = 0;
            ox_walk(kept, 1, index, &from);
        }
    }
}

/* Results out of the accumulators of blocks, and of what is left of each row behind them. */
static void join_blocks(const reduce_job *job, const char *accumulators) {
    const reduce *r = job->r;
    const int64_t number = r->blocks->kept.dim[0], width = r->folder.width, step = r->reduced.step[0];
    const char *from = job->from;
    int64_t index[OX_MAX_RANK] = {0};
    for (int64_t i = 0; i < job->count; i++) {
        ox_fold_sums sum;
        ox_fold_start(&r->folder, 1, &sum);
        r->joins.rows(&sum, 1, accumulators + i * number * width, 0, number, width);
        if (r->count % BLOCK)
            r->fold(&sum, 1, from + number * BLOCK * step, 0, r->count % BLOCK, step);
        r->folder.end(1, &sum, r->count, job->to + i * job->width);
        ox_walk(&r->kept, 0, index, &from);
    }
}

static void run_blocks(ox_call *call, const reduce_job *job, double bytes, char *accumulators) {
    const reduce *each = job->r->blocks;
    reduce_job blocks = {job->loops, each, job->from, accumulators, job->count * each->kept.dim[0], each->folder.width};
    ox_pool_run_pieces(call->pool, bytes, reduce_part, &blocks);
    join_blocks(job, accumulators);
}

ox_status ox_run_reduce(ox_call *call) {
    const reduce *r = call->state;
    const ox_tensor *out = call->out[0];
    int64_t count = ox_tensor_count(out);
    size_t used = 0;
    ox_tensor in = ox_dense_in(call, &used, call->in[0]);
    if (r->layout == SCATTERED) {
        void *packed = ox_workspace_take(call, &used, ox_tensor_count(&in), ox_dtype_size(in.dtype));
        ox_pack(call->loops, call->pool, &in, packed);
        in = (ox_tensor){in.dtype, in.rank, in.dims, NULL, packed};
    }
    char *result = ox_dense_out(call, &used, count);
    reduce_job job = {call->loops, r, r->count ? in.data : result, result, count, (int64_t)ox_dtype_size(in.dtype)};
    double bytes = (double)count * (double)r->count * (double)job.width;
    if (r->blocks)
        run_blocks(call, &job, bytes,
                   ox_workspace_take(call, &used, count * r->blocks->kept.dim[0], (size_t)r->folder.width));
    else
        ox_pool_run_pieces(call->pool, bytes, reduce_part, &job);
    ox_dense_store(call, count, result);
    return OX_OK;
}
