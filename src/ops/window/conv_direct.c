/* conv_direct.c: convolutions whose groups have few channels (depthwise ones have one), tap by tap with all sums in
 * registers: their products would be of few rows. Devices leave this out. */
#include "conv.h"
#include "loops/lanes.h"
#include "ops/dense.h"

enum {
    FEW_INPUTS = 4,    /* of a group: their bands stay in the caches */
    SOME_INPUTS = 16,  /* do if they have not many outputs, */
    SOME_OUTPUTS = 32, /* or a product would take longer to lay out */
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

bool ox_conv_has_few(const ox_conv *conv) {
    return conv->in_channels <= FEW_INPUTS;
}

ox_status ox_conv_direct_prepare(ox_call *call, ox_conv *conv) {
    bool fits;
    ox_conv_direct *d = &conv->direct;
    const bool some = conv->in_channels <= SOME_INPUTS && conv->out_channels <= SOME_OUTPUTS && !conv->pointwise;
    if (conv->in_channels < 1 || conv->out_channels < 1 || conv->images < 1 || conv->groups < 1 ||
        !(some || ox_conv_has_few(conv)))
        return OX_OK;
    OX_TRY(ox_band_plan(call, &conv->window, &d->band, &fits));
    if (!fits)
        return OX_OK;
    const int64_t plane = conv->window.out_count, channels = conv->out_channels * conv->groups;
    const bool whole = d->band.count == 1;
    d->together = whole ? ox_least(channels, ox_quotient(BLOCK / (int64_t)sizeof(float), plane) + 1) : 1;
    if (conv->out_channels >= OX_DIRECT_OUTPUTS)
        d->together = (int64_t)ox_round_up((size_t)d->together, OX_DIRECT_OUTPUTS);
    d->layer = (int64_t)(d->band.room / sizeof(float));
    d->room = d->band.room * (size_t)conv->in_channels;
    if (call->epilogue)
        d->block = ox_aligned((size_t)(d->together * d->band.rows * d->band.columns) * sizeof(float));
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

/* Goes on by `count` channels of a group; a channel takes no longer than some divisions. */
static void go_on(const ox_conv *c, int64_t count, direct_channel *channel) {
    channel->sharing += count;
    if (channel->sharing == c->out_channels)
        channel->sharing = 0, channel->input += c->in_channels;
    channel->of_image += count;
    if (channel->of_image == c->out_channels * c->groups)
        channel->of_image = 0;
}

/* What a band has in each room that it is laid out in. */
typedef struct direct_band {
    ox_band_place place;
    float *room[ROOMS];
    int64_t input[ROOMS]; /* the first channel that is laid out there, -1: none */
    int latest;
    ox_direct_tile tile[ROOMS];
} direct_band;

static void find_band(const direct_job *job, int64_t number, char *rooms, direct_band *band) {
    const ox_conv *c = job->conv;
    const ox_conv_direct *d = &c->direct;
    ox_band_find(&d->band, number, &band->place);
    band->latest = 0;
    for (int i = 0; i < ROOMS; i++) {
        band->room[i] = (float *)(void *)(rooms + (size_t)i * d->room);
        band->input[i] = -1;
        for (int64_t l = 0; l < c->in_channels; l++)
            ox_band_fill(&d->band, 0, band->room[i] + l * d->layer);
        band->tile[i] = ox_band_tile(&d->band, &band->place, band->room[i]);
        band->tile[i].layers = c->in_channels;
        band->tile[i].layer = d->layer;
        band->tile[i].weights_step = c->window.taps * c->in_channels;
        band->tile[i].to_row = job->epilogue ? band->place.columns : d->band.wide;
        band->tile[i].to_step = job->epilogue ? band->place.rows * band->place.columns : c->window.out_count;
    }
}

/* The room in which lies what channels see from that one on. */
static int lay_input(const direct_job *job, direct_band *band, int64_t input) {
    const ox_conv *c = job->conv;
    const ox_conv_direct *d = &c->direct;
    if (band->input[band->latest] == input)
        return band->latest;
    band->latest = (band->latest + 1) % ROOMS;
    band->input[band->latest] = input;
    for (int64_t l = 0; l < c->in_channels; l++)
        ox_band_lay(&d->band, &band->place, job->x + (input + l) * c->window.in_count,
                    band->room[band->latest] + l * d->layer);
    return band->latest;
}

/* Channels from `channel` on that a loop computes at once, of `count`. */
static int64_t outputs_from(const ox_conv *c, const direct_channel *channel, int64_t count) {
    return ox_least(count, c->out_channels - channel->sharing) >= OX_DIRECT_OUTPUTS ? OX_DIRECT_OUTPUTS : 1;
}

static void compute_channels(const direct_job *job, ox_direct_tile *tile, const direct_channel *channel, int64_t count,
                             float *to) {
    tile->outputs = count;
    tile->weights = job->w + channel->of_image * tile->weights_step;
    for (int64_t i = 0; i < count; i++)
        tile->add[i] = job->bias ? job->bias[channel->of_image + i] : 0;
    tile->to = to;
    job->conv->direct.loops->products(tile);
}

/* Hands `count` channels of a band on, from one on. */
static void hand_on(const direct_job *job, const direct_band *band, int64_t first, int64_t count, char *block) {
    const ox_conv *c = job->conv;
    const ox_conv_direct *d = &c->direct;
    const ox_band_place *place = &band->place;
    const int64_t plane = c->window.out_count, size = place->rows * place->columns,
                  start = first * plane + place->start;
    if (size == plane) { /* whole channels are one stretch */
        const ox_pass_part all = {start, count * plane, 1, count * plane};
        ox_epilogue_take(job->epilogue, &all, block, block + d->block);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        ox_pass_part part = {start + i * plane, place->columns, place->rows, d->band.wide};
        if (part.count == part.step) /* so are whole rows */
            part = (ox_pass_part){part.first, size, 1, size};
        ox_epilogue_take(job->epilogue, &part, block + (size_t)(i * size) * sizeof(float), block + d->block);
    }
}

/* `count` channels from one on, in a band: into the result, or into a block for the epilogue. */
static void compute_block(const direct_job *job, direct_band *band, int64_t first, int64_t count, char *block) {
    const ox_conv *c = job->conv;
    float *to = job->epilogue ? (float *)(void *)block : job->to + first * c->window.out_count + band->place.start;
    direct_channel channel = find_channel(c, first), ahead = channel;
    int room = lay_input(job, band, channel.input), next = room;
    for (int64_t i = 0, some; i < count; i += some, room = next) {
        some = outputs_from(c, &channel, count - i);
        go_on(c, some, &ahead);
        if (i + some < count)
            next = lay_input(job, band, ahead.input);
        compute_channels(job, &band->tile[room], &channel, some, to + i * band->tile[room].to_step);
        channel = ahead;
    }
    if (job->epilogue)
        hand_on(job, band, first, count, block);
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
