/* lrn.c: LRN, a share of the squares of neighbouring channels. */
#include "ops/dense.h"
#include "ops/op.h"

#include <math.h>
#include <string.h>

/* Neighbours in a channel that are done together. */
enum {
    LANES = 16
};

typedef struct lrn_state {
    int64_t outer, channels, inner;
    int64_t after, window; /* channels behind the one itself, and in all; more than there are do not count */
    double bias, alpha, beta;
    int parts;
} lrn_state;

ox_status ox_infer_lrn(ox_call *call) {
    const ox_tensor *x = call->in[0];
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    if (x->rank < 2)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s: dimensions for images and channels are expected",
                            OX_INPUT(call, 0));
    if (ox_call_int(call, "size", 0) < 1)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'size' must be positive, not %lld",
                            (long long)ox_call_int(call, "size", 0));
    return ox_call_output(call, 0, x->dtype, x->rank, x->dims);
}

ox_status ox_prepare_lrn(ox_call *call) {
    const ox_tensor *x = call->in[0];
    const int64_t count = ox_tensor_count(x), size = ox_call_int(call, "size", 1), before = (size - 1) / 2;
    lrn_state *s = ox_call_state(call, sizeof *s);
    if (!s)
        return OX_ERROR_MEMORY;
    s->outer = x->dims[0];
    s->channels = x->dims[1];
    s->inner = ox_count(x->rank - 2, x->dims + 2);
    s->after = ox_least(size - 1 - before, s->channels);
    s->window = ox_least(before, s->channels) + s->after + 1;
    s->bias = (double)ox_call_float(call, "bias", 1);
    s->alpha = (double)ox_call_float(call, "alpha", 1e-4f) / (double)size;
    s->beta = (double)ox_call_float(call, "beta", 0.75f);
    s->parts = ox_pool_parts(ox_pool_for(call->pool, (double)count * (double)ox_dtype_size(x->dtype)));
    OX_TRY(ox_dense_plan(call, x));
    OX_TRY(ox_dense_plan_out(call, count));
    return ox_workspace_add(call, s->parts * ox_least(s->inner, LANES), (size_t)s->window * sizeof(double));
}

/* ---- Run ---------------------------------------------------------------------------------------------------- */

typedef struct lrn_job {
    const lrn_state *s;
    ox_pool *pool;
    bool wide;
    const void *from;
    void *to;
    double *ends; /* a window for each lane of each part */
} lrn_job;

/* What the squares of a window make of the elements; the usual exponent takes roots alone. */
static void divide(const lrn_state *s, int64_t lanes, double *sum) {
    for (int64_t l = 0; l < lanes; l++)
        sum[l] = s->bias + s->alpha * sum[l];
    if (s->beta == 0.75)
        for (int64_t l = 0; l < lanes; l++)
            sum[l] = sqrt(sum[l]) * sqrt(sqrt(sum[l]));
    else
        for (int64_t l = 0; l < lanes; l++)
            sum[l] = pow(sum[l], s->beta);
}

static void load(const lrn_job *job, int64_t at, int64_t lanes, double *x) {
    for (int64_t l = 0; l < lanes; l++)
        x[l] = job->wide ? ((const ox_f64 *)job->from)[at + l] : (double)((const ox_f32 *)job->from)[at + l];
}

static void store(const lrn_job *job, int64_t at, int64_t lanes, const double *divisor) {
    for (int64_t l = 0; l < lanes; l++)
        if (job->wide)
            ((ox_f64 *)job->to)[at + l] = ((const ox_f64 *)job->from)[at + l] / divisor[l];
        else
            ((ox_f32 *)job->to)[at + l] = (float)((double)((const ox_f32 *)job->from)[at + l] / divisor[l]);
}

/* Sums of the last channels of a stretch as long as a window, from each channel on. */
static void sum_ends(const lrn_job *job, int64_t first, int64_t start, int64_t lanes, double *ends) {
    const lrn_state *s = job->s;
    double sum[LANES] = {0}, x[LANES];
    for (int64_t j = s->window; j-- > 0;) {
        if (start + j < s->channels)
            load(job, first + (start + j) * s->inner, lanes, x);
        for (int64_t l = 0; l < lanes; l++) {
            sum[l] += start + j < s->channels ? x[l] * x[l] : 0;
            ends[j * lanes + l] = sum[l];
        }
    }
}

/* Channels are cut into blocks as long as a window. Each window is then the end of one block and the start of the next:
 * the sum of two running sums. No sum is ever subtracted, and larger windows take no more time. */
static void run_lanes(const lrn_job *job, int64_t first, int64_t lanes, double *ends) {
    const lrn_state *s = job->s;
    double x[LANES], divisor[LANES];
    for (int64_t start = 0; start < s->channels + s->after; start += s->window) {
        double sum[LANES] = {0};
        for (int64_t j = 0; j < s->window; j++) {
            const int64_t last = start + j, channel = last - s->after;
            const bool has_end = start && j + 1 < s->window;
            if (last < s->channels) {
                load(job, first + last * s->inner, lanes, x);
                for (int64_t l = 0; l < lanes; l++)
                    sum[l] += x[l] * x[l];
            }
            if (channel < 0 || channel >= s->channels)
                continue;
            for (int64_t l = 0; l < lanes; l++)
                divisor[l] = sum[l] + (has_end ? ends[(j + 1) * lanes + l] : 0);
            divide(s, lanes, divisor);
            store(job, first + channel * s->inner, lanes, divisor);
        }
        sum_ends(job, first, start, lanes, ends);
    }
}

static void lrn_part(void *context, int part, int parts) {
    const lrn_job *job = context;
    const lrn_state *s = job->s;
    const int64_t each = s->inner / LANES + (s->inner % LANES != 0), most = ox_least(s->inner, LANES);
    const int64_t piece = ox_pool_piece(job->pool, INT64_MAX, 16 * (double)(s->channels * most));
    int64_t first, end;
    ox_pool_range(s->outer * each, part, parts, &first, &end);
    for (int64_t i = first, left = piece; i < end; i++) {
        const int64_t lane = i % each * LANES;
        run_lanes(job, i / each * s->channels * s->inner + lane, ox_least(s->inner - lane, LANES),
                  job->ends + part * s->window * most);
        if (--left)
            continue;
        left = piece;
        if (ox_pool_poll(job->pool))
            return;
    }
}

ox_status ox_run_lrn(ox_call *call) {
    const lrn_state *s = call->state;
    const int64_t count = ox_tensor_count(call->out[0]);
    size_t used = 0;
    const ox_tensor x = ox_dense_in(call, &used, call->in[0]);
    void *result = ox_dense_out(call, &used, count);
    lrn_job job = {s, call->pool, x.dtype == OX_DOUBLE, x.data, result, NULL};
    job.ends = ox_workspace_take(call, &used, s->parts * ox_least(s->inner, LANES), (size_t)s->window * sizeof(double));
    ox_pool_run(s->parts > 1 ? call->pool : NULL, lrn_part, &job);
    ox_dense_store(call, count, result);
    return OX_OK;
}
