/* linear_attention.c: LinearAttention. Each head has a matrix as its state, which the keys and values of each step
 * change and its query reads. */
#include "ops/dense.h"
#include "ops/retype.h"

#include <math.h>
#include <string.h>

enum {
    QUERY,
    KEY,
    VALUE,
    PAST,
    DECAY,
    BETA,
    INPUTS
};

typedef struct linear {
    int64_t batch, steps, query_heads, heads; /* of queries, and of keys and values */
    int64_t keys, values;                     /* the size of a head of them */
    int64_t decays, betas;                    /* elements of a step */
    bool gated, delta;
    float scale;
} linear;

static ox_status read_rule(ox_call *call, linear *l) {
    const ox_string rule = ox_call_string(call, "update_rule", "gated_delta");
    const bool plain = ox_says(rule, "linear");
    l->gated = ox_says(rule, "gated") || ox_says(rule, "gated_delta");
    l->delta = ox_says(rule, "delta") || ox_says(rule, "gated_delta");
    if (!plain && !l->gated && !l->delta)
        return ox_call_fail(call, OX_ERROR_MODEL,
                            "attribute 'update_rule' must be linear, gated, delta or gated_delta, not '%.*s'",
                            OX_SHORT(rule));
    if (l->gated != ox_call_given(call, DECAY) || l->delta != ox_call_given(call, BETA))
        return ox_call_fail(call, OX_ERROR_MODEL, "update rule '%.*s' takes %s input decay and %s input beta",
                            OX_SHORT(rule), l->gated ? "an" : "no", l->delta ? "an" : "no");
    return OX_OK;
}

/* Inputs by steps have the batch and steps of the query. */
static ox_status check_steps(ox_call *call, const linear *l) {
    for (int i = QUERY; i < INPUTS; i++) {
        if (i == PAST || !ox_call_given(call, i))
            continue;
        const ox_tensor *t = call->in[i];
        if (t->rank != 3 || t->dims[0] != l->batch || t->dims[1] != l->steps)
            return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must have 3 dimensions, the first two the same",
                                OX_INPUT(call, QUERY), OX_INPUT(call, i));
    }
    return OX_OK;
}

static ox_status read_sizes(ox_call *call, linear *l) {
    const ox_tensor *query = call->in[QUERY], *key = call->in[KEY], *value = call->in[VALUE];
    l->query_heads = ox_call_int(call, "q_num_heads", 0);
    l->heads = ox_call_int(call, "kv_num_heads", 0);
    if (l->heads <= 0 || l->query_heads <= 0 || l->query_heads % l->heads != 0)
        return ox_call_fail(call, OX_ERROR_MODEL, "q_num_heads, %lld, must be a multiple of kv_num_heads, %lld",
                            (long long)l->query_heads, (long long)l->heads);
    l->batch = query->rank == 3 ? query->dims[0] : -1;
    l->steps = query->rank == 3 ? query->dims[1] : -1;
    OX_TRY(check_steps(call, l));
    l->keys = query->dims[2] / l->query_heads;
    l->values = value->dims[2] / l->heads;
    if (query->dims[2] % l->query_heads || value->dims[2] % l->heads || key->dims[2] % l->heads ||
        key->dims[2] / l->heads != l->keys)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%lld heads of %s do not fit the %lld of %s and %s",
                            (long long)l->query_heads, OX_INPUT(call, QUERY), (long long)l->heads, OX_INPUT(call, KEY),
                            OX_INPUT(call, VALUE));
    return OX_OK;
}

