/* conv_integer.c: ConvInteger and QLinearConv. Bytes are multiplied as they are, padding being the zero point of the
 * image, and what zero points contribute is taken off the sums, which are 32-bit integers that wrap. Where a group has
 * one input channel, bytes less their zero points are floats, whose sums are exact as long as they are below 2^24. */
#include "loops/element.h"
#include "ops/dense.h"
#include "conv_depth.h"
#include "conv_integer.h"
#include "conv_rows.h"
#include "conv_words.h"

#include <math.h>
#include <string.h>

enum {
    EXACT_PRODUCTS = (1 << 24) / (255 * 255), /* the most products of bytes whose sums are exact in floats */
    MOST_PROVEN = 1024, /* of a sum: of longer ones, making them bytes is a small part of the time */
    WORD = 4,           /* bytes that are multiplied by one instruction, */
    WIDE = 64,          /* bytes of a vector */
    MANY_OUTPUTS = 8,   /* and outputs of a group for which words of them are gathered once */
    SUM_ROWS = 16       /* that are gathered together where columns are summed */
};

/* The numbers of the inputs; -1 if the operator has none. */
typedef struct integer_inputs {
    int w, x_zero, w_zero, bias, x_scale, w_scale, y_scale, y_zero;
} integer_inputs;

typedef struct conv_integer {
    ox_conv conv;
    ox_dtype dtype;               /* of the result */
    uint32_t x_shift;             /* what the kernel adds to elements of the image */
    bool w_zeros;                 /* zero points of weights may be other than 0 */
    ox_requantize_fn *requantize; /* NULL: the sums are the result */
    size_t behind;                /* bytes of workspace that direct sums take first */
    bool is_wide;                 /* floats are multiplied, whose zero points are taken off before */
    const ox_channel_end *ends;   /* of all output channels, where constants make them; NULL elsewhere */
#if !OX_SMALL
    ox_conv_words words;
    ox_conv_depth depth;
#endif
} conv_integer;

static const integer_inputs *inputs_of(const ox_call *call) {
    static const integer_inputs integer = {1, 2, 3, -1, -1, -1, -1, -1}, quantized = {3, 2, 5, 8, 1, 4, 6, 7};
    return ox_op_has(call->op, OX_OP_QUANTIZED) ? &quantized : &integer;
}

/* ---- Shapes ------------------------------------------------------------------------------------------------- */

static ox_status check_inputs(ox_call *call) {
    const integer_inputs *in = inputs_of(call);
    const ox_tensor *w = call->in[in->w];
    const int64_t channels = w->rank ? w->dims[0] : 1;
    OX_TRY(ox_check_zero(call, 0, in->x_zero, 1));
    return ox_check_zero(call, in->w, in->w_zero, channels);
}

ox_status ox_infer_conv_integer(ox_call *call) {
    OX_TRY(check_inputs(call));
    return ox_conv_infer(call, inputs_of(call)->w, -1, OX_INT32);
}

ox_status ox_infer_qlinear_conv(ox_call *call) {
    const integer_inputs *in = inputs_of(call);
    const int scales[] = {in->x_scale, in->w_scale, in->y_scale};
    OX_TRY(check_inputs(call));
    OX_TRY(ox_call_check_dtype(call, in->y_zero, call->op->dtypes));
    OX_TRY(ox_check_entries(call, in->y_zero, 1));
    for (int i = 0; i < 3; i++) {
        OX_TRY(ox_call_check_dtype(call, scales[i], OX_BIT(OX_FLOAT)));
        OX_TRY(ox_check_entries(call, scales[i], i == 1 && call->in[in->w]->rank ? call->in[in->w]->dims[0] : 1));
    }
    if (ox_given_input(call, in->bias))
        OX_TRY(ox_call_check_dtype(call, in->bias, OX_BIT(OX_INT32)));
    return ox_conv_infer(call, in->w, in->bias, call->in[in->y_zero]->dtype);
}

/* ---- What becomes of sums ------------------------------------------------------------------------------------ */

#if OX_WITH_COLUMNS
/* Scales and biases. */
static void add_scales(const ox_call *call, ox_channel_end *ends) {
    const integer_inputs *in = inputs_of(call);
    const int64_t channels = call->in[in->w]->dims[0];
    const ox_tensor *bias = ox_given_input(call, in->bias);
    for (int64_t i = 0; i < channels; i++) {
        ends[i] = (ox_channel_end){.more = bias ? (uint32_t)ox_tensor_int(bias, i) : 0};
        if (in->y_scale >= 0)
            ends[i].scale = ox_scale_entry(call->in[in->x_scale], 0) * ox_scale_entry(call->in[in->w_scale], i) /
                            ox_scale_entry(call->in[in->y_scale], 0);
    }
}

