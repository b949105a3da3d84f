/* byte_mean.c: QLinearReduceMean and QLinearGlobalAveragePool. Bytes that lie behind each other are added up as a run
 * where they go into one result, and side by side where they go into neighbours. */
#include "byte_mean.h"

#include "iterate/walk.h"
#include "ops/axes.h"
#include "ops/byte_scales.h"
#include "ops/dense.h"

#include <string.h>

#if OX_WITH_OWN_OPERATORS
enum {
    TILE = 1024 /* results side by side */
};

typedef struct byte_mean {
    ox_bcast kept, reduced;
    int64_t count;                /* elements that go into each result */
    bool beside;                  /* neighbours go into different results */
    int64_t outer, pieces, units; /* kept dimensions but the innermost, pieces of that one, and all */
} byte_mean;

/* ---- Shapes ------------------------------------------------------------------------------------------------- */

/* The axes that are reduced. */
static ox_status find_axes(ox_call *call, ox_axis_set *set) {
    const ox_tensor *x = call->in[0];
    ox_short_list axes = {0};
    *set = 0;
    if (call->op == &ox_op_qlinear_reduce_mean)
        OX_TRY(ox_list_attr(call, "axes", &axes));
    OX_TRY(ox_axes_set(call, &axes, x->rank, set));
    for (int d = call->op == &ox_op_qlinear_reduce_mean ? 0 : 2; !axes.count && d < x->rank; d++)
        *set |= OX_AXIS(d);
    return OX_OK;
}

static ox_status infer(ox_call *call) {
    const ox_tensor *x = call->in[0];
    const bool keeps = ox_call_int(call, "keepdims", 1) != 0;
    ox_axis_set set;
    int64_t dims[OX_MAX_RANK];
    int rank = 0;
    OX_TRY(ox_check_bytes(call, 0));
    OX_TRY(ox_check_bytes_out(call, 3));
    if (call->op == &ox_op_qlinear_global_average_pool && x->rank < 2)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s: dimensions for images and channels are expected",
                            OX_INPUT(call, 0));
    OX_TRY(find_axes(call, &set));
    for (int d = 0; d < x->rank; d++)
        if (!(set & OX_AXIS(d)))
            dims[rank++] = x->dims[d];
        else if (keeps)
            dims[rank++] = 1;
    return ox_call_output(call, 0, call->in[4]->dtype, rank, dims);
}

/* ---- Plan --------------------------------------------------------------------------------------------------- */

/* The dimensions that are in the set, or all others. */
static ox_status plan_dims(ox_call *call, ox_bcast *plan, ox_axis_set set, bool inside) {
    const ox_tensor *x = call->in[0];
    int64_t dims[OX_MAX_RANK], strides[OX_MAX_RANK];
    ox_tensor_strides(x, strides);
    for (int d = 0; d < x->rank; d++)
        dims[d] = !(set & OX_AXIS(d)) == !inside ? x->dims[d] : 1;
    return ox_plan_space(call, plan, 1, x->rank, dims, (const int64_t *const[]){strides});
}

static int64_t count_of(const ox_bcast *plan, int from) {
    int64_t count = 1;
    for (int d = from; d < plan->ndim; d++)
        count *= plan->dim[d];
    return count;
}

static ox_status prepare(ox_call *call) {
    byte_mean *m = ox_call_state(call, sizeof *m);
    ox_axis_set set;
    if (!m)
        return OX_ERROR_MEMORY;
    OX_TRY(find_axes(call, &set));
    OX_TRY(plan_dims(call, &m->kept, set, false));
    OX_TRY(plan_dims(call, &m->reduced, set, true));
    m->count = count_of(&m->reduced, 0);
    m->beside = m->count && m->count <= OX_MOST_BYTES_SUMMED && m->kept.step[0] == 1 && m->reduced.step[0] != 1;
    m->outer = count_of(&m->kept, 1);
    m->pieces = m->beside ? ox_quotient(m->kept.dim[0] + TILE - 1, TILE) : m->kept.dim[0];
    m->units = m->outer * m->pieces;
    ox_call_name(call, m->beside ? "columns of bytes" : "rows of bytes");
    return OX_OK;
}

/* ---- Run ---------------------------------------------------------------------------------------------------- */

typedef struct mean_job {
    const byte_mean *m;
    ox_byte_means means;
    double factor;
    const char *from;
    char *to;
} mean_job;

