/* conv_rows.c: convolutions as products with pixels as rows: the weights lie in panels that are made once for all
 * sessions, and each pixel is a row of what its window sees, tap by tap with all channels of a tap side by side. The
 * image has its channels last for that, so that a row is gathered in few runs. Devices leave this out. */
#include "conv_rows.h"
#include "loops/reduce_loops.h"
#include "ops/dense.h"

#include <math.h>
#include <string.h>

enum {
    TOGETHER = 4 << 20, /* bytes of images that are laid out before they are multiplied */
    STEP = 64,          /* pixels that threads lay out at a time */
    WIDE = 64           /* bytes of a vector */
};

static const double MOST_SEEN = 0.9; /* of the products, where tiles leave padding out */

static int64_t channels_of(const ox_conv *c) {
    return c->in_channels * c->groups;
}

/* Elements behind each other in the image that a window sees: the taps of a line, or the channels of one tap. */
static bool joins_taps(const ox_conv *c) {
    return c->groups == 1 && c->window.dilation[c->window.spatial - 1] == 1;
}

/* ---- Weights ------------------------------------------------------------------------------------------------ */

typedef struct rows_weights {
    const ox_conv *conv;
    const ox_loops *loops;
    const ox_gemm_kernel *kernel;
    const ox_tensor *all;
} rows_weights;

/* An ox_gemm_panel_fn: of a group, whose row k is that of channel k % channels of tap k / channels. */
static void lay_weights(const ox_gemm *g, const ox_gemm_block *panel, char *stage) {
    const rows_weights *w = g->context;
    const int64_t width = (int64_t)ox_dtype_size(w->all->dtype), taps = w->conv->window.taps,
                  channels = w->conv->in_channels, each = taps * channels * width, end = panel->row + panel->rows;
    for (int64_t k = panel->row; k < end;) {
        const int64_t tap = ox_quotient(k, channels), channel = k - tap * channels,
                      count = ox_least(end - k, channels - channel);
        const ox_gemm_matrix from = {w->all->dtype,
                                     (const char *)g->b.data + panel->column * each + (channel * taps + tap) * width,
                                     taps * width, each};
        w->kernel->pack_b(w->loops, &from, count, panel->columns, panel->data + (k - panel->row) * panel->data_row,
                          panel->data_row, stage);
        k += count;
    }
}

/* An ox_gemm_place_fn: the weights of a group. */
static void place_weights(const void *places, int64_t group, ox_gemm *g) {
    const rows_weights *w = places;
    g->b.data = (const char *)w->all->data + group * g->n * g->k * (int64_t)ox_dtype_size(w->all->dtype);
}

/* The panels; NULL if there is no room for them. */
static ox_status find_panels(ox_call *call, ox_conv *c, const ox_gemm_kernel *kernel) {
    const ox_tensor *w = call->in[c->weights];
    const rows_weights all = {c, call->loops, kernel, w};
    const ox_gemm g = {
        .n = c->out_channels, .k = c->in_channels * c->window.taps, .panel = lay_weights, .context = &all};
    ox_store_key key = ox_packed_key(OX_LAYOUT_ROWS, kernel, w);
    key.groups = c->groups;
    const ox_gemm_weights weights = {kernel, &g, c->groups, place_weights, &all, &key};
    return ox_gemm_lay_once(call, &weights, &c->rows.each, &c->rows.panels);
}

/* ---- Padding ------------------------------------------------------------------------------------------------ */

/* An ox_gemm_seen_fn: from the first tap that one of the windows sees to the last one. */
static void find_seen(const ox_gemm *g, int64_t column, int64_t columns, int64_t *k, int64_t *depth) {
    const ox_conv *c = g->context;
    const ox_window *w = &c->window;
    int64_t index[OX_WINDOW_DIMS], first = w->taps, end = 0;
    ox_index_of(w->spatial, w->out, column, index);
    for (int64_t i = 0; i < columns; i++, ox_index_next(w->spatial, w->out, index)) {
        const ox_taps *seen = c->rows.seen;
        int64_t least = 0, last = 0;
        bool sees = true;
        for (int d = 0; d < w->spatial; seen += w->out[d++]) {
            const ox_taps taps = seen[index[d]];
            sees = sees && taps.first < taps.end;
            least = least * w->kernel[d] + taps.first;
            last = last * w->kernel[d] + taps.end - 1;
        }
        first = sees ? ox_least(first, least) : first;
        end = sees ? ox_most(end, last + 1) : end;
    }
    const int64_t from = ox_most(*k, first * c->in_channels), until = ox_least(*k + *depth, end * c->in_channels);
    *depth = ox_most(0, until - from);
    *k = *depth ? from : *k;
}

