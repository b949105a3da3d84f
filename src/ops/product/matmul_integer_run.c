/* matmul_integer_run.c: MatMulInteger and QLinearMatMul. Bytes are multiplied as they are, and what zero points
 * contribute is taken off the sums; where float8 takes part, zero points are taken off first, and all is float. What
 * QLinearMatMul makes of the sums is computed in double. */
#include "store.h"
#include "ops/dense.h"
#include "ops/gemm/gemm.h"
#include "matmul_integer.h"
#include "iterate/walk.h"

#include <string.h>

/* What belongs to one product of a batch: its matrices, the sums of A's rows and B's columns, and zero points and
 * scales by rows and columns. */
enum {
    A,
    B,
    A_SUMS,
    B_SUMS,
    A_ZERO,
    B_ZERO,
    A_SCALE,
    B_SCALE,
    PLACES,
    WIDE = 4 /* bytes of an element, other than those of A and B */
};

typedef struct matmul_integer {
    ox_gemm product;
    ox_gemm_plan plan;
    int64_t count;         /* of products */
    ox_bcast batch;        /* of all places */
    int64_t steps[PLACES]; /* 1 if there is an entry for each row or column, 0 for one entry */
    int64_t rows, columns; /* of all matrices A, and B */
    uint32_t b_shift;      /* what the kernel adds to elements of B */
    const void *b_sums;    /* the sums of B's columns, if B is a weight */
    bool is_float, is_scaled;
#if OX_SMALL
    bool is_in_place; /* it is an ox_byte_product for each matrix of A */
#endif
} matmul_integer;

/* ---- Plans -------------------------------------------------------------------------------------------------- */

/* Steps through the batch of something packed that has `each` bytes for each matrix of dims. */
static void batch_steps(const ox_matmul_shape *s, int rank, const int64_t *dims, int64_t each, int64_t *steps) {
    const int outer = ox_matmul_batch_rank(rank);
    int64_t strides[OX_MAX_RANK];
    ox_packed_strides(outer, dims, (size_t)each, strides);
    ox_matmul_batch_strides(s, outer, dims, strides, steps);
}

/* The same of zero points or scales, NULL if there are none. */
static void entry_steps(const ox_matmul_shape *s, const ox_tensor *t, bool by_row, int64_t *step, int64_t *steps) {
    ox_entries e = {0};
    if (t)
        e = ox_entries_of(t, by_row);
    batch_steps(s, e.rank, e.dims, e.rank > 1 ? e.dims[e.rank - 1] * e.dims[e.rank - 2] * WIDE : 0, steps);
    const int place = e.rank - (by_row ? 2 : 1);
    *step = place >= 0 && e.dims[place] != 1;
}

static const ox_tensor *input(const ox_call *call, int number) {
    return number >= 0 && ox_call_given(call, number) ? call->in[number] : NULL;
}

/* Rows of A over one B, as of a batch of activations times weights: one product with more rows. */
static void merge_batch(matmul_integer *state) {
    const int64_t *step = state->batch.step;
    ox_gemm *g = &state->product;
    bool one = state->batch.ndim == 1 && step[A] == g->m * g->a.row && !state->steps[A_ZERO] && !state->steps[A_SCALE];
    for (int p = 0; p < PLACES; p++)
        one &= p == A || p == A_SUMS || !step[p];
    if (!one)
        return;
    g->m *= state->batch.dim[0];
    state->batch.dim[0] = 1;
}

