/* conv_direct.c: convolutions whose groups have few channels (depthwise ones have one), tap by tap with all sums in
 * registers: their products would be of few rows. Devices leave this out. */
#include "conv.h"
#include "loops/lanes.h"
#include "ops/dense.h"

#include <math.h>
#include <string.h>

enum {
    FEW_INPUTS = 4,    /* of a group: their bands stay in the caches */
    SOME_INPUTS = 16,  /* do if they have few outputs, */
    SOME_OUTPUTS = 32, /* or a product would take longer to lay out */
    PLANE = 64 << 10,  /* bytes of results that are one band where nothing is laid out: jumps stop reading ahead */
    BLOCK = 16 << 10,  /* bytes of results that are handed on together */
    ROOMS = 16 << 10,  /* bytes of inputs that are laid out together, by one call, ... */
    FEWEST = 2         /* ... but so many groups: what has just been stored piece by piece is slow to load in vectors */
};

typedef struct direct_job {
    const ox_conv *conv;
    ox_epilogue *epilogue;
    const ox_f32 *x, *w, *bias;
    float *to;
    ox_finish finish;
    int64_t finish_count; /* channels of all images after which its values begin again; 0: it has none */
    char *workspace;
} direct_job;

/* Bytes that each thread works in: a band, a block of results, what the epilogue wants. */
static size_t part_bytes(const ox_conv_direct *d) {
    return ox_pool_room(ox_pool_parts(d->pool), (size_t)d->rooms * d->room + d->beside.bytes + d->block + d->scratch);
}

bool ox_conv_has_few(const ox_conv *conv) {
    return conv->in_channels <= FEW_INPUTS && ox_conv_may_be_direct(conv);
}

/* What an epilogue does, if loops can do that with the sums of a channel: each has one value, which may differ from
 * image to image, but no value begins again within an image. */
static const ox_pass_affine *find_finish(const ox_conv *c, const ox_epilogue *epilogue) {
    const ox_pass_affine *affine = ox_epilogue_affine(epilogue);
    if (!affine || affine->plus)
        return NULL;
    const ox_pass_period *period = &affine->period;
    if (period->count &&
        (period->each != c->window.out_count || ox_remainder(period->count, c->out_channels * c->groups)))
        return NULL;
    return affine;
}

/* Whether loops split the columns of the image themselves: what would be laid out is read by few taps. */
static bool is_in_place(const ox_conv *c) {
    const ox_window *w = &c->window;
    const ox_conv_direct *d = &c->direct;
    bool suits = d->loops->takes_images && w->spatial == 2 && c->in_channels == 1 &&
                 c->out_channels < OX_DIRECT_OUTPUTS && d->band.across == 1;
    for (int i = 0; i < w->spatial; i++)
        suits &= w->kernel[i] == 3 && w->stride[i] == 2 && w->dilation[i] == 1;
    return suits;
}

/* The rooms of inputs. */
static void plan_rooms(ox_conv *c) {
    ox_conv_direct *d = &c->direct;
    if (d->in_place) {
        d->layer = c->window.in_count;
        d->room = ox_aligned((size_t)c->window.in[1] * sizeof(float));
        d->rooms = 1;
        return;
    }
    d->layer = (int64_t)(d->band.room / sizeof(float));
    d->room = d->band.room * (size_t)c->in_channels;
    d->rooms = (int64_t)(ROOMS / d->room);
    d->rooms = ox_least(d->rooms < FEWEST ? FEWEST : d->rooms, c->images * c->groups);
}

/* Channels that are computed before they are handed on: those of a stretch of results, in whole units. */
static int64_t plan_together(const ox_conv *c) {
    const ox_conv_direct *d = &c->direct;
    const int64_t plane = c->window.out_count, channels = c->out_channels * c->groups,
                  count = d->band.count == 1
                              ? ox_least(channels, ox_quotient(BLOCK / (int64_t)sizeof(float), plane) + 1)
                              : 1;
    return ox_quotient(count + d->unit - 1, d->unit) * d->unit;
}

ox_status ox_conv_direct_bands(ox_call *call, ox_conv *conv) {
    conv->direct = (ox_conv_direct){.loops = OX_BUILD_OF(call->loops, ox_direct_builds)};
    return ox_band_plan(call, &conv->window, sizeof(float), &conv->direct.band);
}

ox_status ox_conv_direct_plan(ox_call *call, ox_conv *conv) {
    ox_conv_direct *d = &conv->direct;
    d->together = plan_together(conv);
    plan_rooms(conv);
    d->affine = find_finish(conv, call->epilogue);
    if (call->epilogue && !d->affine)
        d->block = ox_aligned((size_t)(d->together * d->band.rows * d->band.columns) * sizeof(float));
    d->scratch = d->affine ? 0 : ox_aligned(ox_epilogue_scratch(call->epilogue));
    const double work = (double)ox_tensor_count(call->out[0]) * (double)(conv->window.taps * conv->in_channels);
    d->pool = ox_pool_for(call->pool, work);
    return ox_workspace_add(call, ox_pool_parts(d->pool), part_bytes(d));
}

