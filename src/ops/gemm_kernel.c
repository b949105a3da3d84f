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
    size_t bytes = (size_t)(k < OX_GEMM_DEPTH ? k : OX_GEMM_DEPTH) * (size_t)OX_GEMM_ROW;
    return (bytes + OX_ALIGN - 1) / OX_ALIGN * OX_ALIGN;
}

void ox_gemm_block(const ox_gemm *gemm, void *workspace) {
    switch ((int)gemm->dtype) {
    case OX_FLOAT:
        run_f32(gemm, workspace);
        break;
    case OX_DOUBLE:
        run_f64(gemm, workspace);
        break;
    case OX_INT32:
    case OX_UINT32:
        run_u32(gemm, workspace);
        break;
    default:
        run_u64(gemm, workspace);
    }
}
