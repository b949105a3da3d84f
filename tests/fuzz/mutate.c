/* mutate.c: see mutate.h. */
#include "mutate.h"

#include <string.h>

#include "fields.h"
#include "../../src/ox.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);

enum {
    MOST_VALUE = 4096, /* bytes of a value that is changed as a whole */
    TRIES = 20
};

static const uint64_t numbers[] = {0,
                                   1,
                                   2,
                                   3,
                                   4,
                                   7,
                                   8,
                                   16,
                                   64,
                                   255,
                                   1000,
                                   65536,
                                   1u << 20,
                                   INT32_MAX,
                                   (uint64_t)1 << 31,
                                   (uint64_t)1 << 32,
                                   (uint64_t)1 << 40,
                                   INT64_MAX,
                                   (uint64_t)1 << 63,
                                   UINT64_MAX,
                                   UINT64_MAX - 1,
                                   UINT64_MAX - 2};

/* The message that is being changed. */
typedef struct mutation {
    ox_fields *fields;
    unsigned state;
    uint8_t *out;
    size_t room;
} mutation;

static unsigned next(mutation *m) {
    m->state = m->state * 1664525u + 1013904223u;
    return m->state >> 8;
}

static int below(mutation *m, int count) {
    return (int)(next(m) % (unsigned)count);
}

typedef bool field_test(const ox_field *a, const ox_field *b);

static bool same_kind(const ox_field *a, const ox_field *b) {
    return a->descriptor == b->descriptor;
}

static bool same_type(const ox_field *a, const ox_field *b) {
    return a->wire_type == b->wire_type && !a->message == !b->message;
}

/* A field other than i that passes the test beside it; -1 if none is found soon. */
static int other(mutation *m, int i, field_test *test) {
    for (int turn = 0; turn < TRIES; turn++) {
        int k = below(m, m->fields->count);
        if (k != i && test(&m->fields->at[i], &m->fields->at[k]))
            return k;
    }
    return -1;
}

/* The value of field i becomes these bytes. */
static size_t set_value(mutation *m, int i, const uint8_t *bytes, size_t size) {
    const ox_field *field = &m->fields->at[i];
    int in = field->wire_type == 2 ? i : field->parent;
    return ox_fields_replace(m->fields, in, field->value, field->end, bytes, size, m->out, m->room);
}

static size_t copy_value(mutation *m, int i, field_test *test) {
    int k = other(m, i, test);
    if (k < 0)
        return 0;
    const ox_field *from = &m->fields->at[k];
    return set_value(m, i, m->fields->bytes + from->value, from->end - from->value);
}

static size_t change_number(mutation *m, int i) {
    const ox_field *field = &m->fields->at[i];
    uint64_t value;
    uint8_t text[10];
    ox_varint_read(m->fields->bytes + field->value, field->end - field->value, &value);
    switch (below(m, 4)) {
    case 0:
        value += (uint64_t)below(m, 5) - 2;
        break;
    case 1:
        value = (uint64_t)below(m, 30);
        break;
    default:
        value = numbers[below(m, sizeof numbers / sizeof *numbers)];
    }
    return set_value(m, i, text, ox_varint_write(value, text));
}

static size_t change_operator(mutation *m, int i) {
    ox_op_info info;
    if (ox_op_get((size_t)below(m, (int)ox_op_count()), &info))
        return 0;
    return set_value(m, i, (const uint8_t *)info.name, strlen(info.name));
}

/* Bytes, text and packed numbers: as the fuzzer does it, or numbers that hurt. */
static size_t change_bytes(mutation *m, int i) {
    const ox_field *field = &m->fields->at[i];
    size_t size = field->end - field->value;
    uint8_t value[MOST_VALUE];
    if (size > sizeof value)
        return 0;
    memcpy(value, m->fields->bytes + field->value, size);
    if (below(m, 2) && size >= 8) {
        uint64_t number = numbers[below(m, sizeof numbers / sizeof *numbers)];
        memcpy(value + (size_t)below(m, (int)(size / 8)) * 8, &number, sizeof number);
    } else {
        size = LLVMFuzzerMutate(value, size, sizeof value);
    }
    return set_value(m, i, value, size);
}

static size_t drop(mutation *m, int i) {
    const ox_field *field = &m->fields->at[i];
    return ox_fields_replace(m->fields, field->parent, field->tag, field->end, NULL, 0, m->out, m->room);
}

