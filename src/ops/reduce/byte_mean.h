/* byte_mean.h: means of quantized bytes, operators that the rewriter makes of nodes between quantizations. */
#ifndef OX_OPS_REDUCE_BYTE_MEAN_H
#define OX_OPS_REDUCE_BYTE_MEAN_H

#include "ops/op.h"

#if OX_WITH_BYTE_MEANS
/* QLinearReduceMean(x, x_scale, x_zero, y_scale, y_zero): bytes, signed or not, with the attributes `axes` and
 * `keepdims` of ReduceMean 13; every scale and zero point is one number, and x_zero may be omitted. Sums are exact;
 * times x_scale / y_scale / count, computed in double, they are rounded once. QLinearGlobalAveragePool: over all axes
 * behind the second, without attributes. */
extern const ox_op ox_op_qlinear_reduce_mean, ox_op_qlinear_global_average_pool;
#endif

#endif
