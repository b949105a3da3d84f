/* roi.c: MaxRoiPool and RoiAlign: regions of an image, brought to one size. */
#include "loops/blend_loops.h"
#include "loops/lanes.h"
#include "ops/dense.h"

#include <math.h>

enum {
    ROI_MOST_SAMPLES = 1024,            /* that sampling_ratio may ask for in a dimension */
    ROI_POINTS = OX_SMALL ? 8 : 64,     /* samples of a cell that are listed at a time, ... */
    ROI_CHANNELS = OX_SMALL ? 16 : 256, /* ... and channels that see them together */
    ROI_SEEN = 4                        /* elements of a plane that a cell reads at least */
};

typedef struct roi {
    int64_t channels, height, width, rows, columns; /* of the image, and of what regions become */
    double scale, shift;
    bool aligned; /* regions may be as small as they like */
    bool greatest;
    bool last; /* images are copied with their channels last: samples are whole vectors then */
    int64_t ratio;
    ox_blend_values_fn *blend;
} roi;

/* Where a region lies: left, top, right and bottom in elements of that image. */
typedef struct roi_region {
    int64_t image;
    double corner[4];
} roi_region;

typedef struct roi_job {
    const roi *r;
    ox_dtype dtype;
    const char *x; /* images as they are, or with their channels last */
    const roi_region *regions;
    bool aligned; /* RoiAlign */
    char *to;
    int64_t count; /* rows of results of all regions, alike for all channels */
} roi_job;

static double number_at(ox_dtype dtype, const void *data, int64_t i) {
    return dtype == OX_DOUBLE ? OX_ONCE(ox_f64, (const ox_f64 *)data + i)
                              : (double)OX_ONCE(ox_f32, (const ox_f32 *)data + i);
}

/* ---- Shapes ------------------------------------------------------------------------------------------------- */

static ox_status infer_regions(ox_call *call, int64_t columns, const int64_t *size) {
    const ox_tensor *x = call->in[0], *regions = call->in[1];
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    if (regions->dtype != x->dtype)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must have the same type", OX_INPUT(call, 0),
                            OX_INPUT(call, 1));
    if (x->rank != 4 || regions->rank != 2 || regions->dims[1] != columns)
        return ox_call_fail(call, OX_ERROR_SHAPE,
                            "%s and %s: images (rank 4) and a list of regions, %lld numbers each, are expected",
                            OX_INPUT(call, 0), OX_INPUT(call, 1), (long long)columns);
    if (size[0] < 1 || size[1] < 1)
        return ox_call_fail(call, OX_ERROR_SHAPE,
                            "regions cannot become images of shape %s, at least [1,1] is expected", OX_DIMS(2, size));
    return ox_call_output(call, 0, x->dtype, 4, (const int64_t[]){regions->dims[0], x->dims[1], size[0], size[1]});
}

static ox_status pooled_size(ox_call *call, int64_t *size) {
    size_t count;
    const int64_t *given = ox_call_ints(call, "pooled_shape", &count);
    if (count != 2)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'pooled_shape' has %zu values, 2 are expected", count);
    size[0] = given[0];
    size[1] = given[1];
    return OX_OK;
}

ox_status ox_infer_max_roi_pool(ox_call *call) {
    int64_t size[2];
    OX_TRY(pooled_size(call, size));
    return infer_regions(call, 5, size);
}

ox_status ox_infer_roi_align(ox_call *call) {
    const ox_tensor *regions = call->in[1], *images = call->in[2];
    const int64_t size[] = {ox_call_int(call, "output_height", 1), ox_call_int(call, "output_width", 1)};
    const int64_t ratio = ox_call_int(call, "sampling_ratio", 0);
    const ox_string mode = ox_call_string(call, "mode", "avg");
    const ox_string transform = ox_call_string(call, "coordinate_transformation_mode", "half_pixel");
    OX_TRY(infer_regions(call, 4, size));
    OX_TRY(ox_call_check_dtype(call, 2, OX_BIT(OX_INT64)));
    if (images->rank != 1 || images->dims[0] != regions->dims[0])
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s: one image for each of %lld regions is expected",
                            OX_INPUT(call, 2), (long long)regions->dims[0]);
    if (!ox_says(mode, "avg") && !ox_says(mode, "max"))
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'mode' must be avg or max, not '%.*s'", OX_SHORT(mode));
    if (!ox_says(transform, "half_pixel") && !ox_says(transform, "output_half_pixel"))
        return ox_call_fail(
            call, OX_ERROR_MODEL,
            "attribute 'coordinate_transformation_mode' must be half_pixel or output_half_pixel, not '%.*s'",
            OX_SHORT(transform));
    if (ratio < 0 || ratio > ROI_MOST_SAMPLES)
        return ox_call_fail(call, OX_ERROR_LIMIT, "attribute 'sampling_ratio' has the value %lld, 0 to %d are expected",
                            (long long)ratio, ROI_MOST_SAMPLES);
    return OX_OK;
}