static size_t repeat(mutation *m, int i) {
    const ox_field *field = &m->fields->at[i];
    return ox_fields_replace(m->fields, field->parent, field->end, field->end, m->fields->bytes + field->tag,
                             field->end - field->tag, m->out, m->room);
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------ */

static bool is_node(const ox_field *field) {
    return field->message && !strcmp(field->message->short_name, "NodeProto");
}

/* The first field of that name in field i; -1 if there is none. */
static int child(const ox_fields *fields, int i, const char *name) {
    for (int k = i + 1; k < fields->count && fields->at[k].tag < fields->at[i].end; k++)
        if (fields->at[k].parent == i && fields->at[k].descriptor && !strcmp(fields->at[k].descriptor->name, name))
            return k;
    return -1;
}

/* Writes field i, a message, with `text` as the value of its field k; returns the bytes, 0 without room. */
static size_t write_with(const ox_fields *fields, int i, int k, const char *text, uint8_t *out, size_t room) {
    const ox_field *field = &fields->at[i], *inner = &fields->at[k];
    const size_t size = strlen(text), length = field->end - field->value - (inner->end - inner->tag) + 2 + size;
    if (field->end - field->tag + size + 20 > room)
        return 0;
    uint64_t tag;
    size_t n = ox_varint_read(fields->bytes + field->tag, field->end - field->tag, &tag);
    memcpy(out, fields->bytes + field->tag, n);
    n += ox_varint_write(length, out + n);
    memcpy(out + n, fields->bytes + field->value, inner->tag - field->value);
    n += inner->tag - field->value;
    out[n++] = (uint8_t)(inner->descriptor->id << 3 | 2);
    out[n++] = (uint8_t)size;
    memcpy(out + n, text, size);
    memcpy(out + n + size, fields->bytes + inner->end, field->end - inner->end);
    return n + size + field->end - inner->end;
}

/* A node becomes two: one that computes the same, and one that reads its result and gives what it gave. */
static size_t deepen(mutation *m, int i) {
    static uint8_t pair[2 * MOST_VALUE];
    const ox_field *field = &m->fields->at[i];
    const int input = child(m->fields, i, "input"), output = child(m->fields, i, "output");
    char name[] = "~~~~";
    for (int k = 1; k < 4; k++)
        name[k] = (char)('a' + below(m, 26));
    if (input < 0 || output < 0 || field->end - field->tag > MOST_VALUE - 30)
        return 0;
    size_t size = write_with(m->fields, i, output, name, pair, MOST_VALUE);
    size += write_with(m->fields, i, input, name, pair + size, MOST_VALUE);
    return ox_fields_replace(m->fields, field->parent, field->tag, field->end, pair, size, m->out, m->room);
}

static bool is_operator(const ox_field *field) {
    return field->descriptor && !strcmp(field->descriptor->name, "op_type");
}

static size_t change(mutation *m, int i) {
    const ox_field *field = &m->fields->at[i];
    int choice = below(m, 10);
    if (choice == 0)
        return drop(m, i);
    if (choice == 1)
        return repeat(m, i);
    if (choice == 2)
        return copy_value(m, i, same_kind);
    if (field->wire_type == 0)
        return choice == 3 ? copy_value(m, i, same_type) : change_number(m, i);
    if (is_operator(field) && choice < 8)
        return change_operator(m, i);
    if (is_node(field) && choice < 7)
        return deepen(m, i);
    if (field->message)
        return copy_value(m, i, same_kind);
    return choice < 7 ? copy_value(m, i, same_type) : change_bytes(m, i);
}

static ox_fields listed, listed_too;

size_t ox_mutate(const ProtobufCMessageDescriptor *type, uint8_t *data, size_t size, size_t room, unsigned seed) {
    static uint8_t out[1 << 16];
    mutation m = {&listed, seed, out, room < sizeof out ? room : sizeof out};
    ox_fields_list(&listed, type, data, size);
    for (int turn = 0; turn < TRIES && listed.count; turn++) {
        size_t changed = change(&m, below(&m, listed.count));
        if (!changed)
            continue;
        memcpy(data, out, changed);
        return changed;
    }
    return LLVMFuzzerMutate(data, size, room);
}

size_t ox_cross_over(const ProtobufCMessageDescriptor *type, const uint8_t *first, size_t first_size,
                     const uint8_t *second, size_t second_size, uint8_t *out, size_t room, unsigned seed) {
    ox_fields_list(&listed, type, first, first_size);
    ox_fields_list(&listed_too, type, second, second_size);
    mutation m = {&listed, seed, out, room};
    for (int turn = 0; turn < TRIES && listed.count && listed_too.count; turn++) {
        const ox_field *to = &listed.at[below(&m, listed.count)];
        const ox_field *from = &listed_too.at[below(&m, listed_too.count)];
        if (!to->descriptor || to->descriptor != from->descriptor)
            continue;
        size_t start = below(&m, 2) ? to->tag : to->end;
        return ox_fields_replace(&listed, to->parent, start, to->end, second + from->tag, from->end - from->tag, out,
                                 room);
    }
    return 0;
}
