/* optimizers.c: Adagrad, Adam and Momentum, one step of training each. Inputs are the rate, the number of steps before,
 * and lists of tensors: those that are trained, their gradients, and what the optimizer remembers of them. Outputs are
 * the lists of changed tensors. */
#include <math.h>

#include "ops/dense.h"
#include "ops/reals.h"

enum {
    RATE,
    STEPS,
    LISTS,
    MOST_LISTS = 4
};

typedef struct optimizer optimizer;

/* Changes n numbers of the lists: x, the gradients, and one or two memories. */
typedef void step_fn(const optimizer *o, int64_t n, double *const list[]);

struct optimizer {
    step_fn *step;
    int lists; /* of inputs; all but the gradients come back */
    double norm, norm_post, alpha, beta, epsilon, decay;
    bool nesterov;
    double rate, steps; /* run */
};

/* ---- Infer -------------------------------------------------------------------------------------------------- */

/* Only run needs the number itself. */
static ox_status check_number(ox_call *call, int i, ox_dtypes set) {
    OX_TRY(ox_call_check_dtype(call, i, set));
    return ox_tensor_count(call->in[i]) == 1
               ? OX_OK
               : ox_call_fail(call, OX_ERROR_SHAPE, "%s must have one element", OX_INPUT(call, i));
}

static ox_status check_like(ox_call *call, int i, int first) {
    const ox_tensor *a = call->in[first], *b = call->in[i];
    if (a->dtype == b->dtype && ox_same_dims(a->rank, a->dims, b->rank, b->dims))
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have the type and the shape of %s", OX_INPUT(call, i),
                        OX_INPUT(call, first));
}

static ox_status infer_lists(ox_call *call, int lists) {
    const int count = (call->nin - LISTS) / lists;
    if (call->nin != LISTS + lists * count || call->nout != (lists - 1) * count)
        return ox_call_fail(call, OX_ERROR_MODEL,
                            "%d inputs and %d outputs are not %d lists of tensors and %d of results", call->nin - LISTS,
                            call->nout, lists, lists - 1);
    OX_TRY(check_number(call, RATE, OX_BIT(OX_FLOAT) | OX_BIT(OX_DOUBLE)));
    OX_TRY(check_number(call, STEPS, OX_BIT(OX_INT64)));
    for (int i = 0; i < lists * count; i++) {
        OX_TRY(ox_call_check_dtype(call, LISTS + i, OX_BIT(OX_FLOAT) | OX_BIT(OX_DOUBLE)));
        OX_TRY(check_like(call, LISTS + i, LISTS + i % count));
    }
    for (int k = 0; k < call->nout; k++) {
        const ox_tensor *x = call->in[LISTS + k % count];
        OX_TRY(ox_call_output(call, k, x->dtype, x->rank, x->dims));
    }
    return OX_OK;
}

ox_status ox_infer_adagrad(ox_call *call) {
    return infer_lists(call, 3);
}

ox_status ox_infer_adam(ox_call *call) {
    return infer_lists(call, 4);
}

ox_status ox_infer_momentum(ox_call *call) {
    const ox_string mode = ox_call_string(call, "mode", "");
    if (!ox_says(mode, "standard") && !ox_says(mode, "nesterov"))
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'mode' must be standard or nesterov, not '%.*s'",
                            OX_SHORT(mode));
    return infer_lists(call, 3);
}

/* ---- Steps -------------------------------------------------------------------------------------------------- */

static void step_adagrad(const optimizer *o, int64_t n, double *const list[]) {
    double *restrict x = list[0], *restrict h = list[2];
    const double *restrict g = list[1], rate = o->rate / (1 + o->steps * o->decay);
    for (int64_t i = 0; i < n; i++) {
        const double gradient = o->norm * x[i] + g[i];
        h[i] += gradient * gradient;
        x[i] -= rate * gradient / (sqrt(h[i]) + o->epsilon);
    }
}

static void step_adam(const optimizer *o, int64_t n, double *const list[]) {
    double *restrict x = list[0], *restrict v = list[2], *restrict h = list[3];
    const double *restrict g = list[1];
    double rate = o->rate;
    if (o->steps > 0)
        rate *= sqrt(1 - pow(o->beta, o->steps)) / (1 - pow(o->alpha, o->steps));
    for (int64_t i = 0; i < n; i++) {
        const double gradient = o->norm * x[i] + g[i];
        v[i] = o->alpha * v[i] + (1 - o->alpha) * gradient;
        h[i] = o->beta * h[i] + (1 - o->beta) * gradient * gradient;
        x[i] = (1 - o->norm_post) * (x[i] - rate * v[i] / (sqrt(h[i]) + o->epsilon));
    }
}

