/* update.h: a plan that becomes one for other shapes. Nodes whose inputs have the shapes, types and strides of before
 * keep what they prepared; the others are inferred and prepared anew. Decisions that concern several nodes have to be
 * those of a new plan: which nodes run, which outputs are views, which nodes run as one pass, which values share a
 * buffer. If one is not, the plan is given up. Buffers that grow get room ahead, so that places stay for a while.
 */
#ifndef OX_PLAN_UPDATE_H
#define OX_PLAN_UPDATE_H

#include "frame/frame.h"

#if OX_WITH_UPDATES
/* Makes the plan in force, of which planning knows all, one for the sources as they are, whose data is hidden. False if
 * it cannot become one: then it is none any more, and to be forgotten. */
bool ox_update_plan(ox_frame *frame);
/* Notes that the plan in force is new. */
void ox_update_begin(ox_frame *frame);
#else
static inline bool ox_update_plan(ox_frame *frame) {
    (void)frame;
    return false;
}
static inline void ox_update_begin(ox_frame *frame) {
    (void)frame;
}
#endif

#endif
