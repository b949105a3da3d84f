/* conv.c: Conv, and the choice among the ways to compute a convolution. */
#include "ops/dense.h"
#include "ops/elementwise.h"
#include "conv.h"

#include <string.h>

enum {
    WEIGHTS = 1,
    BIAS = 2
};

/* ---- Shapes ------------------------------------------------------------------------------------------------- */

static ox_status conv_channels(ox_call *call, ox_conv *c, int weights, int bias) {
    const ox_tensor *x = call->in[0], *w = call->in[weights];
    if (x->rank < 3 || w->rank != x->rank)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must have the same rank, at least 3", OX_INPUT(call, 0),
                            OX_INPUT(call, weights));
    for (int d = 0; d < x->rank; d++)
        if (!ox_window_fits(x->dims[d]) || !ox_window_fits(w->dims[d]))
            return ox_call_fail(call, OX_ERROR_LIMIT, "%s and %s are too large for this machine", OX_INPUT(call, 0),
                                OX_INPUT(call, weights));
    int64_t channels;
    OX_TRY(ox_window_groups(call, weights, w->dims[0], &c->groups));
    if (!ox_mul_i64(w->dims[1], c->groups, &channels) || channels != x->dims[1])
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s has %lld channels, but %s takes %lld for each of %lld group%s",
                            OX_INPUT(call, 0), (long long)x->dims[1], OX_INPUT(call, weights), (long long)w->dims[1],
                            (long long)c->groups, c->groups == 1 ? "" : "s");
    c->images = x->dims[0];
    c->in_channels = w->dims[1];
    c->out_channels = ox_quotient(w->dims[0], c->groups);
    if (!ox_call_given(call, bias))
        return OX_OK;
    const ox_tensor *b = call->in[bias];
    if (b->rank != 1 || b->dims[0] != w->dims[0])
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s: one value for each of the %lld output channels is expected",
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
    c->weights = weights;
    c->pointwise = true;
    for (int d = 0; d < w->spatial; d++)
        c->pointwise = c->pointwise && w->kernel[d] == 1 && w->stride[d] == 1 && !w->pad[d] && w->out[d] == w->in[d];
    if (!ox_mul_i64(w->taps, c->in_channels, &k))
        return ox_call_fail(call, OX_ERROR_LIMIT, "%s: the number of weights of an output channel overflows",
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
    return ox_conv_infer(call, WEIGHTS, BIAS, call->in[0]->dtype);
}

/* ---- Ways --------------------------------------------------------------------------------------------------- */

static const ox_conv_way *const ways[] = {
#if OX_SMALL && OX_WITH_DEPTH
    &ox_conv_depth_way,
#elif !OX_SMALL
    &ox_conv_winograd_way, &ox_conv_beside_way, &ox_conv_direct_way, &ox_conv_rows_way,
#endif
    &ox_conv_columns_way};

enum {
    WAYS = sizeof ways / sizeof *ways
};

/* Prepares a way if it can be taken, and is to be, or costs less than those behind it. */
static ox_status try_way(ox_call *call, ox_conv *c, const ox_conv_way *way, bool is_forced, bool *taken) {
    double cost = 0;
    if (way->can && !way->can(call, c))
        return OX_OK;
    if (way->cost)
        OX_TRY(way->cost(call, c, &cost));
    if (OX_SMALL || cost < 1 || is_forced) /* devices take the first that can */
        OX_TRY(way->prepare(call, c, taken));
    if (*taken)
        c->way = way;
    return OX_OK;
}

/* Whether the environment asks for a way, and whether an option leaves it out; and says that it was taken. */
#if OX_SMALL
static ox_status check_forced(ox_call *call) {
    (void)call;
    return OX_OK;
}
static bool is_forced(const ox_call *call, const ox_conv_way *way) {
    (void)call, (void)way;
    return false;
}
static bool is_left_out(const ox_call *call, const ox_conv_way *way) {
    (void)call, (void)way;
    return false;
}
static void note_way(ox_call *call, const ox_conv *c) {
    (void)call, (void)c;
}
#else
static ox_status check_forced(ox_call *call) {
    static const char *const names[] = {"winograd", "beside", "direct", "rows", "columns", "words", "depth", "picks"};
    bool known = !call->conv || !*call->conv;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        known = known || !ox_text_order(call->conv, names[i]);
    return known ? OX_OK
                 : ox_call_fail(call, OX_ERROR_ARGUMENT,
                                "OX_CONV is '%.*s', which is not the name of a way of a convolution", 40, call->conv);
}
static bool is_forced(const ox_call *call, const ox_conv_way *way) {
    return call->conv && !ox_text_order(call->conv, way->name);
}
static bool is_left_out(const ox_call *call, const ox_conv_way *way) {
    return call->plain_products && way->sums & OX_CONV_TRANSFORMS;
}
static void note_way(ox_call *call, const ox_conv *c) {
    ox_call_name(call, c->way->algorithm(c));
    call->is_transformed = c->way->sums & OX_CONV_TRANSFORMS;
}
#endif

