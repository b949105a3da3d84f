/* unpack.c: checked messages to structs, in the way of protobuf-c and in little code. */
#include "bare/protobuf-c/protobuf-c.h"

#include "field.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers lie in memory as in messages");

/* One field as it lies in a message, or one number of a packed list. */
typedef struct piece {
    const ProtobufCFieldDescriptor *field; /* NULL if unknown */
    int kind;
    uint64_t value;      /* of OX_VARINT; the length of OX_LENGTH */
    const uint8_t *body; /* of all others */
} piece;

static bool read_varint(const uint8_t **at, const uint8_t *end, uint64_t *value) {
    size_t width = 0;
    const bool whole = ox_read_varint(*at, &width, (size_t)(end - *at), value);
    *at += width;
    return whole;
}

static const ProtobufCFieldDescriptor *find_field(const ProtobufCMessageDescriptor *type, uint32_t number) {
    for (unsigned i = 0; i < type->n_fields; i++)
        if (type->fields[i].id == number)
            return &type->fields[i];
    return NULL;
}

/* The content of a field, or of a packed list's entry; *at goes behind it. */
static bool read_content(const uint8_t **at, const uint8_t *end, piece *p) {
    size_t width = p->kind == OX_FIXED64 ? 8 : 4;
    if (p->kind == OX_VARINT || p->kind == OX_LENGTH) {
        if (!read_varint(at, end, &p->value))
            return false;
        width = p->kind == OX_VARINT ? 0 : (size_t)p->value;
    }
    p->body = *at;
    if (width > (size_t)(end - *at))
        return false;
    *at += width;
    return true;
}

static bool read_piece(const ProtobufCMessageDescriptor *type, const uint8_t **at, const uint8_t *end, piece *p) {
    uint64_t tag;
    if (*at == end || !read_varint(at, end, &tag))
        return false;
    p->field = find_field(type, (uint32_t)(tag >> 3));
    p->kind = (int)(tag & 7);
    return read_content(at, end, p);
}

/* Bytes of a value in a struct. */
static size_t width_of(unsigned type) {
    if (type == PROTOBUF_C_TYPE_INT64 || type == PROTOBUF_C_TYPE_UINT64 || ox_field_kind(type) == OX_FIXED64)
        return 8;
    if (type == PROTOBUF_C_TYPE_BYTES)
        return sizeof(ProtobufCBinaryData);
    return ox_field_kind(type) == OX_LENGTH ? sizeof(void *) : 4;
}

/* What lies in a struct at the offset that a field says. */
static void *member(char *message, unsigned offset) {
    return message + offset * OX_FIELD_UNIT;
}

static void *take(const ProtobufCAllocator *allocator, size_t size) {
    void *block = allocator->alloc(allocator->context, size);
    if (block)
        memset(block, 0, size);
    return block;
}

/* Writes a value to its place in a struct or in an array. */
static bool put_value(ProtobufCAllocator *allocator, const piece *p, void *to) {
    unsigned type = p->field->type;
    if (p->kind == OX_VARINT)
        memcpy(to, &p->value, width_of(type));
    else if (p->kind != OX_LENGTH)
        memcpy(to, p->body, width_of(type));
    else {
        size_t size = (size_t)p->value;
        void *made = type == PROTOBUF_C_TYPE_MESSAGE
                         ? protobuf_c_message_unpack(p->field->descriptor, allocator, size, p->body)
                         : take(allocator, size + 1);
        if (!made)
            return false;
        if (type != PROTOBUF_C_TYPE_MESSAGE)
            memcpy(made, p->body, size);
        if (type == PROTOBUF_C_TYPE_BYTES)
            *(ProtobufCBinaryData *)to = (ProtobufCBinaryData){size, made};
        else
            *(void **)to = made;
    }
    return true;
}

/* A field that is there: its has_... or its case. */
static void note_given(char *message, const ProtobufCFieldDescriptor *field) {
    int32_t *noted = member(message, field->quantifier_offset);
    if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
        *noted = (int32_t)field->id;
    else if (field->quantifier_offset)
        *noted = 1;
}

/* Adds to a list; before the list has memory it only counts. */
static bool put_listed(ProtobufCAllocator *allocator, const piece *p, char *message) {
    size_t *count = member(message, p->field->quantifier_offset);
    char *list = *(char **)member(message, p->field->offset);
    size_t width = width_of(p->field->type);
    piece entry = *p;
    entry.kind = ox_field_kind(p->field->type);
    if (p->kind != OX_LENGTH || entry.kind == OX_LENGTH)
        return (!list || put_value(allocator, p, list + *count * width)) && ++*count;
    const uint8_t *at = p->body, *end = at + (size_t)p->value;
    for (; at < end; ++*count)
        if (!read_content(&at, end, &entry) || (list && !put_value(allocator, &entry, list + *count * width)))
            return false;
    return true;
}

static bool put_pieces(ProtobufCAllocator *allocator, const ProtobufCMessageDescriptor *type, char *message,
                       const uint8_t *at, const uint8_t *end, bool counting) {
    piece p;
    while (read_piece(type, &at, end, &p)) {
        bool listed = p.field && p.field->label == PROTOBUF_C_LABEL_REPEATED;
        if (!p.field || (counting && !listed))
            continue;
        if (listed ? !put_listed(allocator, &p, message) : !put_value(allocator, &p, member(message, p.field->offset)))
            return false;
        if (!listed)
            note_given(message, p.field);
    }
    return at == end;
}

/* Memory for the lists that have been counted, which are counted again when they are filled. */
static bool make_lists(const ProtobufCAllocator *allocator, const ProtobufCMessageDescriptor *type, char *message) {
    for (unsigned i = 0; i < type->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &type->fields[i];
        size_t *count = member(message, field->quantifier_offset);
        void **list = member(message, field->offset);
        if (field->label != PROTOBUF_C_LABEL_REPEATED || !*count)
            continue;
        *list = take(allocator, *count * width_of(field->type));
        if (!*list)
            return false;
        *count = 0;
    }
    return true;
}

ProtobufCMessage *protobuf_c_message_unpack(const ProtobufCMessageDescriptor *type, ProtobufCAllocator *allocator,
                                            size_t size, const uint8_t *bytes) {
    char *message = take(allocator, type->sizeof_message);
    if (!message)
        return NULL;
    ((ProtobufCMessage *)(void *)message)->descriptor = type;
    bool done = put_pieces(allocator, type, message, bytes, bytes + size, true) &&
                make_lists(allocator, type, message) &&
                put_pieces(allocator, type, message, bytes, bytes + size, false);
    return done ? (ProtobufCMessage *)(void *)message : NULL;
}
