/* fields.h: the fields of a serialized protobuf message as a flat list, and edits that leave it well formed. */
#ifndef OX_FUZZ_FIELDS_H
#define OX_FUZZ_FIELDS_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    OX_MOST_FIELDS = 4096
};

/* A field: its tag starts at `tag`; its value, behind a length if it has one, lies in [value, end). */
typedef struct ox_field {
    size_t tag, value, end;
    int parent;                                 /* the field whose message it is in, -1 for the outermost */
    int wire_type;                              /* as in the tag: 0 varint, 1 and 5 fixed, 2 with a length */
    const ProtobufCFieldDescriptor *descriptor; /* NULL if unknown */
    const ProtobufCMessageDescriptor *message;  /* of what the value is, NULL if it is no message */
} ox_field;

typedef struct ox_fields {
    const uint8_t *bytes;
    size_t size;
    int count;
    ox_field at[OX_MOST_FIELDS];
} ox_fields;

/* Lists the fields of a message in depth-first order, as far as it is well formed and there is room. */
void ox_fields_list(ox_fields *fields, const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t size);

/* Writes the message with bytes [from, to) replaced, which lie in the value of field `in` (-1: in no field), and all
 * lengths around them corrected. Returns the size, 0 if it would exceed `room`. */
size_t ox_fields_replace(const ox_fields *fields, int in, size_t from, size_t to, const uint8_t *bytes, size_t size,
                         uint8_t *out, size_t room);

/* Reads a varint of at most `left` bytes; its length, 0 if it is none. Writes one (10 bytes at most); its length. */
size_t ox_varint_read(const uint8_t *bytes, size_t left, uint64_t *value);
size_t ox_varint_write(uint64_t value, uint8_t *bytes);

#endif
