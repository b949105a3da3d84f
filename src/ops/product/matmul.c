/* matmul.c: MatMul, and FusedMatMul, which transposes its operands and multiplies the result. Batches that repeat are
 * read again, never copied. */
#include "ops/dense.h"
#include "ops/elementwise.h"
#include "ops/gemm/gemm.h"
#include "matmul_shape.h"
#include "iterate/walk.h"

#include <string.h>

/* An element of a floating type that is computed in. */
typedef union factor {
    float f32;
    double f64;
} factor;

typedef struct matmul {
    ox_gemm product;
    ox_gemm_plan plan;
    int64_t count;  /* of products */
    ox_bcast batch; /* operands A and B */
    factor alpha;
    const ox_lanes *mul; /* by that */
    ox_dtype dtype;      /* that is computed in */
} matmul;

/* An input as it takes part in the product. */
typedef struct operand {
    ox_tensor tensor;
    int64_t dims[OX_MAX_RANK], strides[OX_MAX_RANK];
} operand;

static void swap(operand *o, int a, int b) {
    const int64_t dim = o->dims[a], stride = o->strides[a];
    o->dims[a] = o->dims[b], o->dims[b] = dim;
    o->strides[a] = o->strides[b], o->strides[b] = stride;
}

/* `batch` moves the first dimension behind the batch, and then `matrix` swaps the last two; rows stay rows. */
static void read_operand(ox_call *call, int i, const char *batch, const char *matrix, operand *o) {
    const ox_tensor *t = call->in[i];
    for (int d = 0; d < t->rank; d++)
        o->dims[d] = t->dims[d];
    ox_tensor_strides(t, o->strides);
    if (ox_call_int(call, batch, 0))
        for (int d = 0; d + 2 < t->rank; d++)
            swap(o, d, d + 1);
    if (t->rank > 1 && ox_call_int(call, matrix, 0))
        swap(o, t->rank - 2, t->rank - 1);
    o->tensor = (ox_tensor){t->dtype, t->rank, o->dims, o->strides, t->data};
}

static ox_status read_operands(ox_call *call, operand *a, operand *b, ox_matmul_shape *s) {
    read_operand(call, 0, "transBatchA", "transA", a);
    read_operand(call, 1, "transBatchB", "transB", b);
    return ox_matmul_shape_between(call, 0, &a->tensor, 1, &b->tensor, s);
}

ox_status ox_infer_matmul(ox_call *call) {
    operand a, b;
    ox_matmul_shape s;
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(ox_call_check_same(call, 0, 1));
    OX_TRY(read_operands(call, &a, &b, &s));
    return ox_matmul_give(call, a.tensor.rank, b.tensor.rank, &s, a.tensor.dtype);
}

static float read_alpha(ox_call *call, ox_dtype dtype, factor *element) {
    const float alpha = ox_call_float(call, "alpha", 1);
    if (OX_HAS(OX_DOUBLE) && dtype == OX_DOUBLE)
        element->f64 = (double)alpha;
    else
        element->f32 = alpha;
    return alpha;
}

/* In an epilogue. */
ox_reg ox_emit_matmul(ox_call *call, ox_pass_builder *b, ox_reg sums) {
    factor alpha;
    const ox_dtype dtype = ox_dtype_compute(call->in[0]->dtype);
    if (read_alpha(call, dtype, &alpha) == 1)
        return sums;
    const ox_reg args[] = {sums, ox_pass_constant(b, dtype, &alpha)};
    return ox_elementwise_apply(b, OX_LANES_Mul, NULL, OX_UNDEFINED, 2, args);
}

/* An ox_gemm_end_fn: alpha times the product. */
static void finish(const ox_gemm *g, const ox_gemm_block *block) {
    const matmul *mm = g->context;
    const int64_t width = (int64_t)ox_dtype_size(mm->dtype);
    for (int64_t i = 0; i < block->rows; i++) {
        char *const arg[] = {ox_gemm_out(g, block, i, width), block->data + i * block->data_row,
                             (char *)(uintptr_t)&mm->alpha};
        mm->mul->fn[mm->dtype](block->columns, arg, (const int64_t[]){width, width, 0}, NULL);
    }
}

static void plan_alpha(ox_call *call, ox_dtype dtype, matmul *mm) {
    if (read_alpha(call, dtype, &mm->alpha) == 1 || call->epilogue)
        return;
    mm->mul = OX_BUILD_OF(call->loops, OX_LANES_Mul);
    mm->dtype = dtype;
    mm->product.context = mm;
    mm->product.after.end = finish;
    mm->product.after.in_place = true;
}

