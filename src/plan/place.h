/* place.h: placing buffers in the arena. */
#ifndef OX_PLAN_PLACE_H
#define OX_PLAN_PLACE_H

#include "frame/frame.h"

/* Places what a stage added, growing the arena. */
ox_status ox_place_stage(ox_frame *frame, ox_stage *stage);

/* Gives the values and workspaces of a plan of one stage, whose sizes have changed, new places. */
ox_status ox_place_again(ox_frame *frame);
/* Hides the data of values that node n computes in a run, as before they had places, or shows where it is. */
void ox_place_hide(ox_frame *frame, int n);
void ox_place_show(ox_frame *frame, int n);

/* Gives the arena back, in which nothing lies. */
void ox_place_drop(ox_frame *frame);

/* Moves the values of nodes [0, end), which lie in an arena that began at `from`, into the one that there is. */
void ox_place_move(ox_frame *frame, int end, uintptr_t from);

#endif
