/* byte_arithmetic.h: QLinearAdd and its kin, operators that the rewriter makes of nodes between quantizations. */
#ifndef OX_OPS_ELEMENTWISE_BYTE_ARITHMETIC_H
#define OX_OPS_ELEMENTWISE_BYTE_ARITHMETIC_H

#include "loops/byte_loops.h"
#include "ops/op.h"

#if OX_WITH_BYTE_ARITHMETIC
/* QLinearAdd(a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero): bytes, signed or not, of shapes that broadcast;
 * every scale and zero point is one number, and a_zero and b_zero may be omitted. The bits are those of
 * DequantizeLinear of both, Add in float, and QuantizeLinear. QLinearSub, QLinearMul and QLinearDiv likewise. */
extern const ox_op ox_op_qlinear_add, ox_op_qlinear_sub, ox_op_qlinear_mul, ox_op_qlinear_div;

#if OX_SMALL
ox_byte_arithmetic_fn ox_byte_arithmetic_small; /* in place of ox_byte_loops' */
#endif
#endif

#endif
