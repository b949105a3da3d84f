/* generate.c: tensors made by rule: Range, EyeLike, Trilu. */
#include "ops/axes.h"
#include "iterate/bcast.h"
#include "loops/element.h"
#include "loops/lanes.h"
#include "ops/dense.h"
#include "ops/scalar.h"

#include <math.h>
#include <string.h>

/* ---- Range -------------------------------------------------------------------------------------------------- */

/* How many steps of `delta` lie from start to limit. */
static int64_t count_integers(int64_t start, int64_t limit, int64_t delta) {
    const bool up = delta > 0;
    if (up ? limit <= start : limit >= start)
        return 0;
    const uint64_t way = up ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    const uint64_t step = up ? (uint64_t)delta : 0 - (uint64_t)delta;
    const uint64_t count = (way - 1) / step + 1;
    return count > INT64_MAX ? -1 : (int64_t)count;
}

static int64_t count_floats(double start, double limit, double delta) {
    const double count = ceil((limit - start) / delta);
    if (!(count > 0))
        return count <= 0 ? 0 : -1;
    return count < 0x1p62 ? (int64_t)count : -1;
}

static ox_status check_stash_type(ox_call *call) {
    const int64_t stash = call->op->since < 27 ? OX_FLOAT : ox_call_int(call, "stash_type", OX_FLOAT);
    if (stash == OX_FLOAT || stash == OX_DOUBLE)
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_MODEL, "stash_type %lld is neither float (1) nor double (11)", (long long)stash);
}

ox_status ox_infer_range(ox_call *call) {
    const ox_tensor *start, *limit, *delta;
    const ox_dtypes set = call->op->dtypes;
    OX_TRY(ox_call_check_same(call, 0, 2));
    OX_TRY(check_stash_type(call));
    OX_TRY(ox_call_scalar(call, 0, set, &start));
    OX_TRY(ox_call_scalar(call, 1, set, &limit));
    OX_TRY(ox_call_scalar(call, 2, set, &delta));
    if (ox_scalar_float(delta) == 0)
        return ox_call_fail(call, OX_ERROR_VALUE, "delta is 0");
    int64_t count = OX_BIT(start->dtype) & OX_SET_INT
                        ? count_integers(ox_scalar_int(start), ox_scalar_int(limit), ox_scalar_int(delta))
                        : count_floats(ox_scalar_float(start), ox_scalar_float(limit), ox_scalar_float(delta));
    if (count < 0)
        return ox_call_fail(call, OX_ERROR_VALUE, "start, limit and delta do not give a valid number of elements");
    return ox_call_output(call, 0, start->dtype, 1, &count);
}

typedef struct range_job {
    const ox_call *call;
    int64_t count, start, delta;
    double float_start, float_delta;
} range_job;

/* Elements [at, end). Integers wrap, as unsigned ones. */
#define RANGE_INTEGERS(type, element)                                                                                  \
    for (int64_t i = at; i < end; i++)                                                                                 \
        OX_AT(element, to + i * (int64_t)sizeof(type)) =                                                               \
            (type)((uint64_t)job->start + (uint64_t)i * (uint64_t)job->delta);
#define RANGE_FLOATS(type, element)                                                                                    \
    for (int64_t i = at; i < end; i++)                                                                                 \
        OX_AT(element, to + i * (int64_t)sizeof(type)) = (type)(job->float_start + (double)i * job->float_delta);

static void range_small_floats(const range_job *job, ox_dtype dtype, int64_t at, int64_t end, char *to) {
    enum {
        PIECE = 256
    };
    float piece[PIECE];
    const ox_narrowing how = {.dtype = dtype};
    for (; at < end; at += PIECE) {
        const int64_t n = ox_least(end - at, PIECE);
        for (int64_t i = 0; i < n; i++)
            piece[i] = (float)(job->float_start + (double)(at + i) * job->float_delta);
        ox_narrow(&how, n, piece, to + at * (int64_t)ox_dtype_size(dtype));
    }
}

static void range_part(void *context, int part, int parts) {
    const range_job *job = context;
    const ox_tensor *out = job->call->out[0];
    char *to = out->data;
    int64_t at, end;
    ox_pool_range(job->count, part, parts, &at, &end);
    switch ((int)out->dtype) {
    case OX_INT16:
        RANGE_INTEGERS(uint16_t, ox_u16)
        return;
    case OX_INT32:
        RANGE_INTEGERS(uint32_t, ox_u32)
        return;
    case OX_INT64:
        RANGE_INTEGERS(uint64_t, ox_u64)
        return;
    case OX_FLOAT:
        RANGE_FLOATS(float, ox_f32)
        return;
    case OX_DOUBLE:
        RANGE_FLOATS(double, ox_f64)
        return;
    default:
        range_small_floats(job, out->dtype, at, end, to);
    }
}

ox_status ox_run_range(ox_call *call) {
    const ox_tensor *start = call->in[0], *delta = call->in[2];
    range_job job = {call,
                     ox_tensor_count(call->out[0]),
                     ox_scalar_int(start),
                     ox_scalar_int(delta),
                     ox_scalar_float(start),
                     ox_scalar_float(delta)};
    ox_pool_run_pieces(call->pool, (double)job.count * (double)ox_dtype_size(start->dtype), range_part, &job);
    return OX_OK;
}

