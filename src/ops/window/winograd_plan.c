/* winograd_plan.c: whether Winograd's algorithm computes a convolution, in tiles of which size, and how work is cut. */
#include "host.h"
#include "ops/dense.h"
#include "store.h"
#include "conv.h"

#include <math.h>

enum {
    KERNEL = 3,       /* in both directions */
    WIDE = 16,        /* floats in vectors of processors that read rows of weights from the same places at no cost */
    SIZES = 2,        /* tiles of 2x2 and 4x4 results */
    PANEL_TILES = 64, /* of a panel, at most: enough for weights that come from far away */
    FEW_CHANNELS = 8, /* of a group: with fewer, transforms outweigh the products, */
    FEW_PAIRS = 128,  /* and so they do with fewer pairs of one that is read and one that is computed */
    GATHERED = 2,     /* steps for each vector of gathered columns */
    SAVED = 4,        /* steps that larger tiles have to save for each weight that they need more */
    PANELS_EACH = 4,  /* enough panels for every thread, so that none waits for long */
    SHARING = 4       /* a share of all steps that panels cost which threads share */
};

/* Steps of a vector of tiles in the transforms of each size: loads, sums and stores. */
static const int64_t enter_steps[SIZES] = {80, 250}, leave_steps[SIZES] = {60, 200};

static int64_t pieces(int64_t count, int64_t unit) {
    return ox_quotient(count + unit - 1, unit);
}

static int64_t round_up(int64_t count, int64_t unit) {
    return pieces(count, unit) * unit;
}

static ox_winograd_shape shape_of(const ox_conv *c) {
    return (ox_winograd_shape){&c->window, c->images, c->groups, c->in_channels, c->out_channels};
}

bool ox_winograd_can(const ox_call *call, const ox_conv *c) {
    const ox_window *w = &c->window;
    const ox_tensor *weights = call->in[c->weights];
    if (!call->store || !(call->weights >> c->weights & 1) || w->spatial != 2 ||
        ox_dtype_compute(weights->dtype) != OX_FLOAT || !ox_tensor_is_packed(weights) || c->images < 1 ||
        c->in_channels < 1 || c->out_channels < 1 || w->out_count < 1)
        return false;
    for (int d = 0; d < 2; d++)
        if (w->kernel[d] != KERNEL || w->stride[d] != 1 || w->dilation[d] != 1)
            return false;
    return true;
}

/* ---- Cutting ------------------------------------------------------------------------------------------------ */

/* Tiles into panels: whole images while many fit, else rows of tiles, else parts of a row; all of about one size. */
static void cut_panels(const ox_winograd_shape *shape, int64_t size, ox_winograd *p) {
    const ox_window *w = shape->window;
    p->shape = *shape;
    p->size = size;
    p->points = (size + KERNEL - 1) * (size + KERNEL - 1);
    p->down = pieces(w->out[0], size), p->across = pieces(w->out[1], size);
    const int64_t image = p->down * p->across;
    p->images = 1, p->rows = 1;
    p->columns = pieces(p->across, pieces(p->across, PANEL_TILES));
    if (image <= PANEL_TILES) {
        p->rows = p->down;
        p->images = pieces(shape->images, pieces(shape->images, ox_quotient(PANEL_TILES, image)));
    } else if (p->across <= PANEL_TILES) {
        p->rows = pieces(p->down, pieces(p->down, ox_quotient(PANEL_TILES, p->across)));
    }
    p->stretches = pieces(p->down, p->rows);
    p->panels = pieces(shape->images, p->images) * p->stretches * pieces(p->across, p->columns);
}

/* Steps of the products of all threads, which share each panel's output channels, or have panels of their own. Half of
 * what is multiplied of a shared panel lies in another's cache, and threads wait for each other twice. */
static int64_t shared_steps(const ox_winograd *p, int64_t stretches, int parts) {
    const bool shares = stretches % parts != 0;
    const int64_t out = p->shape.out_channels, rows = p->kernel->rows, unit = p->kernel->unit,
                  tiles = shares ? pieces(pieces(out, parts), rows) * parts : pieces(out, rows),
                  least = ox_quotient(p->down, stretches), longer = ox_remainder(p->down, stretches),
                  vectors = (stretches - longer) * pieces(least * p->columns, unit) +
                            longer * pieces((least + 1) * p->columns, unit),
                  steps = vectors * (out + tiles);
    return shares ? steps + ox_quotient(steps, SHARING) : steps;
}

/* Where there are few panels, as many that each thread has the same number of them, if rows can be cut so and that
 * takes no more steps: threads that share a panel wait for each other. */
