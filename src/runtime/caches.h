/* caches.h: outputs that are inputs with something added, as caches of keys and values are: a caller may give one
 * memory for both, and then the operator writes what it adds alone. */
#ifndef OX_RUNTIME_CACHES_H
#define OX_RUNTIME_CACHES_H

#include "frame/frame.h"

/* For each output of the graph the input whose memory it may be computed in, -1 if there is none: the node that gives
 * it takes it so, and no other one reads elements of the input. */
ox_status ox_caches_find(const ox_frame *frame, int *inputs);
/* Whether output k, which is described, may be computed in that memory while inputs are read: it is none of theirs, or
 * that of the input which `caches` names for the output, which looks the same. */
bool ox_caches_fit(const ox_frame *frame, const int *caches, int k, const ox_tensor *output, const void *memory);

#endif
