/* pool.c: MaxPool, AveragePool, LpPool, GlobalLpPool. The rows of the image that a window covers are folded into one
 * row first, columns side by side, and that row is folded along the kernel's last dimension then: both are loops over
 * neighbours, and a kernel of h rows and w columns costs h + w of them, not h * w. Where a kernel is wide and windows
 * are few, each window's rows are folded by themselves. A window that sees all of an image folds it as one row. */
#include "ops/dense.h"
#include "iterate/walk.h"
#include "loops/lanes.h"
#include "pool_direct.h"
#include "pool_place.h"

#include <math.h>
#include <string.h>

enum {
    POOL_TILE = OX_FOLD_TILE / 2, /* accumulators of a part of a row */
    POOL_WIDE_TAPS = 16,          /* a kernel so wide is folded by itself where there are not as many windows */
    POOL_FEW = 8                  /* windows that are taken together, then */
};

typedef union pool_tile {
    double f64[POOL_TILE];
    char bytes[sizeof(double[POOL_TILE])];
} pool_tile;

typedef enum pool_kind {
    POOL_MAX,
    POOL_MEAN,
    POOL_NORM
} pool_kind;

typedef struct pool {
    ox_window window;
    pool_kind kind;
    bool wide;         /* each window by itself */
    int64_t whole;     /* one window sees all of an image: how many elements count; else 0 */
    bool column_major; /* the order that Indices count in */
    double p;          /* of norms */
    int64_t width;     /* bytes of an element */
    ox_pool_cut cut;
    ox_pool_place *place; /* for each window of each dimension, one dimension after the other */
    double *counts;       /* of the last dimension */
    ox_folder folder;
    ox_window_loops loops;
    ox_norm_loops norm;
    ox_move_fn *fill;
    ox_pool_direct direct;
} pool;

/* ---- Shapes ------------------------------------------------------------------------------------------------- */

ox_status ox_infer_pool(ox_call *call) {
    ox_window w = {0};
    int64_t room[OX_WINDOW_LISTS * OX_WINDOW_DIMS] = {0};
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    ox_window_place(&w, ox_window_spatial(call->in[0]), room);
    OX_TRY(ox_pool_geometry(call, &w));
    return ox_pool_infer(call, call->in[0]->dtype, w.out);
}

/* Its first version has p as a float. */
static double norm_of(ox_call *call) {
    return call->op->since == 1 ? (double)ox_call_float(call, "p", 2) : (double)ox_call_int(call, "p", 2);
}

static ox_status check_norm(ox_call *call) {
    const double p = norm_of(call);
    return p > 0 && p < INFINITY
               ? OX_OK
               : ox_call_fail(call, OX_ERROR_VALUE, "attribute 'p' has the value %g, more than 0 is expected", p);
}

ox_status ox_infer_lp_pool(ox_call *call) {
    OX_TRY(check_norm(call));
    return ox_infer_pool(call);
}

ox_status ox_infer_global_lp_pool(ox_call *call) {
    OX_TRY(check_norm(call));
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    if (call->in[0]->rank < 2)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s: dimensions for images and channels are expected",
                            OX_INPUT(call, 0));
    return ox_pool_infer(call, call->in[0]->dtype, NULL);
}

/* One window over all of an image. */
static ox_status global_geometry(ox_call *call, ox_window *w) {
    const ox_tensor *x = call->in[0];
    for (int d = 0; d < w->spatial; d++) {
        w->in[d] = d + 2 < x->rank ? x->dims[d + 2] : 1;
        w->kernel[d] = w->in[d] ? w->in[d] : 1;
        w->stride[d] = w->dilation[d] = w->out[d] = 1;
    }
    return ox_window_count(call, w);
}

/* ---- Preparing ---------------------------------------------------------------------------------------------- */

/* All places of all dimensions, and what they count. */
static ox_status find_places(ox_call *call, pool *p, bool padded) {
    const ox_window *w = &p->window;
    const int64_t windows = w->out[w->spatial - 1];
    OX_TRY(ox_pool_find_places(call, w, padded, &p->place));
    p->counts = ox_pile_array(call->pile, (size_t)windows, sizeof *p->counts);
    if (!p->counts)
        return ox_fail_memory(call->error, "the places of windows", (size_t)windows * sizeof *p->counts);
    for (int64_t i = 0; i < windows; i++)
        p->counts[i] = (double)ox_pool_last_places(w, p->place)[i].counted;
    return OX_OK;
}