/* What the sums of products (x + x_shift) * w differ from those without shift and zero points. */
static void add_zeros(const ox_call *call, const conv_integer *c, ox_channel_end *ends) {
    const integer_inputs *in = inputs_of(call);
    const ox_tensor *w = call->in[in->w];
    const int64_t k = c->conv.in_channels * c->conv.window.taps;
    const uint32_t x_zero = c->x_shift + ox_zero_entry(ox_given_input(call, in->x_zero), 0);
    const ox_gemm_matrix columns = {w->dtype, w->data, 1, k};
    for (int64_t i = 0; i < w->dims[0]; i++) {
        const uint32_t zero = ox_zero_entry(ox_given_input(call, in->w_zero), i);
        uint32_t sum = 0;
        if (x_zero) {
            ox_gemm_matrix row = columns;
            row.data = (const char *)w->data + i * k;
            OX_BUILD_OF(call->loops, ox_integer_builds)->sum(&row, k, 1, 0U - (uint32_t)k * zero, &sum);
        }
        ends[i].more -= sum * x_zero;
        ends[i].zero = zero;
    }
}

static void find_ends(const ox_call *call, const conv_integer *c, ox_channel_end *ends) {
    add_scales(call, ends);
    if (!c->is_wide)
        add_zeros(call, c, ends);
}

#if !OX_SMALL
/* By its absolute value; 0 if there is no bias. */
static int64_t largest_bias(const ox_tensor *bias) {
    int64_t most = 0;
    for (int64_t i = 0; bias && i < ox_tensor_count(bias); i++) {
        const int64_t value = ox_tensor_int(bias, i);
        most = ox_most(most, value < 0 ? -value : value);
    }
    return most;
}

/* Where floats round as doubles do, if results are bytes whose zero point is constant. Most channels share a scale with
 * their neighbours. */
static void prove_ends(const ox_call *call, const conv_integer *c, ox_channel_end *ends) {
    const integer_inputs *in = inputs_of(call);
    const int64_t channels = call->in[in->w]->dims[0], k = c->conv.in_channels * c->conv.window.taps;
    ox_prove_fn *prove = OX_BUILD_OF(call->loops, ox_integer_builds)->prove;
    const float one = 1;
    if (!c->requantize || !(call->constants >> in->y_zero & 1) || k > MOST_PROVEN)
        return;
    const int64_t most = k * UINT8_MAX * UINT8_MAX + largest_bias(ox_given_input(call, in->bias));
    ox_requantization how = {
        .dtype = c->dtype, .zero = (double)(int32_t)ox_zero_entry(call->in[in->y_zero], 0), .column_scales = &one};
    for (int64_t i = 0; i < channels; i++) {
        how.row_scale = ends[i].scale;
        ends[i].proven = i && how.row_scale == ends[i - 1].scale ? ends[i - 1].proven : prove(&how, most);
    }
}
#endif

/* Prepare: finds them once, where all that they are made of is constant. */
static ox_status keep_ends(ox_call *call, conv_integer *c) {
    const integer_inputs *in = inputs_of(call);
    const int of[] = {in->w, in->bias, in->x_zero, in->w_zero, in->x_scale, in->w_scale, in->y_scale};
    const int64_t channels = call->in[in->w]->dims[0];
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (ox_given_input(call, of[i]) && !(call->constants >> of[i] & 1))
            return ox_workspace_add(call, channels, sizeof *c->ends);
    ox_channel_end *ends = ox_pile_array(call->pile, (size_t)channels, sizeof *ends);
    if (!ends)
        return OX_ERROR_MEMORY;
    find_ends(call, c, ends);
#if !OX_SMALL
    prove_ends(call, c, ends);
#endif
    c->ends = ends;
    return OX_OK;
}
#endif

/* ---- Preparing ---------------------------------------------------------------------------------------------- */

#if OX_WITH_COLUMNS
static ox_gemm_panel_fn lay_bytes;
static ox_gemm_end_fn finish;

static ox_gemm byte_product(const ox_call *call, const conv_integer *c) {
    const integer_inputs *in = inputs_of(call);
    ox_gemm g = ox_conv_product(&c->conv, call->in[in->w]->dtype);
    g.b.dtype = call->in[0]->dtype;
    g.c_row = g.n * (int64_t)ox_dtype_size(c->dtype);
    g.panel = c->conv.pointwise ? NULL : lay_bytes;
    if (c->requantize || c->w_zeros || c->x_shift || ox_given_input(call, in->x_zero))
        g.after.end = finish;
    return g;
}

