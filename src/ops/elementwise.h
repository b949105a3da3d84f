/* elementwise.h: operators that are lane programs. */
#ifndef OX_OPS_ELEMENTWISE_H
#define OX_OPS_ELEMENTWISE_H

#include "op.h"
#include "pass.h"

/* Writes the instructions of one node. in[i] holds input i as it is stored, -1 if omitted; gives the result's register,
 * of any type that ox_pass_convert can bring to the output's. */
typedef ox_reg ox_emit_fn(ox_call *call, ox_pass_builder *builder, const ox_reg *in);

/* The detail of an operator with the flag OX_OP_PASS. */
typedef struct ox_elementwise {
    ox_emit_fn *emit;
    const ox_lanes *lanes;
} ox_elementwise;

#endif
