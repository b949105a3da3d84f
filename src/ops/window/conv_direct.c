/* conv_direct.c: convolutions whose groups have few channels (depthwise ones have one), tap by tap with all sums in
 * registers: their products would be of few rows. Devices leave this out. */
#include "conv.h"
#include "loops/lanes.h"
#include "ops/dense.h"

enum {
    FEW_INPUTS = 4,    /* of a group: their bands stay in the caches */
    FEW_OUTPUTS = 4,   /* more of them share what a product gathers, */
    TALL_OUTPUTS = 32, /* and still more where a vector of the image serves several rows */
    BLOCK = 16 << 10,  /* bytes of results that are handed on together */
    ROOMS = 2,         /* what has just been stored piece by piece is slow to load in vectors */
    WORK = 8           /* so many taps take as long as moving a byte */
};

typedef struct direct_job {
    const ox_conv *conv;
    ox_epilogue *epilogue;
    const ox_f32 *x, *w, *bias;
    float *to;
    char *workspace;
} direct_job;

/* Bytes that each thread works in: a band, a block of results, what the epilogue wants. */
static size_t part_bytes(const ox_conv_direct *d) {
    return ROOMS * d->room + d->block + d->scratch;
}

ox_status ox_conv_direct_prepare(ox_call *call, ox_conv *conv) {
    bool fits;
    ox_conv_direct *d = &conv->direct;
    if (conv->in_channels < 1 || conv->in_channels > FEW_INPUTS ||
        conv->out_channels > (ox_band_is_tall(&conv->window) ? TALL_OUTPUTS : FEW_OUTPUTS) || conv->out_channels < 1 ||
        conv->images < 1 || conv->groups < 1)
        return OX_OK;
    OX_TRY(ox_band_plan(call, &conv->window, &d->band, &fits));
    if (!fits)
        return OX_OK;
    const int64_t plane = conv->window.out_count, channels = conv->out_channels * conv->groups;
    const bool whole = d->band.count == 1;
    d->together = whole ? ox_least(channels, ox_quotient(BLOCK / (int64_t)sizeof(float), plane) + 1) : 1;
    d->layer = (int64_t)(d->band.room / sizeof(float));
    d->room = d->band.room * (size_t)conv->in_channels;
    if (call->epilogue)
        d->block = ox_aligned((size_t)(whole ? d->together * plane : d->band.rows * d->band.columns) * sizeof(float));
    d->scratch = ox_aligned(ox_epilogue_scratch(call->epilogue));
    const double work = (double)ox_tensor_count(call->out[0]) * (double)(conv->window.taps * conv->in_channels);
    d->pool = ox_pool_for(call->pool, work / WORK);
    d->loops = OX_BUILD_OF(call->loops, ox_direct_builds);
    d->is_used = true;
    ox_call_name(call, "direct, channels first");
    return ox_workspace_add(call, ox_pool_parts(d->pool), part_bytes(d));
}

/* A channel of the result, counted over all images. */
typedef struct direct_channel {
    int64_t input;    /* the first channel of all inputs that it sees */
    int64_t sharing;  /* channels before it that see the same */
    int64_t of_image; /* its number in an image */
} direct_channel;

static direct_channel find_channel(const ox_conv *c, int64_t number) {
    return (direct_channel){ox_quotient(number, c->out_channels) * c->in_channels,
                            ox_remainder(number, c->out_channels), ox_remainder(number, c->out_channels * c->groups)};
}

static void next_channel(const ox_conv *c, direct_channel *channel) {
    if (++channel->sharing == c->out_channels)
        channel->sharing = 0, channel->input += c->in_channels;
    if (++channel->of_image == c->out_channels * c->groups)
        channel->of_image = 0;
}

/* What a band has in each room that it is laid out in. */
typedef struct direct_band {
    ox_band_place place;
    float *room[ROOMS];
    ox_direct_tile tile[ROOMS];
} direct_band;