static void share_panels(int parts, ox_winograd *p) {
    const int64_t panels = p->panels, least = round_up(p->stretches, parts);
    if (p->images == 1 && panels < PANELS_EACH * parts && panels * p->shape.groups % parts && least <= p->down &&
        shared_steps(p, least, parts) <= shared_steps(p, p->stretches, parts)) {
        p->panels = ox_quotient(panels, p->stretches) * least;
        p->stretches = least;
        p->rows = pieces(p->down, least);
    }
    p->apart = p->panels >= PANELS_EACH * parts || p->panels * p->shape.groups % parts == 0;
}

/* ---- Choosing ----------------------------------------------------------------------------------------------- */

/* Steps of vectors that a plan takes, for each group. */
static double winograd_steps(const ox_winograd *p, int64_t unit) {
    const int s = p->size > 2;
    const ox_winograd_shape *shape = &p->shape;
    const double vectors = (double)pieces(p->images * p->rows * p->columns, unit),
                 rows = (double)(p->images * p->rows) * (double)pieces(p->columns, unit),
                 in = (double)shape->in_channels, out = (double)shape->out_channels;
    const double products = vectors * (double)p->points * in * out;
    return (double)p->panels * (products + rows * (in * (double)enter_steps[s] + out * (double)leave_steps[s]));
}

/* The same of the product of gathered columns. */
static double product_steps(const ox_winograd_shape *shape, int64_t unit) {
    const double vectors = (double)pieces(shape->images * shape->window->out_count, unit);
    return vectors * KERNEL * KERNEL * (double)shape->in_channels * ((double)shape->out_channels + GATHERED);
}

/* Whether transforms may not outweigh the products. */
static bool has_many(const ox_conv *c) {
    return c->in_channels >= FEW_CHANNELS && c->out_channels >= FEW_CHANNELS &&
           (double)c->in_channels * (double)c->out_channels >= FEW_PAIRS;
}

/* Steps that a plan's weights have to save beside those of another size, which may be none. Tiles of 4x4 have weights
 * 2.25 times as large, which take as much more memory, and time to lay out; where images have few pixels, each is read
 * from memory for few products, and a run is hardly faster. */
static double steps_to_save(const ox_winograd *p, const ox_winograd *other) {
    const double pairs = (double)p->shape.in_channels * (double)p->shape.out_channels;
    return other->size ? SAVED * (double)(p->points - other->points) * pairs : 0;
}

/* The plan with the size of tiles that takes fewest steps, or none if all take `least` and more. Returns the steps. */
static double find_size(const ox_call *call, const ox_conv *c, double least, ox_winograd *best) {
    const ox_winograd_shape shape = shape_of(c);
    const ox_winograd_loops *loops = OX_BUILD_OF(call->loops, ox_winograd_builds);
    const ox_gemm_kernel *kernel = ox_gemm_kernel_of(call->loops, OX_FLOAT, OX_FLOAT);
    *best = (ox_winograd){0};
    for (int i = 0; i < SIZES; i++) {
        ox_winograd p = {.kernel = kernel, .loops = loops, .transforms = i ? &loops->four : &loops->two};
        cut_panels(&shape, 2 << i, &p);
        const double steps = winograd_steps(&p, kernel->unit);
        if (steps + steps_to_save(&p, best) < least)
            *best = p, least = steps;
    }
    return least;
}

/* Beside the product of gathered columns, and direct sums of outputs side by side. */
ox_status ox_winograd_cost(ox_call *call, ox_conv *c, double *part) {
    const ox_winograd_shape shape = shape_of(c);
    const double unit = (double)ox_gemm_kernel_of(call->loops, OX_FLOAT, OX_FLOAT)->unit,
                 others = fmin(product_steps(&shape, (int64_t)unit),
                               ox_conv_beside_steps(call, c) * (double)c->images / unit);
    *part = has_many(c) ? find_size(call, c, others, &c->winograd) / others : INFINITY;
    return OX_OK;
}

/* ---- Weights ------------------------------------------------------------------------------------------------ */

typedef struct winograd_weights {
    ox_wide_weight wide;
    const ox_winograd *plan;
} winograd_weights;

/* An ox_store_fn: for each point and block of input channels, the rows of all output channels. */
static void lay_weights(const void *context, void *to) {
    const winograd_weights *weights = context;
    const ox_winograd *p = weights->plan;
    const ox_winograd_shape *shape = &p->shape;
    const int64_t all = shape->groups * shape->out_channels, row = ox_quotient(p->a_row, (int64_t)sizeof(float));
    OX_ASSERT(ox_is_aligned(to) && p->a_row % OX_ALIGN == 0 && row >= p->depth);
    OX_ASSERT(p->depth > 0 && (p->depths - 1) * p->depth < shape->in_channels);
    const ox_f32 *from = weights->wide.from;
    for (int64_t k = 0; k < all; k++)
        for (int64_t d = 0; d < p->depths; d++) {
            const int64_t first = d * p->depth, count = ox_least(p->depth, shape->in_channels - first);
            p->transforms->weights(count, from + (k * shape->in_channels + first) * KERNEL * KERNEL,
                                   (float *)to + (d * all + k) * row, p->depths * all * row);
        }
}