/* each: bytes of a matrix B in panels. */
static ox_status plan_batch(ox_call *call, const ox_matmul_shape *s, size_t each, matmul_integer *state) {
    const ox_integer_inputs *in = ox_integer_inputs_of(call);
    const ox_tensor *a = call->in[in->a], *b = call->in[in->b];
    int64_t steps[PLACES][OX_MAX_RANK], *n = state->steps;
    batch_steps(s, a->rank, a->dims, s->m * state->product.a.row, steps[A]);
    batch_steps(s, b->rank, b->dims, state->product.panels ? (int64_t)each : s->k * state->product.b.row, steps[B]);
    batch_steps(s, a->rank, a->dims, s->m * WIDE, steps[A_SUMS]);
    batch_steps(s, b->rank, b->dims, s->n * WIDE, steps[B_SUMS]);
    entry_steps(s, input(call, in->a_zero), true, &n[A_ZERO], steps[A_ZERO]);
    entry_steps(s, input(call, in->b_zero), false, &n[B_ZERO], steps[B_ZERO]);
    entry_steps(s, input(call, in->a_scale), true, &n[A_SCALE], steps[A_SCALE]);
    entry_steps(s, input(call, in->b_scale), false, &n[B_SCALE], steps[B_SCALE]);
    const int64_t *all[PLACES];
    for (int p = 0; p < PLACES; p++)
        all[p] = steps[p];
    OX_TRY(ox_plan_space(call, &state->batch, PLACES, s->batch, s->dims, all));
    if (state->batch.dim[0] > 1)
        merge_batch(state);
    state->count = ox_count(state->batch.ndim, state->batch.dim);
    return OX_OK;
}

/* ---- Sums of rows and columns ------------------------------------------------------------------------------- */

typedef struct sum_job {
    ox_sum_bytes_fn *sum;
    ox_gemm_matrix matrix; /* the first one; all are packed */
    int64_t k, n, matrices;
    uint32_t more;
    uint32_t *sums;
} sum_job;

static void sum_part(void *context, int part, int parts) {
    const sum_job *job = context;
    int64_t first, end;
    ox_pool_range(job->n, part, parts, &first, &end);
    for (int64_t i = 0; i < job->matrices; i++) {
        ox_gemm_matrix matrix = job->matrix;
        matrix.data = (const uint8_t *)matrix.data + i * job->k * job->n + first * matrix.col;
        job->sum(&matrix, job->k, end - first, job->more, job->sums + i * job->n + first);
    }
}

static void sum_all(const ox_call *call, sum_job job) {
    const double bytes = (double)job.k * (double)job.n * (double)job.matrices;
    ox_pool_run_pieces(call->pool, bytes, sum_part, &job);
}

/* The sums of all rows of A, or columns of B, into `sums`. */
static sum_job rows_of(const ox_call *call, const matmul_integer *state, uint32_t *sums) {
    const ox_gemm_matrix *a = &state->product.a;
    const ox_gemm_matrix transposed = {a->dtype, call->in[ox_integer_inputs_of(call)->a]->data, a->col, a->row};
    return (sum_job){
        OX_BUILD_OF(call->loops, ox_integer_builds)->sum, transposed, state->product.k, state->rows, 1, 0, sums};
}

static sum_job columns_of(const ox_call *call, const matmul_integer *state, uint32_t *sums) {
    ox_gemm_matrix b = state->product.b;
    const int64_t n = state->product.n;
    const uint32_t k = (uint32_t)state->product.k;
    b.data = call->in[ox_integer_inputs_of(call)->b]->data;
    return (sum_job){OX_BUILD_OF(call->loops, ox_integer_builds)->sum,
                     b,
                     state->product.k,
                     n,
                     state->columns / n,
                     k * state->b_shift,
                     sums};
}

/* An ox_store_fn. */
static void sum_weights(const void *context, void *block) {
    sum_job job = *(const sum_job *)context;
    job.sums = block;
    sum_part(&job, 0, 1);
}

/* Lays out B and sums its columns, if it is a weight. */
static ox_status prepare_weights(ox_call *call, matmul_integer *state, size_t *each) {
    const int input = ox_integer_inputs_of(call)->b;
    const ox_tensor *b = call->in[input];
    const int outer = ox_matmul_batch_rank(b->rank);
    int64_t strides[OX_MAX_RANK];
    if (state->is_float)
        return OX_OK;
    ox_tensor_strides(b, strides);
    OX_TRY(ox_gemm_find_weights(call, input, outer, b->dims, strides, &state->product, each));
    if (!state->product.panels)
        return OX_OK;
    const sum_job job = columns_of(call, state, NULL);
    const ox_store_key key = {.layout = OX_LAYOUT_COLUMN_SUMS,
                              .dtype = b->dtype,
                              .weights = b->data,
                              .build = OX_BUILD_OF(call->loops, ox_integer_builds),
                              .variant = state->b_shift,
                              .dims = {job.k, job.n, job.matrices},
                              .strides = {state->product.b.row, state->product.b.col},
                              .bytes = ox_tensor_span(b)};
    return ox_store_get(call->store, &key, (size_t)state->columns * WIDE, sum_weights, &job, &state->b_sums,
                        call->error);
}