/* Rows of A over a repeated B, as of a batch of activations times weights: one product with more rows. */
static void merge_batch(matmul *mm) {
    ox_bcast *batch = &mm->batch;
    if (batch->ndim != 1 || batch->step[1] != 0)
        return;
    ox_gemm *g = &mm->product;
    int64_t length;
    if (g->m == 1)
        g->a.row = batch->step[0];
    else if (!ox_mul_i64(g->a.row, g->m, &length) || length != batch->step[0])
        return;
    g->m *= batch->dim[0];
    batch->dim[0] = 1;
}

ox_status ox_prepare_matmul(ox_call *call) {
    const ox_tensor *out = call->out[0];
    const ox_dtype dtype = call->in[0]->dtype;
    operand a, b;
    ox_matmul_shape s;
    OX_TRY(read_operands(call, &a, &b, &s));
    matmul *mm = ox_call_state(call, sizeof *mm);
    if (!mm)
        return OX_ERROR_MEMORY;
    const int a_rank = a.tensor.rank, b_rank = b.tensor.rank, b_batch = ox_matmul_batch_rank(b_rank);
    int64_t *sa = a.strides, *sb = b.strides, batch_a[OX_MAX_RANK], batch_b[OX_MAX_RANK];
    ox_matmul_batch_strides(&s, ox_matmul_batch_rank(a_rank), a.dims, sa, batch_a);
    ox_matmul_batch_strides(&s, b_batch, b.dims, sb, batch_b);
    ox_gemm *g = &mm->product;
    g->m = s.m, g->n = s.n, g->k = s.k;
    if (s.k == 0) { /* no operand has memory: all of the result is cleared as one row */
        g->m = 1, g->n = ox_tensor_count(out);
        s.batch = 0;
    }
    g->a = (ox_gemm_matrix){dtype, NULL, a_rank > 1 ? sa[a_rank - 2] : 0, sa[a_rank - 1]};
    g->b = (ox_gemm_matrix){dtype, NULL, sb[b_rank > 1 ? b_rank - 2 : 0], b_rank > 1 ? sb[b_rank - 1] : 0};
    size_t each = 0;
    if (ox_gemm_wants_panels(g, s.n ? ox_tensor_count(out) / s.n : 0))
        OX_TRY(ox_gemm_find_weights(call, 1, b_batch, b.dims, sb, g, &each));
    if (g->panels) {
        ox_packed_strides(b_batch, b.dims, each, sb);
        ox_matmul_batch_strides(&s, b_batch, b.dims, sb, batch_b);
    }
    OX_TRY(ox_plan_space(call, &mm->batch, 2, s.batch, s.dims, (const int64_t *const[]){batch_a, batch_b}));
    if (mm->batch.dim[0] > 1)
        merge_batch(mm);
    mm->count = ox_count(mm->batch.ndim, mm->batch.dim);
    g->c_row = g->n * (int64_t)ox_dtype_size(ox_dtype_compute(dtype));
    g->after.epilogue = call->epilogue;
    plan_alpha(call, ox_dtype_compute(dtype), mm);
    OX_TRY(ox_dense_plan_out(call, ox_tensor_count(out)));
    OX_TRY(ox_gemm_prepare(call, g, mm->count, &mm->plan));
    ox_gemm_name(call, g, &mm->plan);
    return OX_OK;
}

/* Where the operands of all products are. */
typedef struct matmul_places {
    const matmul *mm;
    const char *operands[2];
} matmul_places;

/* An ox_gemm_place_fn. */
static void place(const void *places, int64_t i, ox_gemm *g) {
    const matmul_places *p = places;
    const char *operands[2] = {p->operands[0], p->operands[1]};
    int64_t index[OX_MAX_RANK];
    ox_walk_to(&p->mm->batch, 0, i, index, operands);
    g->a.data = operands[0];
    *(p->mm->product.panels ? &g->panels : &g->b.data) = operands[1];
}

ox_status ox_run_matmul(ox_call *call) {
    const matmul *mm = call->state;
    const ox_tensor *out = call->out[0];
    int64_t count = ox_tensor_count(out);
    size_t used = 0;
    ox_gemm g = mm->product;
    g.c = ox_dense_out(call, &used, count);
    const matmul_places places = {mm, {call->in[0]->data, g.panels ? g.panels : call->in[1]->data}};
    ox_gemm_run(&mm->plan, &g, mm->count, place, &places, ox_gemm_take(call, &used, &mm->plan));
    ox_dense_store(call, count, g.c);
    return OX_OK;
}
