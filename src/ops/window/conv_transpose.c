/* conv_transpose.c: ConvTranspose, the gradient of a convolution. A product of weights and image gives columns, and
 * each column is added to the window of the result that it belongs to. In its ox_window, `in` is the size of the result
 * therefore, and `out` that of the image. */
#include "ops/dense.h"
#include "ops/gemm/gemm.h"
#include "conv_transpose.h"
#include "scatter.h"

#include <string.h>

typedef struct conv_transpose {
    ox_transposed shape;
    const void *weights; /* with input channels last, if all sessions share them so; or NULL */
    ox_gemm product;
    ox_gemm_plan plan;
    ox_scatter scatter;
} conv_transpose;

/* ---- Shapes ------------------------------------------------------------------------------------------------- */

static ox_status check_channels(ox_call *call, ox_transposed *c) {
    const ox_tensor *x = call->in[0], *w = call->in[1];
    int64_t channels;
    if (x->rank < 3 || w->rank != x->rank)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must have the same rank, at least 3", OX_INPUT(call, 0),
                            OX_INPUT(call, 1));
    for (int d = 0; d < x->rank; d++)
        if (!ox_window_fits(x->dims[d]) || !ox_window_fits(w->dims[d]))
            return ox_call_fail(call, OX_ERROR_LIMIT, "%s and %s are too large for this machine", OX_INPUT(call, 0),
                                OX_INPUT(call, 1));
    OX_TRY(ox_window_groups(call, 0, x->dims[1], &c->groups));
    if (x->dims[1] != w->dims[0])
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s has %lld channels, but %s takes %lld", OX_INPUT(call, 0),
                            (long long)x->dims[1], OX_INPUT(call, 1), (long long)w->dims[0]);
    if (!ox_mul_i64(w->dims[1], c->groups, &channels))
        return ox_call_fail(call, OX_ERROR_LIMIT, "%s: the number of output channels of %lld groups overflows",
                            OX_INPUT(call, 1), (long long)c->groups);
    c->images = x->dims[0];
    c->in_channels = ox_quotient(x->dims[1], c->groups);
    c->out_channels = w->dims[1];
    if (ox_call_given(call, 2) && (call->in[2]->rank != 1 || call->in[2]->dims[0] != channels))
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s: one value for each of the %lld output channels is expected",
                            OX_INPUT(call, 2), (long long)channels);
    return OX_OK;
}

/* Padding before the result, of `total` in all. */
static int64_t padding_before(const ox_call *call, ox_auto_pad auto_pad, int64_t total) {
    if (auto_pad == OX_PAD_UPPER)
        return total / 2;
    /* The first version splits what no SAME_... asks for the other way round. */
    return call->version < 11 && auto_pad != OX_PAD_LOWER ? total / 2 : total - total / 2;
}

/* The size of the result in dimension d, of `full` elements before padding is taken off; wanted: as output_shape says,
 * -1 for nothing. */
static ox_status result_size(ox_call *call, ox_window *w, int d, int64_t full, int64_t wanted) {
    if (wanted < 0 && w->auto_pad >= OX_PAD_UPPER && !ox_mul_i64(w->out[d], w->stride[d], &wanted))
        return ox_call_fail(call, OX_ERROR_LIMIT, "spatial axis %d: the size of the output overflows", d);
    if (wanted >= 0) {
        const int64_t total = full > wanted ? full - wanted : 0;
        w->pad[d] = padding_before(call, w->auto_pad, total);
        w->end[d] = total - w->pad[d];
        w->in[d] = wanted;
        return OX_OK;
    }
    if (!ox_add_i64(full, -w->pad[d], &w->in[d]) || !ox_add_i64(w->in[d], -w->end[d], &w->in[d]) || w->in[d] < 0)
        return ox_call_fail(call, OX_ERROR_SHAPE,
                            "spatial axis %d: pads of %lld and %lld leave nothing of %lld elements", d,
                            (long long)w->pad[d], (long long)w->end[d], (long long)full);
    return OX_OK;
}

static ox_status transposed_sizes(ox_call *call, ox_window *w) {
    int64_t more[OX_WINDOW_DIMS], wanted[OX_WINDOW_DIMS];
    OX_TRY(ox_window_list(call, "output_padding", w->spatial, 0, 0, more));
    OX_TRY(ox_window_list(call, "output_shape", w->spatial, 0, -1, wanted));
    for (int d = 0; d < w->spatial; d++) {
        int64_t reach, full;
        w->out[d] = call->in[0]->dims[d + 2];
        OX_TRY(ox_window_reach(call, w, d, &reach));
        if (!ox_mul_i64(w->out[d] - 1, w->stride[d], &full) || !ox_add_i64(full, more[d], &full) ||
            !ox_add_i64(full, reach, &full) || full > INT64_MAX / 4)
            return ox_call_fail(call, OX_ERROR_LIMIT, "spatial axis %d: the size of the output overflows", d);
        OX_TRY(result_size(call, w, d, full, wanted[d]));
    }
    return ox_window_count(call, w);
}

ox_status ox_transposed_geometry(ox_call *call, ox_transposed *c) {
    OX_TRY(check_channels(call, c));
    OX_TRY(ox_window_read(call, &c->window));
    OX_TRY(ox_window_weights(call, &c->window, 1));
    return transposed_sizes(call, &c->window);
}