/* ---- Preparing ---------------------------------------------------------------------------------------------- */

static ox_gemm_end_fn finish;

/* Whether `finish` has nothing to do: int32 is wanted, and no zero points are taken off. */
static bool is_plain(const ox_call *call, const matmul_integer *state) {
    const ox_integer_inputs *in = ox_integer_inputs_of(call);
    return !state->is_scaled && !input(call, in->a_zero) && !input(call, in->b_zero) && !state->b_shift;
}

/* Whether sums of bytes may reach 2^31. */
static bool may_overflow(const ox_call *call, const ox_matmul_shape *s) {
    return ox_integer_is_own(call) && s->k > OX_MOST_BYTE_PRODUCTS && !ox_integer_bias(call);
}

static void describe_product(ox_call *call, const ox_matmul_shape *s, matmul_integer *state) {
    const ox_integer_inputs *in = ox_integer_inputs_of(call);
    ox_gemm *g = &state->product;
    ox_dtype a = call->in[in->a]->dtype, b = call->in[in->b]->dtype;
    state->is_scaled = in->y_scale >= 0;
    state->is_float = (OX_BIT(a) | OX_BIT(b)) & OX_SET_FLOAT8 || may_overflow(call, s);
    if (state->is_float)
        a = b = OX_FLOAT;
    state->b_shift = ox_gemm_kernel_of(call->loops, a, b)->shift;
    const int64_t size = (int64_t)ox_dtype_size(a);
    *g = (ox_gemm){.m = s->m, .n = s->n, .k = s->k, .c_row = s->n * (int64_t)ox_dtype_size(call->out[0]->dtype)};
    g->a = (ox_gemm_matrix){a, NULL, s->k * size, size};
    g->b = (ox_gemm_matrix){b, NULL, s->n * size, size};
    g->after.end = is_plain(call, state) ? NULL : finish;
    g->after.epilogue = call->epilogue;
}

#if OX_SMALL
static bool is_one(const ox_tensor *t) {
    return !t || ox_tensor_count(t) == 1;
}

/* Whether A has one zero point and one scale, and all matrices B the same ones, for all or for each column. */
static bool can_be_in_place(const ox_call *call, const matmul_integer *state) {
    const ox_integer_inputs *in = ox_integer_inputs_of(call);
    const ox_tensor *zeros = input(call, in->b_zero), *scales = input(call, in->b_scale);
    return !state->is_float && !(OX_BIT(call->out[0]->dtype) & OX_SET_FLOAT8) && is_one(input(call, in->a_zero)) &&
           is_one(input(call, in->a_scale)) && (is_one(zeros) || zeros->rank == 1) &&
           (is_one(scales) || scales->rank == 1) && (!scales || scales->dtype == OX_FLOAT);
}

static ox_status prepare_in_place(ox_call *call, const ox_matmul_shape *s, matmul_integer *state) {
    OX_TRY(plan_batch(call, s, 0, state));
    return ox_workspace_add(call, ox_byte_product_room(s->k), sizeof(int16_t));
}
#endif

