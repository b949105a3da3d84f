/* field.h: what fields of protobuf messages are made of, for all who read them: the loader, and what unpacks messages
 * on devices. */
#ifndef OX_FIELD_H
#define OX_FIELD_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

/* How the content of a field is written: the low three bits of its tag. */
enum {
    OX_VARINT = 0,
    OX_FIXED64 = 1,
    OX_LENGTH = 2, /* a length, and so many bytes */
    OX_FIXED32 = 5
};

/* Reads a number of 7 bits a byte from bytes[*at] on; *at goes behind it. False if it does not end before `end`, or
 * does not fit. */
static inline bool ox_read_varint(const unsigned char *bytes, size_t *at, size_t end, uint64_t *value) {
    uint64_t result = 0;
    for (unsigned n = 0; n < 10 && *at < end; n++) {
        unsigned char byte = bytes[(*at)++];
        result |= (uint64_t)(byte & 0x7f) << (7 * n);
        if (!(byte & 0x80)) {
            *value = result;
            return n < 9 || byte < 2;
        }
    }
    return false;
}

/* How values of a type are written one by one; OX_LENGTH for what is not a number. */
static inline int ox_field_kind(unsigned type) {
    if (type == PROTOBUF_C_TYPE_FLOAT || type == PROTOBUF_C_TYPE_FIXED32 || type == PROTOBUF_C_TYPE_SFIXED32)
        return OX_FIXED32;
    if (type == PROTOBUF_C_TYPE_DOUBLE || type == PROTOBUF_C_TYPE_FIXED64 || type == PROTOBUF_C_TYPE_SFIXED64)
        return OX_FIXED64;
    return type >= PROTOBUF_C_TYPE_STRING ? OX_LENGTH : OX_VARINT;
}

#endif
