/* conv_product.c: convolutions as a matrix product per image and group: the weights times the columns of input elements
 * that each output element sees. The columns are made panel by panel, so that they never exist as a whole. */
#include "ops/dense.h"
#include "conv.h"

enum {
    WASTE = 8 /* a part so large of a product is worth gathering images for */
};

/* ---- Products ----------------------------------------------------------------------------------------------- */

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
static void lay_columns(const ox_gemm *g, const ox_gemm_block *panel, char *stage) {
    const ox_conv *c = g->context;
    const ox_conv_source from = ox_conv_source_of(ox_gemm_loops(&c->plan), g->b.data, g->b.dtype, 0);
    (void)stage;
    ox_conv_columns(c, &from, panel);
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
    return (ox_conv_sides(c) ? 1 : c->images) * c->groups;
}

void ox_conv_run(const ox_conv *c, const ox_gemm *g, const void *x, const void *weights, const void *extra,
                 int64_t extra_size, void *workspace) {
    const int64_t width = (int64_t)ox_dtype_size(g->b.dtype), w_width = (int64_t)ox_dtype_size(g->a.dtype);
    const conv_places places = {.groups = c->groups,
                                .x = x,
                                .w = weights,
                                .extra = extra,
                                .x_step = step_of(step_of(c->in_channels, c->window.in_count), width),
                                .w_step = step_of(step_of(g->m, g->k), w_width),
                                .extra_step = g->m * extra_size};
    ox_gemm_run(&c->plan, g, product_count(c), place, &places, workspace);
}

/* ---- The way of floats --------------------------------------------------------------------------------------- */

ox_gemm ox_conv_float_product(const ox_call *call, const ox_conv *c, const void *bias) {
    ox_gemm g = ox_conv_product(c, ox_dtype_compute(call->in[0]->dtype));
#if !OX_SMALL /* devices widen weights as a whole */
    const ox_dtype dtype = call->in[c->weights]->dtype;
    g.a = (ox_gemm_matrix){dtype, NULL, step_of(g.k, (int64_t)ox_dtype_size(dtype)), (int64_t)ox_dtype_size(dtype)};
#endif
    OX_ASSERT(!c->adds_bias || !call->epilogue); /* which would take the place of what finishes sums */
    if (c->adds_bias && !ox_gemm_add_to_rows(call->loops, bias, c->out_channels * c->groups, &g))
        g.after.end = ox_conv_add_bias;
    g.after.epilogue = call->epilogue;
    g.after.in_place = true;
    return g;
}

/* The same, of the columns of all images, if these are one product. */
static ox_gemm columns_product(const ox_call *call, const ox_conv *c, const void *bias) {
    ox_gemm g = ox_conv_float_product(call, c, bias);
    g.sides = ox_conv_sides(c);
    if (g.sides) {
        g.n *= c->images;
        g.panel = lay_columns;
    }
    return g;
}

/* One product for all images, if much of their tiles would be empty as images have so few columns. */
static void join_images(const ox_call *call, ox_conv *c) {
#if OX_SMALL
    (void)call, (void)c;
#else
    const int64_t columns = c->window.out_count,
                  unit = ox_gemm_kernel_of(call->loops, call->in[0]->dtype, call->in[0]->dtype)->unit;
    const int64_t empty = unit - 1 - ox_remainder(columns - 1, unit);
    if (!call->plain && c->images > 1 && columns > 0 && empty > ox_quotient(columns, WASTE))
        c->sides = (ox_gemm_sides){columns, c->out_channels * c->groups * columns};
#endif
}

const char *ox_conv_product_algorithm(const ox_conv *c) {
    return c->pointwise ? "product, channels first" : "product of gathered columns, channels first";
}

static ox_status prepare(ox_call *call, ox_conv *c, bool *ready) {
    join_images(call, c);
    const ox_gemm product = columns_product(call, c, NULL);
    *ready = true;
    return ox_gemm_prepare(call, &product, product_count(c), &c->plan);
}

static void run(const ox_call *call, const ox_conv *c, size_t *used, const ox_conv_operands *of) {
    ox_gemm g = columns_product(call, c, of->bias);
    g.c = of->to;
    ox_conv_run(c, &g, of->x, of->weights, of->bias, (int64_t)ox_dtype_size(g.b.dtype),
                ox_gemm_take(call, used, &c->plan));
}

const ox_conv_way ox_conv_columns_way = {.name = "columns",
                                         .lays_weights = !OX_SMALL,
                                         .algorithm = ox_conv_product_algorithm,
                                         .prepare = prepare,
                                         .run = run};
