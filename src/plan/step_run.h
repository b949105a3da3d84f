/* step_run.h: preparing and running a step of a plan: a node, or the group that ends there. */
#ifndef OX_PLAN_STEP_RUN_H
#define OX_PLAN_STEP_RUN_H

#include "frame/frame.h"

/* Prepares a step, or the group that ends there. Errors say where they are. */
ox_status ox_step_prepare(ox_frame *frame, int n, ox_pile *pile);
/* Runs a step, or the group that ends there, in the arena. Errors say where they are. */
ox_status ox_step_run(ox_frame *frame, int n);

#endif
