/* node.h: running one node that is prepared. */
#ifndef OX_FRAME_NODE_H
#define OX_FRAME_NODE_H

#include "frame.h"

/* Runs node n in a workspace of step->work bytes: packs inputs, calls the operator, shows or copies views. */
ox_status ox_node_run(ox_frame *frame, int n, unsigned char *workspace);

#endif
