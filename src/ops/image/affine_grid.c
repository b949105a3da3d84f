/* affine_grid.c: AffineGrid. */
#include "loops/element.h"
#include "ops/axes.h"
#include "ops/dense.h"

#include <string.h>

enum {
    MOST_SIZES = 5,
    COLUMNS = OX_SMALL ? 16 : 128, /* of a row, that are computed together */
    MOST_VALUES = 3 * COLUMNS
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

/* n results; `to` has the element type of the grid. */
static void store(ox_dtype dtype, int64_t n, const double *values, char *to) {
    float narrow[MOST_VALUES];
    if (dtype == OX_DOUBLE) {
        memcpy(to, values, (size_t)n * sizeof *values);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        narrow[i] = (float)values[i];
    if (dtype == OX_FLOAT)
        memcpy(to, narrow, (size_t)n * sizeof *narrow);
    else
        ox_narrow(&(ox_narrowing){.dtype = dtype}, n, narrow, to);
}

/* n columns of a row of the grid, whose places are `place`, from number `at` of the whole grid on. */
static void grid_columns(const grid_job *job, const line *l, int64_t at, int64_t n, const double *place) {
    const ox_tensor *out = job->call->out[0];
    double values[MOST_VALUES];
    for (int r = 0; r < job->space; r++)
        for (int64_t w = 0; w < n; w++)
            values[w * job->space + r] = l->slope[r] * place[w] + l->base[r];
    store(out->dtype, n * job->space, values, (char *)out->data + at * job->space * (int64_t)ox_dtype_size(out->dtype));
}

static void grid_part(void *context, int part, int parts) {
    const grid_job *job = context;
    double place[COLUMNS];
    int64_t first, end;
    ox_pool_range(job->rows, part, parts, &first, &end);
    for (int64_t n, column = 0; column < job->columns; column += n) {
        n = ox_least(job->columns - column, COLUMNS);
        for (int64_t w = 0; w < n; w++)
            place[w] = place_of(job, column + w, job->columns);
        for (int64_t row = first; row < end; row++) {
            const line l = line_of(job, row);
            grid_columns(job, &l, row * job->columns + column, n, place);
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
