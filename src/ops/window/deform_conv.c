/* deform_conv.c: DeformConv, a convolution whose taps are moved by offsets, which are an input. Taps between elements
 * are interpolated. Like Conv it is a product for each image and group, of the weights and of what the windows see. */
#include "iterate/bcast.h"
#include "loops/blend_loops.h"
#include "ops/dense.h"
#include "conv.h"

#include <string.h>

enum {
    DEFORM_DIMS = 6, /* the most spatial dimensions: a sample has 2^DEFORM_DIMS neighbours at most */
    DEFORM_NEIGHBOURS = OX_SMALL ? 1 << DEFORM_DIMS : 256 /* that are listed at a time */
};

typedef struct deform {
    ox_conv conv;
    int64_t offset_groups;
    int64_t channels;    /* of the image, ... */
    int64_t per_offsets; /* ... and of each group of offsets */
} deform;

/* A product. It begins with the convolution, which is what takes the bias wants. */
typedef struct deform_job {
    ox_conv conv;
    const deform *d;
    ox_dtype dtype;
    ox_blend_points_fn *sum;
    const ox_lanes *scale;
    const char *offsets, *mask; /* of the image; mask: NULL for none */
    int64_t channel;            /* of the image: the group's first */
} deform_job;

/* What the samples of some windows take: elements of a channel, and what each of them weighs. */
typedef struct deform_samples {
    int64_t count;                  /* of all that they take */
    int64_t end[DEFORM_NEIGHBOURS]; /* of what a sample takes */
    int64_t element[DEFORM_NEIGHBOURS];
    double weight[DEFORM_NEIGHBOURS];
    float narrow[DEFORM_NEIGHBOURS]; /* the weights again */
} deform_samples;

static double number_at(ox_dtype dtype, const void *data, int64_t i) {
    return dtype == OX_DOUBLE ? ((const ox_f64 *)data)[i] : (double)((const ox_f32 *)data)[i];
}

/* ---- Shapes ------------------------------------------------------------------------------------------------- */

/* Input i has `each` values for each tap and group of offsets, at each place of the result. */
static ox_status check_places(ox_call *call, const deform *d, int i, int64_t each) {
    const ox_tensor *t = call->in[i];
    const ox_window *w = &d->conv.window;
    int64_t dims[OX_MAX_RANK] = {d->conv.images};
    if (!ox_mul_i64(d->offset_groups, w->taps, dims + 1) || !ox_mul_i64(dims[1], each, dims + 1))
        return ox_call_fail(call, OX_ERROR_LIMIT, "%s: the number of offsets of a window overflows", OX_INPUT(call, i));
    memcpy(dims + 2, w->out, (size_t)w->spatial * sizeof *dims);
    if (t->rank != w->spatial + 2 || memcmp(t->dims, dims, (size_t)t->rank * sizeof *dims) != 0)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s: shape %s is expected", OX_INPUT(call, i),
                            OX_DIMS(w->spatial + 2, dims));
    return OX_OK;
}

static ox_status describe(ox_call *call, deform *d) {
    d->offset_groups = ox_call_int(call, "offset_group", 1);
    OX_TRY(ox_conv_describe(call, &d->conv, 1, 3));
    d->channels = call->in[0]->dims[1];
    if (d->offset_groups < 1 || !ox_window_fits(d->offset_groups) || ox_remainder(d->channels, d->offset_groups))
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s: %lld channels cannot be divided into %lld groups of offsets",
                            OX_INPUT(call, 0), (long long)d->channels, (long long)d->offset_groups);
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

static ox_gemm_panel_fn lay_samples;

static ox_gemm product_of(const ox_call *call, const ox_conv *c, const void *context) {
    ox_gemm g = ox_conv_product(c, ox_dtype_compute(call->in[0]->dtype));
    g.panel = lay_samples;
    g.context = context;
    g.after.end = ox_call_given(call, 3) ? ox_conv_add_bias : NULL;
    g.after.in_place = true;
    return g;
}

