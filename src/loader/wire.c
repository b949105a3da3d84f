/* wire.c: the wire format of protobuf, walked along protobuf-c's own descriptors. */
#include "wire.h"

#include <string.h>

#include "field.h"
#include "onnx.pb-c.h"

enum {
    MAX_FIELD = 536870911,
    RAW_DATA = 9,
    FLOAT_DATA = 4,
    DOUBLE_DATA = 10,
    OX_PAYLOAD = 255,
    /* Smaller data is copied: the note takes more, and the skeleton must not outgrow the original. */
    NOTE_SIZE = 6,
    MIN_PAYLOAD = NOTE_SIZE - 1,
    /* The most bytes of a length that protobuf-c reads, and how many tags pay for a length of that many. */
    LENGTH_WIDTH = 5,
    MIN_RUN = LENGTH_WIDTH + 1,
    /* protobuf-c records 16 fields of a message on its stack, and more in blocks that double, of this many bytes a
     * field.
     */
    FIRST_NOTES = 16,
    NOTE_BYTES = 16 + 3 * sizeof(void *),
    MAX_SKELETON = INT32_MAX
};

/* A message being walked; the chain of them is the path of an error. */
typedef struct level {
    const struct level *parent;
    const ProtobufCMessageDescriptor *type;
    size_t begin, end;
    size_t at;         /* where the current field starts */
    int depth, graphs; /* messages around it; subgraphs that it is in, or is */
} level;

typedef struct walker {
    const unsigned char *bytes;
    ox_error *error;
    unsigned char *out; /* the skeleton, NULL while checking */
    ox_payload *payloads;
    size_t written, npayloads;
    uint64_t unpack_bytes;
    bool part;                        /* graphs were looked at before */
    uint64_t graph_size, graph_bytes; /* what the graphs that are left out would add to `written` and `unpack_bytes` */
} walker;

/* One field as it lies in the message. */
typedef struct field {
    uint32_t number;
    int kind;                             /* wire type */
    uint64_t length;                      /* of OX_LENGTH: bytes */
    size_t length_at;                     /* of OX_LENGTH: where the length starts */
    size_t body, next;                    /* where the content starts, and where the next field does */
    const ProtobufCFieldDescriptor *type; /* NULL if unknown */
} field;

