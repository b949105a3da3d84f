/* byte_transposed.c: QLinearConvTranspose. Weights and image are multiplied as they are, and what zero points
 * contribute is taken off the columns, which are 32-bit integers that wrap. Columns are added up as those of floats,
 * and sums become bytes while a cache holds their channel. Where no windows overlap, and they cover the result, columns
 * become bytes before they are stored. */
#include "byte_transposed.h"

#if OX_WITH_OWN_OPERATORS
#include "loops/element.h"
#include "loops/integer_loops.h"
#include "ops/dense.h"
#include "ops/gemm/gemm.h"
#include "conv_integer.h"
#include "conv_transpose.h"
#include "scatter.h"

#include <string.h>

enum {
    BYTES = OX_BIT(OX_INT8) | OX_BIT(OX_UINT8),
    FEW = 16, /* columns that are finished without calls */
    WIDE = 4  /* bytes of a sum */
};

/* What zero points and scales make of sums. */
typedef struct factors {
    double *scales;    /* of each output channel of all groups */
    uint32_t *take;    /* of each row of all products: what the zero point of the image contributes to a column */
    uint32_t *weights; /* less their zero points, where there are no products */
} factors;

typedef struct byte_transposed {
    ox_transposed shape;
    const void *weights; /* with input channels last, if all sessions share them so; or NULL */
    ox_gemm product;
    ox_gemm_plan plan;
    ox_scatter scatter;
    ox_requantize_fn *requantize;
    ox_dtype dtype; /* of the result */
    int64_t rows;   /* of the columns of a group: its output channels times the taps */
    size_t each;    /* bytes from the panels of a group to those of the next one */
    bool is_single; /* groups have one input channel: there are no products */
    bool is_row;    /* images have one element: it is a row, and weights are the right matrix */
    bool tiles;     /* no windows overlap, and together they cover the result */
    bool w_zeros;   /* zero points of weights may be other than 0 */
    uint32_t shift; /* what the kernel adds to elements of the image, or of weights on the right */
    factors kept;   /* where constants make them; NULL elsewhere */
} byte_transposed;

/* ---- Shapes ------------------------------------------------------------------------------------------------- */

static ox_dtype result_dtype(const ox_call *call) {
    const ox_tensor *zero = ox_given_input(call, OX_TRANSPOSED_Y_ZERO);
    return zero ? zero->dtype : OX_UINT8;
}

static ox_status infer(ox_call *call) {
    static const int scales[] = {OX_TRANSPOSED_X_SCALE, OX_TRANSPOSED_W_SCALE, OX_TRANSPOSED_Y_SCALE};
    const ox_tensor *w = call->in[OX_TRANSPOSED_W];
    const int64_t channels = w->rank > 1 ? w->dims[1] : 1;
    OX_TRY(ox_check_zero(call, OX_TRANSPOSED_X, OX_TRANSPOSED_X_ZERO, 1));
    OX_TRY(ox_check_zero(call, OX_TRANSPOSED_W, OX_TRANSPOSED_W_ZERO, channels));
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        OX_TRY(ox_call_check_dtype(call, scales[i], OX_BIT(OX_FLOAT)));
        OX_TRY(ox_check_entries(call, scales[i], scales[i] == OX_TRANSPOSED_W_SCALE ? channels : 1));
    }
    if (ox_given_input(call, OX_TRANSPOSED_Y_ZERO))
        OX_TRY(ox_call_check_dtype(call, OX_TRANSPOSED_Y_ZERO, BYTES));
    OX_TRY(ox_check_entries(call, OX_TRANSPOSED_Y_ZERO, 1));
    if (ox_given_input(call, OX_TRANSPOSED_BIAS))
        OX_TRY(ox_call_check_dtype(call, OX_TRANSPOSED_BIAS, OX_BIT(OX_INT32)));
    return ox_transposed_infer(call, result_dtype(call));
}

/* ---- Zero points and scales ----------------------------------------------------------------------------------- */

static uint32_t image_zero(const ox_call *call, const byte_transposed *c) {
    return (c->is_row ? 0 : c->shift) + ox_zero_entry(ox_given_input(call, OX_TRANSPOSED_X_ZERO), 0);
}

