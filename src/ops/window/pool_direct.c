/* pool_direct.c: pools of floats and bytes over bands of a channel. */
#include "pool_direct.h"

#include "loops/lanes.h"
#include "ops/dense.h"

#include <math.h>

enum {
    MOST_TAPS = 40,  /* more are folded along rows first (pool.c), ... */
    SEEN_OFTEN = 4,  /* ... and elements of long rows that so few windows see */
    LONG_ROW = 256,  /* bytes */
    ROOMS = 16 << 10 /* bytes of channels that are laid out together: a call for all of them */
};

typedef struct direct_job {
    const ox_pool_direct *direct;
    const char *from;
    char *to;
    char *workspace;
} direct_job;

/* Bytes that each thread works in. */
static size_t part_bytes(const ox_pool_direct *d) {
    return ox_pool_room(ox_pool_parts(d->pool), (size_t)d->rooms * d->band.room);
}

static ox_status make_counts(ox_call *call, const ox_window *w, ox_pool_direct *d) {
    const int64_t columns = d->band.wide, rows = ox_quotient(w->out_count, columns);
    d->row_counts = ox_pile_array(call->pile, (size_t)rows, sizeof *d->row_counts);
    d->column_counts = ox_pile_array(call->pile, (size_t)columns, sizeof *d->column_counts);
    return d->row_counts && d->column_counts
               ? OX_OK
               : ox_fail_memory(call->error, "the counts of windows", (size_t)(rows + columns) * sizeof(float));
}

/* True if laying elements out takes less than going over them window by window. */
static bool is_worth(const ox_window *w, size_t width) {
    const int last = w->spatial - 1;
    const bool near = width >= sizeof(float) || w->stride[last] <= 2; /* bytes farther apart are laid out one by one */
    int64_t strides = 1;
    for (int d = 0; d < w->spatial; d++)
        strides = ox_least(strides, MOST_TAPS) * ox_least(w->stride[d], MOST_TAPS);
    return w->taps <= MOST_TAPS &&
           (w->taps >= SEEN_OFTEN * strides || (near && w->out[last] <= ox_quotient(LONG_ROW, (int64_t)width)));
}

/* Leaves NULL for types that have no such loops. */
static void find_greatest(ox_pool_direct *d, ox_dtype dtype) {
    if (dtype == OX_FLOAT) {
        d->greatest = d->loops->greatest_f32;
        d->padding.f32 = d->mean ? 0 : -INFINITY;
    } else if (dtype == OX_UINT8) {
        d->greatest = d->loops->greatest_u8;
        d->padding.u8 = 0;
    } else if (dtype == OX_INT8) {
        d->greatest = d->loops->greatest_i8;
        d->padding.i8 = INT8_MIN;
    }
}

ox_status ox_pool_direct_prepare(ox_call *call, const ox_window *w, bool mean, ox_pool_direct *d) {
    const ox_dtype dtype = ox_dtype_compute(call->in[0]->dtype);
    const size_t width = ox_dtype_size(dtype);
    d->loops = OX_BUILD_OF(call->loops, ox_direct_builds);
    d->mean = mean;
    find_greatest(d, dtype);
    if (ox_call_is_plain(call) || !d->greatest || !is_worth(w, width) || call->nout > 1 || !ox_band_fits(w, width))
        return OX_OK;
    OX_TRY(ox_band_plan(call, w, width, &d->band));
    d->is_used = true;
    if (mean)
        OX_TRY(make_counts(call, w, d));
    d->pool = ox_pool_for(call->pool, (double)ox_tensor_count(call->out[0]) * (double)w->taps);
    d->rooms = (int64_t)(ROOMS / d->band.room);
    d->rooms = ox_least(d->rooms ? d->rooms : 1, ox_quotient(ox_tensor_count(call->in[0]), w->in_count));
    return ox_workspace_add(call, ox_pool_parts(d->pool), part_bytes(d));
}

static bool has_nan(const ox_pool_direct *d, const char *rooms, int64_t count) {
    const int64_t laid = (int64_t)((d->band.bytes - OX_DIRECT_MARGIN) / sizeof(float));
    for (int64_t i = 0; i < count; i++, rooms += d->band.room)
        if (d->loops->find_nan(laid, (const float *)(const void *)rooms))
            return true;
    return false;
}

/* Elements from room to room. */
static int64_t room_step(const ox_pool_direct *d) {
    return ox_quotient((int64_t)d->band.room, d->band.width);
}

/* `count` channels from one on. */
static void pool_band(const direct_job *job, const ox_band_place *place, int64_t channel, int64_t count, char *rooms) {
    const ox_pool_direct *d = job->direct;
    const ox_window *w = d->band.window;
    const int64_t width = d->band.width, room = room_step(d);
    OX_ASSERT(count > 0 && count <= d->rooms && channel >= 0);
    ox_band_lay(&d->band, place, count, job->from + channel * w->in_count * width, rooms, room);
    ox_direct_tile tile = ox_band_tile(&d->band, place, rooms);
    tile.planes = count;
    tile.plane = room;
    tile.to = job->to + (channel * w->out_count + place->start) * width;
    tile.to_step = w->out_count;
    tile.to_row = d->band.wide;
    OX_ASSERT(tile.rows > 0 && tile.columns > 0 && tile.taps > 0);
    if (d->mean) {
        d->loops->sums(&tile);
        for (int64_t i = 0; i < count; i++)
            d->loops->divide(tile.rows, tile.columns, (float *)tile.to + i * tile.to_step, tile.to_row,
                             d->row_counts + ox_quotient(place->start, d->band.wide),
                             d->column_counts + ox_remainder(place->start, d->band.wide));
    } else if (d->greatest == d->loops->greatest_f32 && has_nan(d, rooms, count)) {
        d->loops->greatest_or_nan(&tile);
    } else {
        d->greatest(&tile);
    }
}

/* Some of the channels of each band: they have their padding in the same places. */
static void direct_share(void *context, ox_share *share) {
    const direct_job *job = context;
    const ox_pool_direct *d = job->direct;
    char *rooms = job->workspace + (size_t)share->room * part_bytes(d);
    OX_ASSERT(share->room >= 0 && share->room < ox_pool_parts(d->pool) && ox_is_aligned(rooms));
    ox_band_place place = {.rows = 0};
    int64_t first, end;
    while (ox_share_next(share, &first, &end))
        for (int64_t number = 0; number < d->band.count && !ox_pool_cancelled(d->pool); number++) {
            int64_t behind, channel = ox_band_share(&d->band, number, first, end, &behind);
            if (channel < behind)
                ox_band_enter(&d->band, number, &d->padding, d->rooms, rooms, room_step(d), &place);
            for (int64_t count; channel < behind && !ox_pool_poll(d->pool); channel += count) {
                count = ox_least(d->rooms, behind - channel);
                pool_band(job, &place, channel, count, rooms);
            }
        }
}

void ox_pool_direct_run(const ox_call *call, const ox_pool_direct *d, size_t *used, int64_t channels, const void *from,
                        void *to) {
    direct_job job = {d, from, to, NULL};
    job.workspace = ox_workspace_take(call, used, ox_pool_parts(d->pool), part_bytes(d));
    ox_pool_share(d->pool, channels * d->band.count, d->rooms * d->band.count, direct_share, &job);
}
