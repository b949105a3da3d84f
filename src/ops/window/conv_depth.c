/* conv_depth.c: depthwise convolutions of bytes. Rows of a channel are laid out with their padding, as unsigned bytes.
 */
#include "conv_depth.h"
#include "ops/dense.h"

#include <string.h>

#if !OX_SMALL
enum {
    LARGEST = 64 << 10, /* bytes that are laid out at a time, if one row of results sees no more, */
    MOST = 256 << 10,   /* and the most that it may see */
    SIDE = 1 << 15,     /* of images and kernels */
    SIGN = 0x80,
    WORD = 4,
    TWICE = 4 << 10, /* bytes of a room so small that the next channel is laid out while one is summed: what was just
                      * stored in parts is read late as a whole */
    TOGETHER = 64    /* channels of one call */
};

/* Images of two dimensions; those of one have a single row. */
typedef struct plane {
    int64_t in[2], out[2], kernel[2], stride[2], dilation[2], pad[2];
} plane;

static plane plane_of(const ox_window *w) {
    plane p = {{1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}};
    for (int d = 0, to = 2 - w->spatial; d < w->spatial; d++, to++) {
        p.in[to] = w->in[d], p.out[to] = w->out[d], p.kernel[to] = w->kernel[d];
        p.stride[to] = w->stride[d], p.dilation[to] = w->dilation[d], p.pad[to] = w->pad[d];
    }
    return p;
}

static bool is_small(const plane *p) {
    bool small = p->stride[1] + p->dilation[1] <= OX_DEPTH_STEPS;
    for (int d = 0; d < 2; d++)
        small = small && p->in[d] > 0 && p->in[d] <= SIDE && p->out[d] > 0 && p->out[d] <= 2 * SIDE &&
                p->kernel[d] > 0 && p->kernel[d] <= SIDE && p->stride[d] <= SIDE && p->dilation[d] <= SIDE &&
                p->pad[d] <= SIDE;
    return small;
}

/* Rows of the image that so many rows of results see, and bytes of a row that is laid out. */
static int64_t rows_seen(const plane *p, int64_t rows) {
    return (rows - 1) * p->stride[0] + (p->kernel[0] - 1) * p->dilation[0] + 1;
}

static int64_t pitch_of(const plane *p) {
    return (int64_t)ox_round_up(
        (size_t)ox_most((p->out[1] - 1) * p->stride[1] + (p->kernel[1] - 1) * p->dilation[1] + 1, p->in[1] + p->pad[1]),
        WORD);
}

static int32_t weight_of(const ox_tensor *weights, const ox_tensor *zeros, int64_t channel, int64_t i) {
    const int32_t zero = zeros ? (int32_t)ox_tensor_int(zeros, ox_tensor_count(zeros) == 1 ? 0 : channel) : 0;
    return (int32_t)ox_tensor_int(weights, i) - zero;
}

/* Whether all weights less their zero points are int8. */
static bool is_int8(const ox_call *call, const ox_conv *c, const ox_tensor *zeros) {
    const ox_tensor *t = call->in[c->weights];
    const int64_t taps = c->window.taps, channels = c->groups * c->out_channels;
    for (int64_t i = 0; i < channels * taps; i++) {
        const int32_t weight = weight_of(t, zeros, ox_quotient(i, taps), i);
        if (weight < INT8_MIN || weight > INT8_MAX)
            return false;
    }
    return true;
}

bool ox_conv_depth_can(const ox_call *call, const ox_conv *c, const ox_tensor *zeros) {
    const ox_window *w = &c->window;
    const ox_tensor *t = call->in[c->weights];
    (void)zeros;
    if (!(call->constants >> c->weights & 1) || c->in_channels != 1 || w->spatial > 2 || c->images < 1 ||
        c->out_channels < 1 || !ox_tensor_is_packed(t))
        return false;
    const plane p = plane_of(w);
    return is_small(&p) && rows_seen(&p, 1) * pitch_of(&p) <= MOST && OX_BUILD_OF(call->loops, ox_depth_builds)(false);
}

/* ---- Prepare ------------------------------------------------------------------------------------------------- */

/* The words of a channel: of each row of the kernel, as many as its taps take. */
static void lay_weights(const ox_tensor *t, const ox_tensor *zeros, const plane *p, int64_t channel, int taps,
                        uint32_t *to) {
    const int64_t first = channel * p->kernel[0] * p->kernel[1], bits = 32 / taps;
    for (int64_t y = 0; y < p->kernel[0]; y++)
        for (int64_t x = 0; x < p->kernel[1]; x += taps, to++) {
            *to = 0;
            for (int64_t i = x; i < p->kernel[1] && i < x + taps; i++) {
                const uint32_t weight = (uint32_t)weight_of(t, zeros, channel, first + y * p->kernel[1] + i);
                *to |= (weight & ((1U << bits) - 1)) << (i - x) * bits;
            }
        }
}

static ox_status lay_out(ox_call *call, const ox_conv *c, const ox_tensor *zeros, const plane *p, ox_conv_depth *d) {
    const int64_t channels = c->groups * c->out_channels, taps = d->loops->taps;
    const int64_t wide = ox_quotient(p->kernel[1] + taps - 1, taps);
    d->words = p->kernel[0] * wide;
    uint32_t *weights = ox_pile_array(call->pile, (size_t)(channels * d->words), sizeof *weights);
    int64_t *offsets = ox_pile_array(call->pile, (size_t)d->words, sizeof *offsets);
    if (!weights || !offsets)
        return ox_fail_memory(call->error, "the weights of a convolution",
                              (size_t)(channels * d->words) * sizeof *weights);
    for (int64_t i = 0; i < channels; i++)
        lay_weights(call->in[c->weights], zeros, p, i, d->loops->taps, weights + i * d->words);
    for (int64_t y = 0; y < p->kernel[0]; y++)
        for (int64_t i = 0; i < wide; i++)
            offsets[y * wide + i] = y * p->dilation[0] * d->pitch + i * taps * p->dilation[1];
    d->weights = weights, d->offsets = offsets;
    return OX_OK;
}