/* The taps that each window sees, by dimension. */
static ox_status list_taps(ox_call *call, ox_conv *c) {
    const ox_window *w = &c->window;
    size_t count = 0;
    for (int d = 0; d < w->spatial; d++)
        count += (size_t)w->out[d];
    ox_taps *taps = ox_pile_array(call->pile, count, sizeof *taps);
    if (!taps)
        return ox_fail_memory(call->error, "a prepared operator", count * sizeof *taps);
    c->rows.seen = taps;
    for (int d = 0; d < w->spatial; d++)
        for (int64_t i = 0; i < w->out[d]; i++)
            *taps++ = ox_window_taps(w, d, i);
    return OX_OK;
}

/* The part of the products that is left where tiles leave padding out. */
static double part_seen(const ox_conv *c, const ox_gemm_kernel *kernel) {
    const ox_gemm g = {.context = c};
    const int64_t n = c->window.out_count, all = c->in_channels * c->window.taps;
    double seen = 0;
    for (int64_t i = 0; i < n; i += kernel->rows) {
        const int64_t columns = ox_least(kernel->rows, n - i);
        int64_t k = 0, depth = all;
        find_seen(&g, i, columns, &k, &depth);
        seen += (double)columns * (double)depth;
    }
    return seen / ((double)n * (double)all);
}

/* What is left out must be zeros: so no weight may be infinite or NaN. */
static bool is_finite(const ox_call *call, const ox_tensor *w) {
    ox_folder folder;
    double sum = 0;
    if (!OX_BUILD_OF(call->loops, OX_FOLD_SUM)(w->dtype, &folder))
        return false;
    folder.rows(&sum, 1, w->data, 0, ox_tensor_count(w), (int64_t)ox_dtype_size(w->dtype));
    return isfinite(sum);
}

/* Decides whether tiles leave padding out; gives the part of the products that is left then. */
static ox_status plan_seen(ox_call *call, ox_conv *c, const ox_gemm_kernel *kernel, double *part) {
    *part = 1;
    if (c->pointwise)
        return OX_OK;
    const ox_pile_mark mark = ox_pile_save(call->pile);
    OX_TRY(list_taps(call, c));
    *part = part_seen(c, kernel);
    if (*part > MOST_SEEN || !is_finite(call, call->in[c->weights])) {
        c->rows.seen = NULL;
        ox_pile_restore(call->pile, mark);
        *part = 1;
    }
    return OX_OK;
}

/* ---- Prepare ------------------------------------------------------------------------------------------------ */

static const ox_gemm_kernel *kernel_of(const ox_call *call) {
    const ox_dtype dtype = ox_dtype_compute(call->in[0]->dtype);
    return ox_gemm_kernel_of(call->loops, dtype, dtype);
}

bool ox_conv_rows_can(const ox_call *call, const ox_conv *c, const ox_gemm_kernel *kernel) {
    const ox_tensor *w = call->in[c->weights];
    return call->store && (call->weights >> c->weights & 1) &&
           (c->window.taps == 1 || ox_remainder(c->in_channels, kernel->group) == 0) && w->rank <= OX_STORE_DIMS &&
           ox_tensor_is_packed(w) && c->images > 0 && c->window.in_count > 0 && c->window.out_count > 0 &&
           c->window.taps > 0 && c->in_channels > 0 && c->out_channels > 1;
}

static bool can(const ox_call *call, const ox_conv *c) {
    const ox_gemm_kernel *kernel = kernel_of(call);
    return kernel->group == 1 && ox_dtype_compute(call->in[c->weights]->dtype) == kernel->b &&
           ox_conv_rows_can(call, c, kernel);
}

static double steps_of(const ox_conv *c, double products, const ox_conv_steps *each) {
    const double k = (double)c->in_channels * (double)c->window.taps, m = (double)c->out_channels,
                 n = (double)c->window.out_count, image = (double)c->in_channels * (double)c->window.in_count;
    const int64_t last = c->window.spatial - 1,
                  runs = joins_taps(c) ? ox_quotient(c->window.taps, c->window.kernel[last]) : c->window.taps;
    return products + each->result * m * n + each->image * image + each->weights * m * k +
           (c->pointwise ? 0 : each->gathered * n * k + each->run * n * (double)runs);
}

double ox_conv_rows_part(const ox_conv *c, int64_t unit, double groups, double seen, const ox_conv_steps *rows,
                         const ox_conv_steps *columns) {
    const int64_t m = c->out_channels, n = c->window.out_count;
    return steps_of(c, seen * (double)n * groups * (double)ox_quotient(m + unit - 1, unit), rows) /
           steps_of(c, (double)m * groups * (double)ox_quotient(n + unit - 1, unit), columns);
}

