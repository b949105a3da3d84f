/* conv_beside.c: direct sums of convolutions whose outputs lie side by side in vectors. Nothing is gathered: elements
 * of a band are read as they lie, one for all outputs. Devices leave this out. */
#include "store.h"
#include "ops/dense.h"
#include "conv.h"

#include <math.h>

enum {
    FINISHED = 16 << 10, /* bytes of results that are transposed at a time */
    MOST_INPUTS = 32     /* of a group: products lay out more in less time than they save here */
};

static const double MOST_WASTED = 1.15, /* sums that are computed for one that is wanted */
    STEP = 0.65;                        /* a multiplication, in those of products between transforms */

/* Blocks of outputs of a group. */
static int64_t count_blocks(const ox_conv *c) {
    return ox_quotient(c->out_channels + OX_BESIDE - 1, OX_BESIDE);
}

/* Weights of a block. */
static int64_t panel_size(const ox_conv *c) {
    return c->in_channels * c->window.taps * OX_BESIDE;
}

/* ---- Choosing ----------------------------------------------------------------------------------------------- */

static bool can(const ox_call *call, const ox_conv *c) {
    const ox_tensor *w = call->in[c->weights];
    return OX_BUILD_OF(call->loops, ox_beside_builds)->products && call->store && (call->weights >> c->weights & 1) &&
           ox_dtype_compute(w->dtype) == OX_FLOAT && w->rank <= OX_STORE_DIMS && ox_tensor_is_packed(w) &&
           ox_conv_may_be_direct(c);
}

double ox_conv_beside_steps(const ox_call *call, const ox_conv *c) {
    if (!can(call, c) || c->pointwise || c->in_channels > MOST_INPUTS)
        return INFINITY;
    const int64_t wide = c->window.out[c->window.spatial - 1], high = ox_quotient(c->window.out_count, wide);
    double windows;
    OX_BUILD_OF(call->loops, ox_beside_builds)->find(high, wide, &windows);
    const double outputs = (double)(count_blocks(c) * OX_BESIDE),
                 wasted = windows * outputs / ((double)c->window.out_count * (double)c->out_channels);
    return wasted > MOST_WASTED ? INFINITY : windows * outputs * (double)c->in_channels * (double)c->window.taps * STEP;
}

static ox_status cost(ox_call *call, ox_conv *c, double *part) {
    *part = isfinite(ox_conv_beside_steps(call, c)) ? 0 : INFINITY;
    return OX_OK;
}

/* ---- Weights ------------------------------------------------------------------------------------------------ */

typedef struct beside_weights {
    ox_wide_weight wide;
    const ox_conv *conv;
} beside_weights;

/* An ox_store_fn: the panels of all blocks. */
static void lay_weights(const void *context, void *to) {
    const beside_weights *weights = context;
    const ox_conv *c = weights->conv;
    const int64_t each = c->in_channels * c->window.taps;
    const ox_f32 *from = weights->wide.from;
    ox_f32 *panel = to;
    for (int64_t group = 0; group < c->groups; group++)
        for (int64_t block = 0; block < count_blocks(c); block++)
            for (int64_t k = 0; k < each; k++)
                for (int64_t i = 0; i < OX_BESIDE; i++) {
                    const int64_t output = block * OX_BESIDE + i;
                    *panel++ = output < c->out_channels ? from[(group * c->out_channels + output) * each + k] : 0;
                }
}

/* The panels, once for all sessions of a model; NULL if there is no room for them. */
static ox_status find_panels(ox_call *call, ox_conv *c) {
    const ox_tensor *w = call->in[c->weights];
    const void *panels = NULL;
    ox_store_key key = ox_packed_key(OX_LAYOUT_BESIDE, c->direct.beside.loops, w);
    beside_weights made = {{.weight = w}, c};
    ox_laying laying = {.key = &key, .begin = ox_widen_weight, .make = lay_weights, .context = &made};
    if (!ox_mul_size((size_t)panel_size(c), (size_t)count_blocks(c), &laying.size) ||
        !ox_mul_size(laying.size, (size_t)c->groups, &laying.size) ||
        !ox_mul_size(laying.size, sizeof(float), &laying.size))
        return OX_OK;
    key.groups = c->groups;
    OX_TRY(ox_lay_once(call, &laying, &panels));
    c->direct.beside.panels = panels;
    return OX_OK;
}