/* What a column of a channel's taps has for the zero point of the image: that times the sums of the weights less
 * theirs. */
static void find_take(const ox_call *call, const byte_transposed *c, int64_t group, int64_t channel, uint32_t *take) {
    const ox_tensor *w = call->in[OX_TRANSPOSED_W];
    const int64_t k = c->shape.in_channels, rows = c->rows, taps = c->shape.window.taps;
    const uint32_t zero = ox_zero_entry(ox_given_input(call, OX_TRANSPOSED_W_ZERO), channel),
                   x_zero = image_zero(call, c);
    const ox_gemm_matrix matrix = {w->dtype, (const char *)w->data + group * k * rows + channel * taps, rows, 1};
    if (x_zero)
        OX_BUILD_OF(call->loops, ox_integer_builds)->sum(&matrix, k, taps, 0U - (uint32_t)k * zero, take);
    for (int64_t t = 0; t < taps; t++)
        take[t] = x_zero ? take[t] * x_zero : 0;
}

/* The weights less their zero points, where groups have one input channel. */
static void widen_weights(const ox_call *call, const byte_transposed *c, uint32_t *to) {
    const ox_tensor *w = call->in[OX_TRANSPOSED_W];
    const int64_t taps = c->shape.window.taps;
    int64_t row = 0;
    for (int64_t group = 0; group < c->shape.groups; group++)
        for (int64_t i = 0; i < c->shape.out_channels; i++) {
            const uint32_t zero = ox_zero_entry(ox_given_input(call, OX_TRANSPOSED_W_ZERO), i);
            for (int64_t t = 0; t < taps; t++, row++)
                to[row] = (uint32_t)ox_tensor_int(w, row) - zero;
        }
}

static void find_factors(const ox_call *call, const byte_transposed *c, const factors *to) {
    const int64_t channels = c->shape.out_channels, taps = c->shape.window.taps;
    const double x_scale = ox_scale_entry(call->in[OX_TRANSPOSED_X_SCALE], 0),
                 y_scale = ox_scale_entry(call->in[OX_TRANSPOSED_Y_SCALE], 0);
    for (int64_t group = 0; group < c->shape.groups; group++)
        for (int64_t i = 0; i < channels; i++) {
            to->scales[group * channels + i] = x_scale * ox_scale_entry(call->in[OX_TRANSPOSED_W_SCALE], i) / y_scale;
            find_take(call, c, group, i, to->take + (group * channels + i) * taps);
        }
    if (c->is_single)
        widen_weights(call, c, to->weights);
}

/* Prepare: finds them once, where all that they are made of is constant. */
static ox_status keep_factors(ox_call *call, byte_transposed *c) {
    const int64_t channels = c->shape.groups * c->shape.out_channels;
    int64_t rows;
    bool known = true;
    if (!ox_mul_i64(c->shape.groups, c->rows, &rows) || !ox_window_fits(rows))
        return OX_ERROR_MEMORY;
    for (int i = OX_TRANSPOSED_W; i < OX_TRANSPOSED_INPUTS; i++)
        known &= i == OX_TRANSPOSED_BIAS || !ox_given_input(call, i) || call->constants >> i & 1;
    if (!known) {
        OX_TRY(ox_workspace_add(call, channels, sizeof *c->kept.scales));
        OX_TRY(ox_workspace_add(call, rows, sizeof *c->kept.take));
        return c->is_single ? ox_workspace_add(call, rows, sizeof *c->kept.weights) : OX_OK;
    }
    c->kept.scales = ox_pile_array(call->pile, (size_t)channels, sizeof *c->kept.scales);
    c->kept.take = ox_pile_array(call->pile, (size_t)rows, sizeof *c->kept.take);
    c->kept.weights = c->is_single ? ox_pile_array(call->pile, (size_t)rows, sizeof *c->kept.weights) : NULL;
    if (!c->kept.scales || !c->kept.take || (c->is_single && !c->kept.weights))
        return OX_ERROR_MEMORY;
    find_factors(call, c, &c->kept);
    return OX_OK;
}

