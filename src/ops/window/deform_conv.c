/* deform_conv.c: DeformConv, a convolution whose taps are moved by offsets, which are an input. Taps between elements
 * are interpolated. The samples of DEFORM_BLOCK windows become columns in double, and each channel of the result is a
 * sum over them. */
#include "loops/blend_loops.h"
#include "ops/dense.h"
#include "conv.h"

#include <math.h>
#include <string.h>

enum {
    DEFORM_DIMS = 6, /* the most spatial dimensions: a sample has 2^DEFORM_DIMS neighbours at most */
    DEFORM_BLOCK = 64
};

typedef struct deform {
    ox_conv conv;
    int64_t offset_groups;
    int64_t channels;    /* of the image, ... */
    int64_t per_offsets; /* ... and of each group of offsets */
} deform;

typedef struct deform_job {
    const deform *d;
    const ox_call *call;
    ox_dtype dtype;
    const void *x, *w, *offsets, *bias, *mask; /* bias and mask: NULL for none */
    void *to;
    double *columns; /* DEFORM_BLOCK of them for each part */
    int64_t blocks;  /* of an image */
} deform_job;

/* Where a sample lies: its neighbours inside of the image, and what each of them weighs. */
typedef struct deform_place {
    int count;
    int64_t at[1 << DEFORM_DIMS];
    double weight[1 << DEFORM_DIMS];
} deform_place;

static double number_at(ox_dtype dtype, const void *data, int64_t i) {
    return dtype == OX_DOUBLE ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

/* ---- Shapes ------------------------------------------------------------------------------------------------- */

/* Input i has `each` values for each tap and group of offsets, at each place of the result. */
static ox_status check_places(ox_call *call, const deform *d, int i, int64_t each) {
    const ox_tensor *t = call->in[i];
    const ox_window *w = &d->conv.window;
    int64_t dims[OX_MAX_RANK] = {d->conv.images};
    if (!ox_mul_i64(d->offset_groups, w->taps, dims + 1) || !ox_mul_i64(dims[1], each, dims + 1))
        return ox_call_fail(call, OX_ERROR_LIMIT, "%s: sizes overflow", OX_INPUT(call, i));
    memcpy(dims + 2, w->out, (size_t)w->spatial * sizeof *dims);
    if (t->rank != w->spatial + 2 || memcmp(t->dims, dims, (size_t)t->rank * sizeof *dims) != 0)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s: %s is expected", OX_INPUT(call, i),
                            OX_DIMS(w->spatial + 2, dims));
    return OX_OK;
}

static ox_status describe(ox_call *call, deform *d) {
    d->offset_groups = ox_call_int(call, "offset_group", 1);
    OX_TRY(ox_conv_describe(call, &d->conv, 1, 3));
    d->channels = call->in[0]->dims[1];
    if (d->offset_groups < 1 || !ox_window_fits(d->offset_groups) || ox_remainder(d->channels, d->offset_groups))
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s: %lld channels are not %lld groups of offsets", OX_INPUT(call, 0),
                            (long long)d->channels, (long long)d->offset_groups);
    d->per_offsets = ox_quotient(d->channels, d->offset_groups);
    OX_TRY(check_places(call, d, 2, d->conv.window.spatial));
    return ox_call_given(call, 4) ? check_places(call, d, 4, 1) : OX_OK;
}

ox_status ox_infer_deform_conv(ox_call *call) {
    deform d = {0};
    int64_t room[OX_WINDOW_LISTS * OX_WINDOW_DIMS] = {0};
    const int spatial = ox_window_spatial(call->in[0]);
    OX_TRY(ox_call_check_dtype(call, 0, OX_SET_FLOAT));
    OX_TRY(ox_call_check_same(call, 0, 4));
    if (spatial > DEFORM_DIMS)
        return ox_call_fail(call, OX_ERROR_LIMIT, "%s: at most %d spatial dimensions are supported", OX_INPUT(call, 0),
                            DEFORM_DIMS);
    ox_window_place(&d.conv.window, spatial, room);
    OX_TRY(describe(call, &d));
    int64_t dims[OX_MAX_RANK] = {d.conv.images, call->in[1]->dims[0]};
    memcpy(dims + 2, d.conv.window.out, (size_t)spatial * sizeof *dims);
    return ox_call_output(call, 0, call->in[0]->dtype, spatial + 2, dims);
}

