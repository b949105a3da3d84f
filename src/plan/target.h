/* target.h: outputs of a graph that are computed where an operator that runs it, or the caller, wants them. */
#ifndef OX_PLAN_TARGET_H
#define OX_PLAN_TARGET_H

#include "frame/frame.h"

/* Finds the outputs that a stage computes in buffers of their own, which get no place in the arena. */
ox_status ox_target_choose(ox_frame *frame, ox_stage *stage);
/* Asks the placer where they go in this run. */
ox_status ox_target_point(ox_frame *frame, const ox_stage *stage);

#endif
