/* proto.h: tensors and other values as the messages that ONNX's test data hold. */
#ifndef OX_PROTO_H
#define OX_PROTO_H

#include "datum.h"
#include "text.h"

/* Adds a serialized TensorProto, SequenceProto, OptionalProto or MapProto with that name. */
void ox_proto_put(ox_text *bytes, const char *name, const ox_datum *datum);

#endif
