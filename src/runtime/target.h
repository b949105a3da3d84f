/* target.h: outputs of a subgraph that are computed where its operator wants them. */
#ifndef OX_RUNTIME_TARGET_H
#define OX_RUNTIME_TARGET_H

#include "frame.h"

/* Finds the outputs that a stage computes in buffers of their own, which get no place in the arena. */
ox_status ox_target_choose(ox_frame *frame, ox_stage *stage);
/* Asks the operator where they go in this run. */
ox_status ox_target_point(ox_frame *frame, const ox_stage *stage);

#endif
