/* value_proto.c: values from serialized SequenceProtos, OptionalProtos and MapProtos. */
#include <string.h>

#include "payload.h"
#include "runtime/options.h"
#include "runtime/own.h"

/* A value being read. */
typedef struct reader {
    ox_tensor_source source; /* its pile is for what is copied from */
    ox_pile *pile;           /* of the value */
    ox_error *error;
    int depth;
} reader;

static ox_status read_sequence(reader *r, const Onnx__SequenceProto *proto, ox_value *value);

static ox_status no_memory(const reader *r, size_t count) {
    return ox_fail_memory(r->error, "a value", count * sizeof(ox_value));
}

static ox_status read_tensor(reader *r, const Onnx__TensorProto *proto, ox_value *value) {
    ox_tensor found;
    OX_TRY(ox_payload_tensor(&r->source, proto, &found));
    const ox_value *made = ox_own_tensor(r->pile, &found);
    if (!made)
        return no_memory(r, 1);
    *value = *made;
    return OX_OK;
}

/* Room for items, whose list is the value's. */
static ox_status make_items(reader *r, size_t count, ox_value *value, ox_value **items) {
    const ox_value **list = ox_pile_array(r->pile, count, sizeof *list);
    *items = ox_pile_array(r->pile, count, sizeof **items);
    if (count > OX_MAX_ITEMS)
        return ox_fail(r->error, OX_ERROR_LIMIT, "%zu items are too many, at most %zu are supported", count,
                       (size_t)OX_MAX_ITEMS);
    if (!list || !*items)
        return no_memory(r, count);
    for (size_t i = 0; i < count; i++)
        list[i] = *items + i;
    value->items = list;
    value->count = count;
    return OX_OK;
}

/* The type of the value, once its items are there. */
static ox_status settle_type(reader *r, ox_kind kind, ox_dtype key, ox_value *value) {
    ox_dtype item = OX_UNDEFINED;
    for (size_t i = 0; i < value->count; i++)
        OX_TRY(ox_own_join(&item, value->items[i]->type, i, r->error));
    value->type = ox_type_around(kind, key, item);
    if (value->type != OX_UNDEFINED)
        return OX_OK;
    return ox_fail(r->error, OX_ERROR_MODEL, "a value nests deeper than %d, or is a map with keys of type %s",
                   (int)OX_MOST_LEVELS, ox_dtype_name(key));
}

/* ---- Maps --------------------------------------------------------------------------------------------------- */

/* As an element of the type of integers, which it must fit. */
static ox_status put_key(reader *r, ox_dtype dtype, int64_t key, void *to) {
    const size_t size = ox_dtype_size(dtype);
    const bool has_sign = OX_BIT(dtype) & OX_SET_SINT;
    const int64_t top = size < 8 ? (int64_t)1 << (8 * size - has_sign) : 0;
    if (size < 8 && (key >= top || key < (has_sign ? -top : 0)))
        return ox_fail(r->error, OX_ERROR_MODEL, "key %lld does not fit %s", (long long)key, ox_dtype_name(dtype));
    const int8_t k8 = (int8_t)key;
    const int16_t k16 = (int16_t)key;
    const int32_t k32 = (int32_t)key;
    memcpy(to,
           size == 1   ? (const void *)&k8
           : size == 2 ? (const void *)&k16
           : size == 4 ? (const void *)&k32
                       : &key,
           size);
    return OX_OK;
}

