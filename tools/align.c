/* align.c: pads a model. */
#include "align.h"
#include "message.h"

enum {
    LENGTH_BYTES = 5, /* of a length that is written before it is known, ... */
    SHORT_BYTES = 2,  /* ... and of what is so short that it stays below 2^14 with all padding: a field of 2 bytes */
    SHORT = 500,      /* becomes 32 at most */
    TENSOR_TYPE = 2,
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

/* Whether a tensor in a message has data in a typed field. */
static bool has_typed(kind message, ox_message in, int depth) {
    ox_field field;
    bool found = false;
    while (!found && depth < MOST_DEPTH && ox_message_next(&in, &field)) {
        const kind inside = field.kind == OX_MESSAGE_LENGTH ? content_of(message, field.number) : OTHER;
        if (message == TENSOR)
            found = (field.number >= 4 && field.number <= 7) || field.number == 10 || field.number == 11;
        else if (inside != OTHER)
            found = has_typed(inside, field.body, depth + 1);
    }
    return found;
}

bool ox_model_is_typed(const unsigned char *bytes, size_t size) {
    return has_typed(MODEL, (ox_message){bytes, bytes + size}, 0);
}

/* In so many bytes, whatever the value is. */
static void write_length(char *at, int bytes, uint64_t value) {
    for (int i = 0; i < bytes; i++, value >>= 7)
        at[i] = (char)((value & 0x7f) | (i + 1 < bytes ? 0x80 : 0));
}

static int varint_size(uint64_t value) {
    int size = 1;
    for (; value > 0x7f; value >>= 7)
        size++;
    return size;
}

static bool put_message(ox_text *out, kind message, ox_message in, int depth);

/* What elements of a type want, by the field that says it: loops read words of smaller ones. */
static size_t alignment_of(ox_message field) {
    const ox_dtype dtype = (ox_dtype)field.at[1]; /* behind a tag of one byte */
    const bool is_small = field.end - field.at == 2 && dtype < OX_DTYPE_COUNT && ox_dtype_size(dtype) <= OX_WORD;
    return is_small ? OX_WORD : OX_PAYLOAD_ALIGNMENT;
}

/* So that what follows a tag of one byte and a length of so many lies aligned: the padding takes 3 bytes and more. */
static void put_padding(ox_text *out, int length_bytes, size_t alignment) {
    size_t head = 3, end = out->size + head + 1 + (size_t)length_bytes;
    size_t more = (alignment - end % alignment) % alignment;
    if ((end - head) % alignment == 0)
        return;
    ox_message_put_varint(out, (uint64_t)PADDING << 3 | OX_MESSAGE_LENGTH);
    ox_message_put_varint(out, more);
    ox_text_repeat(out, 0, (int)more);
}

/* A field with a message, in which data may lie. */
static bool put_inside(ox_text *out, kind inside, const ox_field *field, int depth) {
    const int bytes = field->body.end - field->body.at < SHORT ? SHORT_BYTES : LENGTH_BYTES;
    ox_message_put_varint(out, field->number << 3 | OX_MESSAGE_LENGTH);
    const size_t start = out->size + (size_t)bytes;
    ox_text_repeat(out, 0, bytes);
    if (!put_message(out, inside, field->body, depth + 1))
        return false;
    write_length(out->data + start - bytes, bytes, out->size - start);
    return true;
}

static bool put_message(ox_text *out, kind message, ox_message in, int depth) {
    ox_field field;
    size_t alignment = OX_PAYLOAD_ALIGNMENT;
    while (depth < MOST_DEPTH && ox_message_next(&in, &field)) {
        const kind inside = field.kind == OX_MESSAGE_LENGTH ? content_of(message, field.number) : OTHER;
        const size_t size = (size_t)(field.body.end - field.body.at);
        if (message == TENSOR && field.number == TENSOR_TYPE && field.kind == OX_MESSAGE_VARINT)
            alignment = alignment_of(field.whole);
        if (inside == PAYLOAD && size >= SHORT_PAYLOAD)
            put_padding(out, varint_size(size), alignment);
        if (inside == OTHER)
            ox_message_put(out, field.whole);
        else if (inside == PAYLOAD)
            ox_message_put_field(out, field.number, field.body);
        else if (!put_inside(out, inside, &field, depth))
            return false;
    }
    return depth < MOST_DEPTH && in.at == in.end;
}

bool ox_align_model(ox_text *out, const unsigned char *bytes, size_t size) {
    return put_message(out, MODEL, (ox_message){bytes, bytes + size}, 0);
}