ox_status ox_conv_choose(ox_call *call, ox_conv *c, const ox_conv_way *const *of, int count) {
    const int first = ox_call_is_plain(call) ? count - 1 : 0;
    bool taken = false;
    OX_TRY(check_forced(call));
    for (int i = first; i < count && !taken; i++)
        if (is_forced(call, of[i]) && !is_left_out(call, of[i]))
            OX_TRY(try_way(call, c, of[i], true, &taken));
    for (int i = first; i < count && !taken; i++)
        if (!is_left_out(call, of[i]))
            OX_TRY(try_way(call, c, of[i], false, &taken));
    OX_ASSERT(taken);
    note_way(call, c);
    return OX_OK;
}

/* ---- The bias ----------------------------------------------------------------------------------------------- */

#if !OX_SMALL /* devices have no epilogues */
/* Whether it is left to loops, whatever the weights are: direct sums, or the way that is asked for. */
static bool leaves_bias(const ox_call *call, const ox_conv *c) {
    if (ox_dtype_compute(call->in[0]->dtype) != OX_FLOAT || ox_call_is_plain(call) || !ox_conv_has_few(c))
        return false;
    for (int i = 0; i < WAYS; i++)
        if (is_forced(call, ways[i]))
            return ways[i]->sums & OX_CONV_ADDS_BIAS;
    return true;
}

/* In an epilogue, the bias broadcasts as [channels, 1, ...]. */
ox_reg ox_emit_conv(ox_call *call, ox_pass_builder *builder, ox_reg sums) {
    ox_conv c = {0};
    int64_t room[OX_WINDOW_LISTS * OX_WINDOW_DIMS] = {0};
    ox_window_place(&c.window, ox_window_spatial(call->in[0]), room);
    if (!ox_call_given(call, BIAS) || (!ox_conv_describe(call, &c, WEIGHTS, BIAS) && leaves_bias(call, &c)))
        return sums;
    const int rank = call->out[0]->rank - 1;
    int64_t *dims = ox_pile_array(call->pile, 2 * (size_t)rank, sizeof *dims);
    if (!dims)
        return -1;
    for (int d = 0; d < rank; d++)
        dims[d] = d ? 1 : call->in[BIAS]->dims[0];
    ox_tensor shape = {call->in[BIAS]->dtype, rank, dims, dims + rank, NULL};
    ox_tensor_strides(call->in[BIAS], dims + rank);
    ox_reg bias = ox_epilogue_load(call, builder, BIAS, &shape);
    return ox_elementwise_apply(builder, OX_LANES_Add, NULL, OX_UNDEFINED, 2, (const ox_reg[]){sums, bias});
}
#endif

/* ---- Prepare and run ---------------------------------------------------------------------------------------- */

ox_status ox_prepare_conv(ox_call *call) {
    ox_conv *c = ox_window_state(call, sizeof *c, call->in[0]->rank - 2);
    if (!c)
        return OX_ERROR_MEMORY;
    OX_TRY(ox_conv_describe(call, c, WEIGHTS, BIAS));
    c->adds_bias = ox_call_given(call, BIAS) && !ox_epilogue_reads(call->epilogue, BIAS);
    c->add = OX_BUILD_OF(call->loops, OX_LANES_Add);
    OX_TRY(ox_dense_plan(call, call->in[0]));
    if (c->adds_bias)
        OX_TRY(ox_dense_plan(call, call->in[BIAS]));
    OX_TRY(ox_dense_plan_out(call, ox_tensor_count(call->out[0])));
    OX_TRY(ox_conv_choose(call, c, ways, WAYS));
    c->wide = call->workspace_size;
    return c->way->lays_weights ? OX_OK : ox_dense_plan(call, call->in[WEIGHTS]);
}

ox_status ox_run_conv(ox_call *call) {
    const ox_conv *c = call->state;
    const int64_t count = ox_tensor_count(call->out[0]);
    size_t used = 0, wide = c->wide;
    ox_conv_operands operands = {.x = ox_dense_in(call, &used, call->in[0]).data};
    if (c->adds_bias)
        operands.bias = ox_dense_in(call, &used, call->in[BIAS]).data;
    operands.to = ox_dense_out(call, &used, count);
    operands.weights =
        c->way->lays_weights ? call->in[WEIGHTS]->data : ox_dense_in(call, &wide, call->in[WEIGHTS]).data;
    c->way->run(call, c, &used, &operands);
    ox_dense_store(call, count, operands.to);
    return OX_OK;
}