/* ---- Preparing ---------------------------------------------------------------------------------------------- */

static ox_status prepare_regions(ox_call *call, roi **state) {
    const ox_tensor *x = call->in[0], *out = call->out[0];
    roi *r = *state = ox_call_state(call, sizeof *r);
    if (!r)
        return OX_ERROR_MEMORY;
    *r = (roi){.channels = x->dims[1], .height = x->dims[2], .width = x->dims[3]};
    r->rows = out->dims[2];
    r->columns = out->dims[3];
    r->scale = (double)ox_call_float(call, "spatial_scale", 1);
    OX_TRY(ox_dense_plan(call, x));
    OX_TRY(ox_dense_plan(call, call->in[1]));
    OX_TRY(ox_workspace_add(call, call->in[1]->dims[0], sizeof(roi_region)));
    return ox_dense_plan_out(call, ox_tensor_count(out));
}

ox_status ox_prepare_max_roi_pool(ox_call *call) {
    roi *r;
    return prepare_regions(call, &r);
}

ox_status ox_prepare_roi_align(ox_call *call) {
    roi *r;
    OX_TRY(prepare_regions(call, &r));
    r->aligned = call->op->since >= 16 &&
                 ox_says(ox_call_string(call, "coordinate_transformation_mode", "half_pixel"), "half_pixel");
    r->shift = r->aligned ? 0.5 : 0;
    r->greatest = ox_says(ox_call_string(call, "mode", "avg"), "max");
    r->ratio = ox_call_int(call, "sampling_ratio", 0);
    const ox_tensor *x = call->in[0], *out = call->out[0];
    r->blend = ox_dtype_compute(x->dtype) == OX_DOUBLE ? OX_BUILD_OF(call->loops, ox_blend_values_f64_builds)
                                                       : OX_BUILD_OF(call->loops, ox_blend_values_f32_builds);
    const int64_t count = ox_tensor_count(x);
    r->last = !OX_SMALL && r->channels > 1 && count > 0 && ox_tensor_count(out) > ox_quotient(count, ROI_SEEN);
    return r->last ? ox_workspace_add(call, count, ox_dtype_size(ox_dtype_compute(x->dtype))) : OX_OK;
}

/* ---- Regions ------------------------------------------------------------------------------------------------ */

/* Reads regions, each number once; all lie somewhere, in images that are there. */
static ox_status read_regions(const ox_call *call, const roi *r, const ox_tensor *list, bool aligned, roi_region *to) {
    const int64_t count = list->dims[0], corners = list->dims[1], images = call->in[0]->dims[0];
    for (int64_t i = 0; i < count; i++) {
        const double image =
            aligned ? (double)ox_tensor_int(call->in[2], i) : number_at(list->dtype, list->data, i * corners);
        if (!(image >= 0 && image < (double)images))
            return ox_call_fail(call, OX_ERROR_VALUE,
                                "%s: region %lld is of image %g, but the number of images is %lld",
                                OX_INPUT(call, aligned ? 2 : 1), (long long)i, image, (long long)images);
        to[i].image = (int64_t)image;
        for (int k = 0; k < 4; k++) {
            const double at = number_at(list->dtype, list->data, (i + 1) * corners - 4 + k) * r->scale - r->shift;
            if (!(fabs(at) < 0x1p50))
                return ox_call_fail(call, OX_ERROR_VALUE, "%s: region %lld has a corner at %g, which is too far away",
                                    OX_INPUT(call, 1), (long long)i, at);
            to[i].corner[k] = at;
        }
    }
    return OX_OK;
}

/* ---- MaxRoiPool --------------------------------------------------------------------------------------------- */

typedef struct roi_range {
    int64_t first, end;
} roi_range;

static int64_t within(double at, int64_t size) {
    return at < 0 ? 0 : at > (double)size ? size : (int64_t)at;
}

/* The places of an image of `size` that part i of `parts` of a region covers. */
static roi_range covered(double from, double to, int64_t i, int64_t parts, int64_t size) {
    const double start = round(from), length = fmax(round(to) - start + 1, 1), each = length / (double)parts;
    return (roi_range){within(start + floor((double)i * each), size),
                       within(start + ceil((double)(i + 1) * each), size)};
}