/* Rooms for sums over the channels of a group, and over all that each column of all products sees. */
static ox_status plan_column_sums(ox_call *call, const conv_integer *c) {
    if (!c->w_zeros)
        return OX_OK;
    OX_TRY(ox_workspace_add(call, c->conv.window.in_count, sizeof(uint32_t)));
    return ox_workspace_add(call, c->conv.images * c->conv.groups * c->conv.window.out_count, sizeof(uint32_t));
}

static ox_status prepare_bytes(ox_call *call, ox_conv *conv, bool *ready) {
    conv_integer *c = call->state;
    const ox_gemm product = byte_product(call, c);
    *ready = true;
    OX_TRY(keep_ends(call, c));
    OX_TRY(plan_column_sums(call, c));
    return ox_gemm_prepare(call, &product, conv->images * conv->groups, &conv->plan);
}

#if !OX_SMALL
static ox_gemm_panel_fn lay_words;

static ox_gemm word_product(const ox_call *call, const conv_integer *c) {
    ox_gemm g = byte_product(call, c);
    g.panel = lay_words;
    ox_conv_words_product(&c->words, &c->conv, &g);
    return g;
}

static ox_status prepare_words(ox_call *call, ox_conv *conv, bool *ready) {
    conv_integer *c = call->state;
    OX_TRY(ox_conv_words_weights(call, conv, &c->words));
    *ready = c->words.weights != NULL;
    if (!*ready)
        return OX_OK;
    const ox_gemm product = word_product(call, c);
    OX_TRY(keep_ends(call, c));
    OX_TRY(plan_column_sums(call, c));
    OX_TRY(ox_conv_words_plan(call, conv, &c->words));
    return ox_gemm_prepare(call, &product, conv->images * conv->groups, &conv->plan);
}

/* ---- Rows of pixels -------------------------------------------------------------------------------------------- */

/* Images are of the other kind of bytes than weights, whose panels need no flipping then. */
static ox_dtype dtype_of_rows(const ox_call *call, const ox_conv *conv) {
    return call->in[conv->weights]->dtype == OX_INT8 ? OX_UINT8 : OX_INT8;
}

static uint8_t flip_of_rows(const ox_call *call, const ox_conv *conv) {
    return dtype_of_rows(call, conv) != call->in[0]->dtype ? 0x80 : 0;
}

static const ox_gemm_kernel *kernel_of_rows(const ox_call *call, const ox_conv *conv) {
    return ox_gemm_kernel_of(call->loops, dtype_of_rows(call, conv), call->in[conv->weights]->dtype);
}

static bool can_be_rows(const ox_call *call, const ox_conv *conv) {
    const ox_gemm_kernel *kernel = kernel_of_rows(call, conv);
    return kernel->group >= WORD && !kernel->shift && ox_conv_rows_can(call, conv, kernel);
}

/* Measured with VNNI (docs/performance.md): images with few pixels leave lanes of columns empty. Matrix registers have
 * taller tiles. */
static ox_status cost_rows(ox_call *call, ox_conv *conv, double *part) {
    static const ox_conv_steps rows = {1.3, 0.33, 0.17, 0.05, 18}, columns = {0.7, 0.28, 0.25, 0.09, 0};
    const ox_gemm_kernel *kernel = kernel_of_rows(call, conv);
    const double words = ceil((double)conv->in_channels * (double)conv->window.taps / (double)kernel->group);
    *part = INFINITY;
    if (kernel->unit * (int64_t)sizeof(uint32_t) >= WIDE && kernel->rows <= OX_GEMM_TILE_ROWS)
        *part = ox_conv_rows_part(conv, kernel->unit, words, 1, &rows, &columns);
    return OX_OK;
}

static ox_gemm_columns_fn gather_bytes;

static ox_gemm rows_product(const ox_call *call, const conv_integer *c) {
    ox_gemm g = byte_product(call, c);
    g.b.dtype = dtype_of_rows(call, &c->conv);
    ox_conv_rows_product(&c->conv, gather_bytes, &g);
    return g;
}

