/* softmax.c: Softmax. */
#include "dense.h"
#include "elementwise.h"

/* The tensor as outer x n x inner; one softmax over each of the n. */
typedef struct softmax {
    int64_t outer, n, inner;
} softmax;

/* Versions before 13 take all dimensions from the axis on together. */
static ox_status softmax_shape(ox_call *call, softmax *s) {
    const ox_tensor *in = call->in[0];
    bool single = call->op->since >= 13;
    int64_t axis = ox_call_int(call, "axis", single ? -1 : 1);
    int place = in->rank;
    /* A scalar takes the axes of a vector. */
    const bool end = in->rank ? axis == in->rank && !single : axis >= -1 && axis <= 1;
    if (!end)
        OX_TRY(ox_call_axis(call, "axis", axis, in->rank, &place));
    bool inside = !end;
    s->outer = ox_count(place, in->dims);
    s->n = !inside ? 1 : single ? in->dims[place] : ox_count(in->rank - place, in->dims + place);
    s->inner = inside && single ? ox_count(in->rank - place - 1, in->dims + place + 1) : 1;
    return OX_OK;
}

ox_status ox_infer_softmax(ox_call *call) {
    softmax s;
    OX_TRY(ox_call_check_dtype(call, 0, OX_SET_FLOAT));
    OX_TRY(softmax_shape(call, &s));
    return ox_call_output(call, 0, call->in[0]->dtype, call->in[0]->rank, call->in[0]->dims);
}

/* Whether the softmaxes are over the last dimensions. */
int ox_rows_softmax(const ox_call *call) {
    ox_call asked = *call;
    softmax s;
    if (softmax_shape(&asked, &s) != OX_OK || s.inner != 1)
        return 0;
    int axis = call->in[0]->rank;
    for (int64_t n = 1; n < s.n && axis > 0;)
        n *= call->in[0]->dims[--axis];
    return ox_row_axes(call->in[0], axis);
}

ox_reg ox_emit_softmax(ox_call *call, ox_pass_builder *b, const ox_reg *in) {
    (void)call;
    return ox_pass_softmax(b, in[0]);
}

ox_status ox_prepare_softmax(ox_call *call) {
    const ox_tensor *in = call->in[0];
    softmax *s = ox_call_state(call, sizeof *s);
    if (!s)
        return OX_ERROR_MEMORY;
    OX_TRY(softmax_shape(call, s));
    OX_TRY(ox_dense_plan(call, in));
    return ox_dense_plan_out(call, ox_tensor_count(in));
}

typedef struct softmax_job {
    const softmax *s;
    ox_softmax_fn *run;
    const char *from;
    char *to;
    int64_t width; /* of an element */
} softmax_job;

/* Blocks of softmaxes side by side, for each of the outer ones. */
static int64_t blocks_each(const softmax *s) {
    return s->inner / OX_SOFTMAX_LANES + (s->inner % OX_SOFTMAX_LANES != 0);
}

static void softmax_part(void *context, int part, int parts) {
    const softmax_job *job = context;
    const softmax *s = job->s;
    const size_t blocks = (size_t)blocks_each(s); /* all of them lie in memory */
    int64_t first, end;
    ox_pool_range(s->outer * (int64_t)blocks, part, parts, &first, &end);
    for (int64_t i = first; i < end; i++) {
        int64_t lane = (int64_t)((size_t)i % blocks) * OX_SOFTMAX_LANES, rest = s->inner - lane;
        int64_t at = ((int64_t)((size_t)i / blocks) * s->n * s->inner + lane) * job->width;
        job->run(s->n, s->inner, rest < OX_SOFTMAX_LANES ? rest : OX_SOFTMAX_LANES, job->from + at, job->to + at);
    }
}

ox_status ox_run_softmax(ox_call *call) {
    /* An exponential takes about as long as moving this many bytes. */
    const double work = 8;
    const softmax *s = call->state;
    const ox_tensor *out = call->out[0];
    int64_t count = ox_tensor_count(out);
    size_t used = 0;
    if (count == 0)
        return OX_OK;
    ox_tensor in = ox_dense_in(call, &used, call->in[0]);
    char *result = ox_dense_out(call, &used, count);
    if (!ox_tensor_is_packed(&in)) {
        ox_pack(call->loops, call->pool, &in, result);
        in.data = result;
    }
    bool single = !OX_HAS(OX_DOUBLE) || in.dtype == OX_FLOAT;
    softmax_job job = {s, OX_BUILD_OF(call->loops, single ? ox_softmax_f32_builds : ox_softmax_f64_builds), in.data,
                       result, (int64_t)ox_dtype_size(in.dtype)};
    ox_pool_run_pieces(call->pool, work * (double)count, softmax_part, &job);
    ox_dense_store(call, count, result);
    return OX_OK;
}