static factors take_factors(const ox_call *call, const byte_transposed *c, size_t *used) {
    factors found = c->kept;
    const int64_t rows = c->shape.groups * c->rows;
    if (found.scales)
        return found;
    found.scales = ox_workspace_take(call, used, c->shape.groups * c->shape.out_channels, sizeof *found.scales);
    found.take = ox_workspace_take(call, used, rows, sizeof *found.take);
    found.weights = c->is_single ? ox_workspace_take(call, used, rows, sizeof *found.weights) : NULL;
    find_factors(call, c, &found);
    return found;
}

/* ---- What becomes of sums ------------------------------------------------------------------------------------- */

/* A product: one image and group. */
typedef struct transposed_job {
    const byte_transposed *c;
    const ox_loops *loops;
    const double *scales;   /* of the channels of the group */
    const uint32_t *take;   /* of the rows */
    const uint32_t *seen;   /* the sums of columns, NULL where weights have no zero points */
    const ox_tensor *zeros; /* of weights */
    const ox_i32 *bias;     /* of the channels; NULL for none */
    uint32_t row_sum;       /* of an image of one element: what the kernel's shift of weights adds */
    double zero;            /* of the result */
} transposed_job;

static ox_requantization requantization_of(const transposed_job *job, int64_t channel, uint32_t more) {
    static const ox_f32 one = 1;
    return (ox_requantization){.dtype = job->c->dtype,
                               .more = more,
                               .zero = job->zero,
                               .row_scale = job->scales[channel],
                               .column_scales = &one};
}

/* Takes off what zero points contribute to columns of a row; with bytes to come, they are that afterwards. */
static void finish_row(const transposed_job *job, int64_t row, const ox_gemm_block *block, char *sums, char *to) {
    static const uint32_t each = 1;
    const byte_transposed *c = job->c;
    const int64_t channel = ox_quotient(row, c->shape.window.taps);
    const uint32_t take = c->tiles ? 0 : job->take[row]; /* of bytes, requantizing takes it off */
    const uint32_t zero = !job->seen                         ? 0
                          : ox_tensor_count(job->zeros) == 1 ? (uint32_t)ox_tensor_int(job->zeros, 0)
                                                             : (uint32_t)ox_tensor_int(job->zeros, channel);
    const ox_zero_points zeros = {zero, take, zero ? job->seen + block->column : NULL, take ? &each : NULL, 0};
    if (zero || take)
        OX_BUILD_OF(job->loops, ox_integer_builds)->offset(block->columns, &zeros, sums);
    if (c->tiles) {
        const uint32_t more = job->bias ? (uint32_t)job->bias[channel] : 0;
        const ox_requantization how = requantization_of(job, channel, more - job->take[row]);
        c->requantize(block->columns, &how, sums, to);
    } else if (to != sums) {
        memcpy(to, sums, (size_t)block->columns * sizeof(uint32_t));
    }
}

/* The same of a few columns, where weights have no zero points. */
static void finish_few(const transposed_job *job, const ox_gemm *g, const ox_gemm_block *block) {
    for (int64_t r = 0; r < block->rows; r++) {
        const uint32_t take = job->take[block->row + r];
        const ox_i32 *sums = (const ox_i32 *)(const void *)(block->data + r * block->data_row);
        ox_i32 *to = (ox_i32 *)(void *)ox_gemm_out(g, block, r, sizeof *to);
        for (int64_t i = 0; i < block->columns; i++)
            to[i] = (int32_t)((uint32_t)sums[i] - take);
    }
}

/* An ox_gemm_end_fn, where images have one element. */
static void finish_one(const ox_gemm *g, const ox_gemm_block *block) {
    static const uint32_t each = 1;
    const transposed_job *job = g->context;
    const ox_zero_points zeros = {1, job->row_sum, job->take + block->column, &each, 0};
    char *to = ox_gemm_out(g, block, 0, WIDE);
    OX_ASSERT(block->rows == 1 && block->column + block->columns <= job->c->rows);
    OX_BUILD_OF(job->loops, ox_integer_builds)->offset(block->columns, &zeros, block->data);
    if (to != block->data)
        memcpy(to, block->data, (size_t)block->columns * WIDE);
}

