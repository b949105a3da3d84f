/* matmul_own.c: products of bytes that no model names: the rewriter makes them of nodes between quantizations. */
#include "matmul_integer.h"

#if OX_WITH_OWN_OPERATORS
ox_call_fn ox_infer_qlinear_matmul, ox_prepare_matmul_integer, ox_run_matmul_integer;

static ox_status infer_qlinear_gemm(ox_call *call) {
    const ox_tensor *a = call->in[0], *b = call->in[3], *bias = ox_integer_bias(call);
    if (a->rank != 2 || b->rank != 2)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must be matrices", OX_INPUT(call, 0), OX_INPUT(call, 3));
    if (bias)
        OX_TRY(ox_call_check_dtype(call, 8, OX_BIT(OX_INT32)));
    if (bias && (bias->rank != 1 || bias->dims[0] != b->dims[1]))
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have an entry for each column of %s", OX_INPUT(call, 8),
                            OX_INPUT(call, 3));
    return ox_infer_qlinear_matmul(call);
}

#define ROW(text, function)                                                                                            \
    {                                                                                                                  \
        .domain = "", .name = text, .since = 21, .versions = (uint64_t)1 << 21, .min_in = 8, .max_in = 9,              \
        .min_out = 1, .max_out = 1, .dtypes = OX_BIT(OX_INT8) | OX_BIT(OX_UINT8), .infer = function,                   \
        .prepare = ox_prepare_matmul_integer, .run = ox_run_matmul_integer, .flags = OX_OP_NO_ATTRS | OX_OP_QUANTIZED  \
    }

const ox_op ox_op_qlinear_gemm = ROW("QLinearGemm", infer_qlinear_gemm);
const ox_op ox_op_qlinear_product = ROW("QLinearMatMul", ox_infer_qlinear_matmul);
#endif
