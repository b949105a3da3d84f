/* matmul.c: MatMul. Batches that repeat are read again, never copied. */
#include "ops/dense.h"
#include "ops/gemm/gemm.h"
#include "matmul_shape.h"
#include "iterate/walk.h"

#include <string.h>

typedef struct matmul {
    ox_gemm product;
    ox_gemm_plan plan;
    int64_t count;  /* of products */
    ox_bcast batch; /* operands A and B */
} matmul;

ox_status ox_infer_matmul(ox_call *call) {
    ox_matmul_shape s;
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(ox_call_check_same(call, 0, 1));
    return ox_matmul_output(call, 0, 1, &s, call->in[0]->dtype);
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
    const ox_tensor *a = call->in[0], *b = call->in[1], *out = call->out[0];
    ox_matmul_shape s;
    OX_TRY(ox_matmul_shape_of(call, 0, 1, &s));
    matmul *mm = ox_call_state(call, sizeof *mm);
    if (!mm)
        return OX_ERROR_MEMORY;
    int64_t sa[OX_MAX_RANK], sb[OX_MAX_RANK], batch_a[OX_MAX_RANK], batch_b[OX_MAX_RANK];
    ox_tensor_strides(a, sa);
    ox_tensor_strides(b, sb);
    ox_matmul_batch_strides(&s, ox_matmul_batch_rank(a->rank), a->dims, sa, batch_a);
    ox_matmul_batch_strides(&s, ox_matmul_batch_rank(b->rank), b->dims, sb, batch_b);
    ox_gemm *g = &mm->product;
    g->m = s.m, g->n = s.n, g->k = s.k;
    if (s.k == 0) { /* no operand has memory: all of the result is cleared as one row */
        g->m = 1, g->n = ox_tensor_count(out);
        s.batch = 0;
    }
    g->a = (ox_gemm_matrix){a->dtype, NULL, a->rank > 1 ? sa[a->rank - 2] : 0, sa[a->rank - 1]};
    g->b = (ox_gemm_matrix){b->dtype, NULL, sb[b->rank > 1 ? b->rank - 2 : 0], b->rank > 1 ? sb[b->rank - 1] : 0};
    /* One row reads B faster as it lies. */
    size_t each = 0;
    if (ox_tensor_count(out) > s.n)
        OX_TRY(ox_gemm_weights(call, 1, ox_matmul_batch_rank(b->rank), b->dims, sb, g, &each));
    if (g->panels) {
        ox_packed_strides(ox_matmul_batch_rank(b->rank), b->dims, each, sb);
        ox_matmul_batch_strides(&s, ox_matmul_batch_rank(b->rank), b->dims, sb, batch_b);
    }
    OX_TRY(ox_plan_space(call, &mm->batch, 2, s.batch, s.dims, (const int64_t *const[]){batch_a, batch_b}));
    if (mm->batch.dim[0] > 1)
        merge_batch(mm);
    mm->count = ox_count(mm->batch.ndim, mm->batch.dim);
    g->c_row = g->n * (int64_t)ox_dtype_size(ox_dtype_compute(a->dtype));
    g->epilogue = call->epilogue;
    OX_TRY(ox_dense_plan_out(call, ox_tensor_count(out)));
    return ox_gemm_prepare(call, g, mm->count, &mm->plan);
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
