/* conv_integer.c: ConvInteger and QLinearConv. Zero points are taken off first, so that padding is 0; bytes less their
 * zero points are products of 32-bit integers, which wrap. */
#include "loops/element.h"
#include "ops/dense.h"
#include "conv.h"

#include <string.h>

/* The numbers of the inputs; -1 if the operator has none. */
typedef struct integer_inputs {
    int w, x_zero, w_zero, bias, x_scale, w_scale, y_scale, y_zero;
} integer_inputs;

/* What becomes of the sums of one output channel. */
typedef struct channel_end {
    double scale, zero;
    uint32_t bias;
} channel_end;

typedef struct conv_integer {
    ox_conv conv; /* the product's context */
    ox_dtype dtype;
    ox_requantize_fn *requantize; /* NULL: the sums are the result */
} conv_integer;

static const integer_inputs *inputs_of(const ox_call *call) {
    static const integer_inputs integer = {1, 2, 3, -1, -1, -1, -1, -1}, quantized = {3, 2, 5, 8, 1, 4, 6, 7};
    return call->op->min_in == 8 ? &quantized : &integer;
}

static const ox_tensor *input(const ox_call *call, int i) {
    return ox_call_given(call, i) ? call->in[i] : NULL;
}

/* ---- Shapes ------------------------------------------------------------------------------------------------- */

/* One value, or one for each output channel. */
static ox_status check_entries(ox_call *call, int i, int64_t channels) {
    const ox_tensor *t = input(call, i);
    if (!t || (t->rank <= 1 && (ox_tensor_count(t) == 1 || (t->rank == 1 && t->dims[0] == channels))))
        return OX_OK;
    if (channels == 1)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s: one value is expected", OX_INPUT(call, i));
    return ox_call_fail(call, OX_ERROR_SHAPE, "%s: one value is expected, or one for each of %lld output channels",
                        OX_INPUT(call, i), (long long)channels);
}

/* A zero point has the type of what it belongs to. */
static ox_status check_zero(ox_call *call, int of, int zero, int64_t channels) {
    OX_TRY(ox_call_check_dtype(call, of, call->op->dtypes));
    if (input(call, zero) && call->in[zero]->dtype != call->in[of]->dtype)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must have the same type", OX_INPUT(call, of),
                            OX_INPUT(call, zero));
    return check_entries(call, zero, channels);
}

static ox_status check_inputs(ox_call *call) {
    const integer_inputs *in = inputs_of(call);
    const ox_tensor *w = call->in[in->w];
    const int64_t channels = w->rank ? w->dims[0] : 1;
    OX_TRY(check_zero(call, 0, in->x_zero, 1));
    return check_zero(call, in->w, in->w_zero, channels);
}

ox_status ox_infer_conv_integer(ox_call *call) {
    OX_TRY(check_inputs(call));
    return ox_conv_infer(call, inputs_of(call)->w, -1, OX_INT32);
}

ox_status ox_infer_qlinear_conv(ox_call *call) {
    const integer_inputs *in = inputs_of(call);
    const int scales[] = {in->x_scale, in->w_scale, in->y_scale};
    OX_TRY(check_inputs(call));
    OX_TRY(ox_call_check_dtype(call, in->y_zero, call->op->dtypes));
    OX_TRY(check_entries(call, in->y_zero, 1));
    for (int i = 0; i < 3; i++) {
        OX_TRY(ox_call_check_dtype(call, scales[i], OX_BIT(OX_FLOAT)));
        OX_TRY(check_entries(call, scales[i], i == 1 && call->in[in->w]->rank ? call->in[in->w]->dims[0] : 1));
    }
    if (input(call, in->bias))
        OX_TRY(ox_call_check_dtype(call, in->bias, OX_BIT(OX_INT32)));
    return ox_conv_infer(call, in->w, in->bias, call->in[in->y_zero]->dtype);
}

/* ---- Preparing ---------------------------------------------------------------------------------------------- */

/* An ox_gemm_end_fn. */
static void finish(const ox_gemm *g, const ox_gemm_block *block) {
    const conv_integer *c = g->context;
    const float one = 1;
    for (int64_t r = 0; r < block->rows; r++) {
        const channel_end *channel = (const channel_end *)g->extra + block->row + r;
        ox_i32 *sums = (ox_i32 *)(void *)(block->data + r * block->data_row);
        for (int64_t j = 0; channel->bias && j < block->columns; j++)
            sums[j] = (int32_t)((uint32_t)sums[j] + channel->bias);
        const ox_requantization how = {
            .dtype = c->dtype, .zero = channel->zero, .row_scale = channel->scale, .column_scales = &one};
        c->requantize(block->columns, &how, (const char *)sums, ox_gemm_out(g, block, r, 1));
    }
}

static ox_gemm integer_product(const conv_integer *c) {
    ox_gemm g = ox_conv_product(&c->conv, OX_INT32);
    if (c->requantize) {
        g.end = finish;
        g.c_row = g.n;
    }
    return g;
}

