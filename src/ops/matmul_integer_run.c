/* matmul_integer_run.c: MatMulInteger and QLinearMatMul. The zero points are taken off the operands, in int32, or in
 * float where float8 takes part; what QLinearMatMul makes of the sums is computed in double. */
#include "dense.h"
#include "gemm.h"
#include "matmul_integer.h"
#include "walk.h"

#include <math.h>
#include <string.h>

typedef struct matmul_integer {
    ox_dtype dtype; /* that is computed in */
    int64_t m, n, k;
    ox_bcast batch;                /* bytes through A and B, and through their scales in float */
    int64_t row_step, column_step; /* from scale to scale, in elements */
} matmul_integer;

enum {
    WIDE = 4 /* bytes of an element that is computed with */
};

/* ---- Plans -------------------------------------------------------------------------------------------------- */

static int outer_rank(int rank) {
    return rank > 2 ? rank - 2 : 0;
}

static void operand_strides(const ox_matmul_shape *s, const ox_tensor *matrix, int64_t *batch) {
    int64_t strides[OX_MAX_RANK];
    ox_packed_strides(matrix->rank, matrix->dims, WIDE, strides);
    ox_matmul_batch_strides(s, outer_rank(matrix->rank), matrix->dims, strides, batch);
}

/* The strides of scales through the batch, and the step from one to the next. */
static void scale_strides(const ox_call *call, const ox_matmul_shape *s, int scale, bool by_row, int64_t *step,
                          int64_t *batch) {
    ox_entries e = {0};
    int64_t strides[OX_MAX_RANK + 1] = {0};
    if (scale >= 0)
        e = ox_entries_of(call->in[scale], by_row);
    ox_packed_strides(e.rank, e.dims, sizeof(float), strides);
    ox_matmul_batch_strides(s, outer_rank(e.rank), e.dims, strides, batch);
    int place = e.rank - (by_row ? 2 : 1);
    *step = e.rank > 0 && e.dims[place] != 1;
}

static ox_status plan_batch(ox_call *call, const ox_matmul_shape *s, matmul_integer *state) {
    const ox_integer_inputs *in = ox_integer_inputs_of(call);
    int64_t a[OX_MAX_RANK], b[OX_MAX_RANK], a_scale[OX_MAX_RANK], b_scale[OX_MAX_RANK];
    operand_strides(s, call->in[in->a], a);
    operand_strides(s, call->in[in->b], b);
    scale_strides(call, s, in->a_scale, true, &state->row_step, a_scale);
    scale_strides(call, s, in->b_scale, false, &state->column_step, b_scale);
    return ox_plan_space(call, &state->batch, 4, s->batch, s->dims, (const int64_t *const[]){a, b, a_scale, b_scale});
}

ox_status ox_prepare_matmul_integer(ox_call *call) {
    const ox_integer_inputs *in = ox_integer_inputs_of(call);
    ox_matmul_shape s;
    matmul_integer *state = ox_call_state(call, sizeof *state);
    if (!state)
        return OX_ERROR_MEMORY;
    OX_TRY(ox_matmul_shape_of(call, in->a, in->b, &s));
    const int64_t count = ox_tensor_count(call->out[0]);
    if (count == 0)
        return OX_OK;
    const ox_dtypes types = OX_BIT(call->in[in->a]->dtype) | OX_BIT(call->in[in->b]->dtype);
    state->dtype = types & OX_SET_FLOAT8 ? OX_FLOAT : OX_INT32;
    state->m = s.m, state->n = s.n, state->k = s.k;
    OX_TRY(plan_batch(call, &s, state));
    const int inputs[] = {in->a, in->b, in->a_zero, in->b_zero, in->a_scale, in->b_scale};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        if (inputs[i] >= 0 && ox_call_given(call, inputs[i]))
            OX_TRY(ox_workspace_add(call, ox_tensor_count(call->in[inputs[i]]), WIDE));
    if (in->y_scale >= 0)
        OX_TRY(ox_workspace_add(call, count, WIDE));
    return ox_gemm_plan(call, s.k);
}

