/* field.h: the encoding of protobuf fields, shared by the loader and by the code that unpacks messages on devices. */
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

/* Reads a varint (7 bits a byte) from bytes[*at] on, and moves *at past it. False if it does not end before `end`, or
 * does not fit. */
bool ox_read_varint(const unsigned char *bytes, size_t *at, size_t end, uint64_t *value);

/* How values of a type are written one by one; OX_LENGTH for what is not a number. */
int ox_field_kind(unsigned type);

#endif
