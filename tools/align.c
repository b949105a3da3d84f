/* align.c: pads a model. */
#include "align.h"

#include <string.h>

enum {
    VARINT = 0,
    FIXED64 = 1,
    LENGTH = 2,
    FIXED32 = 5,
    LENGTH_BYTES = 5,  /* of a length that is written before it is known */
    PADDING = 500,     /* the number of the field that pads: ONNX has none */
    SHORT_PAYLOAD = 8, /* the loader copies what is shorter */
    MOST_DEPTH = 100
};

/* The messages on the way to the data of tensors. */
typedef enum kind {
    OTHER,
    MODEL,
    GRAPH,
    NODE,
    ATTRIBUTE,
    TENSOR,
    PAYLOAD
} kind;

typedef struct range {
    const unsigned char *at, *end;
} range;

/* What a field with a length is, by its message and number. */
static kind content_of(kind message, uint64_t number) {
    switch (message) {
    case MODEL:
        return number == 7 ? GRAPH : OTHER;
    case GRAPH:
        return number == 1 ? NODE : number == 5 ? TENSOR : OTHER;
    case NODE:
        return number == 5 ? ATTRIBUTE : OTHER;
    case ATTRIBUTE:
        return number == 5 || number == 10 ? TENSOR : number == 6 || number == 11 ? GRAPH : OTHER;
    case TENSOR:
        return number == 4 || number == 9 || number == 10 ? PAYLOAD : OTHER;
    default:
        return OTHER;
    }
}

static bool read_varint(range *in, uint64_t *value) {
    *value = 0;
    for (int shift = 0; in->at < in->end && shift < 64; shift += 7) {
        unsigned char byte = *in->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

static void put_varint(ox_text *out, uint64_t value) {
    do {
        char byte = (char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        ox_text_add(out, &byte, 1);
        value >>= 7;
    } while (value);
}

/* In LENGTH_BYTES bytes, whatever the value is. */
static void write_length(char *at, uint64_t value) {
    for (int i = 0; i < LENGTH_BYTES; i++, value >>= 7)
        at[i] = (char)((value & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
}

static bool put_message(ox_text *out, kind message, range in, int depth);

/* So that what follows a tag of one byte and a length lies aligned: the padding takes 3 bytes and more. */
static void put_padding(ox_text *out) {
    size_t head = 3, end = out->size + head + 1 + LENGTH_BYTES;
    size_t more = (OX_PAYLOAD_ALIGNMENT - end % OX_PAYLOAD_ALIGNMENT) % OX_PAYLOAD_ALIGNMENT;
    put_varint(out, (uint64_t)PADDING << 3 | LENGTH);
    put_varint(out, more);
    ox_text_repeat(out, 0, (int)more);
}

/* A field with a length, whose content is entered if data may lie in it. */
static bool put_field(ox_text *out, kind message, uint64_t tag, range content, int depth) {
    kind inside = content_of(message, tag >> 3);
    size_t size = (size_t)(content.end - content.at);
    if (inside == PAYLOAD && size >= SHORT_PAYLOAD)
        put_padding(out);
    put_varint(out, tag);
    size_t start = out->size + LENGTH_BYTES;
    ox_text_repeat(out, 0, LENGTH_BYTES);
    if (inside == OTHER || inside == PAYLOAD)
        ox_text_add(out, (const char *)content.at, size);
    else if (!put_message(out, inside, content, depth + 1))
        return false;
    write_length(out->data + start - LENGTH_BYTES, out->size - start);
    return true;
}

static bool put_message(ox_text *out, kind message, range in, int depth) {
    while (in.at < in.end && depth < MOST_DEPTH) {
        const unsigned char *start = in.at;
        uint64_t tag, value = 0;
        if (!read_varint(&in, &tag))
            return false;
        int type = (int)(tag & 7);
        size_t skipped = type == FIXED64 ? 8 : type == FIXED32 ? 4 : 0;
        if ((type == VARINT || type == LENGTH) && !read_varint(&in, &value))
            return false;
        if (type == LENGTH)
            skipped = (size_t)value;
        if (skipped > (size_t)(in.end - in.at))
            return false;
        const unsigned char *body = in.at;
        in.at += skipped;
        if (type != LENGTH || content_of(message, tag >> 3) == OTHER)
            ox_text_add(out, (const char *)start, (size_t)(in.at - start));
        else if (!put_field(out, message, tag, (range){body, in.at}, depth))
            return false;
    }
    return depth < MOST_DEPTH;
}

bool ox_align_model(ox_text *out, const unsigned char *bytes, size_t size) {
    return put_message(out, MODEL, (range){bytes, bytes + size}, 0);
}
