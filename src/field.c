/* field.c: reading fields of protobuf messages. */
#include "field.h"

bool ox_read_varint(const unsigned char *bytes, size_t *at, size_t end, uint64_t *value) {
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

int ox_field_kind(unsigned type) {
    if (type == PROTOBUF_C_TYPE_FLOAT || type == PROTOBUF_C_TYPE_FIXED32 || type == PROTOBUF_C_TYPE_SFIXED32)
        return OX_FIXED32;
    if (type == PROTOBUF_C_TYPE_DOUBLE || type == PROTOBUF_C_TYPE_FIXED64 || type == PROTOBUF_C_TYPE_SFIXED64)
        return OX_FIXED64;
    return type >= PROTOBUF_C_TYPE_STRING ? OX_LENGTH : OX_VARINT;
}