static void find_band(const direct_job *job, int64_t number, char *rooms, direct_band *band) {
    const ox_conv *c = job->conv;
    const ox_conv_direct *d = &c->direct;
    ox_band_find(&d->band, number, &band->place);
    for (int i = 0; i < ROOMS; i++) {
        band->room[i] = (float *)(void *)(rooms + (size_t)i * d->room);
        for (int64_t l = 0; l < c->in_channels; l++)
            ox_band_fill(&d->band, 0, band->room[i] + l * d->layer);
        band->tile[i] = ox_band_tile(&d->band, &band->place, band->room[i]);
        band->tile[i].layers = c->in_channels;
        band->tile[i].layer = d->layer;
        band->tile[i].to_row = job->epilogue ? band->place.columns : d->band.wide;
    }
}

/* Lays out what a channel sees. */
static void lay_channel(const direct_job *job, const direct_band *band, const direct_channel *channel, float *room) {
    const ox_conv *c = job->conv;
    const ox_conv_direct *d = &c->direct;
    for (int64_t l = 0; l < c->in_channels; l++)
        ox_band_lay(&d->band, &band->place, job->x + (channel->input + l) * c->window.in_count, room + l * d->layer);
}

/* `count` channels from one on, in a band: into the result, or into a block for the epilogue. */
static void compute_block(const direct_job *job, direct_band *band, int64_t first, int64_t count, char *block) {
    const ox_conv *c = job->conv;
    const ox_conv_direct *d = &c->direct;
    const ox_band_place *place = &band->place;
    const int64_t plane = c->window.out_count, start = first * plane + place->start;
    float *to = job->epilogue ? (float *)(void *)block : job->to + start;
    direct_channel channel = find_channel(c, first), ahead = channel;
    int room = 0, next = 0;
    for (int64_t i = -1; i < count; i++, room = next) {
        if (i + 1 < count) {
            if (i < 0 || !ahead.sharing)
                lay_channel(job, band, &ahead, band->room[next = (room + 1) % ROOMS]);
            next_channel(c, &ahead);
        }
        if (i < 0)
            continue;
        ox_direct_tile *tile = &band->tile[room];
        tile->weights = job->w + channel.of_image * c->window.taps * c->in_channels;
        tile->add = job->bias ? job->bias[channel.of_image] : 0;
        tile->to = to + i * plane;
        d->loops->products(tile);
        next_channel(c, &channel);
    }
    if (!job->epilogue)
        return;
    ox_pass_part part = {start, place->columns, place->rows, d->band.wide};
    if (part.count == part.step) /* whole rows are one stretch */
        part = (ox_pass_part){start, count * part.count * part.rows, 1, count * part.count * part.rows};
    ox_epilogue_take(job->epilogue, &part, block, block + d->block);
}

/* Some of the blocks, all channels of a band one after the other: they have their padding in the same places. */
static void direct_part(void *context, int part, int parts) {
    const direct_job *job = context;
    const ox_conv *c = job->conv;
    const ox_conv_direct *d = &c->direct;
    const int64_t channels = c->images * c->groups * c->out_channels,
                  blocks = ox_quotient(channels - 1, d->together) + 1;
    char *rooms = job->workspace + (size_t)part * part_bytes(d);
    int64_t at, end, filled = -1;
    direct_band band;
    ox_pool_range(blocks * d->band.count, part, parts, &at, &end);
    for (; at < end && !ox_pool_poll(d->pool); at++) {
        const int64_t number = ox_quotient(at, blocks), channel = ox_remainder(at, blocks) * d->together;
        if (number != filled)
            find_band(job, number, rooms, &band);
        filled = number;
        compute_block(job, &band, channel, ox_least(d->together, channels - channel), rooms + ROOMS * d->room);
    }
}

void ox_conv_direct_run(const ox_call *call, const ox_conv *conv, size_t *used, const ox_f32 *x, const ox_f32 *w,
                        const ox_f32 *bias, float *to) {
    const ox_conv_direct *d = &conv->direct;
    direct_job job = {conv, call->epilogue, x, w, bias, to, NULL};
    job.workspace = ox_workspace_take(call, used, ox_pool_parts(d->pool), part_bytes(d));
    ox_pool_run(d->pool, direct_part, &job);
}
