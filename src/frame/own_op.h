/* own_op.h: operators that the rewriter makes of nodes between quantizations, and that models of `ox embed` name. */
#ifndef OX_FRAME_OWN_OP_H
#define OX_FRAME_OWN_OP_H

#include "ops/op.h"

/* The row of an operator of the domain OX_OWN_DOMAIN (write_model.h); NULL if there is none of that name. */
const ox_op *ox_own_op(const char *name);

#endif