/* ---- Run ---------------------------------------------------------------------------------------------------- */

/* Rows of windows to where they belong: as one stretch where they lie behind each other there. */
static void transpose(const ox_conv *c, const ox_direct_tile *t, const float *from, int64_t rows, float *to) {
    const int64_t width = (int64_t)sizeof(float), window = OX_BESIDE * width;
    const bool joins = t->to_row == t->columns;
    const int64_t times = joins ? 1 : rows, count = joins ? rows * t->columns : t->columns;
    for (int64_t i = 0; i < times; i++)
        c->direct.beside.transpose(count, t->outputs, (char *)(to + i * t->to_row), t->to_step * width,
                                   (const char *)(from + i * count * OX_BESIDE), window, 0);
}

/* An ox_conv_outputs_fn: those of a block. */
static int64_t compute_block(const ox_conv *c, ox_direct_tile *tile, int64_t output, int64_t count, void *room) {
    const ox_conv_beside *b = &c->direct.beside;
    const int64_t group = ox_quotient(output, c->out_channels), first = output - group * c->out_channels,
                  block = ox_quotient(first, OX_BESIDE);
    tile->outputs = ox_least(OX_BESIDE, c->out_channels - first);
    ox_direct_tile t = *tile;
    OX_ASSERT(ox_is_aligned(room) && ox_is_aligned(b->panels));
    OX_ASSERT(block < count_blocks(c) && group < c->groups && first % OX_BESIDE == 0 && tile->outputs <= count);
    OX_ASSERT(tile->columns <= c->direct.band.columns);
    t.weights = b->panels + (group * count_blocks(c) + block) * panel_size(c);
    t.to = room;
    for (int64_t r = 0; r < tile->rows; r += b->rows) {
        t.rows = ox_least(b->rows, tile->rows - r);
        t.from = (const float *)tile->from + r * tile->from_row;
        b->loops->products(&t, b->shape);
        transpose(c, &t, room, t.rows, (float *)tile->to + r * tile->to_row);
    }
    return tile->outputs;
}

/* ---- The way ------------------------------------------------------------------------------------------------ */

static const char *algorithm(const ox_conv *c) {
    (void)c;
    return "direct with outputs side by side, channels first";
}

/* Lays weights out, and finds out how much room the results of a band take. */
static ox_status prepare(ox_call *call, ox_conv *c, bool *ready) {
    ox_conv_direct *d = &c->direct;
    ox_conv_beside *b = &d->beside;
    const int64_t window = OX_BESIDE * (int64_t)sizeof(float);
    double time;
    OX_TRY(ox_conv_direct_bands(call, c));
    b->loops = OX_BUILD_OF(call->loops, ox_beside_builds);
    OX_TRY(find_panels(call, c));
    *ready = b->panels != NULL;
    if (!*ready)
        return OX_OK;
    b->transpose = call->loops->transpose(sizeof(float));
    b->rows = ox_least(d->band.rows, ox_most(1, ox_quotient(FINISHED, window * d->band.columns)));
    b->shape = b->loops->find(b->rows, d->band.columns, &time);
    b->bytes = ox_aligned((size_t)(((b->rows + 1) * d->band.columns + OX_BESIDE) * window));
    d->compute = compute_block;
    d->unit = ox_remainder(c->out_channels, OX_BESIDE) ? c->out_channels : OX_BESIDE;
    return ox_conv_direct_plan(call, c);
}

const ox_conv_way ox_conv_beside_way = {.name = "beside",
                                        .sums = OX_CONV_ADDS_BIAS,
                                        .lays_weights = true,
                                        .algorithm = algorithm,
                                        .can = can,
                                        .cost = cost,
                                        .prepare = prepare,
                                        .run = ox_conv_direct_run};
