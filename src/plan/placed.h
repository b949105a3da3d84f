/* placed.h: what is true of buffers once they have their places; builds with assertions look. */
#ifndef OX_PLAN_PLACED_H
#define OX_PLAN_PLACED_H

#include "frame/frame.h"

/* Asserts that no two buffers of a stage that live at once overlap, that parts lie within what they are parts of, and
 * that what a step reads lives until it has run. Lives and places are known, and the arena has `size` bytes. */
#if OX_ASSERTIONS
void ox_placed_assert(const ox_frame *frame, const ox_stage *stage, size_t size);
#else
static inline void ox_placed_assert(const ox_frame *frame, const ox_stage *stage, size_t size) {
    (void)frame, (void)stage, (void)size;
}
#endif

#endif
