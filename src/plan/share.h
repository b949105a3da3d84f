/* share.h: which values lie in the same buffer. */
#ifndef OX_PLAN_SHARE_H
#define OX_PLAN_SHARE_H

#include "frame/frame.h"

/* Decides which buffers the outputs of node n, or of the group that it ends, lie in. */
void ox_share_outputs(ox_frame *frame, int n);

#endif
