/* place.h: placing buffers in the arena. */
#ifndef OX_RUNTIME_PLACE_H
#define OX_RUNTIME_PLACE_H

#include "frame.h"

/* Places what a stage added, growing the arena. */
ox_status ox_place_stage(ox_frame *frame, ox_stage *stage);

/* Moves the values of nodes [0, end), which lie in an arena that began at `from`, into the one that there is. */
void ox_place_move(ox_frame *frame, int end, uintptr_t from);

#endif