/* ---- EyeLike ------------------------------------------------------------------------------------------------ */

ox_status ox_infer_eye_like(ox_call *call) {
    const ox_tensor *in = call->in[0];
    const int64_t dtype = ox_call_int(call, "dtype", in->dtype);
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    if (in->rank != 2)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have rank 2", OX_INPUT(call, 0));
    if (dtype < 1 || dtype >= OX_DTYPE_COUNT || !(OX_BIT(dtype) & call->op->dtypes))
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'dtype' is %lld, which is not a type of this output",
                            (long long)dtype);
    return ox_call_output(call, 0, (ox_dtype)dtype, 2, in->dims);
}

/* Where diagonal k of a matrix begins, and how many elements it has. */
typedef struct diagonal {
    int64_t row, column, count;
} diagonal;

static diagonal find_diagonal(int64_t rows, int64_t columns, int64_t k) {
    if (k >= columns || k <= -rows)
        return (diagonal){0, 0, 0};
    diagonal d = {k < 0 ? -k : 0, k < 0 ? 0 : k, 0};
    d.count = ox_least(rows - d.row, columns - d.column);
    return d;
}

ox_status ox_run_eye_like(ox_call *call) {
    const ox_tensor *out = call->out[0];
    const int64_t width = (int64_t)ox_dtype_size(out->dtype), columns = out->dims[1];
    const diagonal d = find_diagonal(out->dims[0], columns, ox_call_int(call, "k", 0));
    _Alignas(OX_ELEMENT_MAX) char one[OX_ELEMENT_MAX];
    memset(out->data, 0, (size_t)(ox_tensor_count(out) * width));
    ox_make_element(out->dtype, 1, one);
    if (d.count)
        call->loops->move((size_t)width)(d.count, (char *)out->data + (d.row * columns + d.column) * width,
                                         (columns + 1) * width, one, 0);
    return OX_OK;
}

/* ---- Trilu -------------------------------------------------------------------------------------------------- */

ox_status ox_infer_trilu(ox_call *call) {
    const ox_tensor *in = call->in[0];
    if (in->rank < 2)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have rank 2 or more", OX_INPUT(call, 0));
    if (ox_call_given(call, 1)) {
        OX_TRY(ox_call_check_dtype(call, 1, OX_BIT(OX_INT64)));
        if (ox_tensor_count(call->in[1]) != 1)
            return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have one element", OX_INPUT(call, 1));
    }
    return ox_call_output(call, 0, in->dtype, in->rank, in->dims);
}

typedef struct trilu_job {
    const ox_call *call;
    const char *zero;
    int64_t count, rows, columns, k; /* count: rows of all matrices */
    size_t width;
    bool upper;
} trilu_job;

/* The column from which on a row belongs to the upper part, and before which to the lower one. */
static int64_t split_column(const trilu_job *job, int64_t row) {
    const int64_t k = job->upper ? job->k : job->k == INT64_MAX ? job->k : job->k + 1;
    if (k >= job->columns - row)
        return job->columns;
    return k <= -row ? 0 : row + k;
}

static void trilu_part(void *context, int part, int parts) {
    const trilu_job *job = context;
    const int64_t width = (int64_t)job->width, bytes = job->columns * width;
    ox_move_fn *fill = job->call->loops->move(job->width);
    int64_t at, end;
    ox_pool_range(job->count, part, parts, &at, &end);
    for (; at < end; at++) {
        const int64_t split = split_column(job, at % job->rows) * width;
        const char *from = (const char *)job->call->in[0]->data + at * bytes;
        char *to = (char *)job->call->out[0]->data + at * bytes;
        const int64_t kept = job->upper ? split : 0, cleared = job->upper ? 0 : split;
        const int64_t kept_end = job->upper ? bytes : split, cleared_end = job->upper ? split : bytes;
        if (to != from)
            memcpy(to + kept, from + kept, (size_t)(kept_end - kept));
        fill((cleared_end - cleared) / width, to + cleared, width, job->zero, 0);
    }
}

ox_status ox_run_trilu(ox_call *call) {
    const ox_tensor *in = call->in[0];
    _Alignas(OX_ELEMENT_MAX) char zero[OX_ELEMENT_MAX];
    trilu_job job = {.call = call, .zero = zero, .rows = in->dims[in->rank - 2], .columns = in->dims[in->rank - 1]};
    ox_make_element(in->dtype, 0, zero);
    job.count = ox_tensor_count(in) / job.columns;
    job.width = ox_dtype_size(in->dtype);
    job.k = ox_call_given(call, 1) ? ox_tensor_int(call->in[1], 0) : 0;
    job.upper = ox_call_int(call, "upper", 1) != 0;
    ox_pool_run_pieces(call->pool, (double)job.count * (double)job.columns * (double)job.width, trilu_part, &job);
    return OX_OK;
}
