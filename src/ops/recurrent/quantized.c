/* quantized.c: weights of bytes, and operands that are quantized by what is in them. Products are of bytes as they lie;
 * what zero points contribute is taken off the sums. */
#include "recurrent.h"
#include "store.h"

#include <math.h>

enum {
    WIDE = sizeof(uint32_t)
};

/* Inputs of weights, by the number of the product. */
static const int weights_of[] = {1, 2}, scales_of[] = {8, 10}, zeros_of[] = {9, 11};

/* A scale or zero point for each direction, or each column of each. */
static ox_status check_entries(ox_call *call, const ox_recurrent_shape *s, int i) {
    const ox_tensor *t = call->in[i];
    if (!(t->rank == 1 || (t->rank == 2 && t->dims[1] == 4 * s->hidden)) || t->dims[0] != s->directions)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have shape [%d] or [%d,%lld]", OX_INPUT(call, i),
                            s->directions, s->directions, (long long)(4 * s->hidden));
    return OX_OK;
}

ox_status ox_quantized_check(ox_call *call, const ox_recurrent_shape *s) {
    for (int i = 0; i < OX_LAST_PRODUCT; i++) {
        if (!ox_call_given(call, scales_of[i]) || !ox_call_given(call, zeros_of[i]))
            return ox_call_fail(call, OX_ERROR_MODEL, "inputs %d and %d, scale and zero point of %s, must be given",
                                scales_of[i], zeros_of[i], OX_INPUT(call, weights_of[i]));
        OX_TRY(ox_call_check_dtype(call, weights_of[i], OX_BIT(OX_INT8) | OX_BIT(OX_UINT8)));
        OX_TRY(ox_call_check_dtype(call, scales_of[i], OX_BIT(OX_FLOAT)));
        OX_TRY(ox_call_check_dtype(call, zeros_of[i], OX_BIT(call->in[weights_of[i]]->dtype)));
        OX_TRY(check_entries(call, s, scales_of[i]));
        OX_TRY(check_entries(call, s, zeros_of[i]));
    }
    return OX_OK;
}

static const ox_integer_loops *loops_of(const ox_call *call) {
    return OX_BUILD_OF(call->loops, ox_integer_builds);
}

/* ---- Plans -------------------------------------------------------------------------------------------------- */

/* The columns of all directions' matrices. */
static int64_t columns_of(const ox_recurrent *r) {
    return r->shape.directions * 4 * r->shape.hidden;
}

typedef struct column_sums {
    const ox_call *call;
    const ox_recurrent_product *p;
    const char *weights;
    int directions;
} column_sums;

/* An ox_store_fn: sums of the weights' columns, as the kernel sees them. */
static void sum_columns(const void *context, void *block) {
    const column_sums *of = context;
    const ox_gemm *g = &of->p->gemm;
    for (int d = 0; d < of->directions; d++) {
        ox_gemm_matrix matrix = g->b;
        matrix.data = of->weights + d * g->k * g->n;
        loops_of(of->call)->sum(&matrix, g->k, g->n, (uint32_t)g->k * of->p->shift, (uint32_t *)block + d * g->n);
    }
}

ox_status ox_quantized_product(ox_call *call, const ox_recurrent *r, int number, ox_recurrent_product *p) {
    const ox_tensor *weights = call->in[weights_of[number]];
    ox_gemm *g = &p->gemm;
    const int64_t directions = r->shape.directions, stride = g->k * g->n;
    p->shift = ox_gemm_kernel_of(call->loops, OX_UINT8, weights->dtype)->shift;
    p->each = (size_t)(g->k * g->n);
    g->a = (ox_gemm_matrix){OX_UINT8, NULL, g->k, 1};
    g->b = (ox_gemm_matrix){weights->dtype, NULL, g->n, 1};
    OX_TRY(ox_gemm_find_weights(call, weights_of[number], 1, &directions, &stride, g, &p->each));
    if (g->panels) {
        const ox_store_key key = {.layout = OX_LAYOUT_COLUMN_SUMS,
                                  .dtype = weights->dtype,
                                  .weights = weights->data,
                                  .build = loops_of(call),
                                  .variant = p->shift,
                                  .dims = {g->k, g->n, directions},
                                  .strides = {g->b.row, g->b.col},
                                  .bytes = ox_tensor_span(weights)};
        OX_TRY(ox_store_get(call->store, &key, (size_t)columns_of(r) * WIDE, sum_columns,
                            &(column_sums){call, p, weights->data, r->shape.directions}, &p->sums, call->error));
    }
    return ox_gemm_prepare(call, g, 1, &p->plan);
}

