/* gemm.h: the matrix product that MatMul, Gemm and Conv share. */
#ifndef OX_OPS_GEMM_H
#define OX_OPS_GEMM_H

#include "../pool.h"
#include "element.h"
#include "op.h"

/* B is taken in panels of up to OX_GEMM_DEPTH rows of OX_GEMM_ROW bytes. */
enum {
    OX_GEMM_DEPTH = 256,
    OX_GEMM_ROW = 32
};

typedef struct ox_gemm ox_gemm;

/* Writes rows [row, row + rows) of columns [column, column + columns) of a matrix B to a panel with OX_GEMM_ROW bytes
 * a row. The panel holds zeros before; what is beyond `columns` must stay finite. Threads call it at the same time. */
typedef void ox_gemm_panel_fn(const ox_gemm *gemm, int64_t row, int64_t rows, int64_t column, int64_t columns,
                              void *panel);

/* Finishes rows [row, row + rows) of columns [column, column + columns) of C. Threads call it at the same time. */
typedef void ox_gemm_end_fn(const ox_gemm *gemm, int64_t row, int64_t rows, int64_t column, int64_t columns);

/* C[m,n] = A[m,k] * B[k,n]. Strides are in bytes; the columns of C lie packed. */
struct ox_gemm {
    ox_dtype dtype; /* float, double, (u)int32 or (u)int64; integers wrap */
    int64_t m, n, k;
    const void *a;
    int64_t a_row, a_col;
    const void *b;
    int64_t b_row, b_col;
    ox_gemm_panel_fn *panel;     /* if not NULL, it gives B panel by panel */
    int64_t column;              /* where panels count columns from */
    ox_gemm_end_fn *end;         /* if not NULL, it is called for every piece of C, once */
    const void *context, *extra; /* for panel and end */
    void *c;
    int64_t c_row;
};

/* Bytes of workspace that a product with inner dimension k needs for each thread of the pool. */
size_t ox_gemm_workspace(int64_t k);

/* Prepare and run: that workspace for all threads. */
ox_status ox_gemm_plan(ox_call *call, int64_t k);
void *ox_gemm_take(const ox_call *call, size_t *used, int64_t k);

/* The product without `end`, in this thread; m, n and k are not 0. */
void ox_gemm_block(const ox_gemm *gemm, void *workspace);

/* Sets a, b, c and extra of product i of a batch. */
typedef void ox_gemm_place_fn(const void *places, int64_t i, ox_gemm *gemm);

/* Computes `count` products that differ in place only. Each element of C is the same sum, in the same order, whatever
 * the number of threads is. */
void ox_gemm_run(const ox_gemm *gemm, int64_t count, ox_gemm_place_fn *place, const void *places, ox_pool *pool,
                 void *workspace);

#endif
