/* timer.c: runs a session many times in a tight loop and says how long that took, because a call from Python costs more
 * than a small model. The library's function comes as a pointer, so that the library Python has loaded is the one that
 * is measured. A contender from another shared library is timed the same way, and so is OpenBLAS. */
#include "../../src/ox.h"
#include "clock.h"

typedef ox_status run_fn(ox_session *session, ox_error *error);
typedef int peer_fn(void *peer);

/* cblas_sgemm and cblas_dgemm; orders and transposes by their numbers in cblas.h. */
typedef void sgemm_fn(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a, int lda,
                      const float *b, int ldb, float beta, float *c, int ldc);
typedef void dgemm_fn(int order, int trans_a, int trans_b, int m, int n, int k, double alpha, const double *a, int lda,
                      const double *b, int ldb, double beta, double *c, int ldc);

/* A batch of products whose operands are matrices number a_at[i] and b_at[i]. One of the functions is given. */
typedef struct bench_product {
    sgemm_fn *sgemm;
    dgemm_fn *dgemm;
    int trans_a, trans_b, m, n, k;
    int64_t batch;
    const int64_t *a_at, *b_at;
    const void *a, *b;
    void *c;
} bench_product;

OX_API int64_t bench_session(run_fn *run, ox_session *session, int64_t count, ox_error *error);
OX_API int64_t bench_peer(peer_fn *run, void *peer, int64_t count);
OX_API int64_t bench_blas(const bench_product *product, int64_t count);

/* Nanoseconds that `count` runs took, -1 if one of them failed. */
int64_t bench_session(run_fn *run, ox_session *session, int64_t count, ox_error *error) {
    int64_t start = now();
    for (int64_t i = 0; i < count; i++)
        if (run(session, error))
            return -1;
    return now() - start;
}

/* The same for a peer, whose run function returns 0 for success. */
int64_t bench_peer(peer_fn *run, void *peer, int64_t count) {
    int64_t start = now();
    for (int64_t i = 0; i < count; i++)
        if (run(peer))
            return -1;
    return now() - start;
}

static void multiply(const bench_product *p, int64_t i) {
    enum {
        ROW_MAJOR = 101,
        AS_IT_IS = 111
    };
    int lda = p->trans_a ? p->m : p->k, ldb = p->trans_b ? p->k : p->n;
    int trans_a = AS_IT_IS + p->trans_a, trans_b = AS_IT_IS + p->trans_b;
    int64_t a = p->a_at[i] * p->m * p->k, b = p->b_at[i] * p->k * p->n, c = i * p->m * p->n;
    if (p->sgemm)
        p->sgemm(ROW_MAJOR, trans_a, trans_b, p->m, p->n, p->k, 1, (const float *)p->a + a, lda,
                 (const float *)p->b + b, ldb, 0, (float *)p->c + c, p->n);
    else
        p->dgemm(ROW_MAJOR, trans_a, trans_b, p->m, p->n, p->k, 1, (const double *)p->a + a, lda,
                 (const double *)p->b + b, ldb, 0, (double *)p->c + c, p->n);
}

/* The same for a batch of products in a BLAS. */
int64_t bench_blas(const bench_product *product, int64_t count) {
    int64_t start = now();
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < product->batch; j++)
            multiply(product, j);
    return now() - start;
}

typedef ox_status set_fn(ox_session *session, size_t index, const ox_tensor *tensor, ox_error *error);

/* Steps of a session whose inputs change, each with the next of some lists of inputs, and the first again behind the
 * last; `run` may also be the function that plans alone. */
typedef struct bench_steps {
    set_fn *set;
    run_fn *run;
    ox_session *session;
    const ox_tensor *inputs; /* list after list */
    int64_t ninputs, nlists;
    ox_error *error;
} bench_steps;

OX_API int64_t bench_session_steps(const bench_steps *steps, int64_t count);

/* Nanoseconds that `count` steps took, -1 if one of them failed. */
int64_t bench_session_steps(const bench_steps *steps, int64_t count) {
    int64_t start = now();
    for (int64_t i = 0; i < count; i++) {
        const ox_tensor *inputs = steps->inputs + i % steps->nlists * steps->ninputs;
        for (int64_t k = 0; k < steps->ninputs; k++)
            if (steps->set(steps->session, (size_t)k, &inputs[k], steps->error))
                return -1;
        if (steps->run(steps->session, steps->error))
            return -1;
    }
    return now() - start;
}

typedef ox_status output_fn(const ox_session *session, size_t index, ox_tensor *tensor, ox_error *error);

/* Steps of a decoder: inputs from 1 on are the outputs of those numbers of the step before, but in the first step of
 * each `length` of them, which gets the inputs of `steps`. Outputs are written to one half of `memory` while those of
 * the step before lie in the other, `room` bytes for each. */
typedef struct bench_decoder {
    bench_steps steps;
    output_fn *output;
    char *memory;
    int64_t room, length, step;
} bench_decoder;

OX_API void *bench_decoder_memory(void *context, size_t index, const ox_tensor *output, size_t bytes);
OX_API int64_t bench_session_decoder(bench_decoder *decoder, int64_t count);

/* An ox_output_fn. */
void *bench_decoder_memory(void *context, size_t index, const ox_tensor *output, size_t bytes) {
    const bench_decoder *d = context;
    (void)output;
    const int64_t half = d->step % 2 * d->steps.ninputs;
    return bytes <= (size_t)d->room ? d->memory + (half + (int64_t)index) * d->room : NULL;
}

/* Nanoseconds that `count` steps took, -1 if one of them failed. */
int64_t bench_session_decoder(bench_decoder *decoder, int64_t count) {
    const bench_steps *steps = &decoder->steps;
    int64_t start = now();
    for (int64_t i = 0; i < count; i++) {
        decoder->step = i % decoder->length;
        for (int64_t k = 0; k < steps->ninputs; k++) {
            ox_tensor tensor = steps->inputs[k];
            if (k > 0 && decoder->step > 0 && decoder->output(steps->session, (size_t)k, &tensor, steps->error))
                return -1;
            if (steps->set(steps->session, (size_t)k, &tensor, steps->error))
                return -1;
        }
        if (steps->run(steps->session, steps->error))
            return -1;
    }
    return now() - start;
}
