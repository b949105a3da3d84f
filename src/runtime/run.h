/* run.h: running a frame, stage by stage. */
#ifndef OX_RUNTIME_RUN_H
#define OX_RUNTIME_RUN_H

#include "frame/frame.h"

/* Plans the first stage, if there is none. */
ox_status ox_run_plan(ox_frame *frame);
/* Runs the graph on the inputs that are set; plans what is not planned. */
ox_status ox_run_frame(ox_frame *frame);

#endif
