/* conv.c: Conv, as a matrix product per image and group: the weights times the columns of input elements that each
 * output element sees. The columns are made panel by panel, so that they never exist as a whole. */
#include "ops/dense.h"
#include "ops/elementwise.h"
#include "conv.h"

#include <math.h>
#include <string.h>

enum {
    WASTE = 8 /* a part so large of a product is worth gathering images for */
};

/* ---- Shapes ------------------------------------------------------------------------------------------------- */

static ox_status conv_channels(ox_call *call, ox_conv *c, int weights, int bias) {
    const ox_tensor *x = call->in[0], *w = call->in[weights];
    c->groups = ox_call_int(call, "group", 1);
    if (x->rank < 3 || w->rank != x->rank)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must have the same rank, at least 3", OX_INPUT(call, 0),
                            OX_INPUT(call, weights));
    for (int d = 0; d < x->rank; d++)
        if (!ox_window_fits(x->dims[d]) || !ox_window_fits(w->dims[d]))
            return ox_call_fail(call, OX_ERROR_LIMIT, "%s and %s are too large for this machine", OX_INPUT(call, 0),
                                OX_INPUT(call, weights));
    int64_t channels;
    if (c->groups < 1 || !ox_window_fits(c->groups) || ox_remainder(w->dims[0], c->groups) ||
        !ox_mul_i64(w->dims[1], c->groups, &channels) || channels != x->dims[1])
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s: %lld group%s of %lld channels cannot be",
                            OX_INPUT(call, 0), OX_INPUT(call, weights), (long long)c->groups, c->groups == 1 ? "" : "s",
                            (long long)w->dims[1]);
    c->images = x->dims[0];
    c->in_channels = w->dims[1];
    c->out_channels = ox_quotient(w->dims[0], c->groups);
    if (!ox_call_given(call, bias))
        return OX_OK;
    const ox_tensor *b = call->in[bias];
    if (b->rank != 1 || b->dims[0] != w->dims[0])
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s: one value for each of %lld output channels is expected",
                            OX_INPUT(call, bias), (long long)w->dims[0]);
    return OX_OK;
}

ox_status ox_conv_describe(ox_call *call, ox_conv *c, int weights, int bias) {
    ox_window *w = &c->window;
    int64_t k;
    OX_TRY(conv_channels(call, c, weights, bias));
    OX_TRY(ox_window_image(call, w));
    OX_TRY(ox_window_read(call, w));
    OX_TRY(ox_window_weights(call, w, weights));
    OX_TRY(ox_window_slide(call, w, false));
    c->pointwise = true;
    for (int d = 0; d < w->spatial; d++)
        c->pointwise = c->pointwise && w->kernel[d] == 1 && w->stride[d] == 1 && !w->pad[d] && w->out[d] == w->in[d];
    if (!ox_mul_i64(w->taps, c->in_channels, &k))
        return ox_call_fail(call, OX_ERROR_LIMIT, "%s and %s: sizes overflow", OX_INPUT(call, 0),
                            OX_INPUT(call, weights));
    return OX_OK;
}

ox_status ox_conv_infer(ox_call *call, int weights, int bias, ox_dtype dtype) {
    ox_conv c = {0};
    int64_t room[OX_WINDOW_LISTS * OX_WINDOW_DIMS] = {0};
    ox_window_place(&c.window, ox_window_spatial(call->in[0]), room);
    OX_TRY(ox_conv_describe(call, &c, weights, bias));
    int64_t dims[OX_MAX_RANK] = {c.images, c.out_channels * c.groups};
    memcpy(dims + 2, c.window.out, (size_t)c.window.spatial * sizeof *dims);
    return ox_call_output(call, 0, dtype, c.window.spatial + 2, dims);
}

ox_status ox_infer_conv(ox_call *call) {
    OX_TRY(ox_call_check_dtype(call, 0, OX_SET_FLOAT));
    OX_TRY(ox_call_check_same(call, 0, 2));
    return ox_conv_infer(call, 1, 2, call->in[0]->dtype);
}

/* ---- Run ---------------------------------------------------------------------------------------------------- */

void ox_conv_add_bias(const ox_gemm *g, const ox_gemm_block *block) {
    const ox_conv *c = g->context;
    const int64_t width = (int64_t)ox_dtype_size(g->b.dtype), step[] = {width, width, 0};
    for (int64_t i = 0; i < block->rows; i++) {
        int64_t row = block->row + i;
        char *out = ox_gemm_out(g, block, i, width);
        char *bias = (char *)(uintptr_t)g->extra + row * width;
        c->add->fn[g->b.dtype](block->columns, (char *const[]){out, block->data + i * block->data_row, bias}, step,
                               NULL);
    }
}

