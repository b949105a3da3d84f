/* conv.c: Conv, as a matrix product per image and group: the weights times the columns of input elements that each
 * output element sees. The columns are made panel by panel, so that they never exist as a whole. */
#include "dense.h"
#include "elementwise.h"
#include "gemm.h"

#include <string.h>

enum {
    CONV_SPATIAL = OX_MAX_RANK - 2,
    CONV_COLUMNS = OX_SMALL ? 1 : 8 /* that are made together */
};

typedef struct conv {
    int spatial;
    int64_t images, groups;
    int64_t in_channels, out_channels; /* per group */
    int64_t taps, in_count, out_count; /* elements of a kernel, an input and an output channel */
    bool pointwise;                    /* every output element sees one input element, in order */
    ox_gemm_plan plan;
    const ox_lanes *add;                    /* the bias */
    const int64_t *in, *kernel;             /* `spatial` dims of the operands */
    int64_t *out, *stride, *dilation, *pad; /* `spatial` entries each; pad: at the start */
} conv;

enum {
    CONV_LISTS = 4 /* of those */
};

static void conv_place_lists(conv *c, int spatial, int64_t *room) {
    int64_t **const lists[CONV_LISTS] = {&c->out, &c->stride, &c->dilation, &c->pad};
    c->spatial = spatial;
    for (int i = 0; i < CONV_LISTS; i++)
        *lists[i] = room + i * spatial;
}

/* ---- Shapes ------------------------------------------------------------------------------------------------- */

/* Sizes that memory has room for are divided as such: devices take a library for 64 bits. Only what is empty can have
 * others. */
static bool has_room(int64_t value) {
    return value >= 0 && (uint64_t)value <= SIZE_MAX / 2;
}
static int64_t quotient(int64_t a, int64_t b) {
    return (int64_t)((size_t)a / (size_t)b);
}
static int64_t remainder_of(int64_t a, int64_t b) {
    return (int64_t)((size_t)a % (size_t)b);
}

/* A list attribute with `count` values of at least `least`, or `otherwise` for each. */
static ox_status conv_list(ox_call *call, const char *name, int count, int64_t least, int64_t otherwise,
                           int64_t *list) {
    size_t given;
    const int64_t *values = ox_call_ints(call, name, &given);
    for (int i = 0; i < count; i++)
        list[i] = otherwise;
    if (!given)
        return OX_OK;
    if (given != (size_t)count)
        return ox_call_fail(call, OX_ERROR_SHAPE, "attribute '%s' has %zu values, %d are expected", name, given, count);
    for (int i = 0; i < count; i++) {
        if (values[i] < least)
            return ox_call_fail(call, OX_ERROR_SHAPE, "attribute '%s' has the value %lld, at least %lld is expected",
                                name, (long long)values[i], (long long)least);
        if (!has_room(values[i]))
            return ox_call_fail(call, OX_ERROR_LIMIT, "attribute '%s' has the value %lld, too large for this machine",
                                name, (long long)values[i]);
        list[i] = values[i];
    }
    return OX_OK;
}

/* The output size and the padding at the start of one dimension. */
static ox_status conv_dim(ox_call *call, conv *c, int d, ox_string auto_pad, int64_t begin, int64_t end) {
    int64_t reach, padded, last;
    if (c->kernel[d] < 1 || !ox_mul_i64(c->kernel[d] - 1, c->dilation[d], &reach) || !ox_add_i64(reach, 1, &reach))
        return ox_call_fail(call, OX_ERROR_SHAPE, "spatial axis %d: no kernel of size %lld and dilation %lld", d,
                            (long long)c->kernel[d], (long long)c->dilation[d]);
    bool upper = ox_says(auto_pad, "SAME_UPPER"), lower = ox_says(auto_pad, "SAME_LOWER");
    if (upper || lower) {
        c->out[d] = quotient(c->in[d], c->stride[d]) + (remainder_of(c->in[d], c->stride[d]) != 0);
        if (!c->out[d])
            return OX_OK;
        /* (out - 1) * stride < in, so that only adding the kernel can overflow. */
        if (!ox_add_i64((c->out[d] - 1) * c->stride[d], reach, &last))
            return ox_call_fail(call, OX_ERROR_LIMIT, "spatial axis %d: the padding overflows", d);
        int64_t pads = last > c->in[d] ? last - c->in[d] : 0;
        c->pad[d] = upper ? pads / 2 : pads - pads / 2;
        return OX_OK;
    }
    if (!ox_add_i64(c->in[d], begin, &padded) || !ox_add_i64(padded, end, &padded) || !has_room(padded))
        return ox_call_fail(call, OX_ERROR_LIMIT, "spatial axis %d: the padding overflows", d);
    if (padded < reach)
        return ox_call_fail(call, OX_ERROR_SHAPE,
                            "spatial axis %d: the kernel reaches over %lld elements, the padded "
                            "input has %lld",
                            d, (long long)reach, (long long)padded);
    c->pad[d] = begin;
    c->out[d] = quotient(padded - reach, c->stride[d]) + 1;
    return OX_OK;
}