ox_status ox_prepare_matmul_integer(ox_call *call) {
    const ox_integer_inputs *in = ox_integer_inputs_of(call);
    const ox_tensor *a = call->in[in->a], *b = call->in[in->b];
    ox_matmul_shape s;
    matmul_integer *state = ox_call_state(call, sizeof *state);
    if (!state)
        return OX_ERROR_MEMORY;
    OX_TRY(ox_matmul_shape_of(call, in->a, in->b, &s));
    describe_product(call, &s, state);
#if OX_SMALL
    state->is_in_place = can_be_in_place(call, state);
    if (state->is_in_place)
        return prepare_in_place(call, &s, state);
#endif
    state->rows = ox_count(ox_matmul_batch_rank(a->rank), a->dims) * s.m;
    state->columns = ox_count(ox_matmul_batch_rank(b->rank), b->dims) * s.n;
    OX_TRY(ox_workspace_add(call, state->is_float ? ox_tensor_count(a) : state->rows, WIDE));
    OX_TRY(ox_workspace_add(call, state->is_float ? ox_tensor_count(b) : state->columns, WIDE));
    const int entries[] = {in->a_zero, in->b_zero, in->a_scale, in->b_scale};
    for (int i = 0; i < (state->is_scaled ? 4 : 2); i++)
        OX_TRY(ox_workspace_add(call, input(call, entries[i]) ? ox_tensor_count(call->in[entries[i]]) : 1, WIDE));
    if (ox_integer_bias(call))
        OX_TRY(ox_workspace_add(call, s.n, WIDE));
    size_t each = 0;
    OX_TRY(prepare_weights(call, state, &each));
    OX_TRY(plan_batch(call, &s, each, state));
    OX_TRY(ox_gemm_prepare(call, &state->product, state->count, &state->plan));
    ox_gemm_name(call, &state->product, &state->plan);
    return OX_OK;
}

/* ---- Zero points -------------------------------------------------------------------------------------------- */

/* Zero points as the kernel sees them; one of them if there are none. */
static const char *take_zeros(const ox_call *call, size_t *used, const ox_tensor *t, uint32_t shift, bool *any) {
    const int64_t n = t ? ox_tensor_count(t) : 1;
    uint32_t *zeros = ox_workspace_take(call, used, n, WIDE);
    *any = false;
    for (int64_t i = 0; i < n; i++) {
        zeros[i] = shift + (t ? (uint32_t)ox_tensor_int(t, i) : 0);
        *any |= zeros[i] != 0;
    }
    return (const char *)zeros;
}

/* ---- Results ------------------------------------------------------------------------------------------------ */

typedef struct integer_job {
    const ox_call *call;
    const matmul_integer *state;
    const char *start[PLACES];
    bool a_zeros, b_zeros; /* some zero point is not 0 */
    double y_scale, y_zero;
    const uint32_t *bias; /* NULL if there is none */
} integer_job;

static void find(const integer_job *job, int64_t i, const char *at[PLACES]) {
    int64_t index[OX_MAX_RANK];
    memcpy(at, job->start, sizeof job->start);
    ox_walk_to(&job->state->batch, 0, i, index, at);
}

/* An ox_gemm_place_fn. */
static void place(const void *context, int64_t i, ox_gemm *g) {
    const integer_job *job = context;
    const char *at[PLACES];
    find(job, i, at);
    g->a.data = at[A];
    *(g->panels ? &g->panels : &g->b.data) = at[B];
}

/* Entry i of a place. */
static const char *entry(const integer_job *job, const char *const *at, int place, int64_t i) {
    return at[place] + job->state->steps[place] * i * WIDE;
}

static void take_zeros_off(const integer_job *job, const char *const *at, const ox_gemm_block *block, int64_t i,
                           char *sums) {
    const matmul_integer *state = job->state;
    ox_zero_points z = {.row_zero = OX_GET(ox_u32, entry(job, at, A_ZERO, i)), .step = state->steps[B_ZERO]};
    if (job->a_zeros)
        z.column_sums = (const uint32_t *)(const void *)at[B_SUMS] + block->column;
    if (job->b_zeros) {
        z.row_sum = OX_GET(ox_u32, at[A_SUMS] + i * WIDE) - (uint32_t)state->product.k * z.row_zero;
        z.column_zeros = (const void *)entry(job, at, B_ZERO, block->column);
    }
    OX_BUILD_OF(job->call->loops, ox_integer_builds)->offset(block->columns, &z, sums);
}

/* sums[j] += bias[j]: less a row's "sum" of -1 times a zero point for each column. */
static void add_bias(const integer_job *job, const ox_gemm_block *block, char *sums) {
    const ox_zero_points z = {.row_sum = UINT32_MAX, .column_zeros = job->bias + block->column, .step = 1};
    OX_BUILD_OF(job->call->loops, ox_integer_builds)->offset(block->columns, &z, sums);
}

