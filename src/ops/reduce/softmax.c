/* softmax.c: Softmax. */
#include "ops/dense.h"
#include "ops/elementwise.h"
#include "reduce.h"

/* The first of the dimensions that one softmax takes; the rank if it takes none. Versions before 13 take all dimensions
 * from the axis on together. *single: it takes one dimension. */
static ox_status softmax_place(ox_call *call, int *place, bool *single) {
    const ox_tensor *in = call->in[0];
    *single = call->op->since >= 13;
    int64_t axis = ox_call_int(call, "axis", *single ? -1 : 1);
    *place = in->rank;
    /* A scalar takes the axes of a vector. */
    const bool end = in->rank ? axis == in->rank && !*single : axis >= -1 && axis <= 1;
    return end ? OX_OK : ox_call_axis(call, "axis", axis, in->rank, place);
}

ox_status ox_softmax_axes(ox_call *call, ox_axis_set *set) {
    int place;
    bool single;
    OX_TRY(softmax_place(call, &place, &single));
    *set = 0;
    for (int d = place; d < call->in[0]->rank; d++)
        *set |= d == place || !single ? OX_AXIS(d) : 0;
    return OX_OK;
}

ox_status ox_softmax_lines(ox_call *call, ox_lines *s) {
    const ox_tensor *in = call->in[0];
    int place;
    bool single;
    OX_TRY(softmax_place(call, &place, &single));
    if (single && place < in->rank)
        *s = ox_lines_of(in, place);
    else
        *s = (ox_lines){ox_count(place, in->dims), ox_count(in->rank - place, in->dims + place), 1};
    return OX_OK;
}

ox_status ox_infer_softmax(ox_call *call) {
    ox_lines s;
    OX_TRY(ox_call_check_dtype(call, 0, OX_SET_FLOAT));
    OX_TRY(ox_softmax_lines(call, &s));
    return ox_call_output(call, 0, call->in[0]->dtype, call->in[0]->rank, call->in[0]->dims);
}

/* Whether the softmaxes are over the last dimensions. */
int ox_rows_softmax(const ox_call *call) {
    ox_call asked = *call;
    ox_lines s;
    if (ox_softmax_lines(&asked, &s) != OX_OK || s.inner != 1)
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
    ox_lines *s = ox_call_state(call, sizeof *s);
    if (!s)
        return OX_ERROR_MEMORY;
    OX_TRY(ox_softmax_lines(call, s));
    OX_TRY(ox_dense_plan(call, in));
    return ox_dense_plan_out(call, ox_tensor_count(in));
}

typedef struct softmax_job {
    const ox_lines *s;
    ox_softmax_fn *run;
    const char *from;
    char *to;
    int64_t width; /* of an element */
} softmax_job;

static void softmax_part(void *context, int part, int parts) {
    const softmax_job *job = context;
    const ox_lines *s = job->s;
    int64_t first, end;
    ox_pool_range(ox_line_blocks(s, OX_SOFTMAX_LANES), part, parts, &first, &end);
    for (int64_t i = first; i < end; i++) {
        const ox_line_block block = ox_line_block_at(s, OX_SOFTMAX_LANES, i);
        const int64_t at = block.first * job->width;
        job->run(s->n, s->inner, block.lanes, job->from + at, job->to + at);
    }
}

ox_status ox_run_softmax(ox_call *call) {
    /* An exponential takes about as long as moving this many bytes. */
    const double work = 8;
    const ox_lines *s = call->state;
    const ox_tensor *out = call->out[0];
    int64_t count = ox_tensor_count(out);
    size_t used = 0;
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