static ox_status conv_channels(ox_call *call, conv *c) {
    const ox_tensor *x = call->in[0], *w = call->in[1];
    c->groups = ox_call_int(call, "group", 1);
    if (x->rank < 3 || w->rank != x->rank)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must have the same rank, at least 3", OX_INPUT(call, 0),
                            OX_INPUT(call, 1));
    for (int d = 0; d < x->rank; d++)
        if (!has_room(x->dims[d]) || !has_room(w->dims[d]))
            return ox_call_fail(call, OX_ERROR_LIMIT, "%s and %s are too large for this machine", OX_INPUT(call, 0),
                                OX_INPUT(call, 1));
    int64_t channels;
    if (c->groups < 1 || !has_room(c->groups) || remainder_of(w->dims[0], c->groups) ||
        !ox_mul_i64(w->dims[1], c->groups, &channels) || channels != x->dims[1])
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s: %lld group%s of %lld channels cannot be",
                            OX_INPUT(call, 0), OX_INPUT(call, 1), (long long)c->groups, c->groups == 1 ? "" : "s",
                            (long long)w->dims[1]);
    c->images = x->dims[0];
    c->in_channels = w->dims[1];
    c->out_channels = quotient(w->dims[0], c->groups);
    if (!ox_call_given(call, 2))
        return OX_OK;
    const ox_tensor *b = call->in[2];
    if (b->rank != 1 || b->dims[0] != w->dims[0])
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s: one value for each of %lld output channels is expected",
                            OX_INPUT(call, 2), (long long)w->dims[0]);
    return OX_OK;
}

static ox_status conv_spatial(ox_call *call, conv *c) {
    const ox_tensor *x = call->in[0], *w = call->in[1];
    ox_string auto_pad = ox_call_string(call, "auto_pad", "NOTSET");
    int64_t pads[2 * CONV_SPATIAL], shape[CONV_SPATIAL];
    bool valid = ox_says(auto_pad, "VALID"), notset = ox_says(auto_pad, "NOTSET");
    if (!valid && !notset && !ox_says(auto_pad, "SAME_UPPER") && !ox_says(auto_pad, "SAME_LOWER"))
        return ox_call_fail(call, OX_ERROR_MODEL,
                            "attribute 'auto_pad' must be NOTSET, VALID, SAME_UPPER or SAME_LOWER, not '%.*s'",
                            OX_SHORT(auto_pad));
    const int spatial = c->spatial;
    OX_TRY(conv_list(call, "kernel_shape", spatial, 0, -1, shape));
    OX_TRY(conv_list(call, "strides", spatial, 1, 1, c->stride));
    OX_TRY(conv_list(call, "dilations", spatial, 1, 1, c->dilation));
    OX_TRY(conv_list(call, "pads", 2 * spatial, 0, 0, pads));
    c->pointwise = true;
    c->in = x->dims + 2;
    c->kernel = w->dims + 2;
    for (int d = 0; d < spatial; d++) {
        if (shape[d] >= 0 && shape[d] != c->kernel[d])
            return ox_call_fail(call, OX_ERROR_SHAPE, "kernel_shape %s does not fit %s", OX_DIMS(spatial, shape),
                                OX_INPUT(call, 1));
        OX_TRY(conv_dim(call, c, d, auto_pad, notset ? pads[d] : 0, notset ? pads[spatial + d] : 0));
        c->pointwise = c->pointwise && c->kernel[d] == 1 && c->stride[d] == 1 && !c->pad[d] && c->out[d] == c->in[d];
    }
    return OX_OK;
}

static ox_status conv_geometry(ox_call *call, conv *c) {
    OX_TRY(conv_channels(call, c));
    OX_TRY(conv_spatial(call, c));
    c->taps = ox_count(c->spatial, c->kernel);
    c->in_count = ox_count(c->spatial, c->in);
    c->out_count = ox_count(c->spatial, c->out);
    int64_t k, bytes;
    if (c->taps < 0 || c->in_count < 0 || c->out_count < 0 || !ox_mul_i64(c->taps, c->in_channels, &k) ||
        !ox_mul_i64(c->in_count, (int64_t)sizeof(double), &bytes))
        return ox_call_fail(call, OX_ERROR_LIMIT, "%s and %s: sizes overflow", OX_INPUT(call, 0), OX_INPUT(call, 1));
    return OX_OK;
}