/* Whether sums become bytes. */
static bool has_bytes(const integer_job *job) {
    return job->state->is_scaled && !job->state->is_float && !(OX_BIT(job->call->out[0]->dtype) & OX_SET_FLOAT8);
}

/* Whether making them bytes takes zero points off. */
static bool takes_zeros(const integer_job *job) {
    return has_bytes(job) && job->a_zeros && !job->b_zeros;
}

static void quantize_row(const integer_job *job, const char *const *at, const ox_gemm_block *block, int64_t i,
                         char *sums, char *to) {
    const ox_call *call = job->call;
    const ox_requantization how = {
        .dtype = call->out[0]->dtype,
        .zero = job->y_zero,
        .row_scale = (double)OX_GET(ox_f32, entry(job, at, A_SCALE, i)) / job->y_scale,
        .column_scales = (const void *)entry(job, at, B_SCALE, block->column),
        .step = job->state->steps[B_SCALE],
        .column_sums = takes_zeros(job) ? (const uint32_t *)(const void *)at[B_SUMS] + block->column : NULL,
        .column_zero = OX_GET(ox_u32, entry(job, at, A_ZERO, i)),
    };
    if (!has_bytes(job))
        ox_integer_requantize(block->columns, &how, job->state->is_float, sums, to);
    else
        OX_BUILD_OF(call->loops, ox_integer_builds)->requantize(block->columns, &how, sums, to);
}

static void finish(const ox_gemm *g, const ox_gemm_block *block) {
    const integer_job *job = g->context;
    const char *at[PLACES];
    const int64_t size = (int64_t)ox_dtype_size(job->call->out[0]->dtype);
    find(job, g->start / (g->m * g->n), at);
    for (int64_t r = 0; r < block->rows; r++) {
        char *sums = block->data + r * block->data_row;
        char *to = ox_gemm_out(g, block, r, size);
        if ((job->a_zeros || job->b_zeros) && !takes_zeros(job))
            take_zeros_off(job, at, block, block->row + r, sums);
        if (job->bias)
            add_bias(job, block, sums);
        if (job->state->is_scaled)
            quantize_row(job, at, block, block->row + r, sums, to);
        else if (to != sums)
            memcpy(to, sums, (size_t)(block->columns * WIDE));
    }
}

/* ---- Runs --------------------------------------------------------------------------------------------------- */

/* Places of a product of bytes. The workspace is taken in the order of prepare. */
static void place_bytes(const ox_call *call, size_t *used, integer_job *job) {
    const ox_integer_inputs *in = ox_integer_inputs_of(call);
    const matmul_integer *state = job->state;
    const ox_gemm *g = &state->product;
    uint32_t *a_sums = ox_workspace_take(call, used, state->rows, WIDE);
    uint32_t *b_sums = ox_workspace_take(call, used, state->columns, WIDE);
    job->start[A] = call->in[in->a]->data;
    job->start[B] = g->panels ? g->panels : call->in[in->b]->data;
    job->start[A_SUMS] = (const char *)a_sums;
    job->start[B_SUMS] = state->b_sums ? state->b_sums : (const char *)b_sums;
    job->start[A_ZERO] = take_zeros(call, used, input(call, in->a_zero), 0, &job->a_zeros);
    job->start[B_ZERO] = take_zeros(call, used, input(call, in->b_zero), state->b_shift, &job->b_zeros);
    if (job->b_zeros)
        sum_all(call, rows_of(call, state, a_sums));
    if (job->a_zeros && !state->b_sums)
        sum_all(call, columns_of(call, state, b_sums));
}

/* Places of a product of floats, whose zero points are taken off at once. */
static void place_floats(const ox_call *call, size_t *used, integer_job *job) {
    const ox_integer_inputs *in = ox_integer_inputs_of(call);
    const ox_tensor *a = call->in[in->a], *b = call->in[in->b];
    float *wide_a = ox_workspace_take(call, used, ox_tensor_count(a), WIDE);
    float *wide_b = ox_workspace_take(call, used, ox_tensor_count(b), WIDE);
    float *a_zeros = ox_workspace_take(call, used, ox_tensor_count(call->in[in->a_zero]), WIDE);
    float *b_zeros = ox_workspace_take(call, used, ox_tensor_count(call->in[in->b_zero]), WIDE);
    ox_integer_subtract(a, call->in[in->a_zero], true, wide_a, a_zeros);
    ox_integer_subtract(b, call->in[in->b_zero], false, wide_b, b_zeros);
    for (int p = 0; p < PLACES; p++)
        job->start[p] = (const char *)(p == B ? wide_b : wide_a);
}

