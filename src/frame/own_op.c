/* own_op.c: the rows of operators that models of `ox embed` name in place of those between quantizations. */
#include "own_op.h"

#include "ops/elementwise/byte_arithmetic.h"
#include "ops/index/byte_table.h"
#include "ops/product/matmul_integer.h"
#include "ops/reduce/byte_mean.h"
#include "ops/window/byte_pool.h"

#if OX_WITH_REWRITTEN
const ox_op *ox_own_op(const char *name) {
    static const ox_op *const all[] = {
#if OX_WITH_BYTE_GEMMS
        &ox_op_qlinear_gemm,
#endif
#if OX_WITH_BYTE_MEANS
        &ox_op_qlinear_average_pool,
        &ox_op_qlinear_global_average_pool,
#endif
#if OX_WITH_BYTE_ARITHMETIC
        &ox_op_qlinear_add,
        &ox_op_qlinear_sub,
        &ox_op_qlinear_mul,
        &ox_op_qlinear_div,
#endif
#if OX_WITH_BYTE_TABLES
        &ox_op_byte_table,
#endif
        NULL
    };
    for (const ox_op *const *op = all; *op; op++)
        if (!ox_text_order((*op)->name, name))
            return *op;
    return NULL;
}
#endif
