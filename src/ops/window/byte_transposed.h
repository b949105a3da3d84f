/* byte_transposed.h: ConvTranspose between quantizations. */
#ifndef OX_OPS_WINDOW_BYTE_TRANSPOSED_H
#define OX_OPS_WINDOW_BYTE_TRANSPOSED_H

#include "ops/op.h"

/* The inputs of QLinearConvTranspose, an operator that no model names. The first three are ConvTranspose's, the bias as
 * sums of int32, if there is one; zero points that are missing are 0, and the result is of uint8 then. Weights have one
 * scale and one zero point, or one for each of the output channels of a group. */
enum {
    OX_TRANSPOSED_X,
    OX_TRANSPOSED_W,
    OX_TRANSPOSED_BIAS,
    OX_TRANSPOSED_X_SCALE,
    OX_TRANSPOSED_X_ZERO,
    OX_TRANSPOSED_W_SCALE,
    OX_TRANSPOSED_W_ZERO,
    OX_TRANSPOSED_Y_SCALE,
    OX_TRANSPOSED_Y_ZERO,
    OX_TRANSPOSED_INPUTS
};

#if OX_WITH_OWN_OPERATORS
extern const ox_op ox_op_qlinear_conv_transpose;
#endif

#endif
