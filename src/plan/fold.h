/* fold.h: folding constants: nodes that are computed while a stage is planned, and what of their results stays.
 *
 * A constant that only folded nodes read is computed in temporary memory, which is given back when the last of these
 * has been folded. When all nodes of the stage are described, the constants that are left are moved to where the run
 * reads them: into the store of the model, or into plan memory. No step has been prepared by then, so that only slots
 * point to them. */
#ifndef OX_PLAN_FOLD_H
#define OX_PLAN_FOLD_H

#include "frame/frame.h"

/* Computes node n, whose outputs are described, if these depend on constants and shapes only and that does not take too
 * much; then the step is skipped. To be called for each node of a stage in turn. */
ox_status ox_fold_node(ox_frame *frame, int n);
/* The same where other nodes stay as they are: what is computed stays in plan memory. */
ox_status ox_fold_again(ox_frame *frame, int n);
/* Keeps what is left of the nodes [first, end) that have been described. */
ox_status ox_fold_keep(ox_frame *frame, int first, int end);
/* Gives all of it back where a stage comes to nothing. */
void ox_fold_drop(ox_frame *frame);

#endif
