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
    TWICE = 4 << 10,  /* bytes of a room so small that the next channel is laid out while one is summed: what was just
                       * stored in parts is read late as a whole */
    TOGETHER = 64,    /* channels of one call */
    PICKED = 16 << 10 /* bytes of places that are picked, at most */
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
    bool small = true;
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

/* Whether groups have one input channel, weights are constant and sizes are moderate. */
static bool is_depth(const ox_call *call, const ox_conv *c) {
    const ox_window *w = &c->window;
    const ox_tensor *t = call->in[c->weights];
    if (!(call->constants >> c->weights & 1) || c->in_channels != 1 || w->spatial > 2 || c->images < 1 ||
        c->out_channels < 1 || !ox_tensor_is_packed(t))
        return false;
    const plane p = plane_of(w);
    return is_small(&p);
}

bool ox_conv_depth_can(const ox_call *call, const ox_conv *c) {
    if (!is_depth(call, c))
        return false;
    const plane p = plane_of(&c->window);
    return p.stride[1] + p.dilation[1] <= OX_DEPTH_STEPS && rows_seen(&p, 1) * pitch_of(&p) <= MOST &&
           OX_BUILD_OF(call->loops, ox_depth_builds)(false);
}

/* ---- Blocks of windows that pick their taps --------------------------------------------------------------------- */

/* Where in the image a tap of a window lies; -1: in the padding. */
static int64_t place_of(const plane *p, int64_t window, int64_t tap) {
    const int64_t row = ox_quotient(window, p->out[1]), high = ox_quotient(tap, p->kernel[1]);
    const int64_t y = row * p->stride[0] - p->pad[0] + high * p->dilation[0],
                  x = (window - row * p->out[1]) * p->stride[1] - p->pad[1] +
                      (tap - high * p->kernel[1]) * p->dilation[1];
    return y >= 0 && y < p->in[0] && x >= 0 && x < p->in[1] ? y * p->in[1] + x : -1;
}

/* Windows from `first` on; false if they see too many bytes. */
static bool find_block(const plane *p, int64_t first, int64_t count, ox_pick_block *block) {
    int64_t least = INT64_MAX, end = 0;
    for (int64_t i = first; i < first + count; i++)
        for (int64_t tap = 0; tap < p->kernel[0] * p->kernel[1]; tap++) {
            const int64_t at = place_of(p, i, tap);
            least = at < 0 ? least : ox_least(least, at), end = ox_most(end, at + 1);
        }
    *block = (ox_pick_block){.from = end ? least : 0, .count = count};
    for (int64_t i = 0, seen = end - block->from; i < 2; i++, seen -= 64)
        block->inside[i] = seen >= 64 ? ~UINT64_C(0) : seen > 0 ? (UINT64_C(1) << seen) - 1 : 0;
    return end - block->from < OX_PICK_BYTES;
}

/* The windows of a block; the last one may have fewer. */
static int64_t windows_of(const ox_window *w) {
    return ox_quotient(w->out_count - 1, ox_quotient(w->out_count - 1, OX_PICK_WINDOWS) + 1) + 1;
}

static size_t bytes_of_places(const ox_window *w) {
    const int64_t each = windows_of(w), vectors = (each + OX_PICK_LANES - 1) / OX_PICK_LANES,
                  words = (w->taps + WORD - 1) / WORD;
    return (size_t)((ox_quotient(w->out_count - 1, each) + 1) * vectors * OX_PICK_LANES * WORD * words);
}

bool ox_conv_picks_can(const ox_call *call, const ox_conv *c, const ox_tensor *zeros) {
    const ox_window *w = &c->window;
    const ox_depth_loops *loops = OX_BUILD_OF(call->loops, ox_depth_builds)(true);
    if (!loops || !loops->pick || !is_depth(call, c) || bytes_of_places(w) > PICKED)
        return false;
    const plane p = plane_of(w);
    const int64_t each = windows_of(w);
    bool fits = true;
    for (int64_t i = 0; i < w->out_count && fits; i += each)
        fits = find_block(&p, i, ox_least(each, w->out_count - i), &(ox_pick_block){0});
    return fits && is_int8(call, c, zeros);
}

