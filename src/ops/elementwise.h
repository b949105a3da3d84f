/* elementwise.h: operators that are lane programs: those that work element by element, and those that reduce rows. */
#ifndef OX_OPS_ELEMENTWISE_H
#define OX_OPS_ELEMENTWISE_H

#include "op.h"
#include "pass/pass.h"

/* Writes the instructions of one node. in[i] holds input i as it is stored, -1 if omitted; gives the result's register,
 * of any type that ox_pass_convert can bring to the output's. */
typedef ox_reg ox_emit_fn(ox_call *call, ox_pass_builder *builder, const ox_reg *in);

/* The detail of an operator with the flag OX_OP_PASS. */
typedef struct ox_elementwise {
    ox_emit_fn *emit;
    ox_lane_set lanes;
    bool (*fits)(const ox_call *call); /* whether this node is a lane program; NULL: always */
    /* How many of the last dimensions of input 0 are rows that it reduces; it is a lane program if there are any. NULL
     * for operators that work element by element. */
    int (*row_axes)(const ox_call *call);
} ox_elementwise;

/* What a lane program goes over: the dims of its elements, the last row_axes of them rows. */
typedef struct ox_space {
    int rank, row_axes;
    const int64_t *dims;
} ox_space;

/* True if the node is a lane program, so that it can be part of a pass. */
bool ox_elementwise_fits(const ox_call *call);

/* What that program goes over; call->out[0] is described. */
ox_space ox_elementwise_space(const ox_call *call);

/* The least number of last dimensions that hold what those from `axis` on do, if a pass can have such rows of elements
 * of that type: more than one element, and not more than fit a tile. 0 if it cannot. */
int ox_row_axes(const ox_tensor *tensor, int axis);

/* One instruction in the type that the operands are computed in; result OX_UNDEFINED: it gives that type too. */
ox_reg ox_elementwise_apply(ox_pass_builder *builder, ox_lane_set lanes, const void *attr, ox_dtype result, int nargs,
                            const ox_reg *in);

/* The loops that the operator's row names. */
ox_lane_set ox_elementwise_lanes(const ox_call *call);

/* Shapes: as the first input; as all inputs broadcast, which have one type. */
ox_call_fn ox_infer_like, ox_infer_broadcast, ox_prepare_elementwise, ox_run_elementwise;

/* Writes a node into a pass: loads the inputs whose register in in[] is -1, emits, and brings the result to the type of
 * the output. -1 on failure. */
ox_reg ox_elementwise_write(ox_call *call, ox_pass_builder *builder, ox_reg *in);

/* Why that failed: an operator from outside said so, or memory ran out. */
ox_status ox_elementwise_failed(ox_call *call);
/* Prepare: keeps for ox_session_op_types which types a program of the node's own computes in. */
void ox_elementwise_note(ox_call *call, const ox_pass *pass);

/* The error that a fault of a lane is. */
ox_status ox_elementwise_fault(ox_error *error, int fault);

#endif
