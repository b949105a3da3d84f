/* det.c: Det: the determinants of matrices. */
#include <math.h>

#include "ops/dense.h"
#include "ops/reals.h"

ox_status ox_infer_det(ox_call *call) {
    const ox_tensor *x = call->in[0];
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    if (x->rank < 2 || x->dims[x->rank - 1] != x->dims[x->rank - 2])
        return ox_call_fail(call, OX_ERROR_SHAPE, "the last two dimensions of %s must be those of square matrices",
                            OX_INPUT(call, 0));
    return ox_call_output(call, 0, x->dtype, x->rank - 2, x->dims);
}

/* Each part has room for a matrix. */
ox_status ox_prepare_det(ox_call *call) {
    const ox_tensor *x = call->in[0];
    const int64_t n = x->dims[x->rank - 1];
    int64_t room;
    if (!ox_mul_i64(n, n * (int64_t)(ox_tensor_count(call->out[0]) > 0), &room) ||
        !ox_mul_i64(room, ox_pool_parts(call->pool), &room))
        room = INT64_MAX;
    return ox_workspace_add(call, room, sizeof(double));
}

typedef struct det_job {
    const ox_tensor *x, *out;
    int64_t n;
    double *work;
    ox_pool *pool;
} det_job;

/* The row whose element in a column is the largest, from the diagonal on. */
static int64_t pivot_of(const double *a, int64_t n, int64_t column) {
    int64_t pivot = column;
    for (int64_t i = column + 1; i < n; i++)
        if (fabs(a[i * n + column]) > fabs(a[pivot * n + column]))
            pivot = i;
    return pivot;
}

static void swap_rows(double *restrict a, double *restrict b, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const double swapped = a[i];
        a[i] = b[i];
        b[i] = swapped;
    }
}

static void subtract_row(double *restrict to, const double *restrict from, double factor, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        to[i] -= from[i] * factor;
}

/* Gaussian elimination: the product of the pivots. */
static double determinant(double *a, int64_t n, ox_pool *pool) {
    double product = 1;
    for (int64_t k = 0; k < n && !ox_pool_poll(pool); k++) {
        const int64_t pivot = pivot_of(a, n, k);
        if (pivot != k) {
            swap_rows(a + k * n + k, a + pivot * n + k, n - k);
            product = -product;
        }
        product *= a[k * n + k];
        if (a[k * n + k] == 0)
            return 0;
        for (int64_t i = k + 1; i < n; i++)
            subtract_row(a + i * n + k + 1, a + k * n + k + 1, a[i * n + k] / a[k * n + k], n - k - 1);
    }
    return product;
}

static void det_share(void *context, ox_share *share) {
    const det_job *job = context;
    const int64_t n = job->n, width = (int64_t)ox_dtype_size(job->x->dtype);
    double *a = job->work + share->room * n * n;
    int64_t i, end;
    while (ox_share_next(share, &i, &end))
        for (; i < end && !ox_pool_poll(job->pool); i++) {
            ox_reals_load(job->x->dtype, n * n, (const char *)job->x->data + i * n * n * width, width, a, 1);
            ox_real_put(job->x->dtype, determinant(a, n, job->pool), (char *)job->out->data + i * width);
        }
}

ox_status ox_run_det(ox_call *call) {
    const ox_tensor *x = call->in[0];
    det_job job = {.x = x, .out = call->out[0], .n = x->dims[x->rank - 1], .pool = call->pool};
    const int64_t count = ox_tensor_count(job.out);
    const double n = (double)job.n;
    size_t used = 0;
    job.work = ox_workspace_take(call, &used, count ? job.n * job.n * ox_pool_parts(call->pool) : 0, sizeof(double));
    ox_pool_share(ox_pool_for(call->pool, (double)count * n * n * (n + 8)), count, 1, det_share, &job);
    return OX_OK;
}