ox_status ox_prepare_deform_conv(ox_call *call) {
    deform *d = ox_window_state(call, sizeof *d, call->in[0]->rank - 2);
    int64_t columns;
    if (!d)
        return OX_ERROR_MEMORY;
    OX_TRY(describe(call, d));
    for (int i = 0; i < call->nin; i++)
        if (ox_call_given(call, i))
            OX_TRY(ox_dense_plan(call, call->in[i]));
    if (!ox_mul_i64(d->channels, d->conv.window.taps, &columns) ||
        !ox_mul_i64(columns, DEFORM_BLOCK * (int64_t)ox_pool_parts(call->pool), &columns))
        return ox_call_fail(call, OX_ERROR_LIMIT, "%s and %s: sizes overflow", OX_INPUT(call, 0), OX_INPUT(call, 1));
    OX_TRY(ox_workspace_add(call, columns, sizeof(double)));
    return ox_dense_plan_out(call, ox_tensor_count(call->out[0]));
}

/* ---- Samples ------------------------------------------------------------------------------------------------ */

/* The neighbours of a place; none if it lies nowhere. */
static void find_neighbours(const ox_window *w, const double *place, deform_place *found) {
    found->count = 1;
    found->at[0] = 0;
    found->weight[0] = 1;
    for (int d = 0; d < w->spatial; d++) {
        const double low = floor(place[d]), part = place[d] - low;
        const int before = found->count;
        if (!(low >= -1 && low < (double)w->in[d])) {
            found->count = 0;
            return;
        }
        const int64_t first = (int64_t)low, sides[] = {first >= 0 ? before : 0, first + 1 < w->in[d] ? before : 0};
        for (int i = 0; i < sides[1]; i++) { /* behind those of the lower side, which take their places */
            found->at[sides[0] + i] = found->at[i] * w->in[d] + first + 1;
            found->weight[sides[0] + i] = found->weight[i] * part;
        }
        for (int i = 0; i < sides[0]; i++) {
            found->at[i] = found->at[i] * w->in[d] + first;
            found->weight[i] *= 1 - part;
        }
        found->count = (int)(sides[0] + sides[1]);
    }
}

/* The place that a tap of a window looks at. */
static void place_of(const deform_job *job, int64_t image, int64_t group, int64_t tap, int64_t window, double *place) {
    const ox_window *w = &job->d->conv.window;
    int64_t taps[DEFORM_DIMS], windows[DEFORM_DIMS];
    const int64_t first = ((image * job->d->offset_groups + group) * w->taps + tap) * w->spatial;
    ox_index_of(w->spatial, w->kernel, tap, taps);
    ox_index_of(w->spatial, w->out, window, windows);
    for (int d = 0; d < w->spatial; d++)
        place[d] = (double)(windows[d] * w->stride[d] - w->pad[d] + taps[d] * w->dilation[d]) +
                   number_at(job->dtype, job->offsets, (first + d) * w->out_count + window);
}

#define SAMPLE_CHANNELS(T)                                                                                             \
    static void sample_channels_##T(int64_t channels, const ox_##T *x, int64_t plane, const deform_place *place,       \
                                    double mask, double *to, int64_t next) {                                           \
        for (int64_t c = 0; c < channels; c++, x += plane, to += next) {                                               \
            double sum = 0;                                                                                            \
            for (int i = 0; i < place->count; i++)                                                                     \
                sum += place->weight[i] * (double)x[place->at[i]];                                                     \
            *to = sum * mask;                                                                                          \
        }                                                                                                              \
    }
SAMPLE_CHANNELS(f32)
SAMPLE_CHANNELS(f64)

/* Samples all channels of a group of offsets for one tap and window. Each channel gives an element of the column;
 * those lie `taps` rows apart. */
static void sample(const deform_job *job, int64_t image, int64_t group, int64_t tap, int64_t window, double *to) {
    const deform *d = job->d;
    const ox_window *w = &d->conv.window;
    const int64_t cell = (image * d->offset_groups + group) * w->taps + tap;
    const double mask = job->mask ? number_at(job->dtype, job->mask, cell * w->out_count + window) : 1;
    double place[DEFORM_DIMS];
    deform_place found;
    place_of(job, image, group, tap, window, place);
    find_neighbours(w, place, &found);
    const int64_t first = (image * d->channels + group * d->per_offsets) * w->in_count, next = w->taps * DEFORM_BLOCK;
    if (job->dtype == OX_DOUBLE)
        sample_channels_f64(d->per_offsets, (const ox_f64 *)job->x + first, w->in_count, &found, mask, to, next);
    else
        sample_channels_f32(d->per_offsets, (const ox_f32 *)job->x + first, w->in_count, &found, mask, to, next);
}