static ox_status prepare_rows(ox_call *call, ox_conv *conv, bool *ready) {
    conv_integer *c = call->state;
    OX_TRY(ox_conv_rows_weights(call, conv, kernel_of_rows(call, conv)));
    *ready = conv->rows.panels != NULL;
    if (!*ready)
        return OX_OK;
    c->x_shift = !flip_of_rows(call, conv) ? 0 : dtype_of_rows(call, conv) == OX_UINT8 ? 128 : 0U - 128;
    const ox_gemm product = rows_product(call, c);
    OX_TRY(keep_ends(call, c));
    OX_TRY(plan_column_sums(call, c));
    return ox_conv_rows_plan(call, conv, &product);
}

/* Whether sums of floats are exact. */
static bool can_be_wide(const ox_call *call, const ox_conv *conv) {
    (void)call;
    return ox_quotient(EXACT_PRODUCTS, conv->window.taps ? conv->window.taps : 1) >= conv->in_channels &&
           ox_conv_may_be_direct(conv);
}

/* Words of bytes may take less. */
static ox_status cost_wide(ox_call *call, ox_conv *conv, double *part) {
    const ox_gemm_kernel *kernel = ox_gemm_kernel_of(call->loops, call->in[conv->weights]->dtype, call->in[0]->dtype);
    if (kernel->group < WORD || conv->in_channels == 1 || conv->out_channels < MANY_OUTPUTS)
        return ox_conv_direct_way.cost(call, conv, part);
    *part = INFINITY;
    return OX_OK;
}

/* Rooms for image, weights and sums as floats, behind that of direct sums. */
static ox_status prepare_wide(ox_call *call, ox_conv *conv, bool *ready) {
    conv_integer *c = call->state;
    OX_TRY(ox_conv_direct_way.prepare(call, conv, ready));
    c->behind = call->workspace_size;
    c->is_wide = true;
    OX_TRY(keep_ends(call, c));
    OX_TRY(ox_workspace_add(call, ox_tensor_count(call->in[0]), sizeof(float)));
    OX_TRY(ox_workspace_add(call, ox_tensor_count(call->in[conv->weights]), sizeof(float)));
    return c->requantize ? ox_workspace_add(call, ox_tensor_count(call->out[0]), sizeof(float)) : OX_OK;
}
#endif

/* ---- Sums of columns ----------------------------------------------------------------------------------------- */

/* Sums of what each column of a product sees, as the kernel sees it. */
static void sum_columns(const ox_call *call, const conv_integer *c, const char *image, uint32_t fill,
                        uint32_t *channels, uint32_t *sums) {
    const ox_window *w = &c->conv.window;
    const ox_gemm_matrix rows = {call->in[0]->dtype, image, w->in_count, 1};
    const uint32_t k = (uint32_t)c->conv.in_channels;
    uint32_t gathered[SUM_ROWS][OX_CONV_COLUMNS];
    /* Less the zero point, so that padding is 0. */
    OX_BUILD_OF(call->loops, ox_integer_builds)->sum(&rows, c->conv.in_channels, w->in_count, 0U - k * fill, channels);
    const ox_conv_source from = ox_conv_source_of(call->loops, channels, OX_UINT32, 0);
    for (int64_t j = 0; j < w->out_count; j++)
        sums[j] = k * (uint32_t)w->taps * (fill + c->x_shift);
    for (int64_t column = 0; column < w->out_count; column += OX_CONV_COLUMNS)
        for (int64_t tap = 0; tap < w->taps; tap += SUM_ROWS) {
            const int64_t taps = ox_least(SUM_ROWS, w->taps - tap);
            const int64_t columns = ox_least(OX_CONV_COLUMNS, w->out_count - column);
            ox_gemm_block to = {tap, taps, column, columns, NULL, sizeof *gathered, NULL};
            to.data = (char *)gathered;
            ox_conv_columns(&c->conv, &from, &to);
            for (int64_t r = 0; r < taps; r++)
                for (int64_t j = 0; j < columns; j++)
                    sums[column + j] += gathered[r][j];
        }
}

/* ---- Products of bytes ---------------------------------------------------------------------------------------- */

typedef struct integer_job {
    const ox_call *call;
    const conv_integer *c;
    const uint32_t *column_sums; /* of all products, NULL if no zero point of weights is there */
    int fill;                    /* the zero point of the image */
    double zero;                 /* and that of the result; 0 if sums are that */
    const char *words;           /* of all products, where the image is laid out so */
} integer_job;

static integer_job job_of(const ox_call *call, const conv_integer *c) {
    const integer_inputs *in = inputs_of(call);
    return (integer_job){.call = call,
                         .c = c,
                         .fill = (uint8_t)ox_zero_entry(ox_given_input(call, in->x_zero), 0),
                         .zero =
                             c->requantize ? (double)(int32_t)ox_zero_entry(ox_given_input(call, in->y_zero), 0) : 0};
}

