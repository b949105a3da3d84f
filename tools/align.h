/* align.h: a model's bytes with the data of its tensors at aligned places. */
#ifndef OX_ALIGN_MODEL_H
#define OX_ALIGN_MODEL_H

#include "text.h"

enum {
    OX_PAYLOAD_ALIGNMENT = 8,
    OX_WORD = 4 /* of elements of so many bytes and less */
};

/* Adds the bytes of a serialized ModelProto, padded with unknown fields so that the data of initializers and of tensors
 * in attributes starts at multiples of OX_PAYLOAD_ALIGNMENT from the start, or of OX_WORD. False if the bytes are not a
 * protobuf message; call it only with bytes that the library has loaded. */
bool ox_align_model(ox_text *out, const unsigned char *bytes, size_t size);

/* Whether some tensor of such a model has its data in a typed field: float_data and so on, not raw_data. */
bool ox_model_is_typed(const unsigned char *bytes, size_t size);

#endif