/* Measured, on processors with AVX2 and AVX-512: docs/performance.md has the layers. A step with wide vectors takes
 * longer. An image that tiles read where it lies takes none. `seen` of the products of rows are computed. */
static double cost_of(const ox_conv *c, const ox_gemm_kernel *kernel, double seen, const ox_gemm *as_columns) {
    static const ox_conv_steps rows[] = {{7, 1.5, 1.6, 0, 16}, {1.2, 0.33, 0.1, 0, 2}},
                               columns[] = {{4, 3, 5, 1.3, 0}, {0.45, 0.3, 0.6, 0.6, 0}};
    const bool wide = kernel->unit * (int64_t)ox_dtype_size(kernel->b) >= WIDE;
    ox_conv_steps of_columns = columns[wide];
    if (ox_gemm_reads_in_place(kernel, as_columns))
        of_columns.image = 0;
    return ox_conv_rows_part(c, kernel->unit, (double)c->in_channels * (double)c->window.taps, seen, &rows[wide],
                             &of_columns);
}

/* Finds out what tiles leave out, too. */
static ox_status cost(ox_call *call, ox_conv *c, double *part) {
    const ox_gemm as_columns = ox_conv_product(c, ox_dtype_compute(call->in[0]->dtype));
    double seen;
    OX_TRY(plan_seen(call, c, kernel_of(call), &seen));
    *part = cost_of(c, kernel_of(call), seen, &as_columns);
    return OX_OK;
}

static ox_gemm rows_product(const ox_call *call, const ox_conv *c, const void *bias);

ox_status ox_conv_rows_weights(ox_call *call, ox_conv *c, const ox_gemm_kernel *kernel) {
    c->rows.is_laid = !c->pointwise || kernel->group > 1; /* other tiles read it where it lies */
    return find_panels(call, c, kernel);
}

ox_status ox_conv_rows_plan(ox_call *call, ox_conv *c, const ox_gemm *g) {
    ox_conv_rows *r = &c->rows;
    const int64_t image = channels_of(c) * c->window.in_count * (int64_t)ox_dtype_size(g->b.dtype);
    r->together = r->is_laid ? ox_least(c->images, ox_quotient(TOGETHER, image) + 1) : c->images;
    r->bytes = r->is_laid ? (size_t)(r->together * image) : 0;
    r->pool = ox_pool_for(call->pool, (double)image);
    OX_TRY(ox_workspace_add(call, 1, r->bytes));
    return ox_gemm_prepare(call, g, r->together * c->groups, &c->plan);
}

static ox_status prepare(ox_call *call, ox_conv *c, bool *ready) {
    OX_TRY(ox_conv_rows_weights(call, c, kernel_of(call)));
    *ready = c->rows.panels != NULL;
    if (!*ready)
        return OX_OK;
    const ox_gemm product = rows_product(call, c, NULL);
    return ox_conv_rows_plan(call, c, &product);
}

/* ---- Images ------------------------------------------------------------------------------------------------- */

typedef struct image_job {
    const ox_conv *conv;
    int64_t width, images;
    uint8_t flip; /* of each byte */
    const char *from;
    char *to;
} image_job;

static void flip_bytes(int64_t count, uint8_t flip, uint8_t *bytes) {
    for (int64_t i = 0; i < count; i++)
        bytes[i] ^= flip;
}

/* Some pixels of some images, with their channels last. */
static void image_part(void *context, int part, int parts) {
    const image_job *job = context;
    const ox_conv *c = job->conv;
    const int64_t pixels = c->window.in_count, channels = channels_of(c), steps = ox_quotient(pixels - 1, STEP) + 1;
    int64_t at, end;
    ox_pool_range(job->images * steps, part, parts, &at, &end);
    for (int64_t next; at < end; at = next) {
        const int64_t image = ox_quotient(at, steps), first = (at - image * steps) * STEP;
        next = ox_least(end, (image + 1) * steps);
        const int64_t count = ox_least((next - at) * STEP, pixels - first), start = image * channels * pixels;
        char *to = job->to + (start + first * channels) * job->width;
        ox_gemm_loops(&c->plan)->transpose((size_t)job->width)(channels, count, to, channels * job->width,
                                                               job->from + (start + first) * job->width,
                                                               pixels * job->width, 0);
        if (job->flip)
            flip_bytes(count * channels * job->width, job->flip, (uint8_t *)to);
    }
}

/* ---- Gathering ---------------------------------------------------------------------------------------------- */

