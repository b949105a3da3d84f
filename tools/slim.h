/* slim.h: a model's bytes without what only people read, and without what it has twice. */
#ifndef OX_SLIM_H
#define OX_SLIM_H

#include "text.h"

/* Adds the bytes of a serialized ModelProto that computes the same: without documentation, names of nodes and what is
 * stated of values that are neither inputs nor outputs of a graph; values that are no inputs and outputs of the model
 * have short names, and of equal initializers there is one. False if the bytes are no protobuf message; the library has
 * to have loaded them. */
bool ox_slim_model(ox_text *out, const unsigned char *bytes, size_t size);

#endif