static ox_status check_rest(ox_call *call, linear *l) {
    l->decays = l->gated ? call->in[DECAY]->dims[2] : 0;
    l->betas = l->delta ? call->in[BETA]->dims[2] : 0;
    if (l->gated && l->decays != l->heads && l->decays != call->in[KEY]->dims[2])
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have a last dimension of %lld or %lld",
                            OX_INPUT(call, DECAY), (long long)l->heads, (long long)call->in[KEY]->dims[2]);
    if (l->delta && l->betas != l->heads && l->betas != 1)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have a last dimension of %lld or 1", OX_INPUT(call, BETA),
                            (long long)l->heads);
    const int64_t state[] = {l->batch, l->heads, l->keys, l->values};
    if (ox_call_given(call, PAST) && !ox_same_dims(call->in[PAST]->rank, call->in[PAST]->dims, 4, state))
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have shape %s", OX_INPUT(call, PAST), OX_DIMS(4, state));
    return OX_OK;
}

static ox_status read_node(ox_call *call, linear *l) {
    if (ox_call_int(call, "state_window", 0) != 0) /* of com.microsoft's */
        return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "attribute 'state_window' is not supported");
    OX_TRY(read_rule(call, l));
    OX_TRY(read_sizes(call, l));
    OX_TRY(check_rest(call, l));
    l->scale = ox_call_float(call, "scale", 0);
    if (l->scale == 0)
        l->scale = (float)(1 / sqrt((double)l->keys));
    return OX_OK;
}

ox_status ox_infer_linear_attention(ox_call *call) {
    linear l;
    const ox_dtype dtype = call->in[QUERY]->dtype;
    int64_t width;
    for (int i = QUERY; i < INPUTS; i++) {
        if (!ox_call_given(call, i))
            continue;
        OX_TRY(ox_call_check_dtype(call, i, call->op->dtypes));
        if (i != PAST && call->in[i]->dtype != dtype)
            return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must have the same type", OX_INPUT(call, QUERY),
                                OX_INPUT(call, i));
    }
    OX_TRY(read_node(call, &l));
    if (!ox_mul_i64(l.query_heads, l.values, &width))
        return ox_call_fail(call, OX_ERROR_LIMIT, "%lld heads are too many", (long long)l.query_heads);
    OX_TRY(ox_call_output(call, 0, dtype, 3, (const int64_t[]){l.batch, l.steps, width}));
    if (call->nout < 2)
        return OX_OK;
    return ox_call_output(call, 1, ox_call_given(call, PAST) ? call->in[PAST]->dtype : dtype, 4,
                          (const int64_t[]){l.batch, l.heads, l.keys, l.values});
}

ox_status ox_prepare_linear_attention(ox_call *call) {
    linear *l = ox_call_state(call, sizeof *l);
    if (!l)
        return OX_ERROR_MEMORY;
    OX_TRY(read_node(call, l));
    for (int i = QUERY; i < INPUTS; i++)
        if (ox_call_given(call, i))
            OX_TRY(ox_dense_plan(call, call->in[i]));
    OX_TRY(
        ox_workspace_add(call, ox_count(4, (const int64_t[]){l->batch, l->heads, l->keys, l->values}), sizeof(float)));
    OX_TRY(ox_workspace_add(call, ox_count(3, (const int64_t[]){l->batch, l->heads, l->values}), sizeof(float)));
    return ox_dense_plan_out(call, call->out[0] ? ox_tensor_count(call->out[0]) : 0);
}

typedef struct linear_job {
    const linear *l;
    const ox_f32 *in[INPUTS];
    ox_f32 *states, *changes, *to; /* matrices, what is added to them, and the output or NULL */
} linear_job;

/* to += factor * x */
static void add_scaled(int64_t n, ox_f32 *restrict to, float factor, const ox_f32 *restrict x) {
    for (int64_t i = 0; i < n; i++)
        to[i] += factor * x[i];
}

static void decay(const linear_job *job, int64_t step, int64_t head, ox_f32 *state) {
    const linear *l = job->l;
    const bool by_key = l->decays != l->heads;
    const ox_f32 *rates = job->in[DECAY] + step * l->decays + head * (by_key ? l->keys : 1);
    for (int64_t k = 0; k < l->keys; k++) {
        const float factor = expf(rates[by_key ? k : 0]);
        for (int64_t v = 0; v < l->values; v++)
            state[k * l->values + v] *= factor;
    }
}

