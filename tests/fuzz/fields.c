/* fields.c: see fields.h. */
#include "fields.h"

#include <string.h>

enum {
    MOST_DEPTH = 24
};

size_t ox_varint_read(const uint8_t *bytes, size_t left, uint64_t *value) {
    *value = 0;
    for (size_t i = 0; i < left && i < 10; i++) {
        *value |= (uint64_t)(bytes[i] & 0x7F) << (7 * i);
        if (bytes[i] < 0x80)
            return i + 1;
    }
    return 0;
}

size_t ox_varint_write(uint64_t value, uint8_t *bytes) {
    size_t n = 0;
    for (; value > 0x7F; value >>= 7)
        bytes[n++] = (uint8_t)(value | 0x80);
    bytes[n++] = (uint8_t)value;
    return n;
}

static const ProtobufCFieldDescriptor *find(const ProtobufCMessageDescriptor *type, uint64_t number) {
    return type && number <= UINT32_MAX ? protobuf_c_message_descriptor_get_field(type, (unsigned)number) : NULL;
}

/* Where the value that starts at `at` begins and ends; false if it does not lie in [at, end). */
static bool extent(const uint8_t *bytes, size_t at, size_t end, ox_field *field) {
    uint64_t value, length = 0;
    size_t n = ox_varint_read(bytes + at, end - at, &value);
    field->value = at;
    switch (field->wire_type) {
    case 0:
        length = n;
        break;
    case 1:
        length = 8;
        break;
    case 2:
        field->value += n;
        length = value;
        break;
    case 5:
        length = 4;
        break;
    default:
        return false;
    }
    field->end = field->value + length;
    return (field->wire_type & 5 || n) && length <= end - field->value;
}

static void list(ox_fields *fields, const ProtobufCMessageDescriptor *type, int parent, size_t at, size_t end,
                 int depth) {
    while (at < end && fields->count < OX_MOST_FIELDS && depth < MOST_DEPTH) {
        uint64_t tag;
        size_t n = ox_varint_read(fields->bytes + at, end - at, &tag);
        ox_field field = {.tag = at, .parent = parent, .wire_type = (int)(tag & 7), .descriptor = find(type, tag >> 3)};
        if (!n || !extent(fields->bytes, at + n, end, &field))
            return;
        if (field.wire_type == 2 && field.descriptor && field.descriptor->type == PROTOBUF_C_TYPE_MESSAGE)
            field.message = field.descriptor->descriptor;
        int index = fields->count++;
        fields->at[index] = field;
        if (field.message)
            list(fields, field.message, index, field.value, field.end, depth + 1);
        at = field.end;
    }
}

void ox_fields_list(ox_fields *fields, const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t size) {
    fields->bytes = bytes;
    fields->size = size;
    fields->count = 0;
    list(fields, type, -1, 0, size, 0);
}

/* Puts bytes in place of out[from, to). */
static bool splice(uint8_t *out, size_t *size, size_t room, size_t from, size_t to, const uint8_t *bytes, size_t n) {
    if (*size - (to - from) + n > room)
        return false;
    memmove(out + from + n, out + to, *size - to);
    if (n)
        memcpy(out + from, bytes, n);
    *size = *size - (to - from) + n;
    return true;
}

size_t ox_fields_replace(const ox_fields *fields, int in, size_t from, size_t to, const uint8_t *bytes, size_t size,
                         uint8_t *out, size_t room) {
    size_t total = fields->size;
    if (total > room)
        return 0;
    memcpy(out, fields->bytes, total);
    if (!splice(out, &total, room, from, to, bytes, size))
        return 0;
    for (int i = in; i >= 0; i = fields->at[i].parent) {
        const ox_field *field = &fields->at[i];
        /* All that changed so far lies behind the length, so that it is where it was. */
        uint64_t tag, length = field->end - field->value + total - fields->size;
        size_t start = field->tag + ox_varint_read(fields->bytes + field->tag, field->end - field->tag, &tag);
        uint8_t text[10];
        size_t n = ox_varint_write(length, text);
        if (field->wire_type == 2 && !splice(out, &total, room, start, field->value, text, n))
            return 0;
    }
    return total;
}
