/* gemm_weights.c: weights, laid out in panels once for all sessions of a model. */
#include "store.h"
#include "ops/dense.h"
#include "gemm_blas.h"

/* The matrices of B, by the dimensions that lead to them. */
typedef struct weights {
    const ox_loops *loops;
    const ox_gemm_kernel *kernel;
    const ox_gemm *g;
    ox_store_key key;
    int rank;
    size_t each;
    char *stage;
} weights;

/* Panels that would be larger than what they are made of are not worth it. */
static bool repeats(int rank, const int64_t *dims, const int64_t *strides) {
    for (int d = 0; d < rank; d++)
        if (dims[d] > 1 && strides[d] == 0)
            return true;
    return false;
}

/* Where a matrix starts, by its number. */
static const char *matrix_at(const weights *w, int64_t number) {
    const char *data = w->key.weights;
    for (int d = w->rank; d-- > 0; number /= w->key.dims[d])
        data += number % w->key.dims[d] * w->key.strides[d];
    return data;
}

/* An ox_store_fn. */
static void lay_out(const void *context, void *block) {
    const weights *w = context;
    const int64_t count = ox_count(w->rank, w->key.dims);
    for (int64_t i = 0; i < count; i++) {
        ox_gemm g = *w->g;
        g.b.data = matrix_at(w, i);
        ox_gemm_pack(w->loops, w->kernel, &g, (char *)block + (size_t)i * w->each, w->stage);
    }
}

/* The dimensions with the matrix's own behind them; false if there are too many, or nothing to lay out. */
static bool describe(const ox_call *call, int input, int rank, const int64_t *dims, const int64_t *strides,
                     const ox_gemm *g, weights *w) {
    if (!call->store || !(call->weights >> input & 1) || rank > OX_STORE_DIMS - 2 || ox_count(rank, dims) == 0 ||
        g->k == 0 || g->n < 2 || ox_gemm_blas_fits(g))
        return false;
    *w = (weights){
        .loops = call->loops, .kernel = OX_BUILD_OF(call->loops, ox_gemm_builds)(g->a.dtype), .g = g, .rank = rank};
    const char *data = call->in[input]->data, *first = g->b.data ? g->b.data : data;
    w->key = (ox_store_key){.layout = OX_LAYOUT_PANELS,
                            .dtype = g->b.dtype,
                            .weights = first,
                            .build = w->kernel,
                            .bytes = ox_tensor_span(call->in[input]) - (size_t)(first - data)};
    for (int d = 0; d < rank; d++)
        w->key.dims[d] = dims[d], w->key.strides[d] = strides[d];
    w->key.dims[rank] = g->k, w->key.strides[rank] = g->b.row;
    w->key.dims[rank + 1] = g->n, w->key.strides[rank + 1] = g->b.col;
    return !repeats(rank + 2, w->key.dims, w->key.strides);
}

ox_status ox_gemm_weights(ox_call *call, int input, int rank, const int64_t *dims, const int64_t *strides, ox_gemm *g,
                          size_t *each) {
    weights w;
    size_t size;
    if (!describe(call, input, rank, dims, strides, g, &w) || !ox_gemm_packed_size(w.kernel, g->k, g->n, &w.each))
        return OX_OK;
    *each = w.each = ox_aligned(w.each);
    if (!ox_mul_size(w.each, (size_t)ox_count(rank, dims), &size))
        return OX_OK;
    OX_TRY(ox_store_get(call->store, &w.key, size, NULL, NULL, &g->panels, call->error));
    if (g->panels)
        return OX_OK;
    ox_pile_mark mark = ox_pile_save(call->pile);
    w.stage = ox_pile_get(call->pile, OX_GEMM_STAGE);
    ox_status status = w.stage ? ox_store_get(call->store, &w.key, size, lay_out, &w, &g->panels, call->error)
                               : ox_fail_memory(call->error, "laying out weights", OX_GEMM_STAGE);
    ox_pile_restore(call->pile, mark);
    OX_ASSERT(ox_is_aligned(g->panels));
    return status;
}