/* How many windows are folded together. */
static void cut_rows(int64_t channels, pool *p) {
    const ox_window *w = &p->window;
    const int last = w->spatial - 1;
    const int64_t kernel = w->kernel[last], windows = w->out[last], dilation = w->dilation[last];
    p->wide = kernel > POOL_TILE / 2 || (kernel - 1) * dilation >= POOL_TILE / 2 ||
              (kernel > POOL_WIDE_TAPS && windows < POOL_FEW);
    p->cut = ox_pool_cut_of(
        w, channels, p->wide ? POOL_FEW : ox_quotient(POOL_TILE - (kernel - 1) * dilation - 1, w->stride[last]) + 1);
}

/* How many elements windows count: the product of what each dimension counts. */
static void count_directly(const pool *p) {
    const ox_window *w = &p->window;
    const int outer = w->spatial - 1;
    int64_t index[OX_WINDOW_DIMS];
    ox_index_of(outer, w->out, 0, index);
    for (int64_t row = 0; row < p->cut.rows; row++, ox_index_next(outer, w->out, index)) {
        const ox_pool_place *places = p->place;
        p->direct.row_counts[row] = 1;
        for (int d = 0; d < outer; places += w->out[d++])
            p->direct.row_counts[row] *= (float)places[index[d]].counted;
    }
    for (int64_t i = 0; i < w->out[outer]; i++)
        p->direct.column_counts[i] = (float)p->counts[i];
}

static ox_status prepare_pool(ox_call *call, pool *p, pool_kind kind, ox_fold fold, bool padded) {
    const ox_tensor *x = call->in[0];
    ox_dtype dtype = ox_dtype_compute(x->dtype);
    p->kind = kind;
    p->width = (int64_t)ox_dtype_size(dtype);
    if (!OX_BUILD_OF(call->loops, fold)(kind == POOL_NORM ? OX_DOUBLE : dtype, &p->folder) || !p->loops.slide)
        return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "%s: pooling of this type is not supported", OX_INPUT(call, 0));
    p->fill = call->loops->move((size_t)p->folder.width);
    OX_TRY(find_places(call, p, padded));
    cut_rows(x->dims[0] * x->dims[1], p);
    p->whole = kind == POOL_NORM || call->nout > 1 ? 0 : ox_pool_count_whole(&p->window, p->place);
    OX_TRY(ox_dense_plan(call, x));
    if (call->out[0])
        OX_TRY(ox_dense_plan_out(call, ox_tensor_count(call->out[0])));
    if (kind != POOL_NORM && !p->whole)
        OX_TRY(ox_pool_direct_prepare(call, &p->window, kind == POOL_MEAN, &p->direct));
    ox_call_name(call, p->whole            ? "whole images, channels first"
                       : p->direct.is_used ? "direct, channels first"
                       : p->wide           ? "window by window, channels first"
                                           : "rows, then columns, channels first");
    if (p->direct.is_used && kind == POOL_MEAN)
        count_directly(p);
    return OX_OK;
}

/* Elements of each result; 0 if none is wanted. */
static int64_t result_count(const ox_call *call) {
    for (int k = 0; k < call->nout; k++)
        if (call->out[k])
            return ox_tensor_count(call->out[k]);
    return 0;
}

/* *state is NULL if there is nothing to do. */
static ox_status pool_state(ox_call *call, bool global, pool **state) {
    const int rank = call->in[0]->rank;
    pool *p = ox_window_state(call, sizeof *p, rank > 2 ? rank - 2 : 1);
    if (!p)
        return OX_ERROR_MEMORY;
    OX_TRY(global ? global_geometry(call, &p->window) : ox_pool_geometry(call, &p->window));
    *state = result_count(call) ? p : NULL;
    return OX_OK;
}

/* Indices of windows that see padding alone would be those of no element. */
static ox_status check_windows(ox_call *call, const pool *p) {
    const ox_pool_place *place = p->place;
    for (int d = 0; d < p->window.spatial; d++)
        for (int64_t i = 0; i < p->window.out[d]; i++, place++)
            if (!place->taps)
                return ox_call_fail(call, OX_ERROR_VALUE,
                                    "spatial axis %d: window %lld covers only padding, for which Indices has no value",
                                    d, (long long)i);
    return OX_OK;
}

ox_status ox_prepare_max_pool(ox_call *call) {
    pool *p;
    OX_TRY(pool_state(call, false, &p));
    if (!p)
        return OX_OK;
    p->column_major = ox_call_int(call, "storage_order", 0) == 1;
    p->loops = OX_BUILD_OF(call->loops, ox_window_most_builds)(ox_dtype_compute(call->in[0]->dtype));
    OX_TRY(prepare_pool(call, p, POOL_MAX, OX_FOLD_MAX, false));
    return call->nout > 1 && call->out[1] ? check_windows(call, p) : OX_OK;
}

