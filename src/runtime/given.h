/* given.h: what shapes depend on. Another thread may change a caller's memory during a run; infer, prepare and run
 * would see different lengths, and reach beyond memory. */
#ifndef OX_RUNTIME_GIVEN_H
#define OX_RUNTIME_GIVEN_H

#include "frame/frame.h"

/* At the start of a run of the main graph, where data decides on shapes: short inputs are copied, and the run works on
 * the copies. Operators whose shapes depend on long ones see to that themselves. */
ox_status ox_given_copy(ox_frame *frame);

#endif
