/* message.c: protobuf's wire format. */
#include "message.h"

static bool read_varint(ox_message *in, uint64_t *value) {
    *value = 0;
    for (int shift = 0; in->at < in->end && shift < 64; shift += 7) {
        unsigned char byte = *in->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

bool ox_message_next(ox_message *message, ox_field *field) {
    ox_message in = *message;
    uint64_t tag, value = 0;
    if (in.at >= in.end || !read_varint(&in, &tag))
        return false;
    field->number = tag >> 3;
    field->kind = (int)(tag & 7);
    if ((field->kind == OX_MESSAGE_VARINT || field->kind == OX_MESSAGE_LENGTH) && !read_varint(&in, &value))
        return false;
    const uint64_t size = field->kind == OX_MESSAGE_LENGTH    ? value
                          : field->kind == OX_MESSAGE_FIXED64 ? 8
                          : field->kind == OX_MESSAGE_FIXED32 ? 4
                                                              : 0;
    if (size > (uint64_t)(in.end - in.at))
        return false;
    field->body = (ox_message){in.at, in.at + size};
    field->whole = (ox_message){message->at, in.at + size};
    message->at = in.at + size;
    return true;
}

void ox_message_put_varint(ox_text *out, uint64_t value) {
    do {
        char byte = (char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        ox_text_add(out, &byte, 1);
        value >>= 7;
    } while (value);
}

void ox_message_put(ox_text *out, ox_message bytes) {
    ox_text_add(out, (const char *)bytes.at, (size_t)(bytes.end - bytes.at));
}

void ox_message_put_field(ox_text *out, uint64_t number, ox_message content) {
    ox_message_put_varint(out, number << 3 | OX_MESSAGE_LENGTH);
    ox_message_put_varint(out, (uint64_t)(content.end - content.at));
    ox_message_put(out, content);
}
