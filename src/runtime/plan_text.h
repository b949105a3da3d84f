/* plan_text.h: writing the plan of a frame. */
#ifndef OX_RUNTIME_PLAN_TEXT_H
#define OX_RUNTIME_PLAN_TEXT_H

#include "frame/frame.h"
#include "write_plan.h"

/* As ox_session_write_plan, of a frame; memory for a while comes from `allocator`. */
ox_status ox_frame_write(ox_frame *frame, const ox_allocator *allocator, ox_plan_writer *to);

#endif
