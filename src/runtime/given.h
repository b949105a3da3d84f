/* given.h: inputs that shapes depend on. If another thread changed the caller's memory during a run, infer, prepare and
 * run would read different lengths, and access memory out of bounds. */
#ifndef OX_RUNTIME_GIVEN_H
#define OX_RUNTIME_GIVEN_H

#include "frame/frame.h"

/* At the start of a run of the main graph, if shapes depend on data: short inputs are copied, and the run uses the
 * copies. Operators whose shapes depend on long inputs have their own protection. */
ox_status ox_given_copy(ox_frame *frame);
/* The bytes from the first to the last of a tensor's elements, and how many of them lie before its data. */
int64_t ox_given_extent(const ox_tensor *tensor, int64_t *before);

#endif
