/* gemm_kernel.c: the loops of matrix products, expanded for each type that is computed in. Unlike all others they may
 * round a product and a sum together (the Makefile says so): that is faster, and more precise. */
#include "gemm_kernel.h"
#include "lane_loops.h"

#include <string.h>

/* Vectors as wide as the registers are, and tiles that leave few registers unused. */
#if defined(__AVX512F__)
#define GEMM_VECTOR 64
#define GEMM_VECTORS 4
#elif defined(__AVX__)
#define GEMM_VECTOR 32
#define GEMM_VECTORS 2
#elif defined(__aarch64__)
#define GEMM_VECTOR 16
#define GEMM_VECTORS 4
#else
#define GEMM_VECTOR 16
#define GEMM_VECTORS 2
#endif

#if GEMM_VECTORS == 4
#define EACH_WIDTH(M) M(1) M(2) M(3) M(4)
#define FULL_WIDTH(M) M(4)
#else
#define EACH_WIDTH(M) M(1) M(2)
#define FULL_WIDTH(M) M(2)
#endif

enum {
    GEMM_BAND = 8192, /* bytes of a row of C that stay in the first-level cache */
    GEMM_ROWS = 8,    /* rows of B that are read together, */
    GEMM_DOTS = 4     /* and columns */
};

#define UNROLL _Pragma("GCC unroll 16")

#define GEMM_DTYPE OX_FLOAT
#define GEMM_TYPE f32
#define GEMM_VALUE float
#define GEMM_WIDTHS EACH_WIDTH
#define GEMM(name) name##_f32
#include "gemm_types.inc"

#define GEMM_DTYPE OX_DOUBLE
#define GEMM_TYPE f64
#define GEMM_VALUE double
#define GEMM_WIDTHS EACH_WIDTH
#define GEMM(name) name##_f64
#include "gemm_types.inc"

#define GEMM_DTYPE OX_UINT32
#define GEMM_TYPE u32
#define GEMM_VALUE uint32_t
#define GEMM_WIDTHS FULL_WIDTH
#define GEMM(name) name##_u32
#include "gemm_types.inc"

#define GEMM_DTYPE OX_UINT64
#define GEMM_TYPE u64
#define GEMM_VALUE uint64_t
#define GEMM_WIDTHS FULL_WIDTH
#define GEMM(name) name##_u64
#include "gemm_types.inc"

const ox_gemm_kernel *OX_VARIANT(ox_gemm_kernel_for)(ox_dtype dtype) {
    switch ((int)ox_dtype_compute(dtype)) {
    case OX_FLOAT:
        return &kernel_f32;
    case OX_DOUBLE:
        return &kernel_f64;
    case OX_INT32:
    case OX_UINT32:
        return &kernel_u32;
    case OX_INT8:
    case OX_UINT8:
        return OX_VARIANT(ox_gemm_int8_find)();
    default:
        return &kernel_u64;
    }
}

void OX_VARIANT(ox_gemm_copy)(int64_t rows, size_t bytes, char *to, int64_t to_row, const char *from,
                              int64_t from_row) {
    for (int64_t i = 0; i < rows; i++, to += to_row, from += from_row) {
        size_t done = 0;
        for (; done + GEMM_VECTOR <= bytes; done += GEMM_VECTOR)
            memcpy(to + done, from + done, GEMM_VECTOR);
        for (; done < bytes; done++)
            to[done] = from[done];
    }
}
