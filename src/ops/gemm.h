/* gemm.h: the matrix product that MatMul, Gemm and Conv share. */
#ifndef OX_OPS_GEMM_H
#define OX_OPS_GEMM_H

#include "element.h"

/* B is taken in panels of up to OX_GEMM_DEPTH rows of OX_GEMM_ROW bytes. */
enum {
    OX_GEMM_DEPTH = 256,
    OX_GEMM_ROW = 32
};

/* Writes rows [row, row + rows) of columns [column, column + columns) of a matrix B to a panel with OX_GEMM_ROW bytes
 * a row. The panel holds zeros before; what is beyond `columns` must stay finite. */
typedef void ox_gemm_panel_fn(const void *context, int64_t row, int64_t rows, int64_t column, int64_t columns,
                              void *panel);

/* C[m,n] = A[m,k] * B[k,n]. Strides are in bytes; the columns of C lie packed. */
typedef struct ox_gemm {
    ox_dtype dtype; /* float, double, (u)int32 or (u)int64; integers wrap */
    int64_t m, n, k;
    const void *a;
    int64_t a_row, a_col;
    const void *b;
    int64_t b_row, b_col;
    ox_gemm_panel_fn *panel; /* if not NULL, it gives B panel by panel, and b is not used */
    const void *context;
    void *c;
    int64_t c_row;
} ox_gemm;

/* Bytes of workspace that a product with inner dimension k needs. */
size_t ox_gemm_workspace(int64_t k);

void ox_gemm_run(const ox_gemm *gemm, void *workspace);

#endif