/* A channel of the result, counted over all images. */
typedef struct direct_channel {
    int64_t input;    /* the first channel of all inputs that it sees */
    int64_t sharing;  /* channels before it that see the same */
    int64_t of_image; /* its number in an image */
    int64_t finish;   /* its value of what finishes sums */
} direct_channel;

static direct_channel find_channel(const direct_job *job, int64_t number) {
    const ox_conv *c = job->conv;
    return (direct_channel){ox_quotient(number, c->out_channels) * c->in_channels,
                            ox_remainder(number, c->out_channels), ox_remainder(number, c->out_channels * c->groups),
                            job->finish_count ? ox_remainder(number, job->finish_count) : 0};
}

/* Goes on by `count` outputs of a group, or of groups that have one, within an image. */
static void go_on(const direct_job *job, int64_t count, direct_channel *channel) {
    const ox_conv *c = job->conv;
    channel->sharing += count;
    if (channel->sharing >= c->out_channels) {
        channel->input += c->out_channels == 1 ? count * c->in_channels : c->in_channels;
        channel->sharing = 0;
    }
    channel->of_image += count;
    if (channel->of_image == c->out_channels * c->groups)
        channel->of_image = 0;
    channel->finish += count;
    if (channel->finish >= job->finish_count)
        channel->finish = 0;
}

/* What is laid out of a band: the inputs of some groups, each in a room of its own. */
typedef struct direct_band {
    ox_band_place place;
    float *rooms;
    int64_t first, inputs; /* the first channel that is laid out there, and how many are */
    ox_direct_tile tile;
    ox_finish finish; /* of the tile */
} direct_band;

static void find_band(const direct_job *job, int64_t number, char *rooms, direct_band *band) {
    const ox_conv *c = job->conv;
    const ox_conv_direct *d = &c->direct;
    band->rooms = (float *)(void *)rooms;
    band->inputs = 0;
    if (d->in_place)
        memset(rooms, 0, d->room);
    ox_band_enter(&d->band, number, &(const float){0}, d->in_place ? 0 : d->rooms * c->in_channels, rooms, d->layer,
                  &band->place);
    band->tile = ox_band_tile(&d->band, &band->place, band->rooms);
    if (d->in_place)
        ox_band_in_place(&d->band, &band->place, &band->tile);
    band->finish = job->finish;
    band->tile.finish = job->finish.is_used ? &band->finish : NULL;
    band->tile.layers = c->in_channels;
    band->tile.layer = d->layer;
    band->tile.plane = c->out_channels == 1 ? c->in_channels * d->layer : 0;
    band->tile.weights_step = c->window.taps * c->in_channels;
    band->tile.to_row = job->epilogue ? band->place.columns : d->band.wide;
    band->tile.to_step = job->epilogue ? band->place.rows * band->place.columns : c->window.out_count;
}

/* Where the inputs lie from one on, which are laid out with those of groups behind it, up to input `end`. */
static const float *lay_input(const direct_job *job, direct_band *band, int64_t input, int64_t end) {
    const ox_conv *c = job->conv;
    const ox_conv_direct *d = &c->direct;
    if (d->in_place) {
        band->first = input;
        band->inputs = end - input;
        return job->x + input * c->window.in_count + band->place.row * c->window.in[1];
    }
    if (input < band->first || input >= band->first + band->inputs) {
        band->first = input;
        band->inputs = ox_least(d->rooms * c->in_channels, end - input);
        ox_band_lay(&d->band, &band->place, band->inputs, job->x + input * c->window.in_count, band->rooms, d->layer);
    }
    return band->rooms + (input - band->first) * d->layer;
}

/* Computes channels from one on, at most `count`, and returns how many: outputs of one group, or as many groups with
 * one each as are laid out, of one image. */