/* A part of what windows see: elements [first, first + count) of a run, which starts at a tap. */
typedef struct row_run {
    const ox_conv *conv;
    const char *image; /* the first channel of the group */
    int fill;          /* the bytes of padding */
    int64_t width, first, count;
    int64_t tap[OX_WINDOW_DIMS];
} row_run;

/* The line of the image that the windows of a line of results see; NULL in the padding. */
static const char *find_line(const row_run *run, const int64_t *index) {
    const ox_window *w = &run->conv->window;
    int64_t line = 0;
    for (int d = 0; d < w->spatial - 1; d++) {
        const int64_t i = index[d] * w->stride[d] - w->pad[d] + run->tap[d] * w->dilation[d];
        if (i < 0 || i >= w->in[d])
            return NULL;
        line = line * w->in[d] + i;
    }
    return run->image + line * w->in[w->spatial - 1] * channels_of(run->conv) * run->width;
}

/* What one window sees where its run begins at column x of the line: a part of it is padding. */
static void copy_clipped(const row_run *run, const char *line, int64_t x, char *to) {
    const ox_conv *c = run->conv;
    const int64_t width = run->width, channels = c->in_channels, end = run->first + run->count,
                  last = (c->window.in[c->window.spatial - 1] - x) * channels;
    const int64_t from = ox_least(end, ox_most(run->first, -x * channels)), until = ox_most(from, ox_least(end, last));
    memset(to, run->fill, (size_t)((from - run->first) * width));
    if (until > from)
        memcpy(to + (from - run->first) * width, line + (x * channels_of(c) + from) * width,
               (size_t)((until - from) * width));
    memset(to + (until - run->first) * width, run->fill, (size_t)((end - until) * width));
}

/* Windows side by side in a line of results: those inside the image see their runs whole. */
static void copy_line(const row_run *run, const char *line, int64_t x, int64_t windows, char *to, int64_t to_row) {
    const ox_conv *c = run->conv;
    const ox_window *w = &c->window;
    const int64_t channels = c->in_channels, stride = w->stride[w->spatial - 1],
                  size = w->in[w->spatial - 1] * channels;
    const int64_t least = -ox_quotient(run->first, channels), room = size - run->first - run->count;
    int64_t first = x < least ? ox_quotient(least - x + stride - 1, stride) : 0, end = 0;
    if (line && room >= x * channels)
        end = ox_quotient(ox_quotient(room - x * channels, channels), stride) + 1;
    first = ox_least(first, windows);
    end = ox_most(first, ox_least(end, windows));
    for (int64_t i = 0; i < windows; i++) {
        char *at = to + i * to_row;
        if (!line) {
            memset(at, run->fill, (size_t)(run->count * run->width));
        } else if (i == first && end > first) {
            const int64_t step = stride * channels_of(c) * run->width;
            ox_gemm_loops(&c->plan)->gemm_copy(end - first, (size_t)(run->count * run->width), at, to_row,
                                               line + ((x + i * stride) * channels_of(c) + run->first) * run->width,
                                               step);
            i = end - 1;
        } else {
            copy_clipped(run, line, x + i * stride, at);
        }
    }
}

/* Zeros behind the last element along k, up to a whole group. */
static void fill_group(const ox_gemm *g, const ox_conv *c, const ox_gemm_block *to) {
    const int64_t group = c->plan.kernel->group, odd = ox_remainder(to->rows, group),
                  width = (int64_t)ox_dtype_size(g->b.dtype);
    for (int64_t i = 0; odd && i < to->columns; i++)
        memset(to->data + i * to->data_row + to->rows * width, 0, (size_t)((group - odd) * width));
}

void ox_conv_rows_gather(const ox_gemm *g, const ox_conv *c, int fill, const ox_gemm_block *to) {
    const ox_window *w = &c->window;
    const int last = w->spatial - 1;
    const int64_t taps = joins_taps(c) ? w->kernel[last] : 1, length = taps * c->in_channels, end = to->row + to->rows;
    row_run run = {c, g->b.data, fill, (int64_t)ox_dtype_size(g->b.dtype), 0, 0, {0}};
    for (int64_t k = to->row; k < end; k += run.count) {
        const int64_t number = ox_quotient(k, length);
        int64_t index[OX_WINDOW_DIMS], count;
        run.first = k - number * length;
        run.count = ox_least(end - k, length - run.first);
        ox_index_of(w->spatial, w->kernel, number * taps, run.tap);
        ox_index_of(w->spatial, w->out, to->column, index);
        for (int64_t i = 0; i < to->columns; i += count) {
            const int64_t x = index[last] * w->stride[last] - w->pad[last] + run.tap[last] * w->dilation[last];
            count = ox_least(to->columns - i, w->out[last] - index[last]);
            copy_line(&run, find_line(&run, index), x, count, to->data + (k - to->row) * run.width + i * to->data_row,
                      to->data_row);
            index[last] = 0;
            ox_index_next(last, w->out, index);
        }
    }
    fill_group(g, c, to);
}

