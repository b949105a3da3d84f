/* check_copy.h: values of a frame that is checked, as they were when they had been written. */
#ifndef OX_RUNTIME_CHECK_COPY_H
#define OX_RUNTIME_CHECK_COPY_H

#include "frame/frame.h"

#if OX_WITH_SELF_CHECK

/* Copies value v, which is no constant, with its strides; what was copied before is forgotten. */
ox_status ox_copy_take(ox_frame *frame, int v);
/* Gives the memory of a copy back. */
void ox_copy_drop(ox_frame *frame, int v);
/* The tensor, or a packed copy of it in the pile, where it is not packed; data is NULL where memory is out. */
ox_tensor ox_copy_packed(const ox_frame *frame, ox_pile *pile, const ox_tensor *tensor);

#endif

#endif
