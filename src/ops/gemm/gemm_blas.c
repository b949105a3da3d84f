/* gemm_blas.c: products by the CBLAS that the build was given. Other builds leave this file out. */
#include "gemm_blas.h"

#include <cblas.h>
#include <limits.h>

/* An operand as CBLAS wants it. */
typedef struct blas_matrix {
    CBLAS_TRANSPOSE transpose;
    int step; /* elements from row to row, or from column to column where it is transposed */
} blas_matrix;

/* A step of bytes in elements, 0 if it is not one of at least `length` elements. With one row there is no step. */
static int64_t leading(int64_t bytes, int64_t size, int64_t count, int64_t length) {
    if (count == 1)
        return length;
    return bytes % size == 0 && bytes / size >= length ? bytes / size : 0;
}

static bool describe(const ox_gemm_matrix *m, int64_t rows, int64_t columns, blas_matrix *matrix) {
    const int64_t size = (int64_t)ox_dtype_size(m->dtype);
    int64_t step = m->col == size ? leading(m->row, size, rows, columns) : 0;
    matrix->transpose = CblasNoTrans;
    if (!step && m->row == size) {
        step = leading(m->col, size, columns, rows);
        matrix->transpose = CblasTrans;
    }
    matrix->step = step <= INT_MAX ? (int)step : 0;
    return matrix->step > 0;
}

bool ox_gemm_blas_fits(const ox_gemm *g) {
    const int64_t size = (int64_t)ox_dtype_size(g->a.dtype), width = ox_gemm_is_taken(g) ? g->n : g->c_row / size;
    blas_matrix a, b;
    /* Products with a vector are a matter of memory, and are left alone. */
    return (g->a.dtype == OX_FLOAT || g->a.dtype == OX_DOUBLE) && !g->panels && !g->panel && g->m > 1 && g->n > 1 &&
           g->k > 0 && g->m <= INT_MAX && g->n <= INT_MAX && g->k <= INT_MAX && width <= INT_MAX &&
           describe(&g->a, g->m, g->k, &a) && describe(&g->b, g->k, g->n, &b);
}

void ox_gemm_blas(const ox_gemm *g, char *c, int64_t c_row) {
    const int m = (int)g->m, n = (int)g->n, k = (int)g->k;
    const int step = (int)(c_row / (int64_t)ox_dtype_size(g->a.dtype));
    blas_matrix a, b;
    describe(&g->a, g->m, g->k, &a);
    describe(&g->b, g->k, g->n, &b);
    if (g->a.dtype == OX_FLOAT)
        cblas_sgemm(CblasRowMajor, a.transpose, b.transpose, m, n, k, 1, g->a.data, a.step, g->b.data, b.step, 0,
                    (float *)(void *)c, step);
    else
        cblas_dgemm(CblasRowMajor, a.transpose, b.transpose, m, n, k, 1, g->a.data, a.step, g->b.data, b.step, 0,
                    (double *)(void *)c, step);
}
