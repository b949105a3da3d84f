/* gemm_kernel.c: the matrix product, expanded for each element type. */
#include "gemm.h"

#include <string.h>

#if OX_UNALIGNED
#define OX_GEMM_ALIGN_OF(size) 1
#else
#define OX_GEMM_ALIGN_OF(size) size
#endif

#define GEMM_TYPE ox_f32
#define GEMM_VALUE float
#define GEMM(name) name##_f32
#define OX_GEMM_ALIGN OX_GEMM_ALIGN_OF(4)
#include "gemm_loops.inc"

#define GEMM_TYPE ox_f64
#define GEMM_VALUE double
#define GEMM(name) name##_f64
#define OX_GEMM_ALIGN OX_GEMM_ALIGN_OF(8)
#include "gemm_loops.inc"

#define GEMM_TYPE ox_u32
#define GEMM_VALUE uint32_t
#define GEMM(name) name##_u32
#define OX_GEMM_ALIGN OX_GEMM_ALIGN_OF(4)
#include "gemm_loops.inc"

#define GEMM_TYPE ox_u64
#define GEMM_VALUE uint64_t
#define GEMM(name) name##_u64
#define OX_GEMM_ALIGN OX_GEMM_ALIGN_OF(8)
#include "gemm_loops.inc"

size_t ox_gemm_workspace(int64_t k) {
    return (size_t)(k < OX_GEMM_DEPTH ? k : OX_GEMM_DEPTH) * (size_t)OX_GEMM_ROW;
}

/* A product with a column vector, turned on its side so that the vectors run along the longer dimension. */
static ox_gemm transposed(const ox_gemm *g) {
    ox_gemm t = *g;
    t.m = 1, t.n = g->m;
    t.a = g->b, t.a_row = g->b_col, t.a_col = g->b_row;
    t.b = g->a, t.b_row = g->a_col, t.b_col = g->a_row;
    return t;
}

static void clear(const ox_gemm *g) {
    for (int64_t i = 0; i < g->m; i++)
        memset((char *)g->c + i * g->c_row, 0, (size_t)g->n * ox_dtype_size(g->dtype));
}

void ox_gemm_run(const ox_gemm *gemm, void *workspace) {
    ox_gemm g = *gemm;
    if (g.m == 0 || g.n == 0)
        return;
    if (g.k == 0) {
        clear(&g);
        return;
    }
    if (g.n == 1 && g.m > 1 && !g.panel && g.c_row == (int64_t)ox_dtype_size(g.dtype))
        g = transposed(&g);
    switch ((int)g.dtype) {
    case OX_FLOAT:
        run_f32(&g, workspace);
        break;
    case OX_DOUBLE:
        run_f64(&g, workspace);
        break;
    case OX_INT32:
    case OX_UINT32:
        run_u32(&g, workspace);
        break;
    default:
        run_u64(&g, workspace);
    }
}
