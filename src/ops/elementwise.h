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

/* Writes a node into a pass: loads the inputs whose register in in[] is -1, emits, and brings the result to the type of
 * the output. -1 if memory ran out. */
ox_reg ox_elementwise_write(ox_call *call, ox_pass_builder *builder, ox_reg *in);

/* The error that a fault of a lane is. */
ox_status ox_elementwise_fault(ox_error *error, int fault);

#endif