static double first_value(const ox_tensor *t) {
    float value;
    ox_integer_widen(t, &value);
    return (double)value;
}

static void place_scales(const ox_call *call, size_t *used, integer_job *job) {
    const ox_integer_inputs *in = ox_integer_inputs_of(call);
    const int scales[] = {in->a_scale, in->b_scale};
    for (int i = 0; i < 2; i++) {
        float *wide = ox_workspace_take(call, used, ox_tensor_count(call->in[scales[i]]), WIDE);
        ox_integer_widen(call->in[scales[i]], wide);
        job->start[A_SCALE + i] = (char *)wide;
    }
    job->y_scale = first_value(call->in[in->y_scale]);
    job->y_zero = first_value(call->in[in->y_zero]);
}

/* A copy, for it may lie anywhere in a file. */
static const uint32_t *take_bias(const ox_call *call, size_t *used, int64_t n) {
    const ox_tensor *bias = ox_integer_bias(call);
    return bias ? memcpy(ox_workspace_take(call, used, n, WIDE), bias->data, (size_t)(n * WIDE)) : NULL;
}

#if OX_SMALL
static int32_t one_zero(const ox_tensor *t) {
    return t ? (int32_t)ox_tensor_int(t, 0) : 0;
}

static float one_scale(const ox_tensor *t) {
    return t ? OX_GET(ox_f32, t->data) : 1;
}

static ox_status run_in_place(const ox_call *call, integer_job *job) {
    const ox_integer_inputs *in = ox_integer_inputs_of(call);
    const matmul_integer *state = job->state;
    const ox_tensor *a = call->in[in->a], *b = call->in[in->b], *y = call->out[0];
    const ox_byte_product product = {.a_dtype = a->dtype,
                                     .b_dtype = b->dtype,
                                     .y_dtype = y->dtype,
                                     .m = state->product.m,
                                     .n = state->product.n,
                                     .k = state->product.k,
                                     .a_zero = one_zero(input(call, in->a_zero)),
                                     .y_zero = one_zero(input(call, in->y_zero)),
                                     .a_scale = one_scale(input(call, in->a_scale)),
                                     .y_scale = one_scale(input(call, in->y_scale)),
                                     .b_scales = input(call, in->b_scale),
                                     .b_zeros = input(call, in->b_zero)};
    const int64_t size = product.m * state->product.c_row;
    size_t used = 0;
    void *room = ox_workspace_take(call, &used, ox_byte_product_room(product.k), sizeof(int16_t));
    for (int p = 0; p < PLACES; p++)
        job->start[p] = p == B ? b->data : a->data;
    for (int64_t i = 0; i < state->count; i++) {
        const char *at[PLACES];
        find(job, i, at);
        ox_byte_product_run(&product, state->is_scaled, at[A], at[B], (char *)y->data + i * size, room);
    }
    return OX_OK;
}
#endif

ox_status ox_run_matmul_integer(ox_call *call) {
    const matmul_integer *state = call->state;
    integer_job job = {.call = call, .state = state};
    size_t used = 0;
#if OX_SMALL
    if (state->is_in_place)
        return run_in_place(call, &job);
#endif
    if (state->is_float)
        place_floats(call, &used, &job);
    else
        place_bytes(call, &used, &job);
    job.start[A_SCALE] = job.start[B_SCALE] = job.start[A];
    if (state->is_scaled)
        place_scales(call, &used, &job);
    job.bias = take_bias(call, &used, state->product.n);
    ox_gemm g = state->product;
    g.context = &job;
    g.c = call->out[0]->data;
    ox_gemm_run(&state->plan, &g, state->count, place, &job, ox_gemm_take(call, &used, &state->plan));
    return OX_OK;
}
