/* byte_pool.c: QLinearAveragePool. The rows of the image that a row of windows covers are added up first, columns side
 * by side, and those sums along the kernel's last dimension then, as in pool.c. A window that sees all of an image adds
 * it up as one row; where a kernel is so wide that columns would not fit, each window is added up by itself. */
#include "byte_pool.h"

#include "ops/byte_scales.h"
#include "pool_place.h"

#include <string.h>

#if OX_WITH_OWN_OPERATORS
enum {
    TILE = 1024 /* sums of columns, and of windows, in a thread's stack */
};

typedef struct byte_pool {
    ox_window window;
    ox_pool_place *places;
    int64_t whole; /* one window sees all of an image: how many elements count; else 0 */
    bool wide;     /* each window by itself */
    ox_pool_cut cut;
} byte_pool;

/* ---- Shapes and plans ----------------------------------------------------------------------------------------- */

static ox_status infer(ox_call *call) {
    ox_window w = {0};
    int64_t room[OX_WINDOW_LISTS * OX_WINDOW_DIMS] = {0};
    OX_TRY(ox_check_bytes(call, 0));
    OX_TRY(ox_check_bytes_out(call, 3));
    if (call->in[0]->rank < 2)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s: dimensions for images and channels are expected",
                            OX_INPUT(call, 0));
    ox_window_place(&w, ox_window_spatial(call->in[0]), room);
    OX_TRY(ox_pool_geometry(call, &w));
    return ox_pool_infer(call, call->in[4]->dtype, w.out);
}

static void cut_rows(int64_t channels, byte_pool *p) {
    const ox_window *w = &p->window;
    const int last = w->spatial - 1;
    p->wide = w->kernel[last] > TILE / 2 || (w->kernel[last] - 1) * w->dilation[last] >= TILE / 2 ||
              ox_least(w->taps, w->in_count) > OX_MOST_BYTES_SUMMED;
    p->cut = ox_pool_cut_of(
        w, channels,
        p->wide ? TILE : ox_quotient(TILE - (w->kernel[last] - 1) * w->dilation[last] - 1, w->stride[last]) + 1);
}

static ox_status prepare(ox_call *call) {
    const ox_tensor *x = call->in[0];
    byte_pool *p = ox_window_state(call, sizeof *p, ox_window_spatial(x));
    if (!p)
        return OX_ERROR_MEMORY;
    OX_TRY(ox_pool_geometry(call, &p->window));
    if (!ox_tensor_count(call->out[0]))
        return OX_OK;
    OX_TRY(ox_pool_find_places(call, &p->window, ox_call_int(call, "count_include_pad", 0) != 0, &p->places));
    p->whole = ox_pool_count_whole(&p->window, p->places);
    cut_rows(x->dims[0] * x->dims[1], p);
    ox_call_name(call, p->whole  ? "whole images of bytes, channels first"
                       : p->wide ? "bytes, window by window, channels first"
                                 : "rows of bytes, then columns, channels first");
    return OX_OK;
}

/* ---- Rows --------------------------------------------------------------------------------------------------- */

typedef struct pool_job {
    const byte_pool *p;
    ox_byte_means means;
    const char *from;
    char *to;
} pool_job;

/* ---- Windows ------------------------------------------------------------------------------------------------ */

/* Adds n neighbours of all rows, from element `at` on, to as many sums. */
static void add_columns(const ox_byte_means *means, const ox_pool_rows *rows, int64_t at, int64_t n, uint32_t *sums) {
    const char *from = rows->from + at;
    int64_t index[OX_WINDOW_DIMS] = {0};
    do
        means->loops->add(n, from, means->flip, sums);
    while (ox_walk(&rows->plan, 0, index, &from));
}

/* The sums of windows [i, i + n) of a row become bytes: those behind each other that see as much, together. */
static void end_windows(const ox_byte_means *means, const ox_pool_rows *rows, const ox_pool_place *place, int64_t n,
                        const uint32_t *sums, char *to) {
    for (int64_t i = 0, same; i < n; i += same) {
        const ox_pool_place *first = place + i;
        for (same = 1; i + same < n && first[same].taps == first->taps && first[same].counted == first->counted;)
            same++;
        ox_end_byte_means(means, same, sums + i, rows->inside * first->taps,
                          ox_byte_mean_factor(means, rows->counted * (double)first->counted), to + i);
    }
}