ox_status ox_prepare_deform_conv(ox_call *call) {
    deform *d = ox_window_state(call, sizeof *d, call->in[0]->rank - 2);
    if (!d)
        return OX_ERROR_MEMORY;
    OX_TRY(describe(call, d));
    for (int i = 0; i < call->nin; i++)
        if (ox_call_given(call, i))
            OX_TRY(ox_dense_plan(call, call->in[i]));
    OX_TRY(ox_dense_plan_out(call, ox_tensor_count(call->out[0])));
    OX_TRY(ox_workspace_add(call, ox_tensor_count(call->in[1]), ox_dtype_size(ox_dtype_compute(call->in[1]->dtype))));
    d->conv.add = OX_BUILD_OF(call->loops, OX_LANES_Add);
    ox_call_name(call, "product of sampled columns, channels first");
    const ox_gemm product = product_of(call, &d->conv, d);
    return ox_gemm_prepare(call, &product, 1, &d->conv.plan);
}

/* ---- Samples ------------------------------------------------------------------------------------------------ */

/* Adds the neighbours of a place; none if it lies nowhere. */
static void add_neighbours(const ox_window *w, const double *place, deform_samples *list) {
    int64_t *element = list->element + list->count, found = 1;
    double *weight = list->weight + list->count;
    element[0] = 0;
    weight[0] = 1;
    for (int d = 0; d < w->spatial; d++) {
        const int64_t before = found;
        if (!(place[d] >= -1 && place[d] < (double)w->in[d]))
            return;
        const int64_t first = place[d] < 0 ? -1 : (int64_t)place[d];
        const int64_t sides[] = {first >= 0 ? before : 0, first + 1 < w->in[d] ? before : 0};
        const double part = place[d] - (double)first;
        for (int64_t i = 0; i < sides[1]; i++) { /* behind those of the lower side, which take their places */
            element[sides[0] + i] = element[i] * w->in[d] + first + 1;
            weight[sides[0] + i] = weight[i] * part;
        }
        for (int64_t i = 0; i < sides[0]; i++) {
            element[i] = element[i] * w->in[d] + first;
            weight[i] *= 1 - part;
        }
        found = sides[0] + sides[1];
    }
    for (int64_t i = 0; i < found; i++)
        list->narrow[list->count + i] = (float)weight[i];
    list->count += found;
}

/* Lists what a tap of `windows` windows sees, by offsets from number `first` on for its first dimension. */
static void list_samples(const deform_job *job, int64_t first, int64_t tap, int64_t window, int64_t windows,
                         deform_samples *list) {
    const ox_window *w = &job->conv.window;
    int64_t at[DEFORM_DIMS], reach[DEFORM_DIMS];
    double place[DEFORM_DIMS];
    ox_index_of(w->spatial, w->kernel, tap, reach);
    ox_index_of(w->spatial, w->out, window, at);
    for (int d = 0; d < w->spatial; d++)
        reach[d] = reach[d] * w->dilation[d] - w->pad[d];
    for (int64_t i = 0; i < windows; i++, ox_index_next(w->spatial, w->out, at)) {
        for (int d = 0; d < w->spatial; d++)
            place[d] = (double)(at[d] * w->stride[d] + reach[d]) +
                       number_at(job->dtype, job->offsets, (first + d) * w->out_count + window + i);
        add_neighbours(w, place, list);
        list->end[i] = list->count;
    }
}

/* What one tap sees of windows side by side, for channels side by side of a group of offsets. */
typedef struct samples {
    int64_t channel, channels, tap, window, windows;
} samples;

/* A row of samples for each channel. */
static void sample(const ox_gemm *g, const samples *s, char *to, int64_t to_row) {
    const deform_job *job = g->context;
    const int64_t channel = s->channel, channels = s->channels, tap = s->tap, window = s->window, windows = s->windows;
    const ox_window *w = &job->conv.window;
    const int64_t width = (int64_t)ox_dtype_size(job->dtype), step[] = {width, width, width};
    const int64_t cell = ox_quotient(job->channel + channel, job->d->per_offsets) * w->taps + tap;
    deform_samples list;
    list.count = 0;
    list_samples(job, cell * w->spatial, tap, window, windows, &list);
    job->sum(windows, list.end, list.element, job->dtype == OX_DOUBLE ? (const void *)list.weight : list.narrow,
             channels, (const char *)g->b.data + channel * w->in_count * width, w->in_count, to,
             ox_quotient(to_row, width));
    char *mask = (char *)(uintptr_t)job->mask;
    for (int64_t c = 0; c < channels && mask; c++, to += to_row)
        job->scale->fn[job->dtype](windows, (char *const[]){to, to, mask + (cell * w->out_count + window) * width},
                                   step, NULL);
}