/* An ox_gemm_panel_fn. */
static void lay_bytes(const ox_gemm *g, const ox_gemm_block *panel, char *stage) {
    const integer_job *job = g->context;
    const ox_conv_source from = ox_conv_source_of(job->call->loops, g->b.data, g->b.dtype, job->fill);
#if OX_SMALL
    (void)stage;
    ox_conv_columns(&job->c->conv, &from, panel);
#else
    const ox_gemm_matrix staged = {g->b.dtype, stage, panel->columns, 1};
    ox_gemm_block rows = *panel;
    rows.data = stage, rows.data_row = panel->columns;
    ox_conv_columns(&job->c->conv, &from, &rows);
    job->c->conv.plan.kernel->pack_b(job->call->loops, &staged, panel->rows, panel->columns, panel->data,
                                     panel->data_row, NULL);
#endif
}

#if !OX_SMALL
/* An ox_gemm_panel_fn. */
static void lay_words(const ox_gemm *g, const ox_gemm_block *panel, char *stage) {
    const integer_job *job = g->context;
    (void)stage;
    ox_conv_words_columns(&job->c->conv, &job->c->words, g, job->words, job->fill, panel);
}
#endif

#if !OX_SMALL
/* An ox_gemm_columns_fn. */
static void gather_bytes(const ox_gemm *g, const ox_gemm_block *to) {
    const integer_job *job = g->context;
    ox_conv_rows_gather(g, &job->c->conv, job->fill ^ flip_of_rows(job->call, &job->c->conv), to);
}
#endif

/* Makes the sums of a channel its result; `seen` are those of its columns, or NULL. */
static void finish_row(const integer_job *job, const ox_channel_end *end, int64_t n, const uint32_t *seen, char *row,
                       char *to) {
    const uint32_t each = 1, more = job->c->requantize ? 0 : end->more; /* requantizing adds it itself */
    const ox_zero_points zeros = {end->zero, 0 - more, seen, more ? &each : NULL, 0};
    if (seen || more)
        OX_BUILD_OF(job->call->loops, ox_integer_builds)->offset(n, &zeros, row);
    const float one = 1;
    const ox_requantization how = {.dtype = job->c->dtype,
                                   .more = end->more,
                                   .zero = job->zero,
                                   .row_scale = end->scale,
                                   .column_scales = &one,
                                   .proven = end->proven};
    if (job->c->requantize)
        job->c->requantize(n, &how, row, to);
    else if (to != row)
        memcpy(to, row, (size_t)n * sizeof(uint32_t));
}

/* An ox_gemm_end_fn. */
static void finish(const ox_gemm *g, const ox_gemm_block *block) {
    const integer_job *job = g->context;
    const uint32_t *seen = job->column_sums ? job->column_sums + ox_quotient(g->start, g->m) + block->column : NULL;
    const int64_t size = (int64_t)ox_dtype_size(job->c->dtype);
    for (int64_t r = 0; r < block->rows; r++)
        finish_row(job, (const ox_channel_end *)g->extra + block->row + r, block->columns, seen,
                   block->data + r * block->data_row, ox_gemm_out(g, block, r, size));
}

/* What a run of a product needs besides; takes the room for it. */
static integer_job begin_job(const ox_call *call, const conv_integer *c, size_t *used) {
    const ox_conv *conv = &c->conv;
    const uint32_t zero = ox_zero_entry(ox_given_input(call, inputs_of(call)->x_zero), 0);
    integer_job job = job_of(call, c);
    if (!c->w_zeros)
        return job;
    uint32_t *channels = ox_workspace_take(call, used, conv->window.in_count, sizeof *channels);
    const int64_t count = conv->images * conv->groups, columns = conv->window.out_count;
    uint32_t *sums = ox_workspace_take(call, used, count * columns, sizeof *sums);
    for (int64_t i = 0; i < count; i++)
        sum_columns(call, c, (const char *)call->in[0]->data + i * conv->in_channels * conv->window.in_count, zero,
                    channels, sums + i * columns);
    job.column_sums = sums;
    return job;
}

static void run_product(const ox_call *call, const ox_conv *conv, size_t *used, ox_gemm *g, const integer_job *job,
                        const ox_conv_operands *of) {
    g->context = job;
    g->c = of->to;
    ox_conv_run(conv, g, of->x, of->weights, of->bias, (int64_t)sizeof(ox_channel_end),
                ox_gemm_take(call, used, &conv->plan));
}

