/* place.h: placing buffers in the arena. */
#ifndef OX_RUNTIME_PLACE_H
#define OX_RUNTIME_PLACE_H

#include "frame.h"

/* Places what a stage added, growing the arena. */
ox_status ox_place_stage(ox_frame *frame, ox_stage *stage);

#endif