static const char *plane_of(const roi_job *job, int64_t region, int64_t channel) {
    const int64_t size = job->r->height * job->r->width * (int64_t)ox_dtype_size(job->dtype);
    return size ? job->x + (job->regions[region].image * job->r->channels + channel) * size : job->x;
}

static void store(const roi_job *job, int64_t region, int64_t channel, int64_t row, int64_t column, double value) {
    const roi *r = job->r;
    const int64_t at = ((region * r->channels + channel) * r->rows + row) * r->columns + column;
    if (job->dtype == OX_DOUBLE)
        ((double *)(void *)job->to)[at] = value;
    else
        ((float *)(void *)job->to)[at] = (float)value;
}

static double greatest_of(ox_dtype dtype, const char *plane, int64_t width, roi_range rows, roi_range columns) {
    double most = rows.first < rows.end && columns.first < columns.end ? (double)-INFINITY : 0;
    for (int64_t y = rows.first; y < rows.end; y++)
        for (int64_t x = columns.first; x < columns.end; x++) {
            const double value = number_at(dtype, plane, y * width + x);
            most = value > most || isnan(value) ? value : most;
        }
    return most;
}

static void pool_cell(const roi_job *job, int64_t region, int64_t row, int64_t column) {
    const roi *r = job->r;
    const double *corner = job->regions[region].corner;
    const roi_range rows = covered(corner[1], corner[3], row, r->rows, r->height);
    const roi_range columns = covered(corner[0], corner[2], column, r->columns, r->width);
    for (int64_t channel = 0; channel < r->channels; channel++)
        store(job, region, channel, row, column,
              greatest_of(job->dtype, plane_of(job, region, channel), r->width, rows, columns));
}

/* ---- RoiAlign ----------------------------------------------------------------------------------------------- */

/* Samples [first, end) of `count`, those near enough to the image to see it; they begin at `from`, `step` apart. */
typedef struct roi_samples {
    double from, step, count;
    int64_t first, end;
} roi_samples;

static roi_samples samples_of(const roi *r, double from, double to, int64_t i, int64_t parts, int64_t size) {
    const double length = r->aligned ? to - from : fmax(to - from, 1), bin = length / (double)parts;
    roi_samples s = {.from = from + (double)i * bin, .count = r->ratio ? (double)r->ratio : ceil(bin)};
    if (!(s.count >= 1))
        return (roi_samples){.count = 0};
    s.step = bin / s.count;
    s.end = (int64_t)s.count;
    if (s.step > 0) {
        s.first = within(ceil((-1 - s.from) / s.step - 0.5) - 1, s.end);
        s.end = within(floor(((double)size - s.from) / s.step - 0.5) + 2, s.end);
    }
    return s;
}

/* The two places that a sample lies between, and what the second one weighs. */
typedef struct roi_between {
    int64_t low, high;
    double weight;
    bool inside;
} roi_between;

static roi_between place_sample(const roi_samples *s, int64_t i, int64_t size) {
    double at = s->from + ((double)i + 0.5) * s->step;
    roi_between b = {.inside = size > 0 && at >= -1 && at <= (double)size};
    if (!b.inside)
        return b;
    at = at > 0 ? at : 0;
    b.low = (int64_t)at;
    if (b.low >= size - 1) {
        b.low = b.high = size - 1;
        return b;
    }
    b.high = b.low + 1;
    b.weight = at - (double)b.low;
    return b;
}

/* The samples of a cell that see the image, listed a few at a time, for all channels alike. */
typedef struct roi_cell {
    roi_samples ys, xs;
    int64_t i, j; /* the next sample */
    int64_t count;
    ox_blend_place points[ROI_POINTS];
} roi_cell;

/* `step` elements lie between neighbours in a row. */
static ox_blend_place point_of(const roi_between *y, const roi_between *x, int64_t width, int64_t step) {
    const int64_t low = y->low * width, high = y->high * width;
    return (ox_blend_place){
        {(low + x->low) * step, (low + x->high) * step, (high + x->low) * step, (high + x->high) * step},
        {(1 - y->weight) * (1 - x->weight), (1 - y->weight) * x->weight, y->weight * (1 - x->weight),
         y->weight * x->weight}};
}

/* Lists the next samples; false if there are more behind them. */
static bool list_points(const roi *r, roi_cell *cell) {
    for (cell->count = 0; cell->i < cell->ys.end; cell->i++, cell->j = cell->xs.first) {
        const roi_between y = place_sample(&cell->ys, cell->i, r->height);
        for (; y.inside && cell->j < cell->xs.end; cell->j++) {
            const roi_between x = place_sample(&cell->xs, cell->j, r->width);
            if (!x.inside)
                continue;
            if (cell->count == ROI_POINTS)
                return false;
            cell->points[cell->count++] = point_of(&y, &x, r->width, r->last ? r->channels : 1);
        }
    }
    return true;
}