static void run_bytes(const ox_call *call, const ox_conv *conv, size_t *used, const ox_conv_operands *of) {
    const conv_integer *c = call->state;
    const integer_job job = begin_job(call, c, used);
    ox_gemm g = byte_product(call, c);
    run_product(call, conv, used, &g, &job, of);
}

static const ox_conv_way bytes_way = {
    .name = "columns", .algorithm = ox_conv_product_algorithm, .prepare = prepare_bytes, .run = run_bytes};
#endif

#if !OX_SMALL
static void run_words(const ox_call *call, const ox_conv *conv, size_t *used, const ox_conv_operands *of) {
    const conv_integer *c = call->state;
    integer_job job = begin_job(call, c, used);
    ox_gemm g = word_product(call, c);
    ox_conv_operands laid = *of;
    job.words = ox_conv_words_take(call, conv, &c->words, used);
    laid.weights = c->words.weights;
    run_product(call, conv, used, &g, &job, &laid);
}

static void run_rows(const ox_call *call, const ox_conv *conv, size_t *used, const ox_conv_operands *of) {
    const conv_integer *c = call->state;
    const integer_job job = begin_job(call, c, used);
    ox_gemm g = rows_product(call, c);
    g.context = &job;
    ox_conv_rows_run(call, conv, used, &g, of, &(ox_conv_rows_extra){sizeof(ox_channel_end), flip_of_rows(call, conv)});
}

/* ---- Sums of floats ------------------------------------------------------------------------------------------- */

typedef struct widen_job {
    ox_dtype dtype;
    int64_t rows, count; /* rows of `count` bytes, one after the other */
    const char *from;
    const ox_tensor *zeros; /* one, or one for each row; NULL: 0 */
    float *to;
} widen_job;

/* Some of the rows less their zero points. */
static void widen_part(void *context, int part, int parts) {
    const widen_job *job = context;
    int64_t row, end;
    ox_pool_range(job->rows, part, parts, &row, &end);
    for (; row < end; row++) {
        const int32_t zero = (int32_t)ox_zero_entry(job->zeros, row);
        float *to = job->to + row * job->count;
        const char *from = job->from + row * job->count;
        if (job->dtype == OX_INT8)
            for (int64_t i = 0; i < job->count; i++)
                to[i] = (float)((int32_t)OX_GET(ox_i8, from + i) - zero);
        else
            for (int64_t i = 0; i < job->count; i++)
                to[i] = (float)((int32_t)OX_GET(ox_u8, from + i) - zero);
    }
}

/* A tensor of bytes, of which the zero points are those of its outermost dimensions. */
static float *widen(const ox_call *call, size_t *used, const ox_tensor *t, int64_t rows, const ox_tensor *zeros) {
    const int64_t count = ox_tensor_count(t);
    widen_job job = {t->dtype, rows, rows ? ox_quotient(count, rows) : 0, t->data, zeros, NULL};
    job.to = ox_workspace_take(call, used, count, sizeof(float));
    ox_pool_run_pieces(call->pool, (double)count * 5, widen_part, &job);
    return job.to;
}

typedef struct end_job {
    integer_job integer;
    const ox_channel_end *ends;
    int64_t rows, count;
    char *sums;
} end_job;

/* Some of the channels of all images: floats become integers where they are. */
static void end_part(void *context, int part, int parts) {
    const end_job *job = context;
    const int64_t channels = job->integer.c->conv.groups * job->integer.c->conv.out_channels;
    const int64_t size = (int64_t)ox_dtype_size(job->integer.c->dtype), count = job->count;
    int64_t row, end;
    ox_pool_range(job->rows, part, parts, &row, &end);
    for (; row < end; row++) {
        char *sums = job->sums + row * count * (int64_t)sizeof(float);
        const ox_f32 *from = (const ox_f32 *)(const void *)sums;
        ox_i32 *to = (ox_i32 *)(void *)sums;
        for (int64_t i = 0; i < count; i++)
            to[i] = (int32_t)from[i];
        finish_row(&job->integer, job->ends + ox_remainder(row, channels), count, NULL, sums,
                   (char *)job->integer.call->out[0]->data + row * count * size);
    }
}