/* An ox_gemm_end_fn. */
static void finish(const ox_gemm *g, const ox_gemm_block *block) {
    const transposed_job *job = g->context;
    const int64_t size = job->c->tiles ? 1 : WIDE;
    OX_ASSERT(!g->after.epilogue && block->row + block->rows <= g->m && block->column + block->columns <= g->n);
    if (block->columns < FEW && !job->c->tiles && !job->seen) {
        finish_few(job, g, block);
        return;
    }
    for (int64_t r = 0; r < block->rows; r++)
        finish_row(job, block->row + r, block, block->data + r * block->data_row, ox_gemm_out(g, block, r, size));
}

/* An ox_scatter_end_fn. */
static void narrow(const ox_scatter *s, int64_t channel, int64_t count, char *sums, char *to) {
    const transposed_job *job = s->context;
    const ox_requantization how = requantization_of(job, channel, 0);
    job->c->requantize(count, &how, sums, to);
}

/* ---- Preparing ---------------------------------------------------------------------------------------------- */

/* Whether each element of the result lies in one window. */
static bool is_tiled(const ox_window *w) {
    for (int d = 0; d < w->spatial; d++)
        if (w->kernel[d] != w->stride[d] || (w->kernel[d] > 1 && w->dilation[d] > 1) ||
            w->in[d] > w->out[d] * w->stride[d] - w->pad[d])
            return false;
    return true;
}

/* The product reads weights with their input channels last. Those that are constants are laid out so once. */
static ox_status share_weights(ox_call *call, byte_transposed *c) {
    ox_gemm *g = &c->product;
    const int64_t dims[] = {c->shape.groups, g->m, g->k}, strides[] = {g->k * g->m, 1, g->m};
    const ox_tensor from = {g->a.dtype, 3, dims, strides, call->in[OX_TRANSPOSED_W]->data};
    if (!(call->weights >> OX_TRANSPOSED_W & 1) || g->m < 2 || !g->k)
        return OX_OK;
    OX_TRY(ox_packed_once(call->store, call->loops, &from, &c->weights, call->error));
    if (c->weights)
        g->a.row = g->k, g->a.col = 1;
    return OX_OK;
}

/* Columns of one image and group, as those of floats: a row for each output channel and tap. */
static ox_status describe_columns(ox_call *call, byte_transposed *c) {
    const ox_dtype x = call->in[OX_TRANSPOSED_X]->dtype, w = call->in[OX_TRANSPOSED_W]->dtype;
    ox_gemm *g = &c->product;
    g->a = (ox_gemm_matrix){w, NULL, 1, g->m};
    g->b = (ox_gemm_matrix){x, NULL, g->n, 1};
    c->shift = ox_gemm_kernel_of(call->loops, w, x)->shift;
    if (c->tiles || c->w_zeros || c->shift || ox_given_input(call, OX_TRANSPOSED_X_ZERO))
        g->after.end = finish;
    return share_weights(call, c);
}

/* The one column, as a row: the weights lie as the right matrix wants them. */
static ox_status describe_row(ox_call *call, byte_transposed *c) {
    const ox_dtype x = call->in[OX_TRANSPOSED_X]->dtype, w = call->in[OX_TRANSPOSED_W]->dtype;
    const int64_t groups = c->shape.groups;
    ox_gemm *g = &c->product;
    *g = (ox_gemm){.m = 1, .n = c->rows, .k = g->k, .c_row = c->rows * WIDE, .after.end = finish_one};
    g->a = (ox_gemm_matrix){x, NULL, g->k, 1};
    g->b = (ox_gemm_matrix){w, NULL, g->n, 1};
    c->shift = ox_gemm_kernel_of(call->loops, x, w)->shift;
    return ox_gemm_find_weights(call, OX_TRANSPOSED_W, 1, &groups, (const int64_t[]){g->k * g->n}, g, &c->each);
}