/* An ox_gemm_columns_fn. */
static void gather_rows(const ox_gemm *g, const ox_gemm_block *to) {
    ox_conv_rows_gather(g, g->context, 0, to);
}

/* ---- Run ---------------------------------------------------------------------------------------------------- */

void ox_conv_rows_product(const ox_conv *c, ox_gemm_columns_fn *gather, ox_gemm *g) {
    g->left_panels = c->rows.panels;
    g->gather = c->pointwise ? NULL : gather;
    g->panel = NULL;
    if (c->pointwise && c->rows.is_laid) {
        g->b.row = (int64_t)ox_dtype_size(g->b.dtype);
        g->b.col = channels_of(c) * g->b.row;
    }
}

static ox_gemm rows_product(const ox_call *call, const ox_conv *c, const void *bias) {
    ox_gemm g = ox_conv_float_product(call, c, bias);
    ox_conv_rows_product(c, gather_rows, &g);
    g.seen = c->rows.seen ? find_seen : NULL;
    return g;
}

/* Where operands are. */
typedef struct rows_places {
    const ox_conv *conv;
    const char *x, *extra;
    int64_t width, extra_size;
} rows_places;

/* An ox_gemm_place_fn: a product for each image and group. */
static void place(const void *places, int64_t i, ox_gemm *g) {
    const rows_places *p = places;
    const ox_conv *c = p->conv;
    const int64_t image = ox_quotient(i, c->groups), group = i - image * c->groups;
    OX_ASSERT(group >= 0 && group < c->groups && image >= 0 && image < c->images);
    OX_ASSERT(ox_is_aligned(c->rows.panels) && c->rows.each % OX_ALIGN == 0);
    const int64_t before = image * channels_of(c) * c->window.in_count,
                  channels = group * c->in_channels * (c->rows.is_laid ? 1 : c->window.in_count);
    g->b.data = p->x + (before + channels) * p->width;
    g->left_panels = (const char *)c->rows.panels + (size_t)group * c->rows.each;
    g->extra = p->extra ? p->extra + group * c->out_channels * p->extra_size : NULL;
}

void ox_conv_rows_run(const ox_call *call, const ox_conv *c, size_t *used, ox_gemm *g, const ox_conv_operands *of,
                      const ox_conv_rows_extra *extra) {
    const ox_conv_rows *r = &c->rows;
    const int64_t width = (int64_t)ox_dtype_size(g->b.dtype), image = channels_of(c) * c->window.in_count;
    char *images = ox_workspace_take(call, used, 1, r->bytes), *workspace = ox_gemm_take(call, used, &c->plan);
    rows_places places = {c, of->x, of->bias, width, extra->size};
    for (int64_t i = 0; i < c->images; i += r->together) {
        const int64_t count = ox_least(r->together, c->images - i), channels = i * c->groups * c->out_channels;
        const char *from = (const char *)of->x + i * image * width;
        places.x = from;
        if (r->is_laid) {
            ox_pool_run_pieces(r->pool, (double)(count * image * width), image_part,
                               &(image_job){c, width, count, extra->flip, from, images});
            places.x = images;
        }
        OX_ASSERT(count > 0);
        g->start = channels * c->window.out_count;
        g->c = of->to ? (char *)of->to + channels * g->c_row : NULL;
        ox_gemm_run(&c->plan, g, count * c->groups, place, &places, workspace);
    }
}

static void run(const ox_call *call, const ox_conv *c, size_t *used, const ox_conv_operands *of) {
    ox_gemm g = rows_product(call, c, of->bias);
    ox_conv_rows_run(call, c, used, &g, of, &(ox_conv_rows_extra){.size = (int64_t)ox_dtype_size(g.b.dtype)});
}

/* ---- The way ------------------------------------------------------------------------------------------------ */

static const char *algorithm(const ox_conv *c) {
    return c->pointwise ? "product with pixels as rows, channels first"
                        : "product of gathered pixels as rows, channels first";
}

const ox_conv_way ox_conv_rows_way = {.name = "rows",
                                      .lays_weights = true,
                                      .algorithm = algorithm,
                                      .can = can,
                                      .cost = cost,
                                      .prepare = prepare,
                                      .run = run};
