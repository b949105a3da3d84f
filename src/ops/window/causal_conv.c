/* causal_conv.c: CausalConvWithState. Each channel of a sequence is convolved with a kernel of its own. The kernel
 * reaches back before the start of the sequence: to the end of the sequence before, which is the state, or to zeros. */
#include "ops/dense.h"

#include <math.h>
#include <string.h>

enum {
    BIAS = 2,
    PAST = 3
};

typedef struct causal_conv {
    int64_t sequences, channels, length, kernel;
    bool silu;
} causal_conv;

/* ---- Shapes ------------------------------------------------------------------------------------------------- */

static ox_status check_shape(ox_call *call, int i, int rank, const int64_t *dims) {
    if (!ox_call_given(call, i) || ox_same_dims(call->in[i]->rank, call->in[i]->dims, rank, dims))
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "%s: shape %s is expected", OX_INPUT(call, i), OX_DIMS(rank, dims));
}

static ox_status read_activation(ox_call *call, bool *silu) {
    const ox_string said = ox_call_string(call, "activation", "none");
    *silu = ox_says(said, "silu") || ox_says(said, "swish");
    return *silu || ox_says(said, "none")
               ? OX_OK
               : ox_call_fail(call, OX_ERROR_MODEL, "attribute 'activation' must be silu, swish or none, not '%.*s'",
                              OX_SHORT(said));
}

/* What com.microsoft's operator has beyond ONNX's. */
static ox_status check_forms(ox_call *call) {
    static const struct {
        const char *name;
        int64_t plain;
    } forms[] = {{"channels_last", 0}, {"dilation", 1}, {"ndim", 1}, {"state_window", 0}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const int64_t given = ox_call_int(call, forms[i].name, forms[i].plain);
        if (given != forms[i].plain)
            return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "attribute '%s' is %lld, only %lld is supported",
                                forms[i].name, (long long)given, (long long)forms[i].plain);
    }
    return OX_OK;
}

ox_status ox_infer_causal_conv(ox_call *call) {
    const ox_tensor *x = call->in[0], *w = call->in[1];
    bool silu;
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(ox_call_check_same(call, 0, PAST));
    OX_TRY(read_activation(call, &silu));
    OX_TRY(check_forms(call));
    if (x->rank != 3 || w->rank != 3 || w->dims[0] != x->dims[1] || w->dims[1] != 1 || w->dims[2] < 1)
        return ox_call_fail(call, OX_ERROR_SHAPE,
                            "%s and %s: [sequences,channels,length] and [channels,1,kernel] are expected",
                            OX_INPUT(call, 0), OX_INPUT(call, 1));
    const int64_t state[] = {x->dims[0], x->dims[1], w->dims[2] - 1};
    OX_TRY(check_shape(call, BIAS, 1, x->dims + 1));
    OX_TRY(check_shape(call, PAST, 3, state));
    OX_TRY(ox_call_output(call, 0, x->dtype, 3, x->dims));
    return ox_call_output(call, 1, x->dtype, 3, state);
}

ox_status ox_prepare_causal_conv(ox_call *call) {
    causal_conv *c = ox_call_state(call, sizeof *c);
    if (!c)
        return OX_ERROR_MEMORY;
    const ox_tensor *x = call->in[0];
    *c = (causal_conv){x->dims[0], x->dims[1], x->dims[2], call->in[1]->dims[2], false};
    OX_TRY(read_activation(call, &c->silu));
    for (int i = 0; i < call->nin; i++)
        if (call->in[i])
            OX_TRY(ox_dense_plan(call, call->in[i]));
    return call->out[0] ? ox_dense_plan_out(call, ox_tensor_count(call->out[0])) : OX_OK;
}

/* ---- Run ---------------------------------------------------------------------------------------------------- */

typedef struct causal_job {
    const causal_conv *c;
    const ox_f32 *x, *weights, *bias, *past; /* bias and past: NULL for zeros */
    float *to;
} causal_job;

/* One channel: tap after tap, each along the part of the sequence that it sees. */
static void convolve(const causal_conv *c, const ox_f32 *x, const ox_f32 *w, float bias, const ox_f32 *past,
                     float *to) {
    const int64_t before = c->kernel - 1;
    for (int64_t t = 0; t < c->length; t++)
        to[t] = bias;
    for (int64_t k = 0; k < c->kernel; k++) {
        const int64_t missing = ox_least(before - k, c->length);
        for (int64_t t = 0; past && t < missing; t++)
            to[t] += w[k] * past[t + k];
        for (int64_t t = missing; t < c->length; t++)
            to[t] += w[k] * x[t + k - before];
    }
    for (int64_t t = 0; c->silu && t < c->length; t++)
        to[t] /= 1 + expf(-to[t]);
}

static void causal_part(void *context, int part, int parts) {
    const causal_job *job = context;
    const causal_conv *c = job->c;
    int64_t i, end;
    ox_pool_range(c->sequences * c->channels, part, parts, &i, &end);
    for (; i < end; i++) {
        const int64_t channel = i % c->channels;
        convolve(c, job->x + i * c->length, job->weights + channel * c->kernel, job->bias ? job->bias[channel] : 0,
                 job->past ? job->past + i * (c->kernel - 1) : NULL, job->to + i * c->length);
    }
}

/* The last elements of each channel, of those from before and the new ones. */
static void keep_state(const ox_call *call, const causal_conv *c) {
    const size_t width = ox_dtype_size(call->in[0]->dtype);
    const int64_t before = c->kernel - 1, old = before > c->length ? before - c->length : 0, fresh = before - old;
    const char *x = call->in[0]->data;
    const char *past = ox_call_given(call, PAST) ? call->in[PAST]->data : NULL;
    char *to = call->out[1]->data;
    for (int64_t i = 0; before && i < c->sequences * c->channels; i++, to += (size_t)before * width) {
        if (old && past)
            memcpy(to, past + (size_t)(i * before + before - old) * width, (size_t)old * width);
        else if (old)
            memset(to, 0, (size_t)old * width);
        if (fresh)
            memcpy(to + (size_t)old * width, x + (size_t)((i + 1) * c->length - fresh) * width, (size_t)fresh * width);
    }
}

ox_status ox_run_causal_conv(ox_call *call) {
    const causal_conv *c = call->state;
    const int64_t count = ox_tensor_count(call->in[0]);
    const ox_f32 *in[PAST + 1] = {NULL};
    size_t used = 0;
    for (int i = 0; i < call->nin; i++)
        if (call->in[i])
            in[i] = ox_dense_in(call, &used, call->in[i]).data;
    if (call->out[0] && count) {
        causal_job job = {c, in[0], in[1], in[BIAS], c->kernel > 1 ? in[PAST] : NULL, ox_dense_out(call, &used, count)};
        ox_pool_run_pieces(call->pool, (double)count * (double)c->kernel * sizeof(float), causal_part, &job);
        ox_dense_store(call, count, job.to);
    }
    if (call->nout > 1 && call->out[1])
        keep_state(call, c);
    return OX_OK;
}