static int64_t compute_channels(const direct_job *job, direct_band *band, const direct_channel *channel, int64_t count,
                                float *to) {
    const ox_conv *c = job->conv;
    const ox_conv_direct *d = &c->direct;
    ox_direct_tile *tile = &band->tile;
    tile->to = to;
    tile->add = job->bias ? job->bias + channel->of_image : NULL;
    tile->weights = job->w + channel->of_image * tile->weights_step;
    band->finish = ox_finish_from(&job->finish, channel->finish, 0);
    if (c->out_channels == 1)
        count = ox_least(count, ox_quotient(band->first + band->inputs - channel->input, c->in_channels));
    else
        count = ox_least(count, c->out_channels - channel->sharing);
    count = ox_least(count, c->groups * c->out_channels - channel->of_image);
    return d->compute(c, tile, channel->of_image, count, (char *)band->rooms + (size_t)d->rooms * d->room);
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

static int64_t channels_of(const ox_conv *c) {
    return c->images * c->groups * c->out_channels;
}

/* `count` channels from one on, in a band: into the result, or into a block for the epilogue. */
static void compute_block(const direct_job *job, direct_band *band, int64_t first, int64_t count, char *block) {
    const ox_conv *c = job->conv;
    OX_ASSERT(count > 0 && first >= 0 && first + count <= channels_of(c));
    float *to = job->epilogue ? (float *)(void *)block : job->to + first * c->window.out_count + band->place.start;
    direct_channel channel = find_channel(job, first);
    const int64_t end = find_channel(job, first + count - 1).input + c->in_channels;
    for (int64_t i = 0, some; i < count; i += some) {
        band->tile.from = lay_input(job, band, channel.input, end);
        some = compute_channels(job, band, &channel, count - i, to + i * band->tile.to_step);
        go_on(job, some, &channel);
    }
    if (job->epilogue)
        hand_on(job, band, first, count, block);
}

/* Some of the blocks, those of all bands of a few channels: threads write far from each other. A thread computes its
 * blocks band by band, as these have their padding in the same places. */
static void direct_share(void *context, ox_share *share) {
    const direct_job *job = context;
    const ox_conv *c = job->conv;
    const ox_conv_direct *d = &c->direct;
    const int64_t channels = channels_of(c);
    char *rooms = job->workspace + (size_t)share->room * part_bytes(d);
    OX_ASSERT(share->room >= 0 && share->room < ox_pool_parts(d->pool));
    OX_ASSERT(ox_is_aligned(rooms) && d->room % OX_ALIGN == 0 && d->beside.bytes % OX_ALIGN == 0);
    direct_band band = {.rooms = NULL};
    int64_t first, end;
    while (ox_share_next(share, &first, &end))
        for (int64_t number = 0; number < d->band.count && !ox_pool_cancelled(d->pool); number++) {
            int64_t behind, block = ox_band_share(&d->band, number, first, end, &behind);
            if (block < behind)
                find_band(job, number, rooms, &band);
            for (; block < behind && !ox_pool_poll(d->pool); block++)
                compute_block(job, &band, block * d->together, ox_least(d->together, channels - block * d->together),
                              rooms + (size_t)d->rooms * d->room + d->beside.bytes);
        }
}

void ox_conv_direct_run(const ox_call *call, const ox_conv *conv, size_t *used, const ox_conv_operands *of) {
    const ox_conv_direct *d = &conv->direct;
    direct_job job = {
        .conv = conv, .epilogue = call->epilogue, .x = of->x, .w = of->weights, .bias = of->bias, .to = of->to};
    if (d->affine) {
        job.epilogue = NULL;
        job.finish = ox_epilogue_finish(d->affine);
        job.finish_count = d->affine->period.count;
        job.to = d->affine->out->data;
    }
    job.workspace = ox_workspace_take(call, used, ox_pool_parts(d->pool), part_bytes(d));
    ox_pool_share(d->pool, (ox_quotient(channels_of(conv) - 1, d->together) + 1) * d->band.count, d->band.count,
                  direct_share, &job);
}

/* ---- The way of single outputs, or four of a group ----------------------------------------------------------- */

/* An ox_conv_outputs_fn. */
static int64_t compute_outputs(const ox_conv *c, ox_direct_tile *tile, int64_t output, int64_t count, void *room) {
    (void)output, (void)room;
    tile->outputs = count >= OX_DIRECT_OUTPUTS && c->out_channels > 1 ? OX_DIRECT_OUTPUTS : 1;
    tile->planes = tile->outputs > 1 ? 1 : count;
    c->direct.loops->products(tile);
    return tile->outputs * tile->planes;
}

static const char *algorithm(const ox_conv *conv) {
    (void)conv;
    return "direct, channels first";
}

static bool can(const ox_call *call, const ox_conv *conv) {
    return ox_dtype_compute(call->in[0]->dtype) == OX_FLOAT && ox_conv_may_be_direct(conv);
}

static ox_status cost(ox_call *call, ox_conv *conv, double *part) {
    const bool some = conv->in_channels <= SOME_INPUTS && conv->out_channels <= SOME_OUTPUTS && !conv->pointwise;
    (void)call;
    *part = some || ox_conv_has_few(conv) ? 0 : INFINITY;
    return OX_OK;
}

static ox_status prepare(ox_call *call, ox_conv *conv, bool *ready) {
    ox_conv_direct *d = &conv->direct;
    OX_TRY(ox_conv_direct_bands(call, conv));
    d->compute = compute_outputs;
    d->unit = conv->out_channels >= OX_DIRECT_OUTPUTS ? OX_DIRECT_OUTPUTS : 1;
    d->in_place = is_in_place(conv);
    if (d->in_place && conv->window.out_count <= PLANE / (int64_t)sizeof(float))
        ox_band_join(&d->band);
    *ready = true;
    return ox_conv_direct_plan(call, conv);
}

const ox_conv_way ox_conv_direct_way = {.name = "direct",
                                        .sums = OX_CONV_ADDS_BIAS,
                                        .algorithm = algorithm,
                                        .can = can,
                                        .cost = cost,
                                        .prepare = prepare,
                                        .run = ox_conv_direct_run};