ox_status ox_conv_depth_prepare(ox_call *call, const ox_conv *c, const ox_tensor *zeros, ox_conv_depth *d) {
    const plane p = plane_of(&c->window);
    d->loops = OX_BUILD_OF(call->loops, ox_depth_builds)(is_int8(call, c, zeros));
    d->pitch = pitch_of(&p);
    d->rows = 1;
    while (d->rows < p.out[0] && rows_seen(&p, d->rows + 1) * d->pitch <= LARGEST)
        d->rows++;
    d->room = ox_aligned((size_t)(rows_seen(&p, d->rows) * d->pitch) + OX_DEPTH_MARGIN);
    d->room_step = d->room <= TWICE ? (int64_t)d->room : 0;
    d->room += (size_t)d->room_step;
    OX_TRY(lay_out(call, c, zeros, &p, d));
    d->pool = ox_pool_for(call->pool, (double)ox_tensor_count(call->out[0]) * (double)d->words);
    return ox_workspace_add(call, ox_pool_parts(d->pool), ox_pool_room(ox_pool_parts(d->pool), d->room));
}

/* ---- Run ------------------------------------------------------------------------------------------------------ */

typedef struct depth_job {
    const ox_call *call;
    const ox_conv *conv;
    const ox_conv_depth *depth;
    const ox_depth_ends *ends;
    plane plane;
    char *rooms;
} depth_job;

/* Rows of results [first, first + rows) of a channel, and which rows of the image lie inside what they see. */
typedef struct band {
    int64_t first, rows, above, inside;
} band;

static band band_of(const depth_job *job, int64_t first) {
    const plane *p = &job->plane;
    band b = {first, ox_least(job->depth->rows, p->out[0] - first), 0, 0};
    const int64_t start = first * p->stride[0] - p->pad[0];
    b.above = ox_least(rows_seen(p, b.rows), start < 0 ? -start : 0);
    b.inside = ox_least(rows_seen(p, b.rows), p->in[0] - start) - b.above;
    b.inside = b.inside < 0 ? 0 : b.inside;
    return b;
}

/* Some output channels of one image, of one band. */
static void run_channels(const depth_job *job, const band *b, int64_t first, int64_t count, uint8_t *room) {
    const ox_conv *c = job->conv;
    const ox_conv_depth *d = job->depth;
    const plane *p = &job->plane;
    const int64_t channel = ox_remainder(first, c->groups * c->out_channels),
                  input = ox_quotient(first, c->out_channels),
                  row = b->inside ? b->first * p->stride[0] - p->pad[0] + b->above : 0;
    d->loops->run(&(ox_depth_tile){
        .channels = count,
        .sharing = c->out_channels,
        .shared = first - input * c->out_channels,
        .image = (const uint8_t *)job->call->in[0]->data + input * c->window.in_count + row * p->in[1],
        .image_step = c->window.in_count,
        .inside = b->inside,
        .wide = p->in[1],
        .flip = job->call->in[0]->dtype == OX_INT8 ? SIGN : 0,
        .room = {room, room + b->above * d->pitch + p->pad[1], d->pitch, d->room_step},
        .rows = b->rows,
        .columns = p->out[1],
        .high = p->stride[0],
        .stride = p->stride[1],
        .dilation = p->dilation[1],
        .words = d->words,
        .offsets = d->offsets,
        .weights = d->weights + channel * d->words,
        .end = job->ends->ends + channel,
        .dtype = job->ends->dtype,
        .zero = job->ends->zero,
        .to = (uint8_t *)job->call->out[0]->data + first * c->window.out_count + b->first * p->out[1],
        .to_step = c->window.out_count,
    });
}

/* Output channels [first, end) of all images, of one band. */
static void run_band(const depth_job *job, const band *b, int64_t first, int64_t end, uint8_t *room) {
    const int64_t channels = job->conv->groups * job->conv->out_channels;
    memset(room, job->ends->fill, job->depth->room);
    for (int64_t i = first, count; i < end && !ox_pool_poll(job->depth->pool); i += count) {
        count = ox_least(ox_least(end - i, TOGETHER), channels - ox_remainder(i, channels));
        run_channels(job, b, i, count, room);
    }
}

static void depth_share(void *context, ox_share *share) {
    const depth_job *job = context;
    const ox_conv_depth *d = job->depth;
    char *room = job->rooms + (size_t)share->room * ox_pool_room(ox_pool_parts(d->pool), d->room);
    int64_t first, end;
    while (ox_share_next(share, &first, &end))
        for (int64_t row = 0; row < job->plane.out[0] && !ox_pool_cancelled(d->pool); row += d->rows) {
            const band b = band_of(job, row);
            run_band(job, &b, first, end, (uint8_t *)room);
        }
}

void ox_conv_depth_run(const ox_call *call, const ox_conv *c, const ox_conv_depth *d, size_t *used,
                       const ox_depth_ends *ends) {
    const int parts = ox_pool_parts(d->pool);
    depth_job job = {call, c, d, ends, plane_of(&c->window), NULL};
    job.rooms = ox_workspace_take(call, used, parts, ox_pool_room(parts, d->room));
    ox_pool_share(d->pool, c->images * c->groups * c->out_channels, 1, depth_share, &job);
}
#endif
