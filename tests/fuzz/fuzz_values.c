/* fuzz_values.c: any bytes as a sequence, an optional or a map: the first byte says of which type, and whether the rest
 * is a message or a literal of the command. What is read is printed, taken apart and put together. */
#include <stdlib.h>
#include <string.h>

#include "datum.h"
#include "mutate.h"
#include "onnx.pb-c.h"
#include "text.h"
#include "value_source.h"

static const ox_options limits = {.limits = {.bytes = 1 << 26, .tensor_bytes = 1 << 20}};

typedef struct stated {
    ox_kind kind;
    const char *type;
} stated;

static const stated types[] = {
    {OX_KIND_SEQUENCE, "seq(tensor(float))"},      {OX_KIND_SEQUENCE, "seq(tensor(string))"},
    {OX_KIND_SEQUENCE, "seq(seq(tensor(int64)))"}, {OX_KIND_SEQUENCE, "seq(map(int64,tensor(float)))"},
    {OX_KIND_OPTIONAL, "optional(tensor(float))"}, {OX_KIND_OPTIONAL, "optional(seq(tensor(uint8)))"},
    {OX_KIND_MAP, "map(int64,tensor(float))"},     {OX_KIND_MAP, "map(string,tensor(string))"},
    {OX_KIND_MAP, "map(uint8,seq(tensor(bool)))"},
};

static const stated *type_of(const uint8_t *data) {
    return &types[data[0] / 2 % (sizeof types / sizeof *types)];
}

/* Texts that are not in brackets may name files. */
static ox_status read_literal(const uint8_t *data, size_t size, const stated *type, ox_value **value, ox_error *error) {
    ox_value_info info = {.name = "x", .kind = type->kind, .rank = -1};
    ox_text text = {0};
    ox_status status = OX_ERROR_FILE;
    memcpy(info.type, type->type, strlen(type->type));
    ox_text_format(&text, "%.*s", (int)size, (const char *)data);
    if (text.data && (*text.data == '[' || *text.data == '{' || !strcmp(text.data, "none")) &&
        !strstr(text.data, ".pb"))
        status = ox_value_source_load(text.data, &info, value, error);
    ox_text_free(&text);
    return status;
}

static void print(const ox_value *value) {
    const ox_datum datum = {.value = value};
    ox_text text = {0};
    ox_datum_text(&text, "x", &datum, (ox_manner){NULL, false});
    ox_datum_text(&text, "x", &datum, (ox_manner){NULL, true});
    ox_datum_json(&text, "x", &datum, (ox_manner){NULL, false});
    ox_text_free(&text);
}

/* What a value says of itself, and a copy of its items in another one. */
static void take_apart(const ox_value *value, ox_kind kind, ox_error *error) {
    char text[OX_TYPE_TEXT];
    const size_t count = ox_value_count(value);
    const ox_value **items = calloc(count + 1, sizeof *items);
    ox_value *made = NULL;
    if (!items || !*ox_value_type(value, text) || ox_value_kind(value) != kind ||
        (kind == OX_KIND_OPTIONAL && count > 1))
        abort();
    for (size_t i = 0; i < count; i++)
        items[i] = ox_value_item(value, i);
    if (ox_value_from_items(kind, ox_value_keys(value), items, count, &limits, &made, error) == OX_OK &&
        ox_value_count(made) != count)
        abort();
    ox_value_free(made);
    free(items);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ox_error error = {OX_OK, ""};
    ox_value *value = NULL;
    if (size < 1)
        return 0;
    const stated *type = type_of(data);
    const ox_status status = data[0] % 2
                                 ? read_literal(data + 1, size - 1, type, &value, &error)
                                 : ox_value_from_proto(type->kind, data + 1, size - 1, &limits, &value, NULL, &error);
    if (status)
        return 0;
    print(value);
    take_apart(value, type->kind, &error);
    ox_value_free(value);
    return 0;
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed) {
    static const ProtobufCMessageDescriptor *const messages[] = {[OX_KIND_SEQUENCE] = &onnx__sequence_proto__descriptor,
                                                                 [OX_KIND_OPTIONAL] = &onnx__optional_proto__descriptor,
                                                                 [OX_KIND_MAP] = &onnx__map_proto__descriptor};
    if (size < 2 || data[0] % 2 || seed % 4 == 0)
        return LLVMFuzzerMutate(data, size, room);
    return 1 + ox_mutate(messages[type_of(data)->kind], data + 1, size - 1, room - 1, seed / 4);
}