/* The places of a block, and where the next one's begin. Lanes behind its last window have those of that one. */
static uint8_t *set_places(const plane *p, int64_t vectors, int64_t first, const ox_pick_block *block, uint8_t *to) {
    const int64_t taps = p->kernel[0] * p->kernel[1], lanes = vectors * OX_PICK_LANES;
    for (int64_t word = 0; word < taps; word += WORD)
        for (int64_t lane = 0; lane < lanes; lane++)
            for (int64_t tap = word; tap < word + WORD; tap++) {
                const int64_t at = tap < taps ? place_of(p, first + ox_least(lane, block->count - 1), tap) : -1;
                OX_ASSERT(at < 0 || (at >= block->from && at < block->from + OX_PICK_BYTES - 1));
                *to++ = (uint8_t)(at < 0 ? OX_PICK_BYTES - 1 : at - block->from);
            }
    return to;
}

/* Prepare: finds blocks and their places. */
static ox_status find_picks(ox_call *call, const ox_window *w, const plane *p, ox_picks *picks) {
    const int64_t each = windows_of(w);
    uint8_t *places = ox_pile_aligned(call->pile, bytes_of_places(w));
    picks->vectors = (each + OX_PICK_LANES - 1) / OX_PICK_LANES;
    picks->count = ox_quotient(w->out_count - 1, each) + 1;
    ox_pick_block *blocks = ox_pile_array(call->pile, (size_t)picks->count, sizeof *blocks);
    if (!blocks || !places)
        return ox_fail_memory(call->error, "the places of what a convolution sees", bytes_of_places(w));
    picks->blocks = blocks, picks->places = places, picks->is_one = true;
    for (int64_t i = 0; i < w->out_count; i += each, blocks++) {
        const bool fits = find_block(p, i, ox_least(each, w->out_count - i), blocks);
        OX_ASSERT(fits);
        places = set_places(p, picks->vectors, i, blocks, places);
        picks->is_one = picks->is_one && blocks->inside[0] < ~UINT64_C(0);
    }
    return OX_OK;
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

/* Words do not go over the end of a row of the kernel, of which all taps may be one. */
static ox_status lay_all_weights(ox_call *call, const ox_conv *c, const ox_tensor *zeros, const plane *p,
                                 ox_conv_depth *d) {
    const int64_t channels = c->groups * c->out_channels, taps = d->loops->taps;
    d->words = p->kernel[0] * ox_quotient(p->kernel[1] + taps - 1, taps);
    uint32_t *weights = ox_pile_array(call->pile, (size_t)(channels * d->words), sizeof *weights);
    if (!weights)
        return ox_fail_memory(call->error, "the weights of a convolution",
                              (size_t)(channels * d->words) * sizeof *weights);
    for (int64_t i = 0; i < channels; i++)
        lay_weights(call->in[c->weights], zeros, p, i, d->loops->taps, weights + i * d->words);
    d->weights = weights;
    d->pool = ox_pool_for(call->pool, (double)ox_tensor_count(call->out[0]) * (double)d->words);
    return OX_OK;
}

static ox_status lay_offsets(ox_call *call, const plane *p, ox_conv_depth *d) {
    const int64_t taps = d->loops->taps, wide = ox_quotient(p->kernel[1] + taps - 1, taps);
    int64_t *offsets = ox_pile_array(call->pile, (size_t)d->words, sizeof *offsets);
    if (!offsets)
        return ox_fail_memory(call->error, "the offsets of a convolution", (size_t)d->words * sizeof *offsets);
    for (int64_t y = 0; y < p->kernel[0]; y++)
        for (int64_t i = 0; i < wide; i++)
            offsets[y * wide + i] = y * p->dilation[0] * d->pitch + i * taps * p->dilation[1];
    d->offsets = offsets;
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
    OX_TRY(lay_all_weights(call, c, zeros, &p, d));
    OX_TRY(lay_offsets(call, &p, d));
    return ox_workspace_add(call, ox_pool_parts(d->pool), ox_pool_room(ox_pool_parts(d->pool), d->room));
}

ox_status ox_conv_picks_prepare(ox_call *call, const ox_conv *c, const ox_tensor *zeros, ox_conv_depth *d) {
    const plane p = plane_of(&c->window);
    plane flat = p;
    flat.kernel[0] = 1, flat.kernel[1] = c->window.taps;
    d->loops = OX_BUILD_OF(call->loops, ox_depth_builds)(true);
    d->rows = p.out[0];
    OX_TRY(lay_all_weights(call, c, zeros, &flat, d));
    return find_picks(call, &c->window, &p, &d->picks);
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
    (d->picks.count ? d->loops->pick : d->loops->run)(&(ox_depth_tile){
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
        .picks = &d->picks,
        .fill = job->ends->fill,
    });
}

/* Output channels [first, end) of all images, of one band. */
static void run_band(const depth_job *job, const band *b, int64_t first, int64_t end, uint8_t *room) {
    const int64_t channels = job->conv->groups * job->conv->out_channels;
    if (job->depth->room)
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