ox_status ox_infer_conv(ox_call *call) {
    conv c = {0};
    int64_t room[CONV_LISTS * CONV_SPATIAL] = {0};
    conv_place_lists(&c, call->in[0]->rank < 3 ? 0 : call->in[0]->rank - 2, room);
    OX_TRY(ox_call_check_dtype(call, 0, OX_SET_FLOAT));
    OX_TRY(ox_call_check_same(call, 0, 2));
    OX_TRY(conv_geometry(call, &c));
    int64_t dims[OX_MAX_RANK] = {c.images, c.out_channels * c.groups};
    memcpy(dims + 2, c.out, (size_t)c.spatial * sizeof *dims);
    return ox_call_output(call, 0, call->in[0]->dtype, c.spatial + 2, dims);
}

/* ---- Columns ------------------------------------------------------------------------------------------------ */

/* Counts an index of `rank` dimensions up by one. */
static void advance(int rank, const int64_t *dims, int64_t *index) {
    for (int d = rank; d-- > 0;) {
        if (++index[d] < dims[d])
            return;
        index[d] = 0;
    }
}

static void unravel(int rank, const int64_t *dims, int64_t i, int64_t *index) {
    for (int d = rank; d-- > 0; i = quotient(i, dims[d]))
        index[d] = remainder_of(i, dims[d]);
}

/* For each column, where the kernel starts in the input. */
static void find_corners(const conv *c, int64_t column, int64_t columns, int64_t *corner) {
    int64_t index[CONV_SPATIAL];
    unravel(c->spatial, c->out, column, index);
    for (int64_t j = 0; j < columns; j++) {
        for (int d = 0; d < c->spatial; d++)
            *corner++ = index[d] * c->stride[d] - c->pad[d];
        advance(c->spatial, c->out, index);
    }
}

/* The element of an input channel that one tap of the kernel sees from a corner, -1 in the padding. */
static int64_t seen(const conv *c, const int64_t *corner, const int64_t *tap) {
    int64_t at = 0;
    for (int d = 0; d < c->spatial; d++) {
        int64_t i = corner[d] + tap[d] * c->dilation[d];
        if (i < 0 || i >= c->in[d])
            return -1;
        at = at * c->in[d] + i;
    }
    return at;
}

#define COPY_SEEN(type)                                                                                                \
    for (int64_t j = 0; j < columns; j++)                                                                              \
        if (at[j] >= 0)                                                                                                \
    OX_AT(type, row + j * (int64_t)sizeof(type)) = OX_GET(type, channel + at[j] * (int64_t)sizeof(type))

static void copy_seen(size_t width, const char *channel, const int64_t *at, int64_t columns, char *row) {
    if (width == sizeof(float)) {
        COPY_SEEN(ox_u32);
    } else {
        COPY_SEEN(ox_u64);
    }
}

/* True if all of CONV_COLUMNS columns see neighbours, none of them in the padding. */
static bool is_run(const int64_t *at, int64_t columns) {
    if (columns != CONV_COLUMNS || at[0] < 0)
        return false;
    for (int64_t j = 1; j < columns; j++)
        if (at[j] != at[0] + j)
            return false;
    return true;
}

/* Some columns of a panel: row k of the matrix is tap k % taps of channel k / taps. Rows of the same tap come together.
 */
static void conv_columns(const ox_gemm *g, int64_t row, int64_t rows, int64_t column, int64_t columns, char *to,
                         int64_t to_row) {
    const conv *c = g->context;
    const int64_t width = (int64_t)ox_dtype_size(g->b.dtype);
    int64_t corner[CONV_COLUMNS * CONV_SPATIAL], tap[CONV_SPATIAL], at[CONV_COLUMNS];
    find_corners(c, column, columns, corner);
    unravel(c->spatial, c->kernel, remainder_of(row, c->taps), tap);
    for (int64_t first = 0; first < rows && first < c->taps; first++, advance(c->spatial, c->kernel, tap)) {
        for (int64_t j = 0; j < columns; j++)
            at[j] = seen(c, corner + j * c->spatial, tap);
        bool run = is_run(at, columns);
        for (int64_t r = first; r < rows; r += c->taps) {
            const char *channel = (const char *)g->b.data + quotient(row + r, c->taps) * c->in_count * width;
            if (run)
                memcpy(to + r * to_row, channel + at[0] * width, (size_t)(CONV_COLUMNS * width));
            else
                copy_seen((size_t)width, channel, at, columns, to + r * to_row);
        }
    }
}

/* An ox_gemm_panel_fn. */
static void conv_panel(const ox_gemm *g, int64_t row, int64_t rows, int64_t column, int64_t columns, char *panel,
                       int64_t panel_row) {
    const int64_t width = (int64_t)ox_dtype_size(g->b.dtype);
    for (int64_t j = 0; j < columns; j += CONV_COLUMNS)
        conv_columns(g, row, rows, column + j, columns - j < CONV_COLUMNS ? columns - j : CONV_COLUMNS,
                     panel + j * width, panel_row);
}