static ox_status describe_product(ox_call *call, byte_transposed *c) {
    const ox_window *w = &c->shape.window;
    int64_t count;
    if (!ox_mul_i64(c->shape.out_channels, w->taps, &c->rows) || !ox_mul_i64(c->rows, w->out_count, &count) ||
        !ox_mul_i64(count, WIDE, &count))
        return ox_call_fail(call, OX_ERROR_LIMIT, "%s and %s: the size of their product overflows", OX_INPUT(call, 0),
                            OX_INPUT(call, 1));
    c->is_single = !call->plain && c->shape.in_channels == 1;
    if (c->is_single)
        return OX_OK;
    c->w_zeros = ox_has_zero_points(call, OX_TRANSPOSED_W_ZERO);
    c->is_row = !call->plain && w->out_count == 1 && !c->w_zeros;
    c->tiles = !call->plain && !c->is_row && is_tiled(w);
    c->product = (ox_gemm){.m = c->rows, .n = w->out_count, .k = c->shape.in_channels};
    c->product.c_row = c->product.n * (c->tiles ? 1 : WIDE);
    OX_TRY(c->is_row ? describe_row(call, c) : describe_columns(call, c));
    c->product.after.in_place = !c->tiles;
    return OX_OK;
}

/* Of one product: the sums of its columns, if weights have zero points, and the columns themselves. */
static ox_status plan_product(ox_call *call, byte_transposed *c) {
    const ox_gemm *g = &c->product;
    if (c->w_zeros)
        OX_TRY(ox_workspace_add(call, g->n, sizeof(uint32_t)));
    OX_TRY(ox_workspace_add(call, g->m, (size_t)g->c_row));
    return g->m && g->n ? ox_gemm_prepare(call, g, 1, &c->plan) : OX_OK;
}

/* Where there are no products, all channels of an image are added up together. */
static ox_status plan_scatter(ox_call *call, byte_transposed *c) {
    ox_scatter *s = &c->scatter;
    const int64_t channels = c->shape.out_channels * (c->is_single ? c->shape.groups : 1);
    OX_TRY(ox_scatter_plan(call, s, &c->shape.window, c->tiles ? OX_UINT8 : OX_INT32, channels));
    if (c->is_single) {
        s->times = OX_BUILD_OF(call->loops, ox_add_times_builds)(call->in[OX_TRANSPOSED_X]->dtype);
        s->sharing = c->shape.out_channels;
    }
    return c->tiles ? OX_OK : ox_scatter_plan_end(call, s, narrow);
}

static ox_status prepare(ox_call *call) {
    byte_transposed *c = ox_window_state(call, sizeof *c, call->in[0]->rank - 2);
    if (!c)
        return OX_ERROR_MEMORY;
    OX_TRY(ox_transposed_geometry(call, &c->shape));
    c->dtype = result_dtype(call);
    c->requantize = OX_BUILD_OF(call->loops, ox_integer_builds)->requantize;
    OX_TRY(describe_product(call, c));
    OX_TRY(keep_factors(call, c));
    OX_TRY(plan_scatter(call, c));
    ox_call_name(call, c->is_single ? "scattered bytes, channels first"
                       : c->is_row  ? "scattered row of bytes, channels first"
                       : c->tiles   ? "tiles of a product of bytes, channels first"
                                    : "scattered product of bytes, channels first");
    return c->is_single ? OX_OK : plan_product(call, c);
}

/* ---- Run ---------------------------------------------------------------------------------------------------- */

/* What belongs to the channels of a group. */
static transposed_job job_of(const ox_call *call, const byte_transposed *c, const factors *of, int64_t group) {
    const ox_tensor *bias = ox_given_input(call, OX_TRANSPOSED_BIAS);
    const int64_t channel = group * c->shape.out_channels;
    return (transposed_job){.c = c,
                            .loops = call->loops,
                            .scales = of->scales + channel,
                            .take = of->take + group * c->rows,
                            .zeros = ox_given_input(call, OX_TRANSPOSED_W_ZERO),
                            .bias = bias ? (const ox_i32 *)bias->data + channel : NULL,
                            .zero = (double)(int32_t)ox_zero_entry(ox_given_input(call, OX_TRANSPOSED_Y_ZERO), 0)};
}

/* An ox_gemm_place_fn, of the one product that is there. */
static void place(const void *places, int64_t i, ox_gemm *g) {
    (void)places, (void)i, (void)g;
}