static bool is_direct_first(const ox_call *call, const ox_conv *c) {
    return ox_dtype_compute(call->in[0]->dtype) == OX_FLOAT && !ox_call_is_plain(call) && ox_conv_has_few(c);
}

/* True if the bias is not left to the epilogue. */
static bool adds_bias(const ox_call *call, const ox_conv *c) {
    return ox_call_given(call, 2) && (!call->epilogue || is_direct_first(call, c));
}

/* The same in an epilogue: the bias broadcasts as [channels, 1, ...]. */
ox_reg ox_emit_conv(ox_call *call, ox_pass_builder *builder, ox_reg sums) {
    ox_conv c = {0};
    int64_t room[OX_WINDOW_LISTS * OX_WINDOW_DIMS] = {0};
    ox_window_place(&c.window, ox_window_spatial(call->in[0]), room);
    if (!ox_call_given(call, 2) || (!ox_conv_describe(call, &c, 1, 2) && is_direct_first(call, &c)))
        return sums;
    const int rank = call->out[0]->rank - 1;
    int64_t *dims = ox_pile_array(call->pile, 2 * (size_t)rank, sizeof *dims);
    if (!dims)
        return -1;
    for (int d = 0; d < rank; d++)
        dims[d] = d ? 1 : call->in[2]->dims[0];
    ox_tensor shape = {call->in[2]->dtype, rank, dims, dims + rank, NULL};
    ox_tensor_strides(call->in[2], dims + rank);
    ox_reg bias = ox_pass_load(builder, call->in[2], &shape);
    return ox_elementwise_apply(builder, OX_LANES_Add, NULL, OX_UNDEFINED, 2, (const ox_reg[]){sums, bias});
}

/* Where the operands are, and the bytes from one group to the next. */
typedef struct conv_places {
    int64_t groups;
    const void *x, *w, *extra;
    int64_t x_step, w_step, extra_step;
} conv_places;

/* An ox_gemm_place_fn: a product for each image and group. */
static void place(const void *places, int64_t i, ox_gemm *g) {
    const conv_places *p = places;
    int64_t group = ox_remainder(i, p->groups);
    g->a.data = ox_conv_offset(p->w, group * p->w_step);
    g->b.data = ox_conv_offset(p->x, i * p->x_step);
    g->extra = ox_conv_offset(p->extra, group * p->extra_step);
}

/* Of images without elements, the other dimensions may be as large as they like: nothing is read by such a step. */
static int64_t step_of(int64_t count, int64_t width) {
    return (int64_t)((uint64_t)count * (uint64_t)width);
}

/* An ox_gemm_panel_fn. */
static void lay_columns(const ox_gemm *g, int64_t row, int64_t rows, int64_t column, int64_t columns, char *panel,
                        int64_t panel_row, char *stage) {
    const ox_conv *c = g->context;
    const ox_conv_source from = ox_conv_source_of(ox_gemm_loops(&c->plan), g->b.data, g->b.dtype, 0);
    (void)stage;
    ox_conv_columns(c, &from, row, rows, column, columns, panel, panel_row);
}

ox_gemm ox_conv_product(const ox_conv *c, ox_dtype dtype) {
    const int64_t width = (int64_t)ox_dtype_size(dtype);
    ox_gemm g = {
        .m = c->out_channels, .n = c->window.out_count, .k = c->in_channels * c->window.taps, .left_is_weights = true};
    g.a = (ox_gemm_matrix){dtype, NULL, step_of(g.k, width), width};
    g.b = (ox_gemm_matrix){dtype, NULL, step_of(c->window.in_count, width), width};
    g.c_row = step_of(g.n, width);
    g.panel = c->pointwise ? NULL : lay_columns;
    g.context = c;
    return g;
}

static int64_t product_count(const ox_conv *c) {
    return (ox_conv_sides(c) ? 1 : ox_conv_together(c)) * c->groups;
}

void ox_conv_run(const ox_conv *c, const ox_gemm *g, const void *x, const void *weights, const void *extra,
                 int64_t extra_size, void *workspace) {
    const int64_t width = (int64_t)ox_dtype_size(g->b.dtype);
    const conv_places places = {.groups = c->groups,
                                .x = x,
                                .w = weights,
                                .extra = extra,
                                .x_step = step_of(step_of(c->in_channels, c->window.in_count), width),
                                .w_step = step_of(step_of(g->m, g->k), width),
                                .extra_step = g->m * extra_size};
    ox_gemm_run(&c->plan, g, product_count(c), place, &places, workspace);
}

