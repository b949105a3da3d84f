/* proto.c: tensors and other values as the messages that ONNX's test data hold. */
#include "proto.h"

#include <string.h>

#include "array.h"
#include "number.h"

/* What the fields of the messages are called in onnx.proto. */
enum {
    TENSOR_DIMS = 1,
    TENSOR_DATA_TYPE = 2,
    TENSOR_STRING_DATA = 6,
    TENSOR_NAME = 8,
    TENSOR_RAW_DATA = 9,
    VALUE_NAME = 1, /* of sequences, optionals and maps */
    VALUE_ELEM_TYPE = 2,
    ITEMS_BEHIND_TYPE = 2,
    MAP_KEY_TYPE = 2,
    MAP_KEYS = 3,
    MAP_STRING_KEYS = 4,
    MAP_VALUES = 5
};

/* The number of a kind as the type of elements; sequences and optionals hold such items in the field two behind. */
static unsigned elem_type_of(ox_kind kind) {
    return kind == OX_KIND_SEQUENCE ? 3 : kind == OX_KIND_MAP ? 4 : kind == OX_KIND_OPTIONAL ? 5 : 1;
}

static void put_varint(ox_text *bytes, uint64_t number) {
    for (; number > 0x7F; number >>= 7)
        ox_text_add(bytes, &(char){(char)(number | 0x80)}, 1);
    ox_text_add(bytes, &(char){(char)number}, 1);
}

static void put_number(ox_text *bytes, unsigned field, uint64_t number) {
    put_varint(bytes, field << 3);
    put_varint(bytes, number);
}

static void put_bytes(ox_text *bytes, unsigned field, const char *data, size_t size) {
    put_varint(bytes, field << 3 | 2);
    put_varint(bytes, size);
    ox_text_add(bytes, data, size);
}

/* ---- Tensors ----------------------------------------------------------------------------------------------------- */

/* Elements of less than 8 bits, the first one lowest. */
static void put_tiny(ox_text *bytes, const ox_tensor *tensor, unsigned bits) {
    unsigned kept = 0, count = 0;
    for (ox_walk walk = ox_walk_start(tensor); walk.element; ox_walk_next(&walk)) {
        kept |= ((unsigned char)*walk.element & ((1u << bits) - 1)) << count;
        for (count += bits; count >= 8; count -= 8, kept >>= 8)
            ox_text_add(bytes, &(char){(char)kept}, 1);
    }
    if (count)
        ox_text_add(bytes, &(char){(char)kept}, 1);
}

/* Numbers of `part` bytes, the lowest first. */
static void put_swapped(ox_text *bytes, const char *element, size_t size, size_t part) {
    for (size_t i = 0; i < size; i++)
        ox_text_add(bytes, &element[i - i % part + (part - 1 - i % part)], 1);
}

static void put_raw(ox_text *bytes, const ox_tensor *tensor) {
    const size_t size = ox_dtype_size(tensor->dtype);
    const size_t part = ox_number_kind_of(tensor->dtype) == OX_NUMBER_COMPLEX ? size / 2 : size;
    const unsigned bits = (unsigned)ox_dtype_bits(tensor->dtype);
    const bool swaps = __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__;
    if (bits < 8) {
        put_tiny(bytes, tensor, bits);
    } else if (!swaps && ox_tensor_is_packed(tensor)) {
        ox_text_add(bytes, tensor->data, (size_t)ox_tensor_count(tensor) * size);
    } else {
        for (ox_walk walk = ox_walk_start(tensor); walk.element; ox_walk_next(&walk))
            if (swaps)
                put_swapped(bytes, walk.element, size, part);
            else
                ox_text_add(bytes, walk.element, size);
    }
}

static void put_strings(ox_text *bytes, const ox_tensor *tensor, unsigned field) {
    for (ox_walk walk = ox_walk_start(tensor); walk.element; ox_walk_next(&walk)) {
        const ox_string *string = (const ox_string *)(const void *)walk.element;
        put_bytes(bytes, field, string->data, string->size);
    }
}

static void put_tensor(ox_text *bytes, const char *name, const ox_tensor *tensor) {
    ox_text raw = {0};
    for (int d = 0; d < tensor->rank; d++)
        put_number(bytes, TENSOR_DIMS, (uint64_t)tensor->dims[d]);
    put_number(bytes, TENSOR_DATA_TYPE, tensor->dtype);
    if (name)
        put_bytes(bytes, TENSOR_NAME, name, strlen(name));
    if (tensor->dtype == OX_STRING) {
        put_strings(bytes, tensor, TENSOR_STRING_DATA);
        return;
    }
    put_raw(&raw, tensor);
    put_bytes(bytes, TENSOR_RAW_DATA, raw.data, raw.size);
    ox_text_free(&raw);
}

/* ---- Other values ------------------------------------------------------------------------------------------------ */

static void put_value(ox_text *bytes, const char *name, const ox_value *value);

static void put_message(ox_text *bytes, unsigned field, const ox_value *value) {
    ox_text message = {0};
    put_value(&message, NULL, value);
    put_bytes(bytes, field, message.data, message.size);
    ox_text_free(&message);
}

/* The fields of a sequence, which the values of a map are too. */
static void put_items(ox_text *bytes, const ox_value *value) {
    const size_t count = ox_value_count(value);
    const unsigned type = elem_type_of(ox_value_kind(ox_value_item(value, 0)));
    put_number(bytes, VALUE_ELEM_TYPE, type);
    for (size_t i = 0; i < count; i++)
        put_message(bytes, type + ITEMS_BEHIND_TYPE, ox_value_item(value, i));
}

static void put_keys(ox_text *bytes, const ox_tensor *keys) {
    put_number(bytes, MAP_KEY_TYPE, keys->dtype);
    if (keys->dtype == OX_STRING) {
        put_strings(bytes, keys, MAP_STRING_KEYS);
        return;
    }
    for (ox_walk walk = ox_walk_start(keys); walk.element; ox_walk_next(&walk)) {
        const ox_number key = ox_number_load(keys->dtype, walk.element);
        put_number(bytes, MAP_KEYS, key.negative ? 0 - key.magnitude : key.magnitude);
    }
}

static void put_map(ox_text *bytes, const ox_value *value) {
    ox_text items = {0};
    put_keys(bytes, ox_value_keys(value));
    put_items(&items, value);
    put_bytes(bytes, MAP_VALUES, items.data, items.size);
    ox_text_free(&items);
}

static void put_optional(ox_text *bytes, const ox_value *value) {
    const ox_value *item = ox_value_item(value, 0);
    const unsigned type = elem_type_of(ox_value_kind(item));
    put_number(bytes, VALUE_ELEM_TYPE, item ? type : 0);
    if (item)
        put_message(bytes, type + ITEMS_BEHIND_TYPE, item);
}

static void put_value(ox_text *bytes, const char *name, const ox_value *value) {
    if (ox_value_tensor(value)) {
        put_tensor(bytes, name, ox_value_tensor(value));
        return;
    }
    if (name)
        put_bytes(bytes, VALUE_NAME, name, strlen(name));
    if (ox_value_kind(value) == OX_KIND_MAP)
        put_map(bytes, value);
    else if (ox_value_kind(value) == OX_KIND_OPTIONAL)
        put_optional(bytes, value);
    else
        put_items(bytes, value);
}

void ox_proto_put(ox_text *bytes, const char *name, const ox_datum *datum) {
    if (datum->value)
        put_value(bytes, name, datum->value);
    else
        put_tensor(bytes, name, &datum->tensor);
}
