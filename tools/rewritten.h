/* rewritten.h: a model's bytes with a quantized network as the library rewrites it. */
#ifndef OX_REWRITTEN_H
#define OX_REWRITTEN_H

#include "text.h"

/* Adds the bytes of a serialized ModelProto whose nodes between quantizations are operators on integers, so that a
 * device needs not rewrite them: QLinearConv and the like, and those of the domain OX_OWN_DOMAIN. Scales that are not
 * read any longer are left out. False, with nothing added, if the model has no such nodes, or if the network cannot be
 * written so. */
bool ox_rewrite_model(ox_text *out, const unsigned char *bytes, size_t size);

#endif