ox_status ox_prepare_average_pool(ox_call *call) {
    pool *p;
    OX_TRY(pool_state(call, false, &p));
    if (!p)
        return OX_OK;
    p->loops = OX_BUILD_OF(call->loops, ox_window_sums_builds)(ox_dtype_compute(call->in[0]->dtype));
    return prepare_pool(call, p, POOL_MEAN, OX_FOLD_MEAN, ox_call_int(call, "count_include_pad", 0) != 0);
}

static ox_status prepare_norm(ox_call *call, bool global) {
    pool *p;
    OX_TRY(pool_state(call, global, &p));
    if (!p)
        return OX_OK;
    p->p = norm_of(call);
    const ox_dtype dtype = ox_dtype_compute(call->in[0]->dtype);
    p->norm = OX_BUILD_OF(call->loops, ox_norm_builds)(dtype);
    p->loops = OX_BUILD_OF(call->loops, ox_window_sums_builds)(dtype);
    return prepare_pool(call, p, POOL_NORM, OX_FOLD_MEAN, false);
}

ox_status ox_prepare_lp_pool(ox_call *call) {
    return prepare_norm(call, false);
}

ox_status ox_prepare_global_lp_pool(ox_call *call) {
    return prepare_norm(call, true);
}

/* ---- Rows --------------------------------------------------------------------------------------------------- */

typedef struct pool_job {
    const pool *p;
    const char *from;
    char *to;
    int64_t *places; /* where Indices go; NULL if they are not wanted */
} pool_job;

/* Folds n neighbours of all rows, from element `at` on, into as many accumulators. */
static void fold_columns(const pool *p, const ox_pool_rows *rows, int64_t at, int64_t n, char *sums) {
    const char *from = rows->from + at * p->width;
    const bool norm = p->kind == POOL_NORM;
    int64_t index[OX_WINDOW_DIMS];
    memset(index, 0, (size_t)rows->plan.ndim * sizeof *index);
    do {
        pool_tile powers;
        if (norm) {
            p->norm.power(n, from, p->width, p->p, powers.f64);
            p->folder.columns(sums, n, powers.bytes, sizeof(double), 1, 0);
        } else {
            p->folder.columns(sums, n, from, p->width, rows->dim[0], rows->step[0]);
        }
    } while (ox_walk(&rows->plan, !norm, index, &from));
}

/* Folds n elements of one row, `step` bytes apart, into one accumulator. */
static void fold_row(const pool *p, const char *from, int64_t n, int64_t step, char *sum) {
    for (int64_t some; p->kind == POOL_NORM && n; n -= some, from += some * step) {
        pool_tile powers;
        some = ox_least(n, POOL_TILE);
        p->norm.power(some, from, step, p->p, powers.f64);
        p->folder.rows(sum, 1, powers.bytes, 0, some, sizeof(double));
    }
    if (n)
        p->folder.rows(sum, 1, from, 0, n, step);
}

/* ---- Windows ------------------------------------------------------------------------------------------------ */

/* n accumulators with their first value. */
static void fill(const pool *p, int64_t n, char *sums) {
    p->fill(n, sums, p->folder.width, (const char *)&p->folder.identity, 0);
}

/* Windows [i, i + n) of a row, by way of the row that their columns fold into. */
static void fold_together(const pool *p, const ox_pool_rows *rows, int64_t i, int64_t n, char *to) {
    const ox_window *w = &p->window;
    const int last = w->spatial - 1;
    const int64_t start = i * w->stride[last] - w->pad[last];
    const int64_t span = (n - 1) * w->stride[last] + (w->kernel[last] - 1) * w->dilation[last] + 1;
    const int64_t before = start < 0 ? ox_least(-start, span) : 0;
    const int64_t inside = ox_least(span, w->in[last] - start) - before;
    pool_tile columns;
    fill(p, span, columns.bytes);
    if (rows->inside && inside > 0)
        fold_columns(p, rows, start + before, inside, columns.bytes + before * p->folder.width);
    p->loops.slide(n, to, columns.bytes, w->stride[last], w->kernel[last], w->dilation[last]);
}

/* The same, each window by itself. */
static void fold_each(const pool *p, const ox_pool_rows *rows, int64_t i, int64_t n, char *to) {
    const int64_t step = p->window.dilation[p->window.spatial - 1] * p->width;
    const ox_pool_place *place = ox_pool_last_places(&p->window, p->place) + i;
    fill(p, n, to);
    for (; n; n--, place++, to += p->folder.width) {
        const char *from = rows->from + place->from * p->width;
        int64_t index[OX_WINDOW_DIMS];
        memset(index, 0, (size_t)rows->plan.ndim * sizeof *index);
        if (rows->inside && place->taps)
            do
                fold_row(p, from, place->taps, step, to);
            while (ox_walk(&rows->plan, 0, index, &from));
    }
}

