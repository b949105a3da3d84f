/* matmul_blocks.c: MatMulNBits and MatMulBnb4. Weights stay packed: panels of them are widened for as many rows as read
 * them, in a cache. */
#include "matmul_blocks.h"
#include "block_product.h"
#include "ops/blocks.h"
#include "ops/dense.h"
#include "ops/elementwise.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct matmul_blocks {
    ox_gemm product;
    ox_gemm_plan plan;
    ox_block_shape shape;
    const ox_lanes *add;
    bool has_bias; /* which is added here, not in an epilogue */
    bool is_own;   /* `own` computes it */
    ox_block_product own;
} matmul_blocks;

/* What a run reads. */
typedef struct blocks_run {
    ox_block_weights weights;
    const ox_block_product *own;
    const ox_lanes *add;
    const ox_f32 *bias;
    const ox_f32 *a; /* before it is rounded, */
    float *rounded;  /* and after */
} blocks_run;

/* ---- The plain way ------------------------------------------------------------------------------------------ */

static float code_at(const ox_block_weights *w, int64_t n, int64_t k) {
    const int64_t i = n * w->shape.k + k;
    const uint8_t pair = w->data[i / 2];
    return w->shape.table[i % 2 ? pair & 15 : pair >> 4] * w->scales[i / w->shape.block];
}

/* Sums of bytes may have packed zero points taken off at the end, both of them less 2^(bits - 1) or not: what is
 * bounded then is what both add up to. */
static float integer_at(const ox_block_weights *w, int64_t n, int64_t k) {
    const ox_block_shape *s = &w->shape;
    const int64_t block = w->groups ? w->groups[k] : k / s->block;
    float zero = (float)(1 << (s->bits - 1));
    if (w->zeros)
        zero = w->zeros[n * s->blocks + block];
    else if (w->packed_zeros)
        zero = (float)ox_bits_at(w->packed_zeros + n * w->zeros_row, block, s->bits);
    const uint8_t *row = w->data + n * s->blocks * (s->block / 8 * s->bits);
    const float code = (float)ox_bits_at(row, k, s->bits);
    const bool apart = w->absolute && s->is_quick && w->packed_zeros;
    return (apart ? code + zero + (float)(1 << s->bits) : code - zero) * w->scales[n * s->blocks + block];
}

float ox_block_weight(const ox_block_weights *w, int64_t n, int64_t k) {
    const float weight = w->shape.table ? code_at(w, n, k) : integer_at(w, n, k);
    if (w->absolute) /* below the smallest normal number a weight is rounded as there; NaN stays */
        return fabsf(weight) < FLT_MIN ? FLT_MIN : fabsf(weight);
    return w->ones ? 1 : weight;
}

/* An ox_gemm_panel_fn. */
static void fill_panel(const ox_gemm *g, const ox_gemm_block *panel, char *stage) {
    const ox_block_weights *w = &((const blocks_run *)g->context)->weights;
    (void)stage;
    for (int64_t j = 0; j < panel->columns; j++)
        for (int64_t i = 0; i < panel->rows; i++)
            OX_AT(ox_f32, panel->data + i * panel->data_row + j * (int64_t)sizeof(float)) =
                w->shape.is_transposed ? ox_block_weight(w, panel->row + i, panel->column + j)
                                       : ox_block_weight(w, panel->column + j, panel->row + i);
}

#if !OX_SMALL

/* ---- Panels by the processor's loops ------------------------------------------------------------------------ */

enum {
    MOST_COLUMNS = OX_GEMM_PANEL_ROW / sizeof(float), /* of a panel, ... */
    MOST_BLOCKS = OX_GEMM_DEPTH / 16 + 1              /* ... and blocks of a column of that */
};

/* Rows of a panel that begin with a whole word of weights. */
static void widen_words(const blocks_run *run, const ox_gemm_block *panel) {
    const int64_t row = panel->row, rows = panel->rows, column = panel->column, columns = panel->columns;
    const ox_block_weights *w = &run->weights;
    const ox_block_row *packed = &run->own->row;
    const int64_t block = row / packed->block, count = (row + rows - 1) / packed->block - block + 1;
    float zeros[MOST_COLUMNS * MOST_BLOCKS];
    ox_block_columns from = {.row = packed,
                             .columns = columns,
                             .phase = row % packed->block,
                             .weights = w->data + column * packed->bytes + row * packed->bits / 8,
                             .scales = w->scales + column * packed->blocks + block,
                             .scales_apart = packed->blocks,
                             .zeros_apart = packed->blocks};
    OX_ASSERT(columns <= MOST_COLUMNS && count <= MOST_BLOCKS);
    if (w->zeros)
        from.zeros = w->zeros + column * packed->blocks + block;
    for (int64_t j = 0; w->packed_zeros && j < columns; j++)
        for (int64_t b = 0; b < count; b++)
            zeros[j * count + b] =
                (float)ox_bits_at(w->packed_zeros + (column + j) * w->zeros_row, block + b, packed->bits);
    if (w->packed_zeros)
        from.zeros = zeros, from.zeros_apart = count;
    run->own->loops->widen(&from, rows, panel->data, panel->data_row);
}

