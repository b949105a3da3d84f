/* gemm_weights.c: weights, laid out in panels once for all sessions of a model. */
#include "ops/dense.h"
#include "gemm.h"

/* ---- Panels of the store ---------------------------------------------------------------------------------------- */

typedef struct panels_job {
    const ox_gemm_weights *weights;
    const ox_loops *loops;
    size_t each;
    char *stage;
} panels_job;

static ox_status begin(ox_call *call, void *context) {
    panels_job *job = context;
    job->stage = ox_pile_get(call->pile, OX_GEMM_STAGE);
    return job->stage ? OX_OK : ox_fail_memory(call->error, "laying out weights", OX_GEMM_STAGE);
}

/* An ox_store_fn. */
static void lay_out(const void *context, void *block) {
    const panels_job *job = context;
    const ox_gemm_weights *w = job->weights;
    for (int64_t i = 0; i < w->count; i++) {
        ox_gemm g = *w->gemm;
        w->place(w->places, i, &g);
        ox_gemm_pack(job->loops, w->kernel, &g, (char *)block + (size_t)i * job->each, job->stage);
    }
}

ox_status ox_gemm_lay_once(ox_call *call, const ox_gemm_weights *w, size_t *each, const void **panels) {
    panels_job job = {.weights = w, .loops = call->loops};
    ox_laying laying = {.key = w->key, .begin = begin, .make = lay_out, .context = &job};
    if (!w->kernel->packed_size(w->kernel, w->gemm->k, w->gemm->n, &job.each))
        return OX_OK;
    job.each = ox_aligned(job.each);
    if (!ox_mul_size(job.each, (size_t)w->count, &laying.size))
        return OX_OK;
    OX_TRY(ox_lay_once(call, &laying, panels));
    if (*panels)
        *each = job.each;
    return OX_OK;
}

/* ---- Weights of products ---------------------------------------------------------------------------------------- */

/* Panels that would be larger than what they are made of are not worth it. */
static bool repeats(int rank, const int64_t *dims, const int64_t *strides) {
    for (int d = 0; d < rank; d++)
        if (dims[d] > 1 && strides[d] == 0)
            return true;
    return false;
}

/* Where the matrices of B are. */
typedef struct matrices {
    ox_store_key key; /* its dimensions lead to them */
    int rank;
} matrices;

/* An ox_gemm_place_fn. */
static void place(const void *places, int64_t number, ox_gemm *g) {
    const matrices *m = places;
    const char *data = m->key.weights;
    for (int d = m->rank; d-- > 0; number /= m->key.dims[d])
        data += number % m->key.dims[d] * m->key.strides[d];
    g->b.data = data;
}

/* The dimensions with the matrix's own behind them; false if there are too many, or nothing to lay out. */
static bool describe(const ox_call *call, int input, int rank, const int64_t *dims, const int64_t *strides,
                     const ox_gemm *g, matrices *m) {
    if (!call->store || !(call->weights >> input & 1) || rank > OX_STORE_DIMS - 2 || ox_count(rank, dims) == 0 ||
        g->k == 0 || g->n < 2)
        return false;
    const char *data = call->in[input]->data, *first = g->b.data ? g->b.data : data;
    m->rank = rank;
    m->key = (ox_store_key){.layout = OX_LAYOUT_PANELS,
                            .dtype = g->b.dtype,
                            .weights = first,
                            .build = ox_gemm_kernel_of(call->loops, g->a.dtype, g->b.dtype),
                            .bytes = ox_tensor_span(call->in[input]) - (size_t)(first - data)};
    for (int d = 0; d < rank; d++)
        m->key.dims[d] = dims[d], m->key.strides[d] = strides[d];
    m->key.dims[rank] = g->k, m->key.strides[rank] = g->b.row;
    m->key.dims[rank + 1] = g->n, m->key.strides[rank + 1] = g->b.col;
    return !repeats(rank + 2, m->key.dims, m->key.strides);
}

ox_status ox_gemm_find_weights(ox_call *call, int input, int rank, const int64_t *dims, const int64_t *strides,
                               ox_gemm *g, size_t *each) {
    matrices m;
    if (!describe(call, input, rank, dims, strides, g, &m))
        return OX_OK;
    const ox_gemm_weights weights = {
        .kernel = m.key.build, .gemm = g, .count = ox_count(rank, dims), .place = place, .places = &m, .key = &m.key};
    return ox_gemm_lay_once(call, &weights, each, &g->panels);
}