/* n results side by side. */
static void reduce_beside(const mean_job *job, const char *from, int64_t n, char *to) {
    const byte_mean *m = job->m;
    int64_t index[OX_MAX_RANK] = {0};
    uint32_t sums[TILE];
    memset(sums, 0, (size_t)n * sizeof *sums);
    do
        job->means.loops->add(n, from, job->means.flip, sums);
    while (ox_walk(&m->reduced, 0, index, &from));
    ox_end_byte_means(&job->means, n, sums, m->count, job->factor, to);
}

/* What goes into one result. */
static uint64_t sum_one(const mean_job *job, const char *from) {
    const byte_mean *m = job->m;
    const bool packed = m->reduced.step[0] == 1;
    const int64_t run = packed ? m->reduced.dim[0] : 1;
    int64_t index[OX_MAX_RANK] = {0};
    uint64_t sum = 0;
    if (m->count)
        do
            sum += job->means.loops->sum_run(run, from, job->means.flip);
        while (ox_walk(&m->reduced, packed, index, &from));
    return sum;
}

/* Up to TILE results from one on, where `from` and `index` are, which then move on. */
static void reduce_some(const mean_job *job, int64_t n, int64_t *index, const char **from, char *to) {
    const byte_mean *m = job->m;
    const bool is_large = m->count > OX_MOST_BYTES_SUMMED;
    uint32_t sums[TILE];
    for (int64_t i = 0; i < n; i++) {
        const uint64_t sum = sum_one(job, *from);
        sums[i] = (uint32_t)sum;
        if (is_large)
            ox_end_byte_mean(&job->means, sum, m->count, job->factor, to + i);
        ox_walk(&m->kept, 0, index, from);
    }
    if (!is_large)
        ox_end_byte_means(&job->means, n, sums, m->count, job->factor, to);
}

/* Some of the results. */
static void rows_part(void *context, int part, int parts) {
    const mean_job *job = context;
    int64_t at, end, index[OX_MAX_RANK] = {0};
    const char *from = job->from;
    ox_pool_range(job->m->units, part, parts, &at, &end);
    if (at == end)
        return;
    ox_walk_to(&job->m->kept, 0, at, index, &from);
    for (int64_t n; at < end; at += n) {
        n = ox_least(TILE, end - at);
        reduce_some(job, n, index, &from, job->to + at);
    }
}

/* Some pieces of rows of results. */
static void columns_part(void *context, int part, int parts) {
    const mean_job *job = context;
    const byte_mean *m = job->m;
    int64_t at, end, index[OX_MAX_RANK] = {0};
    ox_pool_range(m->units, part, parts, &at, &end);
    if (at == end)
        return;
    int64_t row = ox_quotient(at, m->pieces), piece = at - row * m->pieces;
    const char *from = job->from;
    ox_walk_to(&m->kept, 1, row, index, &from);
    for (; at < end; at++) {
        const int64_t first = piece * TILE;
        reduce_beside(job, from + first, ox_least(TILE, m->kept.dim[0] - first),
                      job->to + row * m->kept.dim[0] + first);
        if (++piece < m->pieces)
            continue;
        piece = 0, row++;
        ox_walk(&m->kept, 1, index, &from);
    }
}

static ox_status run(ox_call *call) {
    const byte_mean *m = call->state;
    mean_job job = {m, ox_byte_means_of(call), 0, call->in[0]->data, call->out[0]->data};
    job.factor = ox_byte_mean_factor(&job.means, (double)m->count);
    if (m->units)
        ox_pool_run_pieces(call->pool, (double)ox_tensor_count(call->in[0]), m->beside ? columns_part : rows_part,
                           &job);
    return OX_OK;
}

#define ROW(text, more)                                                                                                \
    {                                                                                                                  \
        .domain = "", .name = text, .since = 1, .versions = 2, .min_in = 5, .max_in = 5, .min_out = 1, .max_out = 1,   \
        .dtypes = OX_BYTE_TYPES, .infer = infer, .prepare = prepare, .run = run, .flags = OX_OP_GAPS | (more)          \
    }

const ox_op ox_op_qlinear_reduce_mean = ROW("QLinearReduceMean", 0),
            ox_op_qlinear_global_average_pool = ROW("QLinearGlobalAveragePool", OX_OP_NO_ATTRS);
#endif