static void run_wide(const ox_call *call, const ox_conv *conv, size_t *used, const ox_conv_operands *of) {
    const conv_integer *c = call->state;
    const integer_inputs *in = inputs_of(call);
    const ox_tensor *x = call->in[0], *w = call->in[in->w];
    const int64_t count = ox_tensor_count(call->out[0]);
    const float *wide = widen(call, used, x, x->dims[0] * x->dims[1], ox_given_input(call, in->x_zero));
    const float *weights = widen(call, used, w, w->dims[0], ox_given_input(call, in->w_zero));
    end_job job = {job_of(call, c), of->bias, conv->images * w->dims[0], conv->window.out_count, NULL};
    job.sums = c->requantize ? ox_workspace_take(call, used, count, sizeof(float)) : of->to;
    size_t first = 0;
    ox_conv_direct_run(call, conv, &first, &(ox_conv_operands){wide, weights, NULL, job.sums});
    ox_pool_run_pieces(call->pool, (double)count * 5, end_part, &job);
}
#endif

/* ---- Prepare and run ---------------------------------------------------------------------------------------- */

#if !OX_SMALL
static const char *algorithm_of_words(const ox_conv *conv) {
    const conv_integer *c = (const void *)conv; /* which begins with it */
    return c->words.is_placed ? "product of words where they lie, channels first"
                              : "product of gathered columns of words, channels first";
}

static const char *algorithm_of_rows(const ox_conv *conv) {
    return ox_conv_rows_way.algorithm(conv);
}

static const char *algorithm_wide(const ox_conv *conv) {
    return ox_conv_direct_way.algorithm(conv);
}

/* ---- Sums of single channels ------------------------------------------------------------------------------------ */

static const ox_tensor *weight_zeros(const ox_call *call) {
    return ox_given_input(call, inputs_of(call)->w_zero);
}

/* Whether sums become bytes, and zero points of weights are known. */
static bool has_depth_ends(const ox_call *call) {
    const conv_integer *c = call->state;
    return c->requantize && (!weight_zeros(call) || call->constants >> inputs_of(call)->w_zero & 1);
}

static bool can_be_depth(const ox_call *call, const ox_conv *conv) {
    return has_depth_ends(call) && ox_conv_depth_can(call, conv);
}

static bool can_be_picks(const ox_call *call, const ox_conv *conv) {
    return has_depth_ends(call) && ox_conv_picks_can(call, conv, weight_zeros(call));
}

static ox_status keep_depth_ends(ox_call *call, bool *ready) {
    conv_integer *c = call->state;
    *ready = true;
    c->x_shift = call->in[0]->dtype == OX_INT8 ? 128 : 0; /* for all bytes are unsigned there */
    return keep_ends(call, c);
}

static ox_status prepare_depth(ox_call *call, ox_conv *conv, bool *ready) {
    conv_integer *c = call->state;
    OX_TRY(keep_depth_ends(call, ready));
    return ox_conv_depth_prepare(call, conv, weight_zeros(call), &c->depth);
}

static ox_status prepare_picks(ox_call *call, ox_conv *conv, bool *ready) {
    conv_integer *c = call->state;
    OX_TRY(keep_depth_ends(call, ready));
    return ox_conv_picks_prepare(call, conv, weight_zeros(call), &c->depth);
}

static void run_depth(const ox_call *call, const ox_conv *conv, size_t *used, const ox_conv_operands *of) {
    const conv_integer *c = call->state;
    const integer_inputs *in = inputs_of(call);
    const ox_depth_ends ends = {.ends = of->bias,
                                .dtype = c->dtype,
                                .zero = (double)(int32_t)ox_zero_entry(ox_given_input(call, in->y_zero), 0),
                                .fill = (uint8_t)(ox_zero_entry(ox_given_input(call, in->x_zero), 0) + c->x_shift)};
    ox_conv_depth_run(call, conv, &c->depth, used, &ends);
}

static const char *algorithm_of_depth(const ox_conv *conv) {
    (void)conv;
    return "direct, of bytes, channels first";
}

static const char *algorithm_of_picks(const ox_conv *conv) {
    (void)conv;
    return "direct, of bytes picked out of registers, channels first";
}

static const ox_conv_way picks_way = {.name = "picks",
                                      .algorithm = algorithm_of_picks,
                                      .can = can_be_picks,
                                      .prepare = prepare_picks,
                                      .run = run_depth},
                         depth_way = {.name = "depth",
                                      .algorithm = algorithm_of_depth,
                                      .can = can_be_depth,
                                      .prepare = prepare_depth,
                                      .run = run_depth},
                         wide_way = {.name = "direct",
                                     .algorithm = algorithm_wide,
                                     .can = can_be_wide,
                                     .cost = cost_wide,
                                     .prepare = prepare_wide,
                                     .run = run_wide},
                         rows_way = {.name = "rows",
                                     .algorithm = algorithm_of_rows,
                                     .can = can_be_rows,
                                     .cost = cost_rows,
                                     .prepare = prepare_rows,
                                     .run = run_rows},
                         words_way = {.name = "words",
                                      .algorithm = algorithm_of_words,
                                      .can = ox_conv_words_can,
                                      .prepare = prepare_words,
                                      .run = run_words};
