/* gemm_vector.c: products of one row, which read the matrix as it lies. */
#include "gemm.h"

#include <string.h>

/* Where elements are 16-bit floats, so many of the row vector are widened at a time; they and what they are widened
 * from lie in the stage. */
enum {
    LENGTH = 4096,
    WIDE_BYTES = LENGTH * (int)sizeof(float)
};
_Static_assert(WIDE_BYTES + LENGTH * sizeof(uint16_t) <= OX_GEMM_STAGE, "the stage is too small");

static const char *at(const ox_gemm_matrix *matrix, int64_t row, int64_t column) {
    return (const char *)matrix->data + row * matrix->row + column * matrix->col;
}

/* `count` elements of the row vector from k on, as floats. */
static const char *widen(const ox_gemm_plan *plan, const ox_gemm *g, int64_t k, int64_t count, char *stage) {
    static const int64_t step[] = {sizeof(float), sizeof(uint16_t)};
    char *packed = stage + WIDE_BYTES;
    plan->loops->move(sizeof(uint16_t))(count, packed, sizeof(uint16_t), at(&g->a, 0, k), g->a.col);
    plan->loops->widen(count, (char *[]){stage, packed}, step, &g->a.dtype);
    return stage;
}

void ox_gemm_vector(const ox_gemm_plan *plan, const ox_gemm *g, int64_t column, int64_t columns, char *stage, char *c) {
    const ox_gemm_kernel *kernel = plan->kernel;
    const bool widened = ox_dtype_size(g->a.dtype) < ox_dtype_size(kernel->a);
    const int64_t step = widened ? (int64_t)sizeof(float) : g->a.col;
    memset(c, 0, (size_t)columns * ox_dtype_size(kernel->c));
    for (int64_t k = 0, depth; k < g->k; k += depth) {
        depth = widened ? ox_least(LENGTH, g->k - k) : g->k;
        const char *a = widened ? widen(plan, g, k, depth, stage) : at(&g->a, 0, k), *b = at(&g->b, k, column);
        if (plan->algorithm == OX_GEMM_ROW_VECTOR)
            kernel->row_vector(columns, depth, a, step, b, g->b.row, c);
        else
            kernel->dots(columns, depth, a, b, g->b.col, c);
    }
}