/* The product, with what becomes of its sums. */
static ox_gemm float_product(const ox_call *call, const ox_conv *c, const void *bias) {
    ox_gemm g = ox_conv_product(c, ox_dtype_compute(call->in[0]->dtype));
    if (adds_bias(call, c) && !ox_gemm_add_to_rows(call->loops, bias, c->out_channels * c->groups, &g))
        g.end = ox_conv_add_bias;
    g.epilogue = call->epilogue;
    g.end_in_place = true;
    g.sides = ox_conv_sides(c);
    if (g.sides) {
        g.n *= c->images;
        g.panel = lay_columns;
    }
    if (ox_conv_is_rows(c))
        ox_conv_rows_product(c, &g);
    return g;
}

/* One product for all images, if much of their tiles would be empty as images have so few columns. */
static void join_images(const ox_call *call, ox_conv *c) {
#if OX_SMALL
    (void)call, (void)c;
#else
    const int64_t columns = c->window.out_count,
                  unit = OX_BUILD_OF(call->loops, ox_gemm_builds)(call->in[0]->dtype)->unit;
    const int64_t empty = unit - 1 - ox_remainder(columns - 1, unit);
    if (!call->plain && c->images > 1 && columns > 0 && empty > ox_quotient(columns, WASTE))
        c->sides = (ox_gemm_sides){columns, c->out_channels * c->groups * columns};
#endif
}

/* Algorithms for floats that are not a product, where they take less time. */
static ox_status prepare_floats(ox_call *call, ox_conv *c) {
    const double beside = ox_conv_beside_steps(call, c);
    if (!is_direct_first(call, c))
        OX_TRY(ox_conv_winograd_prepare(call, c, beside));
    return ox_conv_is_winograd(c) ? OX_OK : ox_conv_direct_prepare(call, c, isfinite(beside));
}

ox_status ox_prepare_conv(ox_call *call) {
    ox_conv *c = ox_window_state(call, sizeof *c, call->in[0]->rank - 2);
    if (!c)
        return OX_ERROR_MEMORY;
    OX_TRY(ox_conv_describe(call, c, 1, 2));
    for (int i = 0; i < 2 + adds_bias(call, c); i++)
        OX_TRY(ox_dense_plan(call, call->in[i]));
    OX_TRY(ox_dense_plan_out(call, ox_tensor_count(call->out[0])));
    c->add = OX_BUILD_OF(call->loops, OX_LANES_Add);
    ox_call_name(call, ox_conv_algorithm(c));
    if (ox_dtype_compute(call->in[0]->dtype) == OX_FLOAT)
        OX_TRY(prepare_floats(call, c));
    if (ox_conv_is_direct(c) || ox_conv_is_winograd(c))
        return OX_OK;
    const ox_gemm as_columns = ox_conv_product(c, ox_dtype_compute(call->in[0]->dtype));
    OX_TRY(ox_conv_rows_prepare(call, c, &as_columns));
    if (!ox_conv_is_rows(c))
        join_images(call, c);
    const ox_gemm product = float_product(call, c, NULL);
    return ox_gemm_prepare(call, &product, product_count(c), &c->plan);
}

ox_status ox_run_conv(ox_call *call) {
    const ox_conv *c = call->state;
    const ox_tensor *out = call->out[0];
    int64_t count = ox_tensor_count(out);
    size_t used = 0;
    ox_tensor x = ox_dense_in(call, &used, call->in[0]), w = ox_dense_in(call, &used, call->in[1]), b = {0};
    if (adds_bias(call, c))
        b = ox_dense_in(call, &used, call->in[2]);
    ox_gemm g = float_product(call, c, b.data);
    g.c = ox_dense_out(call, &used, count);
    if (ox_conv_is_direct(c))
        ox_conv_direct_run(call, c, &used, x.data, w.data, b.data, g.c);
    else if (ox_conv_is_winograd(c))
        ox_conv_winograd_run(call, c, &used, x.data, b.data, g.c);
    else if (ox_conv_is_rows(c))
        ox_conv_rows_run(call, c, &g, &used, x.data, b.data);
    else
        ox_conv_run(c, &g, x.data, w.data, b.data, (int64_t)ox_dtype_size(x.dtype),
                    ox_gemm_take(call, &used, &c->plan));
    ox_dense_store(call, count, g.c);
    return OX_OK;
}