/* Windows [i, i + n) of a row, by way of the row that their columns add up to. */
static void pool_together(const pool_job *job, const ox_pool_rows *rows, int64_t i, int64_t n, char *to) {
    const byte_pool *p = job->p;
    const ox_window *w = &p->window;
    const int last = w->spatial - 1;
    const int64_t start = i * w->stride[last] - w->pad[last];
    const int64_t span = (n - 1) * w->stride[last] + (w->kernel[last] - 1) * w->dilation[last] + 1;
    const int64_t before = start < 0 ? ox_least(-start, span) : 0;
    const int64_t inside = ox_least(span, w->in[last] - start) - before;
    uint32_t columns[TILE], sums[TILE];
    memset(columns, 0, (size_t)span * sizeof *columns);
    if (rows->inside && inside > 0)
        add_columns(&job->means, rows, start + before, inside, columns + before);
    job->means.loops->slide(n, sums, columns, w->stride[last], w->kernel[last], w->dilation[last]);
    end_windows(&job->means, rows, ox_pool_last_places(w, p->places) + i, n, sums, to);
}

/* The same, each window by itself. */
static void pool_each(const pool_job *job, const ox_pool_rows *rows, int64_t i, int64_t n, char *to) {
    const ox_window *w = &job->p->window;
    const int64_t step = w->dilation[w->spatial - 1];
    const ox_pool_place *place = ox_pool_last_places(w, job->p->places) + i;
    for (; n; n--, place++, to++) {
        const char *from = rows->from + place->from;
        int64_t index[OX_WINDOW_DIMS] = {0};
        uint64_t sum = 0;
        if (rows->inside && place->taps)
            do
                for (int64_t k = 0; k < place->taps; k++)
                    sum += OX_GET(ox_u8, from + k * step) ^ job->means.flip;
            while (ox_walk(&rows->plan, 0, index, &from));
        ox_end_byte_mean(&job->means, sum, rows->inside * place->taps,
                         ox_byte_mean_factor(&job->means, rows->counted * (double)place->counted), to);
    }
}

/* ---- Run ---------------------------------------------------------------------------------------------------- */

/* Some windows of a row. */
static void take_windows(const void *context, const ox_pool_stretch *s) {
    const pool_job *job = context;
    if (job->p->wide)
        pool_each(job, &s->rows, s->first, s->count, job->to + s->result);
    else
        pool_together(job, &s->rows, s->first, s->count, job->to + s->result);
}

/* Whole images of n channels, each a row. */
static void pool_whole(const pool_job *job, double factor, int64_t n, const char *from, char *to) {
    const int64_t count = job->p->window.in_count;
    const bool is_large = count > OX_MOST_BYTES_SUMMED;
    uint32_t sums[TILE];
    for (int64_t i = 0; i < n; i++, from += count) {
        const uint64_t sum = job->means.loops->sum_run(count, from, job->means.flip);
        sums[i] = (uint32_t)sum;
        if (is_large)
            ox_end_byte_mean(&job->means, sum, count, factor, to + i);
    }
    if (!is_large)
        ox_end_byte_means(&job->means, n, sums, count, factor, to);
}

static void whole_part(void *context, int part, int parts) {
    const pool_job *job = context;
    const byte_pool *p = job->p;
    const double factor = ox_byte_mean_factor(&job->means, (double)p->whole);
    int64_t at, end;
    ox_pool_range(p->cut.channels, part, parts, &at, &end);
    for (int64_t n; at < end; at += n) {
        n = ox_least(TILE, end - at);
        pool_whole(job, factor, n, job->from + at * p->window.in_count, job->to + at);
    }
}

static ox_status run(ox_call *call) {
    const byte_pool *p = call->state;
    pool_job job = {p, ox_byte_means_of(call), call->in[0]->data, call->out[0]->data};
    const double count = (double)ox_tensor_count(call->out[0]);
    ox_pool_walk walk = {&p->window, p->places, &p->cut, 1, job.from, take_windows, &job};
    if (p->places)
        ox_pool_run_pieces(call->pool, count * (double)ox_least(p->window.taps, p->window.in_count),
                           p->whole ? whole_part : ox_pool_walk_part, p->whole ? (void *)&job : (void *)&walk);
    return OX_OK;
}

const ox_op ox_op_qlinear_average_pool = {.domain = "",
                                          .name = "QLinearAveragePool",
                                          .since = 1,
                                          .versions = 2,
                                          .min_in = 5,
                                          .max_in = 5,
                                          .min_out = 1,
                                          .max_out = 1,
                                          .dtypes = OX_BYTE_TYPES,
                                          .infer = infer,
                                          .prepare = prepare,
                                          .run = run,
                                          .flags = OX_OP_GAPS};
#endif
