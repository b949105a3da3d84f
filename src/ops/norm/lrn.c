/* lrn.c: LRN, a share of the squares of neighbouring channels. */
#include "loops/statistics_loops.h"
#include "ops/dense.h"
#include "ops/op.h"

typedef struct lrn_state {
    int64_t outer;
    ox_lrn lrn; /* neighbours that there are not do not count */
    int parts;
    size_t room; /* bytes that each part works in */
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
    s->lrn.channels = x->dims[1];
    s->lrn.inner = ox_count(x->rank - 2, x->dims + 2);
    s->lrn.after = ox_least(size - 1 - before, s->lrn.channels);
    s->lrn.window = ox_least(before, s->lrn.channels) + s->lrn.after + 1;
    s->lrn.bias = (double)ox_call_float(call, "bias", 1);
    s->lrn.alpha = (double)ox_call_float(call, "alpha", 1e-4f) / (double)size;
    s->lrn.beta = (double)ox_call_float(call, "beta", 0.75f);
    s->parts = ox_pool_parts(ox_pool_for(call->pool, (double)count * (double)ox_dtype_size(x->dtype)));
    OX_TRY(ox_dense_plan(call, x));
    OX_TRY(ox_dense_plan_out(call, count));
    s->room = ox_pool_room(s->parts, (size_t)(s->lrn.window * ox_least(s->lrn.inner, OX_LRN_LANES)) * sizeof(double));
    return ox_workspace_add(call, s->parts, s->room);
}

/* ---- Run ---------------------------------------------------------------------------------------------------- */

typedef struct lrn_job {
    const lrn_state *s;
    ox_pool *pool;
    ox_lrn_fn *run;
    int64_t width; /* bytes of an element */
    const char *from;
    char *to;
    char *ends; /* a window for each lane, of each part */
} lrn_job;

/* Blocks of an image that are computed at a time. */
static int64_t blocks_of(const ox_lrn *lrn) {
    return ox_quotient(lrn->inner + OX_LRN_LANES - 1, OX_LRN_LANES);
}

static void lrn_share(void *context, ox_share *share) {
    const lrn_job *job = context;
    const lrn_state *s = job->s;
    const ox_lrn *lrn = &s->lrn;
    const int64_t each = blocks_of(lrn), most = ox_least(lrn->inner, OX_LRN_LANES);
    const int64_t piece = ox_pool_piece(job->pool, INT64_MAX, 16 * (double)(lrn->channels * most));
    int64_t i, end, left = piece;
    while (ox_share_next(share, &i, &end))
        for (; i < end; i++) {
            const int64_t lane = ox_remainder(i, each) * OX_LRN_LANES,
                          at = (ox_quotient(i, each) * lrn->channels * lrn->inner + lane) * job->width;
            job->run(lrn, ox_least(lrn->inner - lane, OX_LRN_LANES), job->from + at, job->to + at,
                     (double *)(void *)(job->ends + (size_t)share->room * s->room));
            if (--left)
                continue;
            left = piece;
            if (ox_pool_poll(job->pool))
                return;
        }
}

ox_status ox_run_lrn(ox_call *call) {
    const lrn_state *s = call->state;
    const ox_lrn_loops *loops = OX_BUILD_OF(call->loops, ox_lrn_builds);
    const int64_t count = ox_tensor_count(call->out[0]);
    size_t used = 0;
    const ox_tensor x = ox_dense_in(call, &used, call->in[0]);
    void *result = ox_dense_out(call, &used, count);
    lrn_job job = {
        s,      call->pool, x.dtype == OX_DOUBLE ? loops->f64 : loops->f32, (int64_t)ox_dtype_size(x.dtype), x.data,
        result, NULL};
    job.ends = ox_workspace_take(call, &used, s->parts, s->room);
    ox_pool_share(s->parts > 1 ? call->pool : NULL, s->outer * blocks_of(&s->lrn), 1, lrn_share, &job);
    ox_dense_store(call, count, result);
    return OX_OK;
}