ox_status ox_prepare_conv_integer(ox_call *call) {
    const integer_inputs *in = inputs_of(call);
    conv_integer *c = ox_window_state(call, sizeof *c, call->in[0]->rank - 2);
    if (!c)
        return OX_ERROR_MEMORY;
    OX_TRY(ox_conv_describe(call, &c->conv, in->w, in->bias));
    ox_conv_columns_prepare(call, &c->conv, OX_INT32);
    c->dtype = call->out[0]->dtype;
    c->requantize = in->y_scale < 0 ? NULL : OX_BUILD_OF(call->loops, ox_integer_builds)->requantize;
    OX_TRY(ox_workspace_add(call, ox_tensor_count(call->in[0]), sizeof(int32_t)));
    OX_TRY(ox_workspace_add(call, ox_tensor_count(call->in[in->w]), sizeof(int32_t)));
    OX_TRY(ox_workspace_add(call, call->in[in->w]->dims[0], sizeof(channel_end)));
    const ox_gemm product = integer_product(c);
    ox_call_name(call, ox_conv_algorithm(&c->conv));
    return ox_gemm_prepare(call, &product, c->conv.images * c->conv.groups, &c->conv.plan);
}

/* ---- Run ---------------------------------------------------------------------------------------------------- */

typedef struct widen_job {
    ox_dtype dtype;
    int64_t rows, count; /* rows of `count` bytes, one after the other */
    const char *from;
    const ox_tensor *zeros; /* one, or one for each row; NULL: 0 */
    int32_t *to;
} widen_job;

static int32_t entry(const ox_tensor *zeros, int64_t i) {
    return zeros ? (int32_t)ox_tensor_int(zeros, ox_tensor_count(zeros) == 1 ? 0 : i) : 0;
}

/* Some of the rows less their zero points. */
static void widen_part(void *context, int part, int parts) {
    const widen_job *job = context;
    int64_t row, end;
    ox_pool_range(job->rows, part, parts, &row, &end);
    for (; row < end; row++) {
        const int32_t zero = entry(job->zeros, row);
        int32_t *to = job->to + row * job->count;
        const char *from = job->from + row * job->count;
        if (job->dtype == OX_INT8)
            for (int64_t i = 0; i < job->count; i++)
                to[i] = (int32_t)OX_GET(ox_i8, from + i) - zero;
        else
            for (int64_t i = 0; i < job->count; i++)
                to[i] = (int32_t)OX_GET(ox_u8, from + i) - zero;
    }
}

/* A tensor of bytes, of which the zero points are those of its outermost dimensions. */
static int32_t *widen(const ox_call *call, size_t *used, const ox_tensor *t, int64_t rows, const ox_tensor *zeros) {
    const int64_t count = ox_tensor_count(t);
    widen_job job = {t->dtype, rows, rows ? ox_quotient(count, rows) : 0, t->data, zeros, NULL};
    job.to = ox_workspace_take(call, used, count, sizeof(int32_t));
    ox_pool_run_pieces(call->pool, (double)count * 5, widen_part, &job);
    return job.to;
}

static double scale_of(const ox_tensor *t, int64_t i) {
    return (double)((const ox_f32 *)t->data)[ox_tensor_count(t) == 1 ? 0 : i];
}

static channel_end *find_ends(const ox_call *call, size_t *used) {
    const integer_inputs *in = inputs_of(call);
    const int64_t channels = call->in[in->w]->dims[0];
    const ox_tensor *bias = input(call, in->bias);
    channel_end *ends = ox_workspace_take(call, used, channels, sizeof *ends);
    for (int64_t i = 0; in->y_scale >= 0 && i < channels; i++) {
        const double scale = scale_of(call->in[in->x_scale], 0) * scale_of(call->in[in->w_scale], i);
        ends[i].scale = scale / scale_of(call->in[in->y_scale], 0);
        ends[i].zero = (double)entry(call->in[in->y_zero], 0);
        ends[i].bias = bias ? (uint32_t)ox_tensor_int(bias, i) : 0;
    }
    return ends;
}

ox_status ox_run_conv_integer(ox_call *call) {
    const integer_inputs *in = inputs_of(call);
    const conv_integer *c = call->state;
    const ox_tensor *x = call->in[0], *w = call->in[in->w];
    size_t used = 0;
    const int32_t *wide = widen(call, &used, x, x->dims[0] * x->dims[1], input(call, in->x_zero));
    const int32_t *weights = widen(call, &used, w, w->dims[0], input(call, in->w_zero));
    const channel_end *ends = find_ends(call, &used);
    ox_gemm g = integer_product(c);
    g.c = call->out[0]->data;
    ox_conv_run(&c->conv, &g, wide, weights, ends, (int64_t)sizeof *ends, ox_gemm_take(call, &used, &c->conv.plan));
    return OX_OK;
}