/* ---- Operands ----------------------------------------------------------------------------------------------- */

static void widen_to_int(const ox_tensor *t, int64_t n, int32_t *to) {
    const int8_t *s = t->data;
    const uint8_t *u = t->data;
    for (int64_t i = 0; i < n; i++)
        to[i] = t->dtype == OX_INT8 ? s[i] : u[i];
}

static void widen_to_float(const ox_tensor *t, int64_t n, float *to) {
    const int8_t *s = t->data;
    const uint8_t *u = t->data;
    if (t->dtype == OX_FLOAT)
        memcpy(to, t->data, (size_t)n * sizeof *to);
    else if (ox_dtype_compute(t->dtype) == OX_FLOAT)
        ox_widen(t->dtype, n, t->data, to);
    else
        for (int64_t i = 0; i < n; i++)
            to[i] = t->dtype == OX_INT8 ? s[i] : u[i];
}

static void *take_wide(const ox_call *call, size_t *used, const ox_tensor *t, ox_dtype dtype) {
    const int64_t n = ox_tensor_count(t);
    void *wide = ox_workspace_take(call, used, n, WIDE);
    if (dtype == OX_FLOAT)
        widen_to_float(t, n, wide);
    else
        widen_to_int(t, n, wide);
    return wide;
}

/* Takes n zero points, `step` apart, off a row. */
static void subtract_row(ox_dtype dtype, int64_t n, char *row, const char *zero, int64_t step) {
    float *f = (float *)(void *)row;
    int32_t *s = (int32_t *)(void *)row;
    for (int64_t j = 0; j < n; j++, zero += step)
        if (dtype == OX_FLOAT)
            f[j] -= OX_GET(ox_f32, zero);
        else
            s[j] -= OX_GET(ox_i32, zero);
}

/* Takes its zero points off an operand: `wide` has the shape of `matrix`. */
static void subtract(ox_dtype dtype, const ox_tensor *matrix, char *wide, const ox_entries *e, const char *zero) {
    const int last = matrix->rank - 1;
    int64_t strides[OX_MAX_RANK], index[OX_MAX_RANK] = {0};
    const int64_t n = matrix->dims[last], rows = n ? ox_tensor_count(matrix) / n : 0;
    /* An operand of one dimension has one zero point. */
    ox_tensor all = {OX_FLOAT, e->rank <= matrix->rank ? e->rank : 0, e->dims, NULL, NULL};
    ox_broadcast_strides(&all, matrix->rank, matrix->dims, strides);
    for (int64_t i = 0; i < rows; i++, wide += n * WIDE) {
        subtract_row(dtype, n, wide, zero, strides[last]);
        for (int d = last - 1; d >= 0; d--) {
            zero += strides[d];
            if (++index[d] < matrix->dims[d])
                break;
            zero -= strides[d] * matrix->dims[d];
            index[d] = 0;
        }
    }
}

/* A matrix less its zero point, in the type that is computed in. */
static void *take_operand(const ox_call *call, size_t *used, int matrix, int zero, bool by_row, ox_dtype dtype) {
    void *wide = take_wide(call, used, call->in[matrix], dtype);
    if (ox_call_given(call, zero)) {
        const ox_entries e = ox_entries_of(call->in[zero], by_row);
        subtract(dtype, call->in[matrix], wide, &e, take_wide(call, used, call->in[zero], dtype));
    }
    return wide;
}

/* ---- Results ------------------------------------------------------------------------------------------------ */

/* The output's scale and zero point. */
typedef struct quantization {
    ox_dtype dtype;
    double scale, zero;
} quantization;

static double first_value(const ox_tensor *t) {
    float value;
    widen_to_float(t, 1, &value);
    return (double)value;
}

