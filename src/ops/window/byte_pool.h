/* byte_pool.h: QLinearAveragePool, an operator that the rewriter makes of nodes between quantizations. */
#ifndef OX_OPS_WINDOW_BYTE_POOL_H
#define OX_OPS_WINDOW_BYTE_POOL_H

#include "ops/op.h"

#if OX_WITH_BYTE_MEANS
/* QLinearAveragePool(x, x_scale, x_zero, y_scale, y_zero): bytes, signed or not, with the attributes of AveragePool;
 * every scale and zero point is one number, and x_zero may be omitted. Sums are exact; times x_scale / y_scale / count,
 * computed in double, they are rounded once. */
extern const ox_op ox_op_qlinear_average_pool;
#endif

#endif
