/* epilogue.h: the elementwise nodes behind a dense operator, run on parts of its result while they lie in a cache. The
 * operator's row has the flag OX_OP_EPILOGUE; where call->epilogue is set, output 0 has no memory, or none that the
 * operator writes: it hands over the sums that its elements are made of instead. */
#ifndef OX_OPS_EPILOGUE_H
#define OX_OPS_EPILOGUE_H

#include <stdatomic.h>

#include "loops/finish.h"
#include "pass/pass.h"

/* Writes what the operator does to its sums. Register and result have the type in which sums are computed. */
typedef ox_reg ox_dense_emit_fn(ox_call *call, ox_pass_builder *builder, ox_reg sums);

/* The detail of an operator with the flag OX_OP_EPILOGUE. */
typedef struct ox_dense {
    ox_dense_emit_fn *emit;
} ox_dense;

typedef struct ox_epilogue {
    const ox_pass *pass; /* its given elements are the sums */
    atomic_int fault;    /* what a lane found wrong, with the tag of its instruction; 0: nothing */
    unsigned reads;      /* a bit for each input of the dense operator that its own instructions there read */
} ox_epilogue;

/* Emit: loads an input of the dense operator, which prepare and run leave to the epilogue then. */
ox_reg ox_epilogue_load(ox_call *call, ox_pass_builder *builder, int input, const ox_tensor *shape);

/* Prepare: whether it does. */
static inline bool ox_epilogue_reads(const ox_epilogue *epilogue, int input) {
    return epilogue && epilogue->reads >> input & 1;
}

/* Bytes of scratch memory for each thread; 0 without an epilogue. */
size_t ox_epilogue_scratch(const ox_epilogue *epilogue);

/* What it is if it is no more than an ox_pass_affine: what computes the sums may do that itself, and store where it
 * says. NULL if it is more, or there is none. */
const ox_pass_affine *ox_epilogue_affine(const ox_epilogue *epilogue);

/* The same for loops. Data is NULL before it is known. */
ox_finish ox_epilogue_finish(const ox_pass_affine *affine);

/* Takes the sums of a part of output 0, packed. Threads call it at the same time, each with scratch memory of its own;
 * every element comes once in a run. */
void ox_epilogue_take(ox_epilogue *epilogue, const ox_pass_part *part, const void *sums, void *scratch);

/* The fault of a run that is over, and the tag of its instruction: the least tag if there were several. 0 if there was
 * none. The next run starts without. */
int ox_epilogue_fault(ox_epilogue *epilogue, int *tag);

/* Prepare: writes the pass's first part: what is given, and the operator's own instructions, rounded as its result is.
 */
ox_reg ox_epilogue_write(ox_call *call, ox_pass_builder *builder);

#endif