/* One sum becomes an element: rounded to an integer before the zero point is added, to float8 after. */
static void quantize(const quantization *q, double value, char *to) {
    if (ox_dtype_compute(q->dtype) == OX_FLOAT) {
        const float shifted = (float)(value + q->zero);
        ox_narrow(&(ox_narrowing){.dtype = q->dtype}, 1, &shifted, to);
        return;
    }
    const double low = q->dtype == OX_INT8 ? -128 : 0;
    value = rint(value) + q->zero;
    value = !(value > low) ? low : value < low + 255 ? value : low + 255;
    OX_AT(ox_u8, to) = (uint8_t)(int)value;
}

static void quantize_product(const matmul_integer *s, const quantization *q, const char *sums, const float *row_scale,
                             const float *column_scale, char *to) {
    for (int64_t i = 0; i < s->m; i++)
        for (int64_t j = 0; j < s->n; j++, sums += WIDE, to++) {
            const double scale =
                (double)row_scale[i * s->row_step] * (double)column_scale[j * s->column_step] / q->scale;
            quantize(q, scale * (s->dtype == OX_FLOAT ? (double)OX_GET(ox_f32, sums) : OX_GET(ox_i32, sums)), to);
        }
}

/* Where the operands and the sums of all products are. */
typedef struct places {
    const ox_bcast *batch;
    const char *start[4];
    char *sums;
} places;

static void find(const places *p, int64_t i, const char *at[4]) {
    int64_t index[OX_MAX_RANK];
    memcpy(at, p->start, sizeof p->start);
    ox_walk_to(p->batch, 0, i, index, at);
}

/* An ox_gemm_place_fn. */
static void place(const void *context, int64_t i, ox_gemm *g) {
    const places *p = context;
    const char *at[4];
    find(p, i, at);
    g->a = at[0], g->b = at[1];
    g->c = p->sums + i * g->m * g->c_row;
}

static void quantize_all(const ox_call *call, const matmul_integer *s, const places *p, int64_t products) {
    const ox_integer_inputs *in = ox_integer_inputs_of(call);
    const quantization q = {call->out[0]->dtype, first_value(call->in[in->y_scale]), first_value(call->in[in->y_zero])};
    const int64_t size = s->m * s->n;
    for (int64_t i = 0; i < products; i++) {
        const char *at[4];
        find(p, i, at);
        quantize_product(s, &q, p->sums + i * size * WIDE, (const float *)(const void *)at[2],
                         (const float *)(const void *)at[3], (char *)call->out[0]->data + i * size);
    }
}

ox_status ox_run_matmul_integer(ox_call *call) {
    const ox_integer_inputs *in = ox_integer_inputs_of(call);
    const matmul_integer *s = call->state;
    const int64_t count = ox_tensor_count(call->out[0]), products = ox_count(s->batch.ndim, s->batch.dim);
    size_t used = 0;
    if (count == 0)
        return OX_OK;
    places p = {.batch = &s->batch, .sums = call->out[0]->data};
    p.start[0] = take_operand(call, &used, in->a, in->a_zero, true, s->dtype);
    p.start[1] = take_operand(call, &used, in->b, in->b_zero, false, s->dtype);
    if (in->y_scale >= 0) {
        p.start[2] = take_wide(call, &used, call->in[in->a_scale], OX_FLOAT);
        p.start[3] = take_wide(call, &used, call->in[in->b_scale], OX_FLOAT);
        p.sums = ox_workspace_take(call, &used, count, WIDE);
    }
    ox_gemm g = {.dtype = s->dtype, .m = s->m, .n = s->n, .k = s->k};
    g.a_row = s->k * WIDE, g.a_col = WIDE, g.b_row = s->n * WIDE, g.b_col = WIDE, g.c_row = s->n * WIDE;
    ox_gemm_run(&g, products, place, &p, call->pool, ox_gemm_take(call, &used, s->k));
    if (in->y_scale >= 0)
        quantize_all(call, s, &p, products);
    return OX_OK;
}
