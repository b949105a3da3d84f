/* parse.h: bytes to protobuf-c's structs, within known bounds. */
#ifndef OX_LOADER_PARSE_H
#define OX_LOADER_PARSE_H

#include "alloc.h"
#include "wire.h"

/* An unpacked message. It lies in one block, which ox_parsed_free gives back. */
typedef struct ox_parsed {
    const ProtobufCMessage *message;
    const unsigned char *bytes; /* what was parsed; payloads lie in it */
    const ox_payload *payloads;
    size_t npayloads;
    void *block;
    size_t block_size;
    uint64_t whole_size; /* bytes of the message without weights, graphs included */
} ox_parsed;

/* Checks and unpacks a message, but for the content of graphs. Nothing is left to free on failure. */
ox_status ox_parse(const ProtobufCMessageDescriptor *type, const void *bytes, size_t size,
                   const ox_allocator *allocator, ox_parsed *parsed, ox_error *error);

/* The same for a message that lies in one that has been checked. */
ox_status ox_parse_part(const ProtobufCMessageDescriptor *type, ox_span part, const ox_allocator *allocator,
                        ox_parsed *parsed, ox_error *error);

/* The bytes that a note with this number left in the file: data of a tensor, or a graph. NULL if there is none. */
const ox_payload *ox_parsed_payload(const ox_parsed *parsed, uint32_t number);

void ox_parsed_free(ox_parsed *parsed, const ox_allocator *allocator);

#endif
