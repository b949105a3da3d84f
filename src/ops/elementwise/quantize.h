/* quantize.h: QuantizeLinear and DequantizeLinear element by element, which src/bare/quantize.c
 * does for builds whose scales are floats of 32 bits alone (OX_WITH_SCALES). */
#ifndef OX_OPS_ELEMENTWISE_QUANTIZE_H
#define OX_OPS_ELEMENTWISE_QUANTIZE_H

#include "ops/op.h"

/* Whether the scale is for blocks along an axis, not for the whole tensor or each entry of an axis. */
bool ox_scale_is_blocked(const ox_call *call);

#endif