/* What a step writes for its key: the value, or a share of what differs from the one that is there. */
static void find_change(const linear_job *job, int64_t step, int64_t head, const ox_f32 *state, const ox_f32 *key,
                        ox_f32 *change) {
    const linear *l = job->l;
    memcpy(change, job->in[VALUE] + (step * l->heads + head) * l->values, (size_t)l->values * sizeof *change);
    if (!l->delta)
        return;
    for (int64_t k = 0; k < l->keys; k++)
        add_scaled(l->values, change, -key[k], state + k * l->values);
    const float rate = job->in[BETA][step * l->betas + (l->betas == 1 ? 0 : head)];
    for (int64_t v = 0; v < l->values; v++)
        change[v] *= rate;
}

static void read_queries(const linear_job *job, int64_t step, int64_t head, const ox_f32 *state) {
    const linear *l = job->l;
    const int64_t each = l->query_heads / l->heads;
    for (int64_t q = head * each; q < (head + 1) * each; q++) {
        const ox_f32 *query = job->in[QUERY] + (step * l->query_heads + q) * l->keys;
        ox_f32 *to = job->to + (step * l->query_heads + q) * l->values;
        memset(to, 0, (size_t)l->values * sizeof *to);
        for (int64_t k = 0; k < l->keys; k++)
            add_scaled(l->values, to, l->scale * query[k], state + k * l->values);
    }
}

/* One head of keys and values through all of its steps. */
static void run_head(const linear_job *job, int64_t i) {
    const linear *l = job->l;
    const int64_t batch = i / l->heads, head = i % l->heads, size = l->keys * l->values;
    ox_f32 *state = job->states + i * size, *change = job->changes + i * l->values;
    if (job->in[PAST])
        memcpy(state, job->in[PAST] + i * size, (size_t)size * sizeof *state);
    else
        memset(state, 0, (size_t)size * sizeof *state);
    for (int64_t step = batch * l->steps; step < (batch + 1) * l->steps; step++) {
        const ox_f32 *key = job->in[KEY] + (step * l->heads + head) * l->keys;
        if (l->gated)
            decay(job, step, head, state);
        find_change(job, step, head, state, key, change);
        for (int64_t k = 0; k < l->keys; k++)
            add_scaled(l->values, state + k * l->values, key[k], change);
        if (job->to)
            read_queries(job, step, head, state);
    }
}

static void linear_part(void *context, int part, int parts) {
    const linear_job *job = context;
    int64_t i, end;
    ox_pool_range(job->l->batch * job->l->heads, part, parts, &i, &end);
    for (; i < end; i++)
        run_head(job, i);
}

ox_status ox_run_linear_attention(ox_call *call) {
    const linear *l = call->state;
    const int64_t size = ox_count(4, (const int64_t[]){l->batch, l->heads, l->keys, l->values}),
                  count = call->out[0] ? ox_tensor_count(call->out[0]) : 0;
    size_t used = 0;
    linear_job job = {.l = l};
    for (int i = QUERY; i < INPUTS; i++)
        if (ox_call_given(call, i))
            job.in[i] = ox_dense_in(call, &used, call->in[i]).data;
    job.states = ox_workspace_take(call, &used, size, sizeof(float));
    job.changes =
        ox_workspace_take(call, &used, ox_count(3, (const int64_t[]){l->batch, l->heads, l->values}), sizeof(float));
    job.to = call->out[0] ? ox_dense_out(call, &used, count) : NULL;
    if (l->batch == 0 || l->values == 0)
        return OX_OK;
    ox_pool_run_pieces(call->pool, 4 * (double)size * (double)l->steps, linear_part, &job);
    if (call->out[0])
        ox_dense_store(call, count, job.to);
    if (call->nout > 1)
        ox_store_row(call, call->out[1], 0, size, job.states);
    return OX_OK;
}