#endif

#if OX_SMALL
static const char *algorithm_in_place(const ox_conv *conv) {
    (void)conv;
    return "sums of bytes where they lie";
}

static bool can_be_in_place(const ox_call *call, const ox_conv *conv) {
    return inputs_of(call)->y_scale >= 0 && conv->in_channels && ox_conv_bytes_room(conv);
}

static ox_status prepare_in_place(ox_call *call, ox_conv *conv, bool *ready) {
    conv_integer *c = call->state;
    *ready = true;
    c->is_wide = true; /* zero points are taken off before */
    call->overwrites = ox_conv_bytes_overwrites(conv);
    return ox_workspace_add(call, 1, ox_conv_bytes_room(conv));
}

static void run_in_place(const ox_call *call, const ox_conv *conv, size_t *used, const ox_conv_operands *of) {
    const conv_integer *c = call->state;
    const integer_inputs *in = inputs_of(call);
    const ox_conv_bytes bytes = {.conv = conv,
                                 .x_dtype = call->in[0]->dtype,
                                 .w_dtype = call->in[in->w]->dtype,
                                 .y_dtype = c->dtype,
                                 .x_zero = (int32_t)ox_zero_entry(ox_given_input(call, in->x_zero), 0),
                                 .y_zero = (int32_t)ox_zero_entry(ox_given_input(call, in->y_zero), 0),
                                 .w_zeros = c->w_zeros ? ox_given_input(call, in->w_zero) : NULL,
                                 .x = of->x,
                                 .w = of->weights,
                                 .x_scale = OX_GET(ox_f32, call->in[in->x_scale]->data),
                                 .y_scale = OX_GET(ox_f32, call->in[in->y_scale]->data),
                                 .w_scales = call->in[in->w_scale],
                                 .bias = ox_given_input(call, in->bias),
                                 .y = of->to};
    ox_conv_bytes_run(&bytes, ox_workspace_take(call, used, 1, ox_conv_bytes_room(conv)));
}

static const ox_conv_way in_place_way = {.name = "in_place",
                                         .algorithm = algorithm_in_place,
                                         .can = can_be_in_place,
                                         .prepare = prepare_in_place,
                                         .run = run_in_place};
#endif

static const ox_conv_way *const ways[] = {
#if OX_SMALL
    &in_place_way,
#else
    &picks_way, &depth_way, &wide_way, &rows_way, &words_way,
#endif
#if OX_WITH_COLUMNS
    &bytes_way
#endif
};

ox_status ox_prepare_conv_integer(ox_call *call) {
    const integer_inputs *in = inputs_of(call);
    conv_integer *c = ox_window_state(call, sizeof *c, call->in[0]->rank - 2);
    if (!c)
        return OX_ERROR_MEMORY;
    OX_TRY(ox_conv_describe(call, &c->conv, in->w, in->bias));
    c->dtype = call->out[0]->dtype;
    c->w_zeros = ox_has_zero_points(call, inputs_of(call)->w_zero);
#if OX_WITH_COLUMNS
    c->x_shift = ox_gemm_kernel_of(call->loops, call->in[in->w]->dtype, call->in[0]->dtype)->shift;
    c->requantize = in->y_scale < 0 ? NULL : OX_BUILD_OF(call->loops, ox_integer_builds)->requantize;
#else
    if (!can_be_in_place(call, &c->conv))
        return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "%s is too large for the loops of this build of the library",
                            OX_INPUT(call, 0));
#endif
    return ox_conv_choose(call, &c->conv, ways, sizeof ways / sizeof *ways);
}

ox_status ox_run_conv_integer(ox_call *call) {
    const conv_integer *c = call->state;
    const int w = inputs_of(call)->w;
    size_t used = c->behind;
    const ox_channel_end *ends = c->ends;
#if OX_WITH_COLUMNS
    if (!ends && !(OX_SMALL && c->is_wide)) {
        ox_channel_end *found = ox_workspace_take(call, &used, call->in[w]->dims[0], sizeof *found);
        find_ends(call, c, found);
        ends = found;
    }
#endif
    c->conv.way->run(call, &c->conv, &used,
                     &(ox_conv_operands){call->in[0]->data, call->in[w]->data, ends, call->out[0]->data});
    return OX_OK;
}