static void pool_windows(const pool *p, const ox_pool_rows *rows, int64_t i, int64_t n, char *to) {
    pool_tile sums;
    char *folded = p->kind == POOL_MAX ? to : sums.bytes;
    if (p->wide)
        fold_each(p, rows, i, n, folded);
    else
        fold_together(p, rows, i, n, folded);
    if (p->kind == POOL_MEAN)
        p->loops.mean(n, sums.f64, rows->counted, p->counts + i, to);
    else if (p->kind == POOL_NORM)
        p->norm.root(n, sums.f64, p->p, to);
}

/* ---- Indices ------------------------------------------------------------------------------------------------ */

/* The number of an element of a channel, counted along the first dimension first. */
static int64_t column_major(const ox_window *w, int64_t at) {
    int64_t index[OX_WINDOW_DIMS], number = 0;
    ox_index_of(w->spatial, w->in, at, index);
    for (int d = w->spatial; d-- > 0;)
        number = number * w->in[d] + index[d];
    return number;
}

/* The greatest elements of some windows, unless `to` is NULL, and where they are. */
static void find_windows(const pool_job *job, const ox_pool_stretch *s, char *to, int64_t *places) {
    const pool *p = job->p;
    const ox_window *w = &p->window;
    const int64_t dilation = w->dilation[w->spatial - 1];
    const ox_bcast *rows = &s->rows.plan;
    const char *start = job->from + s->channel * w->in_count * p->width;
    const ox_pool_place *place = ox_pool_last_places(&p->window, p->place) + s->first;
    for (int64_t j = 0; j < s->count; j++, place++) {
        const char *from = s->rows.from + place->from * p->width;
        int64_t index[OX_WINDOW_DIMS], at = -1;
        memset(index, 0, (size_t)rows->ndim * sizeof *index);
        double most = 0; /* of any type */
        do
            p->loops.find(place->taps, from, dilation * p->width, ox_quotient(from - start, p->width), dilation, &most,
                          &at);
        while (ox_walk(rows, 0, index, &from));
        if (to)
            memcpy(to + j * p->width, &most, (size_t)p->width);
        places[j] = s->channel * w->in_count + (p->column_major ? column_major(w, at) : at);
    }
}

/* ---- Run ---------------------------------------------------------------------------------------------------- */

/* Some windows of a row. */
static void take_windows(const void *context, const ox_pool_stretch *s) {
    const pool_job *job = context;
    const pool *p = job->p;
    char *to = job->to ? job->to + s->result * p->width : NULL;
    if (job->places)
        find_windows(job, s, to, job->places + s->result);
    else
        pool_windows(p, &s->rows, s->first, s->count, to);
    if (to && p->loops.sign_zeros)
        p->loops.sign_zeros(s->count, to);
}

/* Whole images of some channels, each a row. */
static void whole_part(void *context, int part, int parts) {
    const pool_job *job = context;
    const pool *p = job->p;
    const int64_t elements = p->window.in_count, next = elements * p->width;
    int64_t at, end;
    ox_pool_range(p->cut.channels, part, parts, &at, &end);
    for (int64_t n; at < end; at += n) {
        pool_tile sums;
        n = ox_least(end - at, POOL_TILE);
        fill(p, n, sums.bytes);
        p->folder.rows(sums.bytes, n, job->from + at * next, next, elements, p->width);
        p->folder.end(n, sums.bytes, p->whole, job->to + at * p->width);
        if (p->loops.sign_zeros)
            p->loops.sign_zeros(n, job->to + at * p->width);
    }
}

ox_status ox_run_pool(ox_call *call) {
    const pool *p = call->state;
    const int64_t count = result_count(call);
    size_t used = 0;
    const ox_tensor x = ox_dense_in(call, &used, call->in[0]);
    pool_job job = {p, x.data, call->out[0] ? ox_dense_out(call, &used, count) : NULL, NULL};
    if (call->nout > 1 && call->out[1])
        job.places = call->out[1]->data;
    if (p->direct.is_used) {
        ox_pool_direct_run(call, &p->direct, &used, p->cut.channels, x.data, job.to);
        ox_dense_store(call, count, job.to);
        return OX_OK;
    }
    const double bytes = (double)count * (double)ox_least(p->window.taps, p->window.in_count) * (double)p->width;
    ox_pool_walk walk = {&p->window, p->place, &p->cut, p->width, x.data, take_windows, &job};
    ox_pool_run_pieces(call->pool, bytes, p->whole ? whole_part : ox_pool_walk_part,
                       p->whole ? (void *)&job : (void *)&walk);
    if (job.to)
        ox_dense_store(call, count, job.to);
    return OX_OK;
}