/* An ox_gemm_panel_fn. */
static void lay_samples(const ox_gemm *g, const ox_gemm_block *panel, char *stage) {
    const deform_job *job = g->context;
    const int64_t each = job->d->per_offsets, all = job->conv.in_channels, width = (int64_t)ox_dtype_size(job->dtype);
    const int64_t most = DEFORM_NEIGHBOURS >> job->conv.window.spatial;
    (void)stage;
    for (int64_t at = 0, count; at < panel->rows; at += count) {
        const int64_t tap = ox_quotient(panel->row + at, all), channel = ox_remainder(panel->row + at, all);
        count = ox_least(each - ox_remainder(job->channel + channel, each), ox_least(all - channel, panel->rows - at));
        for (int64_t i = 0; i < panel->columns; i += most) {
            const samples s = {channel, count, tap, panel->column + i, ox_least(most, panel->columns - i)};
            sample(g, &s, panel->data + at * panel->data_row + i * width, panel->data_row);
        }
    }
}

/* ---- Run ---------------------------------------------------------------------------------------------------- */

/* An ox_gemm_place_fn, of the one product that is there. */
static void place(const void *places, int64_t i, ox_gemm *g) {
    (void)places, (void)i, (void)g;
}

/* The weights with the channels of a tap side by side, so that a tap's samples are listed once for all of them. */
static const char *reorder_weights(const ox_call *call, const ox_conv *c, const void *weights, size_t *used) {
    const int64_t width = (int64_t)ox_dtype_size(ox_dtype_compute(call->in[1]->dtype)), taps = c->window.taps;
    const int64_t dims[] = {c->out_channels * c->groups, taps, c->in_channels}, all = taps * c->in_channels * width;
    const int64_t to[] = {all, c->in_channels * width, width}, from[] = {all, width, taps * width};
    char *made = ox_workspace_take(call, used, ox_tensor_count(call->in[1]), (size_t)width);
    ox_move(call->loops, call->pool, 3, dims, (size_t)width, made, to, weights, from);
    return made;
}

/* The product of an image and a group. */
static void run_product(deform_job *job, ox_gemm *g, int64_t image, int64_t group, const char *const *data,
                        void *workspace) {
    const ox_conv *c = &job->conv;
    const deform *d = job->d;
    const int64_t width = (int64_t)ox_dtype_size(job->dtype), first = group * c->out_channels;
    const int64_t cells = image * d->offset_groups * c->window.taps * c->window.out_count * width;
    job->channel = group * c->in_channels;
    job->offsets = ox_conv_offset(data[2], cells * c->window.spatial);
    job->mask = ox_conv_offset(data[4], cells);
    g->a.data = ox_conv_offset(data[1], first * g->k * width);
    g->b.data = ox_conv_offset(data[0], (image * d->channels + job->channel) * c->window.in_count * width);
    g->extra = ox_conv_offset(data[3], first * width);
    ox_gemm_run(&c->plan, g, 1, place, NULL, workspace);
    g->c = (char *)g->c + g->m * g->c_row;
}

ox_status ox_run_deform_conv(ox_call *call) {
    const deform *d = call->state;
    const int64_t count = ox_tensor_count(call->out[0]);
    const char *data[5] = {0};
    size_t used = 0;
    deform_job job = {.conv = d->conv, .d = d, .dtype = ox_dtype_compute(call->in[0]->dtype)};
    ox_gemm g = product_of(call, &job.conv, &job);
    for (int i = 0; i < call->nin; i++)
        if (ox_call_given(call, i))
            data[i] = ox_dense_in(call, &used, call->in[i]).data;
    void *result = ox_dense_out(call, &used, count);
    data[1] = reorder_weights(call, &d->conv, data[1], &used);
    void *workspace = ox_gemm_take(call, &used, &d->conv.plan);
    job.sum = job.dtype == OX_DOUBLE ? OX_BUILD_OF(call->loops, ox_blend_points_f64_builds)
                                     : OX_BUILD_OF(call->loops, ox_blend_points_f32_builds);
    job.scale = OX_BUILD_OF(call->loops, OX_LANES_Mul);
    g.c = result;
    for (int64_t i = 0; i < d->conv.images * d->conv.groups && !ox_pool_poll(call->pool); i++)
        run_product(&job, &g, ox_quotient(i, d->conv.groups), ox_remainder(i, d->conv.groups), data, workspace);
    ox_dense_store(call, count, result);
    return OX_OK;
}