static void step_momentum(const optimizer *o, int64_t n, double *const list[]) {
    double *restrict x = list[0], *restrict v = list[2];
    const double *restrict g = list[1], beta = o->steps > 0 ? o->beta : 1;
    for (int64_t i = 0; i < n; i++) {
        const double gradient = o->norm * x[i] + g[i];
        v[i] = o->alpha * v[i] + beta * gradient;
        x[i] -= o->rate * (o->nesterov ? gradient + o->alpha * v[i] : v[i]);
    }
}

/* ---- Prepare ------------------------------------------------------------------------------------------------ */

static ox_status prepare(ox_call *call, int lists, step_fn *step) {
    optimizer *o = ox_call_state(call, sizeof *o);
    if (!o)
        return OX_ERROR_MEMORY;
    *o = (optimizer){.step = step, .lists = lists};
    o->norm = (double)ox_call_float(call, "norm_coefficient", 0);
    o->norm_post = (double)ox_call_float(call, "norm_coefficient_post", 0);
    o->alpha = (double)ox_call_float(call, "alpha", 0.9f);
    o->beta = (double)ox_call_float(call, "beta", 0.999f);
    o->epsilon = (double)ox_call_float(call, "epsilon", 1e-6f);
    o->decay = (double)ox_call_float(call, "decay_factor", 0);
    o->nesterov = ox_says(ox_call_string(call, "mode", ""), "nesterov");
    return OX_OK;
}

ox_status ox_prepare_adagrad(ox_call *call) {
    return prepare(call, 3, step_adagrad);
}

ox_status ox_prepare_adam(ox_call *call) {
    return prepare(call, 4, step_adam);
}

ox_status ox_prepare_momentum(ox_call *call) {
    return prepare(call, 3, step_momentum);
}

/* ---- Run ---------------------------------------------------------------------------------------------------- */

typedef struct step_job {
    const optimizer *o;
    const ox_tensor *in[MOST_LISTS];
    void *out[MOST_LISTS]; /* NULL for the gradients, and for outputs that are not wanted */
} step_job;

static void step_piece(const step_job *job, int64_t first, int64_t n) {
    const ox_dtype dtype = job->in[0]->dtype;
    const int64_t width = (int64_t)ox_dtype_size(dtype);
    double piece[MOST_LISTS][OX_REALS_PIECE];
    double *const list[] = {piece[0], piece[1], piece[2], piece[3]};
    for (int k = 0; k < job->o->lists; k++)
        ox_reals_load(dtype, n, (const char *)job->in[k]->data + first * width, width, list[k], 1);
    job->o->step(job->o, n, list);
    for (int k = 0; k < job->o->lists; k++)
        if (job->out[k])
            ox_reals_store(dtype, n, list[k], 1, (char *)job->out[k] + first * width, width);
}

static void step_part(void *context, int part, int parts) {
    const step_job *job = context;
    int64_t i, end;
    ox_pool_range(ox_tensor_count(job->in[0]), part, parts, &i, &end);
    for (; i < end; i += OX_REALS_PIECE)
        step_piece(job, i, ox_least(OX_REALS_PIECE, end - i));
}

ox_status ox_run_optimizer(ox_call *call) {
    optimizer o = *(const optimizer *)call->state;
    const int count = (call->nin - LISTS) / o.lists;
    o.rate = ox_real_at(call->in[RATE]->dtype, call->in[RATE]->data);
    o.steps = (double)ox_tensor_int(call->in[STEPS], 0);
    for (int i = 0; i < count && !ox_pool_poll(call->pool); i++) {
        step_job job = {.o = &o};
        for (int k = 0, to = 0; k < o.lists; k++) {
            const ox_tensor *out = k == 1 ? NULL : call->out[to++ * count + i];
            job.in[k] = call->in[LISTS + k * count + i];
            job.out[k] = out ? out->data : NULL;
        }
        ox_pool_run_pieces(call->pool, (double)ox_tensor_count(job.in[0]) * 64, step_part, &job);
    }
    return OX_OK;
}