static const ProtobufCFieldDescriptor *find_field(const ProtobufCMessageDescriptor *type, uint32_t number) {
    unsigned low = 0, high = type->n_fields;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (type->fields[middle].id < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < type->n_fields && type->fields[low].id == number ? &type->fields[low] : NULL;
}

/* ---- Errors ------------------------------------------------------------------------------------------------- */

/* The number of the field at *at, and its content, in a message that has been checked; *at moves past it. */
static uint32_t skip_field(const unsigned char *bytes, size_t *at, size_t end, ox_span *content) {
    uint64_t tag = 0, value = 0;
    ox_read_varint(bytes, at, end, &tag);
    const unsigned kind = tag & 7;
    if (kind == OX_VARINT || kind == OX_LENGTH)
        ox_read_varint(bytes, at, end, &value);
    const size_t size = kind == OX_VARINT ? 0 : kind == OX_FIXED64 ? 8 : kind == OX_FIXED32 ? 4 : (size_t)value;
    *content = (ox_span){bytes + *at, size < end - *at ? size : end - *at};
    *at += content->size;
    return (uint32_t)(tag >> 3);
}

/* Writes ".node[3]" and the like: the index is counted again, so that the walk need not count. */
static size_t put_step(const walker *w, const level *at, uint32_t number, char *text, size_t size) {
    const ProtobufCFieldDescriptor *type = find_field(at->type, number);
    size_t n = 0;
    if (type && OX_FIELD_NAME(type))
        n = ox_format(text, size, "%s%s", at->parent ? "." : "", OX_FIELD_NAME(type));
    else
        n = ox_format(text, size, "%sfield %u", at->parent ? "." : "", (unsigned)number);
    if (!type || type->label != PROTOBUF_C_LABEL_REPEATED || ox_field_kind(type->type) != OX_LENGTH)
        return n;
    size_t index = 0;
    ox_span content;
    for (size_t p = at->begin; p < at->at;)
        index += skip_field(w->bytes, &p, at->end, &content) == number;
    return n + ox_format(text + n, size - n, "[%zu]", index);
}

static size_t put_path(const walker *w, const level *at, char *text, size_t size) {
    size_t n = at->parent ? put_path(w, at->parent, text, size) : 0;
    uint64_t tag = 0;
    size_t p = at->at;
    if (!ox_read_varint(w->bytes, &p, at->end, &tag) || tag >> 3 == 0 || tag >> 3 > MAX_FIELD)
        return n;
    return n + put_step(w, at, (uint32_t)(tag >> 3), text + n, size - n);
}

/* Puts the path of the current field before the text. */
static ox_status fail_at(const walker *w, const level *at, ox_status status) {
    if (!OX_WITH_TEXTS)
        return status;
    char path[OX_ERROR_TEXT / 2];
    if (put_path(w, at, path, sizeof path))
        ox_error_prefix(w->error, "%s: ", path);
    return status;
}

#define FAIL(w, at, ...) fail_at((w), (at), ox_fail((w)->error, OX_ERROR_MODEL, __VA_ARGS__))

/* The depth of subgraphs is checked before that of messages, so that the error names the subgraphs. The graph of a
 * model is at level 0. */
static ox_status check_depth(const walker *w, const level *at) {
    if (at->graphs > OX_MAX_GRAPHS)
        return fail_at(w, at->parent,
                       ox_fail(w->error, OX_ERROR_LIMIT, "subgraphs nest deeper than %d", OX_MAX_GRAPHS));
    if (at->depth > OX_MAX_DEPTH)
        return fail_at(w, at->parent, ox_fail(w->error, OX_ERROR_LIMIT, "messages nest deeper than %d", OX_MAX_DEPTH));
    return OX_OK;
}

/* ---- Reading fields ----------------------------------------------------------------------------------------- */

static ox_status read_length(const walker *w, const level *at, field *f, size_t p) {
    f->length_at = p;
    if (!ox_read_varint(w->bytes, &p, at->end, &f->length))
        return FAIL(w, at, "broken length at byte %zu", p);
    if (f->length > at->end - p)
        return FAIL(w, at, "length %llu exceeds the %zu bytes left", (unsigned long long)f->length, at->end - p);
    f->body = p;
    f->next = p + (size_t)f->length;
    return OX_OK;
}

static ox_status read_fixed(const walker *w, const level *at, field *f, size_t p, size_t width) {
    if (at->end - p < width)
        return FAIL(w, at, "%zu bytes wanted, %zu left", width, at->end - p);
    f->body = p;
    f->next = p + width;
    return OX_OK;
}

/* Reads the field at at->at without looking inside. */
static ox_status read_field(const walker *w, const level *at, field *f) {
    uint64_t tag = 0, value;
    size_t p = at->at;
    if (!ox_read_varint(w->bytes, &p, at->end, &tag) || p - at->at > 5)
        return FAIL(w, at, "broken field tag at byte %zu", at->at);
    if (tag >> 3 == 0 || tag >> 3 > MAX_FIELD)
        return FAIL(w, at, "field number %llu at byte %zu", (unsigned long long)(tag >> 3), at->at);
    f->number = (uint32_t)(tag >> 3);
    f->kind = (int)(tag & 7);
    f->type = find_field(at->type, f->number);
    switch (f->kind) {
    case OX_VARINT:
        f->body = p;
        if (!ox_read_varint(w->bytes, &p, at->end, &value))
            return FAIL(w, at, "broken number at byte %zu", f->body);
        f->next = p;
        return OX_OK;
    case OX_FIXED64:
        return read_fixed(w, at, f, p, 8);
    case OX_FIXED32:
        return read_fixed(w, at, f, p, 4);
    case OX_LENGTH:
        return read_length(w, at, f, p);
    default:
        return FAIL(w, at, "wire type %d is not in use", f->kind);
    }
}

/* Bytes of one element in a repeated field's array. */
static size_t element_bytes(ProtobufCType type) {
    switch (type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return 8;
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    default:
        return 4;
    }
}

/* ---- What unpacking takes ----------------------------------------------------------------------------------- */

static void count_block(walker *w, uint64_t size) {
    w->unpack_bytes += (size + OX_WIRE_GRAIN - 1) / OX_WIRE_GRAIN * OX_WIRE_GRAIN;
}

/* The notes that protobuf-c takes of a message's fields while it counts them. */
static void count_notes(walker *w, size_t nfields) {
    uint64_t room = FIRST_NOTES, block = FIRST_NOTES;
    while (room < nfields) {
        block *= 2;
        room += block;
        count_block(w, block * NOTE_BYTES);
    }
}

/* ---- The skeleton ------------------------------------------------------------------------------------------- */

static void put(walker *w, size_t begin, size_t end) {
    if (w->out)
        memcpy(w->out + w->written, w->bytes + begin, end - begin);
    w->written += end - begin;
}

/* Leaves room for a length of at most as many bytes as the original took, and as protobuf-c reads. */
static size_t reserve_length(walker *w, const field *f) {
    size_t width = f->body - f->length_at;
    width = width > LENGTH_WIDTH ? LENGTH_WIDTH : width;
    w->written += width;
    return width;
}

/* Fills the room with the length of what was written since; a number may be padded to any width. */
static void patch_length(const walker *w, size_t width, size_t start) {
    if (!w->out)
        return;
    size_t length = w->written - start;
    for (size_t i = 0; i < width; i++, length >>= 7)
        w->out[start - width + i] = (unsigned char)((length & 0x7f) | (i + 1 < width ? 0x80 : 0));
}

static void put_payload(walker *w, const field *f) {
    static const unsigned char tag[2] = {0xfd, 0x0f}; /* of OX_PAYLOAD, fixed32 */
    if (w->out) {
        w->payloads[w->npayloads] = (ox_payload){f->body, (size_t)f->length, f->number};
        memcpy(w->out + w->written, tag, sizeof tag);
        for (unsigned i = 0; i < 4; i++)
            w->out[w->written + sizeof tag + i] = (unsigned char)(w->npayloads >> (8 * i));
    }
    w->written += NOTE_SIZE;
    w->npayloads++;
}

/* ---- Content of fields -------------------------------------------------------------------------------------- */

static ox_status walk_message(walker *w, level *at);
static ox_status walk_content(walker *w, const level *at, const field *f);

static ox_status walk_nested(walker *w, const level *at, const field *f) {
    level inner = {at, f->type->descriptor, f->body, f->next, f->body, at->depth + 1, at->graphs};
    OX_TRY(check_depth(w, &inner));
    put(w, at->at, f->length_at);
    size_t width = reserve_length(w, f);
    size_t start = w->written;
    OX_TRY(walk_message(w, &inner));
    patch_length(w, width, start);
    return OX_OK;
}

/* A graph stays in the file: in its place comes a message that has nothing but the note where it is. */
static ox_status walk_graph(walker *w, const level *at, const field *f) {
    const bool subgraph = at->type == &onnx__attribute_proto__descriptor;
    level inner = {at, f->type->descriptor, f->body, f->next, f->body, at->depth + 1, at->graphs + subgraph};
    if (!w->part && !w->out) {
        walker inside = *w;
        OX_TRY(check_depth(w, &inner));
        OX_TRY(walk_message(&inside, &inner));
        w->graph_size = inside.graph_size + (inside.written - w->written);
        w->graph_bytes = inside.graph_bytes + (inside.unpack_bytes - w->unpack_bytes);
    }
    put(w, at->at, f->length_at);
    if (w->out)
        w->out[w->written] = NOTE_SIZE;
    w->written++;
    w->graph_size -= NOTE_SIZE;
    put_payload(w, f);
    count_block(w, inner.type->sizeof_message);
    return OX_OK;
}

static ox_status walk_packed(walker *w, const level *at, const field *f) {
    int kind = ox_field_kind(f->type->type);
    size_t count = 0;
    if (kind == OX_VARINT) {
        uint64_t value;
        for (size_t p = f->body; p < f->next; count++)
            if (!ox_read_varint(w->bytes, &p, f->next, &value))
                return FAIL(w, at, "element %zu is broken", count);
    } else {
        size_t width = kind == OX_FIXED64 ? 8 : 4;
        if ((size_t)f->length % width)
            return FAIL(w, at, "%llu bytes are not a multiple of the element size", (unsigned long long)f->length);
        count = (size_t)f->length / width;
    }
    w->unpack_bytes += count * element_bytes(f->type->type);
    put(w, at->at, f->next);
    return OX_OK;
}

/* Numbers of a list that come one by one. */
typedef struct run {
    size_t count, content; /* of the numbers, and their bytes */
    size_t next;           /* where the field after them starts */
} run;

/* Reads the field at at->at, after one of a list: f is that one. Of a tag of one byte, which comes again, only the
 * number is looked at. */
static ox_status read_next(const walker *w, const level *at, field *f, unsigned char tag) {
    size_t p = at->at + 1;
    uint64_t value;
    if (w->bytes[at->at] != tag || p == at->end)
        return read_field(w, at, f);
    f->body = p;
    if (f->kind != OX_VARINT)
        return read_fixed(w, at, f, p, f->kind == OX_FIXED64 ? 8 : 4);
    f->next = p + 1;
    if (w->bytes[p] < 0x80)
        return OX_OK;
    if (!ox_read_varint(w->bytes, &p, at->end, &value))
        return read_field(w, at, f);
    f->next = p;
    return OX_OK;
}

/* The fields of the same kind as f that follow one another from there. Numbers below 16 have tags of one byte. */
static ox_status measure_run(const walker *w, const level *message, const field *f, run *found) {
    const unsigned char tag = w->bytes[message->at];
    level at = *message;
    field other = *f;
    for (*found = (run){0}; other.number == f->number && other.kind == f->kind; found->count++) {
        found->content += other.next - other.body;
        found->next = at.at = other.next;
        if (at.at == at.end)
            other.kind = -1;
        else
            OX_TRY(tag < 0x80 ? read_next(w, &at, &other, tag) : read_field(w, &at, &other));
    }
    return OX_OK;
}

/* The numbers of a list that come one by one are packed into one field: protobuf-c would take notes of each. */
static ox_status walk_run(walker *w, const level *message, field *f) {
    run numbers;
    level at = *message;
    OX_TRY(measure_run(w, message, f, &numbers));
    if (numbers.count < MIN_RUN)
        return walk_content(w, message, f);
    if (w->out)
        w->out[w->written] = (unsigned char)((w->bytes[at.at] & ~7) | OX_LENGTH);
    w->written++;
    put(w, at.at + 1, f->body);
    w->written += LENGTH_WIDTH;
    const size_t start = w->written;
    const unsigned char tag = w->bytes[at.at];
    for (; w->out && at.at < numbers.next; at.at = f->next) {
        OX_TRY(tag < 0x80 ? read_next(w, &at, f, tag) : read_field(w, &at, f));
        put(w, f->body, f->next);
    }
    w->written = start + numbers.content;
    f->next = numbers.next;
    patch_length(w, LENGTH_WIDTH, start);
    w->unpack_bytes += numbers.count * element_bytes(f->type->type);
    return OX_OK;
}

static ox_status walk_string(walker *w, const level *at, const field *f) {
    bool ends = false;
    for (size_t p = f->body; p < f->next; p++)
        ends |= w->bytes[p] == 0;
    if (ends)
        return FAIL(w, at, "a zero byte inside a name or text");
    count_block(w, f->length + 1);
    put(w, at->at, f->next);
    return OX_OK;
}

static ox_status walk_content(walker *w, const level *at, const field *f) {
    bool repeated = f->type->label == PROTOBUF_C_LABEL_REPEATED;
    int kind = ox_field_kind(f->type->type);
    if (repeated && f->kind == OX_LENGTH && kind != OX_LENGTH)
        return walk_packed(w, at, f);
    if (f->kind != kind)
        return FAIL(w, at, "wire type %d instead of %d", f->kind, kind);
    if (repeated)
        w->unpack_bytes += element_bytes(f->type->type);
    if (f->type->type == PROTOBUF_C_TYPE_MESSAGE)
        return f->type->descriptor == &onnx__graph_proto__descriptor ? walk_graph(w, at, f) : walk_nested(w, at, f);
    if (f->type->type == PROTOBUF_C_TYPE_STRING)
        return walk_string(w, at, f);
    if (f->type->type == PROTOBUF_C_TYPE_BYTES)
        count_block(w, f->length);
    put(w, at->at, f->next);
    return OX_OK;
}

/* ---- Messages ----------------------------------------------------------------------------------------------- */

/* protobuf-c merges what comes twice in quadratic time: singular messages, and members of a oneof, come once. */
static ox_status check_once(const walker *w, const level *at, const ProtobufCFieldDescriptor *type, uint64_t *seen) {
    bool oneof = type->flags & PROTOBUF_C_FIELD_FLAG_ONEOF;
    if (!oneof && (type->label == PROTOBUF_C_LABEL_REPEATED || type->type != PROTOBUF_C_TYPE_MESSAGE))
        return OX_OK;
    const ProtobufCFieldDescriptor *first = at->type->fields, *other = type;
    for (const ProtobufCFieldDescriptor *f = first; oneof && f < first + at->type->n_fields; f++)
        if ((f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) && f->quantifier_offset == type->quantifier_offset &&
            *seen >> (f - first) & 1)
            other = f;
    if (*seen >> (other - first) & 1)
        return FAIL(w, at, other == type ? "given twice" : "given beside another field that excludes it");
    *seen |= UINT64_C(1) << (type - first);
    return OX_OK;
}

static bool is_bulk(const field *f) {
    if (f->kind != OX_LENGTH)
        return false;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (f->number == FLOAT_DATA || f->number == DOUBLE_DATA)
        return true;
#endif
    return f->number == RAW_DATA;
}

/* Where the field starts whose data stays in the file: the only one of its kind, or SIZE_MAX. */
static ox_status find_payload(const walker *w, const level *message, size_t *where) {
    level at = *message;
    field f;
    int count = 0;
    for (*where = SIZE_MAX; at.at < at.end; at.at = f.next) {
        OX_TRY(read_field(w, &at, &f));
        if (f.number != RAW_DATA && (!OX_WITH_TYPED || (f.number != FLOAT_DATA && f.number != DOUBLE_DATA)))
            continue;
        count++;
        size_t width = f.number == RAW_DATA ? 1 : f.number == FLOAT_DATA ? 4 : 8;
        *where = is_bulk(&f) && f.length >= MIN_PAYLOAD && (size_t)f.length % width == 0 ? at.at : SIZE_MAX;
    }
    if (count != 1)
        *where = SIZE_MAX;
    return OX_OK;
}

static bool is_listed_number(const field *f) {
    return f->type->label == PROTOBUF_C_LABEL_REPEATED && f->kind != OX_LENGTH &&
           f->kind == ox_field_kind(f->type->type);
}

static ox_status walk_message(walker *w, level *at) {
    uint64_t seen = 0;
    size_t nfields = 0, payload = SIZE_MAX;
    bool tensor = at->type == &onnx__tensor_proto__descriptor;
    field f;
    if (tensor)
        OX_TRY(find_payload(w, at, &payload));
    for (; at->at < at->end; at->at = f.next) {
        OX_TRY(read_field(w, at, &f));
        if (!f.type || f.number == OX_PAYLOAD)
            continue;
        nfields++;
        if (at->at == payload) {
            put_payload(w, &f);
            continue;
        }
        OX_TRY(check_once(w, at, f.type, &seen));
        OX_TRY(!OX_SMALL && is_listed_number(&f) ? walk_run(w, at, &f) : walk_content(w, at, &f));
    }
    count_block(w, at->type->sizeof_message);
    if (!OX_SMALL) /* which unpack in a way of their own (src/bare/unpack.c) */
        count_notes(w, nfields);
    /* Each of the arrays is rounded up. */
    w->unpack_bytes += (uint64_t)at->type->n_fields * (nfields ? OX_WIRE_GRAIN - 1 : 0);
    return OX_OK;
}

static ox_status walk(walker *w, const ox_wire *wire) {
    level top = {NULL, wire->type, 0, wire->size, 0, 0, 0};
    return walk_message(w, &top);
}

static ox_status check(const ProtobufCMessageDescriptor *type, ox_span message, bool part, ox_wire *wire,
                       ox_error *error) {
    *wire = (ox_wire){.type = type, .bytes = message.bytes, .size = message.size};
    walker w = {.bytes = message.bytes, .error = error, .part = part};
    OX_TRY(walk(&w, wire));
    if (w.written > MAX_SKELETON || w.npayloads > UINT32_MAX)
        return ox_fail(error, OX_ERROR_LIMIT, "%zu bytes without weights are more than the %d that can be parsed",
                       w.written, (int)MAX_SKELETON);
    wire->skeleton_size = w.written;
    wire->npayloads = w.npayloads;
    wire->unpack_bytes = w.unpack_bytes;
    wire->whole_size = w.written + w.graph_size;
    wire->whole_bytes = w.unpack_bytes + w.graph_bytes;
    return OX_OK;
}

ox_status ox_wire_check(const ProtobufCMessageDescriptor *type, const void *bytes, size_t size, ox_wire *wire,
                        ox_error *error) {
    return check(type, (ox_span){bytes, size}, false, wire, error);
}

ox_status ox_wire_check_part(const ProtobufCMessageDescriptor *type, const void *bytes, size_t size, ox_wire *wire,
                             ox_error *error) {
    return check(type, (ox_span){bytes, size}, true, wire, error);
}

ox_status ox_wire_write(const ox_wire *wire, unsigned char *skeleton, ox_payload *payloads, ox_error *error) {
    walker w = {.bytes = wire->bytes, .error = error, .out = skeleton, .payloads = payloads};
    return walk(&w, wire);
}

bool ox_wire_next(ox_span *rest, uint32_t number, ox_span *content) {
    size_t at = 0;
    bool found = false;
    while (!found && at < rest->size)
        found = skip_field(rest->bytes, &at, rest->size, content) == number;
    *rest = (ox_span){rest->bytes + at, rest->size - at};
    return found;
}

size_t ox_wire_count(ox_span rest, uint32_t number) {
    ox_span content;
    size_t count = 0;
    while (ox_wire_next(&rest, number, &content))
        count++;
    return count;
}