/* An ox_gemm_panel_fn. */
static void widen_panel(const ox_gemm *g, const ox_gemm_block *panel, char *stage) {
    const blocks_run *run = g->context;
    const int64_t each = 32 / run->own->row.bits, before = ox_least(panel->rows, (each - panel->row % each) % each);
    ox_gemm_block first = *panel, rest = *panel;
    first.rows = before;
    fill_panel(g, &first, stage);
    rest.row += before, rest.rows -= before, rest.data += before * rest.data_row;
    if (rest.rows > 0)
        widen_words(run, &rest);
}

static void round_part(void *context, int part, int parts) {
    const ox_gemm *g = context;
    const blocks_run *run = g->context;
    int64_t i, end;
    ox_pool_range(g->m, part, parts, &i, &end);
    for (; i < end; i++) {
        const ox_f32 *a = run->a + i * g->k;
        float *to = run->rounded + i * g->k;
        if (!run->own->loops->round(g->k, run->own->row.block, a, NULL, NULL, to))
            memcpy(to, a, (size_t)g->k * sizeof *to);
    }
}

/* The ways that the processor's loops have. */
static void choose_way(const ox_call *call, matmul_blocks *state) {
    const ox_block_shape *s = &state->shape;
    ox_block_product *own = &state->own;
    own->loops = OX_BUILD_OF(call->loops, ox_block_builds)();
    if (!own->loops || s->table)
        return;
    own->row = (ox_block_row){
        s->bits, s->k, s->block, s->blocks, s->blocks * (s->block / 8 * s->bits), ox_call_given(call, OX_BLOCKS_ZEROS)};
    own->rounds = s->is_quick;
    if (call->plain || ox_call_given(call, OX_BLOCKS_GROUPS))
        return;
    state->product.panel = widen_panel;
    state->is_own = ox_block_product_can(call, &state->product, own);
}

/* A is rounded by blocks. */
static ox_status plan_rounding(ox_call *call, matmul_blocks *state) {
    ox_gemm *g = &state->product;
    int64_t count = ox_tensor_count(call->in[OX_BLOCKS_A]);
    g->a = (ox_gemm_matrix){OX_FLOAT, NULL, g->k * (int64_t)sizeof(float), sizeof(float)};
    OX_TRY(ox_dense_plan(call, call->in[OX_BLOCKS_A]));
    return ox_workspace_add(call, count, sizeof(float));
}

static void take_rounded(const ox_call *call, size_t *used, blocks_run *run, ox_gemm *g) {
    const int64_t count = ox_tensor_count(call->in[OX_BLOCKS_A]);
    run->a = ox_dense_in(call, used, call->in[OX_BLOCKS_A]).data;
    run->rounded = ox_workspace_take(call, used, count, sizeof(float));
    ox_pool_run_pieces(call->pool, (double)count * sizeof(float), round_part, g);
    g->a.data = run->rounded;
}

#endif

/* ---- Products ----------------------------------------------------------------------------------------------- */

/* In an epilogue. */
ox_reg ox_emit_matmul_blocks(ox_call *call, ox_pass_builder *b, ox_reg sums) {
    if (!ox_call_given(call, OX_BLOCKS_BIAS))
        return sums;
    const ox_reg args[] = {sums, ox_pass_widen(b, ox_pass_load(b, call->in[OX_BLOCKS_BIAS], NULL))};
    return ox_elementwise_apply(b, OX_LANES_Add, NULL, OX_UNDEFINED, 2, args);
}

/* An ox_gemm_end_fn: the bias. */
static void add_bias(const ox_gemm *g, const ox_gemm_block *block) {
    const blocks_run *run = g->context;
    const int64_t width = sizeof(float);
    for (int64_t i = 0; i < block->rows; i++) {
        char *const arg[] = {ox_gemm_out(g, block, i, width), block->data + i * block->data_row,
                             (char *)(uintptr_t)(run->bias + block->column)};
        run->add->fn[OX_FLOAT](block->columns, arg, (const int64_t[]){width, width, width}, NULL);
    }
}

static void describe_product(const ox_call *call, const ox_block_shape *s, ox_gemm *g) {
    const ox_tensor *a = call->in[0];
    const int64_t size = (int64_t)ox_dtype_size(a->dtype);
    g->n = s->is_transposed ? s->k : s->n, g->k = s->is_transposed ? s->n : s->k;
    g->m = ox_count(a->rank - 1, a->dims);
    g->a = (ox_gemm_matrix){a->dtype, NULL, g->k * size, size};
    g->b = (ox_gemm_matrix){OX_FLOAT, NULL, sizeof(float), g->k * (int64_t)sizeof(float)};
    g->panel = fill_panel;
    g->c_row = g->n * (int64_t)sizeof(float);
    g->after.in_place = true;
    g->after.epilogue = call->epilogue;
}

