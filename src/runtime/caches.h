/* caches.h: outputs that are inputs with something added, as caches of keys and values are: a caller may give one
 * memory for both, and then the operator writes what it adds alone. */
#ifndef OX_RUNTIME_CACHES_H
#define OX_RUNTIME_CACHES_H

#include "frame/frame.h"

/* For each output of the graph the input whose memory it may be computed in, -1 if there is none: the node that gives
 * it takes it so, and no other one reads elements of the input. */
ox_status ox_caches_find(const ox_frame *frame, int *inputs);
/* The memory of an input in a run; no bytes if there is none. */
typedef struct ox_extent {
    uintptr_t first, bytes;
} ox_extent;

/* Run: that of each input. */
void ox_caches_look(const ox_frame *frame, ox_extent *inputs);
/* Whether an output, which is described, may be computed in that memory while inputs are read: it is none of theirs, or
 * that of input number `cache`, which looks the same. */
bool ox_caches_fit(const ox_frame *frame, const ox_extent *inputs, int cache, const ox_tensor *output,
                   const void *memory);

#endif