ox_status ox_transposed_infer(ox_call *call, ox_dtype dtype) {
    ox_transposed c = {0};
    int64_t room[OX_WINDOW_LISTS * OX_WINDOW_DIMS] = {0};
    ox_window_place(&c.window, ox_window_spatial(call->in[0]), room);
    OX_TRY(ox_transposed_geometry(call, &c));
    int64_t dims[OX_MAX_RANK] = {c.images, c.out_channels * c.groups};
    memcpy(dims + 2, c.window.in, (size_t)c.window.spatial * sizeof *dims);
    return ox_call_output(call, 0, dtype, c.window.spatial + 2, dims);
}

ox_status ox_infer_conv_transpose(ox_call *call) {
    OX_TRY(ox_call_check_dtype(call, 0, OX_SET_FLOAT));
    OX_TRY(ox_call_check_same(call, 0, 2));
    return ox_transposed_infer(call, call->in[0]->dtype);
}

/* ---- Preparing ---------------------------------------------------------------------------------------------- */

/* The product reads weights with their input channels last. Those that are constants are laid out so once. */
static ox_status share_weights(ox_call *call, conv_transpose *c) {
    ox_gemm *g = &c->product;
    const ox_dtype dtype = call->in[1]->dtype;
    const int64_t width = (int64_t)ox_dtype_size(dtype), dims[] = {c->shape.groups, g->m, g->k},
                  strides[] = {g->k * g->m * width, width, g->m * width};
    if (!(call->weights >> 1 & 1) || ox_dtype_compute(dtype) != dtype || g->m < 2 || g->n < 2 || !g->k)
        return OX_OK;
    const ox_tensor from = {dtype, 3, dims, strides, call->in[1]->data};
    OX_TRY(ox_packed_once(call->store, call->loops, &from, &c->weights, call->error));
    if (c->weights)
        g->a.row = g->k * width, g->a.col = width;
    return OX_OK;
}

/* Columns of one image and group: a row for each output channel and tap, a column for each element of the image. */
static ox_status describe_product(ox_call *call, conv_transpose *c) {
    const ox_dtype dtype = ox_dtype_compute(call->in[0]->dtype);
    const int64_t width = (int64_t)ox_dtype_size(dtype);
    ox_gemm *g = &c->product;
    int64_t count;
    *g = (ox_gemm){.n = c->shape.window.out_count, .k = c->shape.in_channels};
    if (!ox_mul_i64(c->shape.out_channels, c->shape.window.taps, &g->m) || !ox_mul_i64(g->m, g->n, &count))
        return ox_call_fail(call, OX_ERROR_LIMIT, "%s and %s: the size of their product overflows", OX_INPUT(call, 0),
                            OX_INPUT(call, 1));
    g->a = (ox_gemm_matrix){dtype, NULL, width, g->m * width};
    g->b = (ox_gemm_matrix){dtype, NULL, g->n * width, width};
    g->c_row = g->n * width;
    OX_TRY(share_weights(call, c));
    OX_TRY(ox_workspace_add(call, count, (size_t)width));
    OX_TRY(ox_scatter_plan(call, &c->scatter, &c->shape.window, dtype, c->shape.out_channels));
    ox_call_name(call, "scattered product, channels first");
    return count ? ox_gemm_prepare(call, g, 1, &c->plan) : OX_OK;
}

ox_status ox_prepare_conv_transpose(ox_call *call) {
    conv_transpose *c = ox_window_state(call, sizeof *c, call->in[0]->rank - 2);
    if (!c)
        return OX_ERROR_MEMORY;
    OX_TRY(ox_transposed_geometry(call, &c->shape));
    for (int i = 0; i < 2 + ox_call_given(call, 2); i++)
        OX_TRY(ox_dense_plan(call, call->in[i]));
    OX_TRY(ox_dense_plan_out(call, ox_tensor_count(call->out[0])));
    return describe_product(call, c);
}

/* ---- Run ---------------------------------------------------------------------------------------------------- */

/* An ox_gemm_place_fn, of the one product that is there. */
static void place(const void *places, int64_t i, ox_gemm *g) {
    (void)places, (void)i, (void)g;
}

ox_status ox_run_conv_transpose(ox_call *call) {
    const conv_transpose *c = call->state;
    const int64_t count = ox_tensor_count(call->out[0]);
    size_t used = 0;
    const ox_tensor x = ox_dense_in(call, &used, call->in[0]), w = ox_dense_in(call, &used, call->in[1]);
    const int64_t width = (int64_t)ox_dtype_size(x.dtype);
    const char *bias = ox_call_given(call, 2) ? ox_dense_in(call, &used, call->in[2]).data : NULL;
    char *result = ox_dense_out(call, &used, count);
    ox_gemm g = c->product;
    g.c = ox_workspace_take(call, &used, g.m * g.n, (size_t)width);
    ox_scatter s = c->scatter;
    s.columns = g.c;
    ox_scatter_take(call, &used, &s);
    void *workspace = g.m && g.n ? ox_gemm_take(call, &used, &c->plan) : NULL;
    for (int64_t i = 0; i < c->shape.images * c->shape.groups && !ox_pool_poll(call->pool); i++) {
        const int64_t group = ox_remainder(i, c->shape.groups);
        if (workspace) {
            g.a.data = (const char *)(c->weights ? c->weights : w.data) + group * g.k * g.m * width;
            g.b.data = (const char *)x.data + i * g.k * g.n * width;
            ox_gemm_run(&c->plan, &g, 1, place, NULL, workspace);
        }
        s.bias = bias ? bias + group * c->shape.out_channels * width : NULL;
        s.to = result + i * c->shape.out_channels * c->shape.window.in_count * width;
        ox_scatter_run(&s);
    }
    ox_dense_store(call, count, result);
    return OX_OK;
}
