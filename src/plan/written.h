/* written.h: types as the model has them. Under ox_options.float16_sums values of 16 bits are floats, so that nodes
 * would take graphs that mix types. Each node is inferred with the types of the model first, so that its errors stay.
 */
#ifndef OX_PLAN_WRITTEN_H
#define OX_PLAN_WRITTEN_H

#include "frame/frame.h"

/* Whether nodes are to be inferred so, too. */
static inline bool ox_has_written(const ox_frame *frame) {
#if OX_WITH_WIDENING
    return frame->work.written != NULL;
#else
    (void)frame;
    return false;
#endif
}

/* Infers node n, whose call is there, with the types of the model, and notes those of its results. It fails where they
 * do not fit, or are others than the model states. */
ox_status ox_written_infer(ox_frame *frame, int n);

#endif