/* ---- Run ---------------------------------------------------------------------------------------------------- */

/* An ox_gemm_end_fn. */
static void add_bias(const ox_gemm *g, const ox_gemm_block *block) {
    const conv *c = g->context;
    const int64_t width = (int64_t)ox_dtype_size(g->b.dtype), step[] = {width, width, 0};
    for (int64_t i = 0; i < block->rows; i++) {
        int64_t row = block->row + i;
        char *out = ox_gemm_out(g, block, i, width);
        char *bias = (char *)(uintptr_t)g->extra + row * width;
        c->add->fn[g->b.dtype](block->columns, (char *const[]){out, block->data + i * block->data_row, bias}, step,
                               NULL);
    }
}

/* The same in an epilogue: the bias broadcasts as [channels, 1, ...]. */
ox_reg ox_emit_conv(ox_call *call, ox_pass_builder *builder, ox_reg sums) {
    if (!ox_call_given(call, 2))
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

/* An address inside a tensor; one without elements may have none. */
static const char *offset(const void *base, int64_t bytes) {
    return base && bytes ? (const char *)base + bytes : base;
}

/* True if the bias is not left to the epilogue. */
static bool adds_bias(const ox_call *call) {
    return ox_call_given(call, 2) && !call->epilogue;
}

/* Where the operands are, and the bytes from one group to the next. */
typedef struct conv_places {
    int64_t groups;
    const void *x, *w, *bias;
    int64_t x_step, w_step, bias_step;
} conv_places;

/* An ox_gemm_place_fn: a product for each image and group. */
static void place(const void *places, int64_t i, ox_gemm *g) {
    const conv_places *p = places;
    int64_t group = remainder_of(i, p->groups);
    g->a.data = offset(p->w, group * p->w_step);
    g->b.data = offset(p->x, i * p->x_step);
    g->extra = offset(p->bias, group * p->bias_step);
}

static ox_gemm conv_product(const ox_call *call, const conv *c) {
    const ox_dtype dtype = ox_dtype_compute(call->in[0]->dtype);
    const int64_t width = (int64_t)ox_dtype_size(dtype);
    ox_gemm g = {.m = c->out_channels, .n = c->out_count, .k = c->in_channels * c->taps};
    g.a = (ox_gemm_matrix){dtype, NULL, g.k * width, width};
    g.b = (ox_gemm_matrix){dtype, NULL, c->in_count * width, width};
    g.c_row = g.n * width;
    g.panel = c->pointwise ? NULL : conv_panel;
    g.end = adds_bias(call) ? add_bias : NULL;
    g.epilogue = call->epilogue;
    g.over = true;
    g.context = c;
    return g;
}

ox_status ox_prepare_conv(ox_call *call) {
    const int spatial = call->in[0]->rank - 2;
    conv *c = ox_call_state(call, sizeof *c + CONV_LISTS * (size_t)spatial * sizeof *c->in);
    if (!c)
        return OX_ERROR_MEMORY;
    conv_place_lists(c, spatial, (int64_t *)(void *)(c + 1));
    OX_TRY(conv_geometry(call, c));
    if (ox_tensor_count(call->out[0]) == 0)
        return OX_OK;
    for (int i = 0; i < 2 + adds_bias(call); i++)
        OX_TRY(ox_dense_plan(call, call->in[i]));
    OX_TRY(ox_dense_plan_out(call, ox_tensor_count(call->out[0])));
    c->add = OX_BUILD_OF(call->loops, OX_LANES_Add);
    const ox_gemm product = conv_product(call, c);
    return ox_gemm_prepare(call, &product, c->images * c->groups, &c->plan);
}

ox_status ox_run_conv(ox_call *call) {
    const conv *c = call->state;
    const ox_tensor *out = call->out[0];
    int64_t count = ox_tensor_count(out);
    size_t used = 0;
    if (count == 0)
        return OX_OK;
    ox_tensor x = ox_dense_in(call, &used, call->in[0]), w = ox_dense_in(call, &used, call->in[1]), b = {0};
    ox_gemm g = conv_product(call, c);
    if (g.end)
        b = ox_dense_in(call, &used, call->in[2]);
    g.c = ox_dense_out(call, &used, count);
    const int64_t width = (int64_t)ox_dtype_size(x.dtype);
    conv_places places = {c->groups, x.data, w.data, b.data, 0, 0, 0};
    places.x_step = c->in_channels * c->in_count * width;
    places.w_step = g.m * g.k * width;
    places.bias_step = g.m * width;
    ox_gemm_run(&c->plan, &g, c->images * c->groups, place, &places, ox_gemm_take(call, &used, &c->plan));
    ox_dense_store(call, count, g.c);
    return OX_OK;
}
