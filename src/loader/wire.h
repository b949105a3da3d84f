/* wire.h: the walker, which reads a serialized message before protobuf-c sees it.
 *
 * It checks everything that protobuf-c does not (depth, counts, duplicates) and writes the skeleton: the same message
 * without unknown fields, without the bulk data of tensors, which stays in the file, and without the content of graphs,
 * whose nodes and values are read one at a time. */
#ifndef OX_LOADER_WIRE_H
#define OX_LOADER_WIRE_H

#include <protobuf-c/protobuf-c.h>

#include "status.h"

/* The name of a field, NULL if the descriptors have none. */
#ifndef OX_FIELD_NAME
#define OX_FIELD_NAME(field) ((field)->name)
#endif

/* Bulk data of one tensor, or a graph, left in the file. The skeleton's TensorProto or GraphProto has its index as
 * ox_payload. */
typedef struct ox_payload {
    size_t offset, size; /* bytes of the message */
    uint32_t field;      /* the field of TensorProto that held it, or that held the graph */
} ox_payload;

/* Some bytes of a file. */
typedef struct ox_span {
    const unsigned char *bytes;
    size_t size;
} ox_span;

/* What is known of a message once it is checked. */
typedef struct ox_wire {
    const ProtobufCMessageDescriptor *type;
    const unsigned char *bytes;
    size_t size;
    size_t skeleton_size;
    size_t npayloads;
    uint64_t unpack_bytes; /* the most that protobuf-c allocates for the skeleton, in blocks rounded to OX_WIRE_GRAIN */
    uint64_t whole_size, whole_bytes; /* both, as if graphs were not left out */
} ox_wire;

enum {
    OX_WIRE_GRAIN = 8
};

/* Checks the whole message. Errors name the field by its path: "graph.node[3].name: length 900 exceeds the 12 bytes
 * left". Linear in time. */
ox_status ox_wire_check(const ProtobufCMessageDescriptor *type, const void *bytes, size_t size, ox_wire *wire,
                        ox_error *error);

/* The same for a message that lies in one that has been checked: does not look into graphs. */
ox_status ox_wire_check_part(const ProtobufCMessageDescriptor *type, const void *bytes, size_t size, ox_wire *wire,
                             ox_error *error);

/* Writes skeleton_size bytes and npayloads entries. The bytes must be as they were checked. */
ox_status ox_wire_write(const ox_wire *wire, unsigned char *skeleton, ox_payload *payloads, ox_error *error);

/* The content of the next field with that number, a string or a message, in the rest of a message that has been
 * checked; *rest moves past it. False if there is none. */
bool ox_wire_next(ox_span *rest, uint32_t number, ox_span *content);

/* How many fields of that number follow. */
size_t ox_wire_count(ox_span rest, uint32_t number);

#endif
