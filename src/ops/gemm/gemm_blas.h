/* gemm_blas.h: products that a library of the system computes, in builds with one (make BLAS=openblas). */
#ifndef OX_OPS_GEMM_GEMM_BLAS_H
#define OX_OPS_GEMM_GEMM_BLAS_H

#include "gemm.h"

#ifdef OX_BLAS
/* Whether the library takes a product: matrices of float or double whose rows or columns are packed. Data may be
 * missing from g. */
bool ox_gemm_blas_fits(const ox_gemm *g);

/* Computes C, with packed columns and c_row bytes between rows; `end` is not called. */
void ox_gemm_blas(const ox_gemm *g, char *c, int64_t c_row);
#else
static inline bool ox_gemm_blas_fits(const ox_gemm *g) {
    (void)g;
    return false;
}
static inline void ox_gemm_blas(const ox_gemm *g, char *c, int64_t c_row) {
    (void)g, (void)c, (void)c_row;
}
#endif

#endif