/* Rows of the larger of both operands, and elements. */
static int64_t operand_rows(const ox_recurrent_shape *s) {
    return ox_count(2, (const int64_t[]){s->sequence > 1 ? s->sequence : 1, s->batch});
}

static int64_t operand_elements(const ox_recurrent_shape *s) {
    const int64_t inputs = ox_count(3, (const int64_t[]){s->sequence, s->batch, s->input}),
                  states = ox_count(2, (const int64_t[]){s->batch, s->hidden});
    return inputs > states ? inputs : states;
}

ox_status ox_quantized_plan(ox_call *call, const ox_recurrent *r) {
    for (int i = 0; i < OX_LAST_PRODUCT; i++) {
        OX_TRY(ox_workspace_add(call, columns_of(r), WIDE));
        OX_TRY(ox_workspace_add(call, columns_of(r), WIDE));
    }
    OX_TRY(ox_workspace_add(call, operand_rows(&r->shape), WIDE));
    return ox_workspace_add(call, operand_elements(&r->shape), 1);
}

/* ---- Runs --------------------------------------------------------------------------------------------------- */

/* The entry of a column. */
static int64_t entry(const ox_tensor *t, const ox_recurrent *r, int direction, int64_t column) {
    return t->rank == 1 ? direction : direction * 4 * r->shape.hidden + column;
}

void ox_quantized_take(const ox_call *call, const ox_recurrent *r, size_t *used, ox_quantized_run *run) {
    for (int i = 0; i < OX_LAST_PRODUCT; i++) {
        const ox_recurrent_product *p = &r->products[i];
        const ox_tensor *zeros = call->in[zeros_of[i]];
        uint32_t *sums = ox_workspace_take(call, used, columns_of(r), WIDE);
        uint32_t *points = ox_workspace_take(call, used, columns_of(r), WIDE);
        if (!p->sums)
            sum_columns(&(column_sums){call, p, call->in[weights_of[i]]->data, r->shape.directions}, sums);
        run->sums[i] = p->sums ? p->sums : sums;
        run->zeros[i] = NULL;
        for (int64_t j = 0; j < ox_tensor_count(zeros); j++) {
            points[j] = p->shift + (uint32_t)ox_tensor_int(zeros, j);
            if (points[j])
                run->zeros[i] = points;
        }
    }
    run->row_sums = ox_workspace_take(call, used, operand_rows(&r->shape), WIDE);
    run->operand = ox_workspace_take(call, used, operand_elements(&r->shape), 1);
}

/* Within what a byte holds; NaN is 0. */
static float limited(float value) {
    return value > 0 ? value < 255 ? value : 255 : 0;
}

void ox_quantized_operand(const ox_call *call, const ox_gemm *g, const ox_f32 *from, ox_quantized_run *run) {
    const int64_t n = g->m * g->k;
    float low = 0, high = 0;
    for (int64_t i = 0; i < n; i++) {
        low = from[i] < low ? from[i] : low;
        high = from[i] > high ? from[i] : high;
    }
    run->scale = high > low ? (high - low) / 255 : 1;
    run->zero = (uint8_t)limited(rintf(-low / run->scale));
    loops_of(call)->quantize(n, run->scale, run->zero, (const char *)from, run->operand);
    const ox_gemm_matrix rows = {OX_UINT8, run->operand, 1, g->k};
    loops_of(call)->sum(&rows, g->k, g->m, 0U - (uint32_t)g->k * run->zero, run->row_sums);
}

void ox_quantized_row(const ox_call *call, const ox_recurrent *r, int number, int direction,
                      const ox_quantized_run *run, int64_t row, int64_t column, int64_t n, char *sums, ox_f32 *to) {
    const ox_tensor *scales = call->in[scales_of[number]], *zeros = call->in[zeros_of[number]];
    const ox_zero_points points = {
        .row_zero = run->zero,
        .row_sum = run->row_sums[row],
        .column_sums = run->sums[number] + direction * 4 * r->shape.hidden + column,
        .column_zeros = run->zeros[number] ? run->zeros[number] + entry(zeros, r, direction, column) : NULL,
        .step = zeros->rank == 1 ? 0 : 1};
    const ox_f32 *each = (const ox_f32 *)scales->data + entry(scales, r, direction, column);
    const int64_t step = scales->rank == 1 ? 0 : 1;
    loops_of(call)->offset(n, &points, sums);
    for (int64_t j = 0; j < n; j++)
        to[j] = (float)((const int32_t *)(const void *)sums)[j] * (run->scale * each[j * step]);
}
