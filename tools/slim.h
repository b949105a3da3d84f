/* slim.h: a model's bytes without what only people read, and without what it has twice. */
#ifndef OX_SLIM_H
#define OX_SLIM_H

#include "text.h"

/* Adds the bytes of an equivalent serialized ModelProto: without documentation, names of nodes, and the stated types of
 * values that are neither inputs nor outputs of a graph; values other than inputs and outputs of the model have short
 * names, and equal initializers are stored once. False if the bytes are not a protobuf message; call it only with bytes
 * that the library has loaded. */
bool ox_slim_model(ox_text *out, const unsigned char *bytes, size_t size);

#endif
