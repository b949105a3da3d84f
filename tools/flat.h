/* flat.h: a model's bytes with trees that are laid out for walking. */
#ifndef OX_FLAT_H
#define OX_FLAT_H

#include "text.h"

/* Adds the bytes of a serialized ModelProto in which TreeEnsembleClassifier and TreeEnsembleRegressor of the main graph
 * have one tensor in place of the attributes that describe trees, where they can have it; *count is how many do. False
 * if the bytes are no protobuf message. */
bool ox_flatten_model(ox_text *out, const unsigned char *bytes, size_t size, size_t *count);

#endif
