/* affine_grid.c: AffineGrid. */
#include "loops/element.h"
#include "ops/axes.h"
#include "ops/dense.h"

enum {
    MOST_SIZES = 5
};

ox_status ox_infer_affine_grid(ox_call *call) {
    const ox_tensor *theta = call->in[0];
    int64_t size[MOST_SIZES], dims[MOST_SIZES];
    int count;
    OX_TRY(ox_call_check_dtype(call, 0, OX_SET_FLOAT));
    OX_TRY(ox_call_check_dtype(call, 1, OX_BIT(OX_INT64)));
    OX_TRY(ox_call_int_list(call, 1, size, MOST_SIZES, &count));
    const int space = count - 2;
    if (space < 2)
        return ox_call_fail(call, OX_ERROR_SHAPE, "size %s must have 4 or 5 numbers", OX_DIMS(count, size));
    if (theta->rank != 3 || theta->dims[0] != size[0] || theta->dims[1] != space || theta->dims[2] != space + 1)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s does not fit size %s", OX_INPUT(call, 0), OX_DIMS(count, size));
    dims[0] = size[0];
    for (int d = 0; d < space; d++)
        dims[1 + d] = size[2 + d];
    dims[1 + space] = space;
    for (int d = 0; d < count; d++)
        if (size[d] < 0)
            return ox_call_fail(call, OX_ERROR_SHAPE, "size %s has a negative dimension", OX_DIMS(count, size));
    return ox_call_output(call, 0, theta->dtype, count, dims);
}

typedef struct grid_job {
    const ox_call *call;
    bool corners; /* -1 and 1 are centers of pixels */
    int space;
    int64_t rows, columns; /* rows: of all batches */
} grid_job;

/* Place i of n, between -1 and 1. */
static double place_of(const grid_job *job, int64_t i, int64_t n) {
    if (!job->corners)
        return (2 * (double)i + 1) / (double)n - 1;
    return n > 1 ? 2 * (double)i / (double)(n - 1) - 1 : 0;
}

static double theta_at(const ox_tensor *theta, int64_t i) {
    float value;
    const char *at = (const char *)theta->data + i * (int64_t)ox_dtype_size(theta->dtype);
    if (theta->dtype == OX_DOUBLE)
        return OX_GET(ox_f64, at);
    if (theta->dtype == OX_FLOAT)
        return (double)OX_GET(ox_f32, at);
    ox_widen(theta->dtype, 1, at, &value);
    return (double)value;
}

/* A row of the grid is slope * x + base in each coordinate. */
typedef struct line {
    double slope[3], base[3];
} line;

static line line_of(const grid_job *job, int64_t row) {
    const ox_tensor *theta = job->call->in[0], *out = job->call->out[0];
    const int space = job->space;
    double place[3] = {0};
    line l = {.slope = {0}};
    for (int d = space - 2; d >= 0; d--) { /* coordinates count from the innermost dimension */
        place[space - 1 - d] = place_of(job, row % out->dims[1 + d], out->dims[1 + d]);
        row /= out->dims[1 + d];
    }
    for (int r = 0; r < space; r++) {
        const int64_t first = (row * space + r) * (space + 1);
        l.slope[r] = theta_at(theta, first);
        l.base[r] = theta_at(theta, first + space);
        for (int k = 1; k < space; k++)
            l.base[r] += theta_at(theta, first + k) * place[k];
    }
    return l;
}

static void store(ox_dtype dtype, int64_t i, double value, char *to) {
    const float narrow = (float)value;
    if (dtype == OX_DOUBLE)
        OX_AT(ox_f64, to + i * 8) = value;
    else if (dtype == OX_FLOAT)
        OX_AT(ox_f32, to + i * 4) = narrow;
    else
        ox_narrow(&(ox_narrowing){.dtype = dtype}, 1, &narrow, to + i * 2);
}

static void grid_part(void *context, int part, int parts) {
    const grid_job *job = context;
    const ox_tensor *out = job->call->out[0];
    int64_t at, end;
    ox_pool_range(job->rows, part, parts, &at, &end);
    for (; at < end; at++) {
        const line l = line_of(job, at);
        for (int64_t w = 0; w < job->columns; w++) {
            const double x = place_of(job, w, job->columns);
            for (int r = 0; r < job->space; r++)
                store(out->dtype, (at * job->columns + w) * job->space + r, l.slope[r] * x + l.base[r], out->data);
        }
    }
}

ox_status ox_run_affine_grid(ox_call *call) {
    const ox_tensor *out = call->out[0];
    grid_job job = {.call = call, .corners = ox_call_int(call, "align_corners", 0) != 0, .space = out->rank - 2};
    const int64_t count = ox_tensor_count(out);
    job.columns = out->dims[out->rank - 2];
    job.rows = count / job.space / job.columns;
    ox_pool_run_pieces(call->pool, (double)count * sizeof(double), grid_part, &job);
    return OX_OK;
}