/* ---- Run ---------------------------------------------------------------------------------------------------- */

/* Channel `channel` of the result at `count` windows. */
static void sum_channel(const deform_job *job, const double *columns, int64_t channel, double *sums, int64_t count) {
    const ox_conv *c = &job->d->conv;
    const int64_t depth = c->in_channels * c->window.taps;
    const double bias = job->bias ? number_at(job->dtype, job->bias, channel) : 0;
    columns += channel / c->out_channels * depth * DEFORM_BLOCK;
    for (int64_t i = 0; i < count; i++)
        sums[i] = bias;
    const bool wide = job->dtype == OX_DOUBLE;
    ox_blend_columns_fn *add = wide ? OX_BUILD_OF(job->call->loops, ox_blend_columns_f64_builds)
                                    : OX_BUILD_OF(job->call->loops, ox_blend_columns_f32_builds);
    add(count, (const char *)job->w + channel * depth * (int64_t)ox_dtype_size(job->dtype), depth, columns,
        DEFORM_BLOCK, sums);
}

static void compute_block(const deform_job *job, int64_t image, int64_t first, int64_t count, double *columns) {
    const deform *d = job->d;
    const ox_window *w = &d->conv.window;
    const int64_t channels = d->conv.groups * d->conv.out_channels;
    double sums[DEFORM_BLOCK];
    for (int64_t group = 0; group < d->offset_groups; group++)
        for (int64_t tap = 0; tap < w->taps; tap++)
            for (int64_t i = 0; i < count; i++)
                sample(job, image, group, tap, first + i,
                       columns + (group * d->per_offsets * w->taps + tap) * DEFORM_BLOCK + i);
    for (int64_t channel = 0; channel < channels; channel++) {
        const int64_t at = (image * channels + channel) * w->out_count + first;
        sum_channel(job, columns, channel, sums, count);
        for (int64_t i = 0; i < count; i++)
            if (job->dtype == OX_DOUBLE)
                ((double *)job->to)[at + i] = sums[i];
            else
                ((float *)job->to)[at + i] = (float)sums[i];
    }
}

/* Some of the blocks of windows. */
static void deform_part(void *context, int part, int parts) {
    const deform_job *job = context;
    const ox_window *w = &job->d->conv.window;
    double *columns = job->columns + (int64_t)part * job->d->channels * w->taps * DEFORM_BLOCK;
    int64_t at, end;
    ox_pool_range(job->blocks * job->d->conv.images, part, parts, &at, &end);
    for (; at < end && !ox_pool_poll(job->call->pool); at++) {
        const int64_t first = at % job->blocks * DEFORM_BLOCK, rest = w->out_count - first;
        compute_block(job, at / job->blocks, first, rest < DEFORM_BLOCK ? rest : DEFORM_BLOCK, columns);
    }
}

ox_status ox_run_deform_conv(ox_call *call) {
    const deform *d = call->state;
    const ox_window *w = &d->conv.window;
    const int64_t count = ox_tensor_count(call->out[0]);
    const int64_t columns = d->channels * w->taps * DEFORM_BLOCK;
    const void *data[5] = {0};
    size_t used = 0;
    ox_tensor dense = {0};
    for (int i = 0; i < call->nin; i++)
        if (ox_call_given(call, i)) {
            dense = ox_dense_in(call, &used, call->in[i]);
            data[i] = dense.data;
        }
    deform_job job = {d, call, dense.dtype, data[0], data[1], data[2], data[3], data[4], NULL, NULL, 0};
    job.columns = ox_workspace_take(call, &used, columns * ox_pool_parts(call->pool), sizeof(double));
    job.to = ox_dense_out(call, &used, count);
    job.blocks = (w->out_count + DEFORM_BLOCK - 1) / DEFORM_BLOCK;
    ox_pool_run(ox_pool_for(call->pool, (double)count * (double)columns / DEFORM_BLOCK), deform_part, &job);
    ox_dense_store(call, count, job.to);
    return OX_OK;
}
