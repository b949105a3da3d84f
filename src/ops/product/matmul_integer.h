/* matmul_integer.h: what MatMulInteger and QLinearMatMul are given, and which of it belongs together. */
#ifndef OX_OPS_PRODUCT_MATMUL_INTEGER_H
#define OX_OPS_PRODUCT_MATMUL_INTEGER_H

#include "loops/integer_loops.h"
#include "matmul_shape.h"

/* The numbers of the inputs; -1 if the operator has none. */
typedef struct ox_integer_inputs {
    int a, b, a_zero, b_zero, a_scale, b_scale, y_scale, y_zero;
} ox_integer_inputs;

const ox_integer_inputs *ox_integer_inputs_of(const ox_call *call);

#if OX_WITH_BYTE_GEMMS
/* Operators that no model names. QLinearGemm: QLinearMatMul of two matrices, and input 8, one int32 for each column, is
 * added to the sums; on devices it has Gemm's attribute transB, too. A product whose sums may be too large for an
 * int32: they are floats then. */
extern const ox_op ox_op_qlinear_gemm, ox_op_qlinear_product;
#endif

/* Whether it is one of these. */
static inline bool ox_integer_is_own(const ox_call *call) {
    return OX_WITH_OWN_OPERATORS && call->op->max_in > 8;
}

/* The bias, NULL if there is none. */
static inline const ox_tensor *ox_integer_bias(const ox_call *call) {
    return ox_integer_is_own(call) && ox_call_given(call, 8) ? call->in[8] : NULL;
}

enum {
    OX_MOST_BYTE_PRODUCTS = INT32_MAX / (UINT8_MAX * UINT8_MAX) /* that add up to an int32, whatever the bytes are */
};

#if OX_SMALL
/* A product of matrices of bytes in little memory (src/bare/gemm_bytes.c). */
typedef struct ox_byte_product {
    ox_dtype a_dtype, b_dtype, y_dtype;
    bool by_rows; /* B is [n,k], otherwise [k,n] */
    int64_t m, n, k;
    int32_t a_zero, y_zero;
    float a_scale, y_scale;
    const ox_tensor *b_scales;       /* one, or one for each column; NULL unless it is scaled */
    const ox_tensor *b_zeros, *bias; /* the same; NULL if there are none; a bias has one for each column */
} ox_byte_product;

/* Elements of 16 bits of workspace. */
int64_t ox_byte_product_room(int64_t k);
/* Results are bytes, or the sums, int32, if it is not scaled. */
void ox_byte_product_run(const ox_byte_product *product, bool is_scaled, const void *a, const void *b, void *y,
                         void *room);
#endif

/* Zero points or scales in the shape that broadcasts to their matrix: one for all, one for each row, or for each column
 * (with a 1 in the place of the other dimension). */
typedef struct ox_entries {
    int rank;
    int64_t dims[OX_MAX_RANK + 1];
} ox_entries;

ox_entries ox_entries_of(const ox_tensor *tensor, bool by_row);

/* All elements of a tensor of bytes, float8, 16-bit floats or floats. */
void ox_integer_widen(const ox_tensor *tensor, float *to);

/* A matrix of float8 or bytes less its zero points (NULL: 0), as floats; zeros has room for those. */
void ox_integer_subtract(const ox_tensor *matrix, const ox_tensor *zero, bool by_row, float *to, float *zeros);

/* An ox_requantize_fn for all types: of float sums or of int32, to float8 or bytes. float8 is rounded once, after the
 * zero point was added. */
void ox_integer_requantize(int64_t n, const ox_requantization *how, bool is_float, const char *sums, char *to);

#endif