/* Scales, zero points, groups and bias, in the order of run. */
static ox_status plan_inputs(ox_call *call, const matmul_blocks *state) {
    if (!state->is_own)
        OX_TRY(ox_dense_plan(call, call->in[OX_BLOCKS_SCALES]));
    if (!state->is_own && ox_call_given(call, OX_BLOCKS_ZEROS) && call->in[OX_BLOCKS_ZEROS]->dtype != OX_UINT8)
        OX_TRY(ox_dense_plan(call, call->in[OX_BLOCKS_ZEROS]));
    OX_TRY(ox_list_plan(call, OX_BLOCKS_GROUPS));
    return state->has_bias ? ox_dense_plan(call, call->in[OX_BLOCKS_BIAS]) : OX_OK;
}

ox_status ox_prepare_matmul_blocks(ox_call *call) {
    matmul_blocks *state = ox_call_state(call, sizeof *state);
    if (!state)
        return OX_ERROR_MEMORY;
    OX_TRY(ox_block_shape_of(call, &state->shape));
    describe_product(call, &state->shape, &state->product);
    state->has_bias = ox_call_given(call, OX_BLOCKS_BIAS) && !call->epilogue;
    state->add = OX_BUILD_OF(call->loops, OX_LANES_Add);
    if (state->has_bias)
        state->product.after.end = add_bias;
#if !OX_SMALL
    choose_way(call, state);
#endif
    OX_TRY(plan_inputs(call, state));
    OX_TRY(ox_dense_plan_out(call, ox_tensor_count(call->out[0])));
#if !OX_SMALL
    if (state->is_own)
        return ox_block_product_prepare(call, &state->product, &state->own);
    if (state->own.rounds)
        OX_TRY(plan_rounding(call, state));
#endif
    return ox_gemm_prepare(call, &state->product, 1, &state->plan);
}

static ox_status take_groups(ox_call *call, size_t *used, ox_block_weights *w) {
    w->groups = ox_list_take(call, used, OX_BLOCKS_GROUPS);
    for (int64_t k = 0; w->groups && k < w->shape.k; k++)
        if (w->groups[k] < 0 || w->groups[k] >= w->shape.blocks)
            return ox_call_fail(call, OX_ERROR_VALUE, "%s: element %lld is %lld, but there are %lld blocks",
                                OX_INPUT(call, OX_BLOCKS_GROUPS), (long long)k, (long long)w->groups[k],
                                (long long)w->shape.blocks);
    return OX_OK;
}

static ox_status take_inputs(ox_call *call, size_t *used, const matmul_blocks *state, blocks_run *run) {
    ox_block_weights *w = &run->weights;
    w->shape = state->shape;
#if !OX_SMALL
    w->absolute = call->absolute, w->ones = call->ones;
#endif
    w->data = call->in[OX_BLOCKS_B]->data;
    if (!state->is_own)
        w->scales = ox_dense_in(call, used, call->in[OX_BLOCKS_SCALES]).data;
    if (!state->is_own && ox_call_given(call, OX_BLOCKS_ZEROS)) {
        const ox_tensor *zeros = call->in[OX_BLOCKS_ZEROS];
        if (zeros->dtype == OX_UINT8)
            w->packed_zeros = zeros->data;
        else
            w->zeros = ox_dense_in(call, used, zeros).data;
        w->zeros_row = ox_bits_bytes(w->shape.blocks, w->shape.bits);
    }
    OX_TRY(take_groups(call, used, w));
    run->bias = state->has_bias ? ox_dense_in(call, used, call->in[OX_BLOCKS_BIAS]).data : NULL;
    return OX_OK;
}

/* An ox_gemm_place_fn: there is one product, whose operands are in place. */
static void place(const void *places, int64_t i, ox_gemm *g) {
    (void)places, (void)i, (void)g;
}

ox_status ox_run_matmul_blocks(ox_call *call) {
    const matmul_blocks *state = call->state;
    const int64_t count = ox_tensor_count(call->out[0]);
    size_t used = 0;
    blocks_run run = {.own = &state->own, .add = state->add};
    OX_TRY(take_inputs(call, &used, state, &run));
    ox_gemm g = state->product;
    g.a.data = call->in[0]->data;
    g.c = ox_dense_out(call, &used, count);
    g.context = &run;
#if !OX_SMALL
    if (state->is_own)
        ox_block_product_run(call, &used, &state->own, &g);
    else if (state->own.rounds)
        take_rounded(call, &used, &run, &g);
#endif
    if (!state->is_own)
        ox_gemm_run(&state->plan, &g, 1, place, NULL, ox_gemm_take(call, &used, &state->plan));
    ox_dense_store(call, count, g.c);
    return OX_OK;
}