static ox_status read_keys(reader *r, const Onnx__MapProto *proto, ox_dtype dtype, ox_value *value) {
    const bool texts = dtype == OX_STRING;
    const int64_t count = (int64_t)(texts ? proto->n_string_keys : proto->n_keys);
    if (!(OX_BIT(dtype) & (OX_SET_INT | OX_BIT(OX_STRING))) || (texts ? proto->n_keys : proto->n_string_keys))
        return ox_fail(r->error, OX_ERROR_MODEL, "a map has keys of type %s, and %zu integers and %zu texts as keys",
                       ox_dtype_name(dtype), proto->n_keys, proto->n_string_keys);
    const ox_value *keys = ox_make_tensor(r->pile, dtype, 1, &count, NULL);
    if (!keys)
        return no_memory(r, (size_t)count);
    for (int64_t i = 0; i < count; i++) {
        char *at = (char *)keys->tensor.data + (size_t)i * ox_dtype_size(dtype);
        if (!texts) {
            OX_TRY(put_key(r, dtype, proto->keys[i], at));
            continue;
        }
        const ProtobufCBinaryData *from = &proto->string_keys[i];
        char *text = ox_pile_get(r->pile, from->len + 1);
        if (!text)
            return no_memory(r, (size_t)count);
        if (from->len)
            memcpy(text, from->data, from->len);
        const ox_string s = {text, from->len};
        memcpy(at, &s, sizeof s);
    }
    value->tensor = keys->tensor;
    return OX_OK;
}

static ox_status read_map(reader *r, const Onnx__MapProto *proto, ox_value *value) {
    ox_value values = {0};
    const int32_t given = proto->has_key_type ? proto->key_type : OX_UNDEFINED;
    const ox_dtype key = given > 0 && given < OX_DTYPE_COUNT ? (ox_dtype)given : OX_UNDEFINED;
    OX_TRY(read_keys(r, proto, key, value));
    if (proto->values)
        OX_TRY(read_sequence(r, proto->values, &values));
    if (values.count != (uint64_t)value->tensor.dims[0])
        return ox_fail(r->error, OX_ERROR_MODEL, "a map has %lld keys and %zu values", (long long)value->tensor.dims[0],
                       values.count);
    value->items = values.items;
    value->count = values.count;
    return settle_type(r, OX_KIND_MAP, key, value);
}

/* ---- Optionals ---------------------------------------------------------------------------------------------- */

static ox_status read_optional(reader *r, const Onnx__OptionalProto *proto, ox_value *value) {
    const size_t count = (size_t)(proto->tensor_value != NULL) + (proto->sequence_value != NULL) +
                         (proto->map_value != NULL) + (proto->optional_value != NULL);
    ox_value *item;
    if (count > 1 || proto->sparse_tensor_value)
        return ox_fail(r->error, count > 1 ? OX_ERROR_MODEL : OX_ERROR_UNSUPPORTED, "an optional holds %s",
                       count > 1 ? "several values" : "a sparse tensor");
    if (++r->depth > OX_MOST_LEVELS)
        return settle_type(r, OX_KIND_UNKNOWN, OX_UNDEFINED, value);
    OX_TRY(make_items(r, count, value, &item));
    if (proto->tensor_value)
        OX_TRY(read_tensor(r, proto->tensor_value, item));
    else if (proto->sequence_value)
        OX_TRY(read_sequence(r, proto->sequence_value, item));
    else if (proto->map_value)
        OX_TRY(read_map(r, proto->map_value, item));
    else if (proto->optional_value)
        OX_TRY(read_optional(r, proto->optional_value, item));
    r->depth--;
    return settle_type(r, OX_KIND_OPTIONAL, OX_UNDEFINED, value);
}

/* ---- Sequences ---------------------------------------------------------------------------------------------- */

static ox_status read_item(reader *r, const Onnx__SequenceProto *proto, size_t i, ox_value *item) {
    if (proto->n_tensor_values)
        return read_tensor(r, proto->tensor_values[i], item);
    if (proto->n_sequence_values)
        return read_sequence(r, proto->sequence_values[i], item);
    if (proto->n_map_values)
        return read_map(r, proto->map_values[i], item);
    return read_optional(r, proto->optional_values[i], item);
}