static bool list_first(const roi *r, roi_cell *cell) {
    cell->i = cell->ys.first;
    cell->j = cell->xs.first;
    return list_points(r, cell);
}

/* The values of n channels of a cell, whose first samples are listed, all of them if `once`. */
static void align_channels(const roi *r, roi_cell *cell, bool once, const void *from, int64_t n, double *values) {
    const int64_t step = r->last ? 1 : r->height * r->width;
    const double count = cell->ys.count * cell->xs.count;
    double seen = 0;
    for (int64_t i = 0; i < n; i++)
        values[i] = r->greatest ? (double)-INFINITY : 0;
    for (bool all = once || list_first(r, cell);; all = list_points(r, cell)) {
        r->blend(n, cell->count, cell->points, r->greatest, from, step, values);
        seen += (double)cell->count;
        if (all)
            break;
    }
    for (int64_t i = 0; i < n; i++) {
        if (r->greatest)
            values[i] = seen < count ? fmax(values[i], 0) : values[i];
        else
            values[i] /= count;
        values[i] = count > 0 ? values[i] : 0;
    }
}

static void align_cell(const roi_job *job, int64_t region, int64_t row, int64_t column) {
    const roi *r = job->r;
    const double *corner = job->regions[region].corner;
    roi_cell cell = {.ys = samples_of(r, corner[1], corner[3], row, r->rows, r->height),
                     .xs = samples_of(r, corner[0], corner[2], column, r->columns, r->width)};
    const bool once = list_first(r, &cell);
    for (int64_t first = 0, n; first < r->channels; first += n) {
        double values[ROI_CHANNELS];
        const char *from = plane_of(job, region, r->last ? 0 : first);
        n = ox_least(r->channels - first, ROI_CHANNELS);
        from += r->last ? first * (int64_t)ox_dtype_size(job->dtype) : 0;
        align_channels(r, &cell, once, from, n, values);
        for (int64_t i = 0; i < n; i++)
            store(job, region, first + i, row, column, values[i]);
    }
}

/* ---- Run ---------------------------------------------------------------------------------------------------- */

/* Some of the rows of results. */
static void roi_part(void *context, int part, int parts) {
    const roi_job *job = context;
    const roi *r = job->r;
    int64_t at, end;
    ox_pool_range(job->count, part, parts, &at, &end);
    for (; at < end; at++)
        for (int64_t column = 0; column < r->columns; column++)
            (job->aligned ? align_cell : pool_cell)(job, at / r->rows, at % r->rows, column);
}

/* The images with their channels last. */
static const void *channels_last(const ox_call *call, const ox_tensor *x, void *to) {
    const int64_t width = (int64_t)ox_dtype_size(x->dtype), *dims = x->dims, pixel = dims[1] * width;
    int64_t from_strides[4];
    ox_packed_strides(4, dims, (size_t)width, from_strides);
    ox_move(call->loops, call->pool, 4, dims, (size_t)width, to,
            (const int64_t[]){dims[2] * dims[3] * pixel, width, dims[3] * pixel, pixel}, x->data, from_strides);
    return to;
}

static ox_status run_regions(ox_call *call, bool aligned) {
    const ox_tensor *out = call->out[0];
    const int64_t count = ox_tensor_count(out);
    size_t used = 0;
    const roi *r = call->state;
    const ox_tensor x = ox_dense_in(call, &used, call->in[0]), list = ox_dense_in(call, &used, call->in[1]);
    roi_region *regions = ox_workspace_take(call, &used, list.dims[0], sizeof *regions);
    roi_job job = {r, x.dtype, x.data, regions, aligned, NULL, list.dims[0] * r->rows};
    job.to = ox_dense_out(call, &used, count);
    OX_TRY(read_regions(call, r, &list, aligned, regions));
    if (r->last)
        job.x = channels_last(call, &x, ox_workspace_take(call, &used, ox_tensor_count(&x), ox_dtype_size(x.dtype)));
    /* A cell sees a part of its region. */
    const double bytes =
        (double)count * 64 + (double)(count / (r->rows * r->columns)) * (double)(r->height * r->width) * 8;
    ox_pool_run_pieces(call->pool, bytes, roi_part, &job);
    ox_dense_store(call, count, job.to);
    return OX_OK;
}

ox_status ox_run_max_roi_pool(ox_call *call) {
    return run_regions(call, false);
}

ox_status ox_run_roi_align(ox_call *call) {
    return run_regions(call, true);
}
