/* payload.h: TensorProto to ox_tensor, from all the places where ONNX keeps a tensor's data. */
#ifndef OX_LOADER_PAYLOAD_H
#define OX_LOADER_PAYLOAD_H

#include "tensor.h"
#include "onnx.pb-c.h"
#include "parse.h"

/* Opens a file of external data; the bytes stay valid as long as the tensors made from them. */
typedef ox_status ox_external_fn(void *context, const char *location, const unsigned char **bytes, size_t *size,
                                 ox_error *error);

/* Where tensors take their data from, and where they are made. */
typedef struct ox_tensor_source {
    const ox_parsed *parsed;            /* what the tensor's message was unpacked with */
    ox_external_data_fn *external_data; /* the caller's; comes first */
    void *external_context;
    ox_external_fn *external; /* NULL where external data is refused */
    void *context;
    /* Where to note a location of which there is no file: such tensors have no data. NULL where that is an error. */
    const char **missing;
    /* Where to note rows of 4-bit or 2-bit integers that stay as they lie in the file: such tensors have no data yet,
     * and ox_payload_unpack gives them some. NULL where all tensors are unpacked. */
    const void **packed;
    ox_pile *pile;
    ox_error *error;
} ox_tensor_source;

/* Makes a tensor: its dims and, if the data cannot be used in place, its elements are in the pile. Element count and
 * field must agree with shape and type. Errors name the tensor. */
ox_status ox_payload_tensor(const ox_tensor_source *source, const Onnx__TensorProto *proto, ox_tensor *tensor);

#if OX_WITH_OWN_OPERATORS
/* Makes the elements of a tensor that was left packed. */
ox_status ox_payload_unpack(const ox_tensor_source *source, const void *packed, const char *name, ox_tensor *tensor);
#endif

#endif