static void run_single(const ox_call *call, const byte_transposed *c, size_t *used, const factors *of) {
    const ox_transposed *shape = &c->shape;
    const transposed_job job = job_of(call, c, of, 0);
    ox_scatter s = c->scatter;
    s.factors = of->weights;
    s.take = job.take;
    s.context = &job;
    s.bias = (const char *)job.bias;
    ox_scatter_take(call, used, &s);
    for (int64_t i = 0; i < shape->images && !ox_pool_poll(call->pool); i++) {
        s.columns = (const char *)call->in[OX_TRANSPOSED_X]->data + i * shape->groups * shape->window.out_count;
        s.to = (char *)call->out[0]->data + i * s.channels * shape->window.in_count;
        ox_scatter_run(&s);
    }
}

static void run_product(const byte_transposed *c, ox_gemm *g, transposed_job *job, uint32_t *seen, void *workspace) {
    ox_sum_bytes_fn *sum = OX_BUILD_OF(job->loops, ox_integer_builds)->sum;
    const ox_gemm_matrix row = {g->a.dtype, g->a.data, 1, 1};
    if (seen)
        sum(&g->b, g->k, g->n, (uint32_t)g->k * c->shift, seen);
    if (c->is_row && c->shift)
        sum(&row, g->k, 1, 0, &job->row_sum);
    job->row_sum *= c->shift;
    job->seen = seen;
    g->context = job;
    ox_gemm_run(&c->plan, g, 1, place, NULL, workspace);
}

static void place_matrices(const byte_transposed *c, ox_gemm *g, const char *x, const char *w, int64_t group) {
    g->a.data = c->is_row ? x : w;
    g->b.data = c->is_row ? w : x;
    if (c->product.panels)
        g->panels = (const char *)c->product.panels + (size_t)group * c->each;
}

static void run_products(const ox_call *call, const byte_transposed *c, size_t *used, const factors *of) {
    const ox_transposed *shape = &c->shape;
    const char *x = call->in[OX_TRANSPOSED_X]->data, *w = c->weights ? c->weights : call->in[OX_TRANSPOSED_W]->data;
    ox_scatter s = c->scatter;
    ox_gemm g = c->product;
    ox_scatter_take(call, used, &s);
    uint32_t *seen = c->w_zeros ? ox_workspace_take(call, used, g.n, sizeof *seen) : NULL;
    g.c = ox_workspace_take(call, used, g.m, (size_t)g.c_row);
    s.columns = g.c;
    void *workspace = g.m && g.n ? ox_gemm_take(call, used, &c->plan) : NULL;
    for (int64_t i = 0; i < shape->images * shape->groups && !ox_pool_poll(call->pool); i++) {
        const int64_t group = ox_remainder(i, shape->groups);
        transposed_job job = job_of(call, c, of, group);
        place_matrices(c, &g, x + i * g.k * shape->window.out_count, w + group * g.k * c->rows, group);
        if (workspace)
            run_product(c, &g, &job, seen, workspace);
        s.context = &job;
        s.bias = c->tiles ? NULL : (const char *)job.bias;
        s.to = (char *)call->out[0]->data + i * shape->out_channels * shape->window.in_count;
        ox_scatter_run(&s);
    }
}

static ox_status run(ox_call *call) {
    const byte_transposed *c = call->state;
    size_t used = 0;
    const factors found = take_factors(call, c, &used);
    if (c->is_single)
        run_single(call, c, &used, &found);
    else
        run_products(call, c, &used, &found);
    return OX_OK;
}

const ox_op ox_op_qlinear_conv_transpose = {.domain = "",
                                            .name = "QLinearConvTranspose",
                                            .since = 21,
                                            .versions = (uint64_t)1 << 21,
                                            .min_in = OX_TRANSPOSED_Y_SCALE + 1,
                                            .max_in = OX_TRANSPOSED_INPUTS,
                                            .min_out = 1,
                                            .max_out = 1,
                                            .dtypes = BYTES,
                                            .infer = infer,
                                            .prepare = prepare,
                                            .run = run,
                                            .flags = OX_OP_GAPS};
#endif