/* The transformed weights, once for all sessions of a model; NULL if there is no room for them. */
static ox_status find_weights(ox_call *call, const ox_tensor *weights, ox_winograd *p) {
    winograd_weights made = {{.weight = weights}, p};
    const int64_t all = p->shape.groups * p->shape.out_channels;
    ox_store_key key = ox_packed_key(OX_LAYOUT_WINOGRAD, p->loops, weights);
    ox_laying laying = {.key = &key, .begin = ox_widen_weight, .make = lay_weights, .context = &made};
    key.variant = p->size;
    if (!ox_mul_size((size_t)(p->points * p->depths), (size_t)all, &laying.size) ||
        !ox_mul_size(laying.size, (size_t)p->a_row, &laying.size))
        return OX_OK;
    return ox_lay_once(call, &laying, &p->weights);
}

/* ---- Prepare ------------------------------------------------------------------------------------------------ */

static size_t floats(int64_t count) {
    return ox_aligned((size_t)count * sizeof(float));
}

size_t ox_winograd_room(const ox_winograd *plan) {
    return ox_pool_room(ox_pool_parts(plan->pool), plan->lines + plan->sums + plan->results + plan->scratch);
}

/* Elements from point to point, at least `count`: an odd number of cache lines. All points of a tile are written and
 * read one after the other, and fall into different cache sets. */
static int64_t spread(int64_t count) {
    const int64_t line = OX_ALIGN / (int64_t)sizeof(float);
    return (ox_quotient(pieces(count, line), 2) * 2 + 1) * line;
}

/* Blocks and workspace. */
static void plan_blocks(ox_call *call, ox_winograd *p) {
    const size_t cache = ox_host_cache(2) ? ox_host_cache(2) : OX_CACHE_BYTES;
    const int64_t size = p->size, in = p->shape.in_channels;
    p->pool = ox_pool_for(call->pool, winograd_steps(p, p->kernel->unit) * (double)p->shape.groups);
    share_panels(ox_pool_parts(p->pool), p);
    const int64_t tiles = p->images * p->rows * p->columns;
    p->pitch = round_up(tiles, OX_WINOGRAD_MARGIN) + OX_WINOGRAD_MARGIN;
    p->depths = pieces(in, p->kernel->depth);
    p->depth = pieces(in, p->depths);
    p->a_row = (int64_t)ox_aligned((size_t)p->depth * sizeof(float));
    if (p->kernel->unit < WIDE && p->a_row % OX_GEMM_SAME_PLACES == 0)
        p->a_row += OX_GEMM_PAD;
    p->phase = round_up(p->columns + KERNEL, OX_WINOGRAD_MARGIN) + OX_WINOGRAD_MARGIN;
    p->value_step = spread(in * p->pitch);
    const int64_t each = p->points * p->pitch * (int64_t)sizeof(float),
                  most = ox_quotient((int64_t)(cache * 3 / 8), each * p->kernel->rows);
    p->block = ox_least(round_up(p->shape.out_channels, p->kernel->rows), (most > 1 ? most : 1) * p->kernel->rows);
    p->sum_step = spread(p->block * p->pitch);
    p->values = ox_pool_room(p->apart ? ox_pool_parts(p->pool) : 1, floats(p->points * p->value_step));
    /* A line that is cut into phases, the phases of all rows; or those of a row of results. */
    p->lines = floats((p->rows * size + KERNEL) * size * p->phase) + floats(size * p->phase);
    p->sums = floats(p->points * p->sum_step);
    p->results = floats(p->block * p->rows * size * p->columns * size + size * size * p->phase);
    p->scratch = ox_aligned(ox_epilogue_scratch(call->epilogue));
}

ox_status ox_winograd_prepare(ox_call *call, ox_conv *c, bool *ready) {
    ox_winograd *p = &c->winograd;
    if (!p->size) /* forced */
        find_size(call, c, INFINITY, p);
    plan_blocks(call, p);
    OX_TRY(find_weights(call, call->in[c->weights], p));
    *ready = p->weights != NULL;
    if (!*ready)
        return OX_OK;
    OX_ASSERT(ox_is_aligned(p->weights) && p->values % OX_ALIGN == 0 && p->lines % OX_ALIGN == 0);
    OX_ASSERT(p->pitch >= p->images * p->rows * p->columns + OX_WINOGRAD_MARGIN);
    OX_ASSERT(p->value_step >= p->shape.in_channels * p->pitch && p->sum_step >= p->block * p->pitch);
    const int parts = ox_pool_parts(p->pool);
    OX_TRY(ox_workspace_add(call, p->apart ? parts : 1, p->values));
    return ox_workspace_add(call, parts, ox_winograd_room(p));
}