static ox_status read_sequence(reader *r, const Onnx__SequenceProto *proto, ox_value *value) {
    const size_t counts[] = {proto->n_tensor_values, proto->n_sequence_values, proto->n_map_values,
                             proto->n_optional_values, proto->n_sparse_tensor_values};
    size_t count = 0, kinds = 0;
    ox_value *items;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        count = counts[k] ? counts[k] : count;
        kinds += counts[k] != 0;
    }
    if (kinds > 1 || proto->n_sparse_tensor_values)
        return ox_fail(r->error, kinds > 1 ? OX_ERROR_MODEL : OX_ERROR_UNSUPPORTED, "a sequence holds %s",
                       kinds > 1 ? "values of several kinds" : "sparse tensors");
    if (++r->depth > OX_MOST_LEVELS)
        return settle_type(r, OX_KIND_UNKNOWN, OX_UNDEFINED, value);
    OX_TRY(make_items(r, count, value, &items));
    for (size_t i = 0; i < count; i++)
        OX_TRY(read_item(r, proto, i, &items[i]));
    r->depth--;
    return settle_type(r, OX_KIND_SEQUENCE, OX_UNDEFINED, value);
}

/* ---- Files -------------------------------------------------------------------------------------------------- */

static const ProtobufCMessageDescriptor *message_of(ox_kind kind) {
    switch ((int)kind) {
    case OX_KIND_TENSOR:
        return &onnx__tensor_proto__descriptor;
    case OX_KIND_SEQUENCE:
        return &onnx__sequence_proto__descriptor;
    case OX_KIND_OPTIONAL:
        return &onnx__optional_proto__descriptor;
    case OX_KIND_MAP:
        return &onnx__map_proto__descriptor;
    default:
        return NULL;
    }
}

static ox_status read_message(reader *r, ox_kind kind, const ProtobufCMessage *message, const char **name,
                              ox_value *value) {
    const void *proto = message;
    switch ((int)kind) {
    case OX_KIND_TENSOR:
        *name = ((const Onnx__TensorProto *)proto)->name;
        return read_tensor(r, proto, value);
    case OX_KIND_SEQUENCE:
        *name = ((const Onnx__SequenceProto *)proto)->name;
        return read_sequence(r, proto, value);
    case OX_KIND_OPTIONAL:
        *name = ((const Onnx__OptionalProto *)proto)->name;
        return read_optional(r, proto, value);
    default:
        *name = ((const Onnx__MapProto *)proto)->name;
        return read_map(r, proto, value);
    }
}

static ox_status keep_name(ox_owned *owned, const char *name, ox_error *error) {
    const size_t size = name ? ox_text_size(name, SIZE_MAX) : 0;
    char *kept = ox_pile_get(&owned->pile, size + 1);
    if (!kept)
        return ox_fail_memory(error, "a name", size);
    if (size)
        memcpy(kept, name, size);
    owned->name = kept;
    return OX_OK;
}

static ox_status take_parsed(const ox_parsed *parsed, ox_kind kind, ox_owned *owned, ox_error *error) {
    const ox_allocator temporary = ox_temporary(&owned->allocator);
    const char *name = NULL;
    ox_pile pile;
    ox_pile_init(&pile, &temporary);
    reader r = {.source = {.parsed = parsed, .pile = &pile, .error = error}, .pile = &owned->pile, .error = error};
    ox_status status = read_message(&r, kind, parsed->message, &name, &owned->value);
    if (!status)
        status = keep_name(owned, name, error);
    ox_pile_free(&pile);
    return status;
}

ox_status ox_value_from_proto(ox_kind kind, const void *bytes, size_t size, const ox_options *options, ox_value **value,
                              const char **name, ox_error *error) {
    const ProtobufCMessageDescriptor *type = message_of(kind);
    ox_owned *owned;
    ox_parsed parsed;
    ox_error_clear(error);
    OX_NEED(value, error);
    *value = NULL;
    if (size)
        OX_NEED(bytes, error);
    if (!type)
        return ox_fail(error, OX_ERROR_ARGUMENT, "there is no file format for values of kind %d", (int)kind);
    OX_TRY(ox_own_begin(options, &owned, error));
    const ox_allocator temporary = ox_temporary(&owned->allocator);
    ox_status status = ox_parse(type, bytes, size, &temporary, &parsed, error);
    if (!status) {
        status = take_parsed(&parsed, kind, owned, error);
        ox_parsed_free(&parsed, &temporary);
    }
    if (!status && name)
        *name = owned->name;
    return ox_own_end(owned, status, value);
}
