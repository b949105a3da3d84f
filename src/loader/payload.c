/* payload.c: the data of tensors: raw, typed fields, strings, external files; every element type. */
#include "payload.h"

#include "ops/index/unpack_bits.h"

#include <string.h>

enum {
    FLOAT_DATA = 4,
    INT32_DATA = 5,
    STRING_DATA = 6,
    INT64_DATA = 7,
    RAW_DATA = 9,
    DOUBLE_DATA = 10,
    UINT64_DATA = 11,
    EXTERNAL_DATA = 13
};

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
enum {
    LITTLE_ENDIAN_HOST = 1
};
#else
enum {
    LITTLE_ENDIAN_HOST = 0
};
#endif

/* The data as it was found. */
typedef struct found {
    uint32_t field; /* 0 if there is none */
    const void *data;
    size_t count; /* elements of the field; bytes of raw and external data */
    bool stays;   /* raw little-endian bytes that live as long as the tensor */
} found;

static const char *field_name(uint32_t field) {
    switch (field) {
    case FLOAT_DATA:
        return "float_data";
    case INT32_DATA:
        return "int32_data";
    case STRING_DATA:
        return "string_data";
    case INT64_DATA:
        return "int64_data";
    case RAW_DATA:
        return "raw_data";
    case DOUBLE_DATA:
        return "double_data";
    case UINT64_DATA:
        return "uint64_data";
    case EXTERNAL_DATA:
        return "external data";
    default:
        return "no field";
    }
}

/* The typed field for an element type. */
static uint32_t typed_field(ox_dtype dtype) {
    switch (dtype) {
    case OX_FLOAT:
    case OX_COMPLEX64:
        return FLOAT_DATA;
    case OX_DOUBLE:
    case OX_COMPLEX128:
        return DOUBLE_DATA;
    case OX_INT64:
        return INT64_DATA;
    case OX_UINT32:
    case OX_UINT64:
        return UINT64_DATA;
    case OX_STRING:
        return STRING_DATA;
    default:
        return INT32_DATA;
    }
}

static size_t is_complex(ox_dtype dtype) {
    return OX_MOVES_ANY(OX_SET_COMPLEX) && OX_BIT(dtype) & OX_SET_COMPLEX ? 1 : 0;
}

/* How many entries of a field hold `count` elements. */
static bool wanted_entries(ox_dtype dtype, uint32_t field, size_t count, size_t *entries) {
    size_t bits = (size_t)ox_dtype_bits(dtype);
    if (field == RAW_DATA || field == EXTERNAL_DATA) {
        size_t total;
        if (bits >= 8)
            return ox_mul_size(count, bits / 8, entries);
        if (!ox_mul_size(count, bits, &total))
            return false;
        *entries = total / 8 + (total % 8 != 0);
        return true;
    }
    if (field == INT32_DATA && (bits == 4 || bits == 2)) {
        size_t each = 8 / bits;
        *entries = count / each + (count % each != 0);
        return true;
    }
    return ox_mul_size(count, 1 + is_complex(dtype), entries);
}

/* ---- Finding the data --------------------------------------------------------------------------------------- */

static ox_status note(const ox_tensor_source *source, found *f, uint32_t field, const void *data, size_t count) {
    if (!count)
        return OX_OK;
    if (f->field)
        return ox_fail(source->error, OX_ERROR_MODEL, "has both %s and %s", field_name(f->field), field_name(field));
    *f = (found){field, data, count, false};
    return OX_OK;
}

static ox_status note_payload(const ox_tensor_source *source, const Onnx__TensorProto *proto, found *f) {
    const ox_payload *payload = ox_parsed_payload(source->parsed, proto->ox_payload);
    if (!payload)
        return ox_fail(source->error, OX_ERROR_MODEL, "payload %u does not exist", (unsigned)proto->ox_payload);
    size_t width = payload->field == FLOAT_DATA ? 4 : payload->field == DOUBLE_DATA ? 8 : 1;
    OX_TRY(note(source, f, payload->field, source->parsed->bytes + payload->offset, payload->size / width));
    f->stays = true;
    return OX_OK;
}

static ox_status find_inside(const ox_tensor_source *source, const Onnx__TensorProto *proto, found *f) {
    if (proto->has_ox_payload)
        OX_TRY(note_payload(source, proto, f));
    OX_TRY(note(source, f, RAW_DATA, proto->raw_data.data, proto->has_raw_data ? proto->raw_data.len : 0));
    if (!OX_WITH_TYPED)
        return proto->n_float_data || proto->n_int32_data || proto->n_string_data || proto->n_int64_data ||
                       proto->n_double_data || proto->n_uint64_data
                   ? (ox_fail)(source->error, OX_ERROR_UNSUPPORTED, "this build of the library reads raw_data alone")
                   : OX_OK;
    OX_TRY(note(source, f, FLOAT_DATA, proto->float_data, proto->n_float_data));
    OX_TRY(note(source, f, INT32_DATA, proto->int32_data, proto->n_int32_data));
    OX_TRY(note(source, f, STRING_DATA, proto->string_data, proto->n_string_data));
    OX_TRY(note(source, f, INT64_DATA, proto->int64_data, proto->n_int64_data));
    OX_TRY(note(source, f, DOUBLE_DATA, proto->double_data, proto->n_double_data));
    return note(source, f, UINT64_DATA, proto->uint64_data, proto->n_uint64_data);
}

static bool parse_size(const char *text, size_t *value) {
    *value = 0;
    if (!*text)
        return false;
    for (; *text; text++)
        if (*text < '0' || *text > '9' || !ox_mul_size(*value, 10, value) ||
            __builtin_add_overflow(*value, (size_t)(*text - '0'), value))
            return false;
    return true;
}

typedef struct external_keys {
    const char *location, *offset, *length;
} external_keys;

static external_keys read_keys(const Onnx__TensorProto *proto) {
    external_keys keys = {NULL, "0", NULL};
    for (size_t i = 0; i < proto->n_external_data; i++) {
        const Onnx__StringStringEntryProto *entry = proto->external_data[i];
        const char *key = entry->key ? entry->key : "", *value = entry->value ? entry->value : "";
        if (!ox_text_order(key, "location"))
            keys.location = value;
        else if (!ox_text_order(key, "offset"))
            keys.offset = value;
        else if (!ox_text_order(key, "length"))
            keys.length = value;
    }
    return keys;
}

/* The bytes of a file; *bytes is NULL where it is missing and that may be. */
static ox_status open_file(const ox_tensor_source *source, const char *location, const unsigned char **bytes,
                           size_t *size) {
    ox_status status = OX_ERROR_FILE;
    *bytes = NULL;
    if (source->external)
        status = source->external(source->context, location, bytes, size, source->error);
    if (status != OX_ERROR_FILE || !source->missing)
        return status;
    const size_t length = ox_text_size(location, SIZE_MAX) + 1;
    char *copy = *source->missing ? NULL : ox_pile_get(source->pile, length);
    if (copy)
        *source->missing = memcpy(copy, location, length);
    ox_error_clear(source->error);
    return *source->missing ? OX_OK : ox_fail_memory(source->error, "a file's name", length);
}

static ox_status find_outside(const ox_tensor_source *source, const Onnx__TensorProto *proto, size_t wanted, found *f) {
    external_keys keys = read_keys(proto);
    const unsigned char *bytes;
    size_t size, offset, length = wanted;
    if (!keys.location)
        return ox_fail(source->error, OX_ERROR_MODEL, "external data without a location");
    if (!source->external && !source->external_data && !source->missing)
        return ox_fail(source->error, OX_ERROR_UNSUPPORTED,
                       "external data in '%.*s': only models loaded from a file have a place to look for it", 80,
                       keys.location);
    if (!parse_size(keys.offset, &offset) || (keys.length && !parse_size(keys.length, &length)))
        return ox_fail(source->error, OX_ERROR_MODEL,
                       "external data '%.*s': offset '%.*s' and length '%.*s' must be numbers", 80, keys.location, 40,
                       keys.offset, 40, keys.length ? keys.length : "");
    if (source->external_data) {
        const void *data = source->external_data(source->external_context, keys.location, offset, length);
        *f = (found){EXTERNAL_DATA, data, length, true};
        return data ? OX_OK
                    : ox_fail(source->error, OX_ERROR_MODEL,
                              "external data '%.*s': there are no %zu bytes at offset %zu", 80, keys.location, length,
                              offset);
    }
    OX_TRY(open_file(source, keys.location, &bytes, &size));
    if (bytes && (offset > size || length > size - offset))
        return ox_fail(source->error, OX_ERROR_MODEL,
                       "external data '%.*s' has %zu bytes, too few for %zu from offset %zu", 80, keys.location, size,
                       length, offset);
    *f = (found){EXTERNAL_DATA, bytes ? bytes + offset : NULL, length, true};
    return OX_OK;
}

/* ---- Elements ----------------------------------------------------------------------------------------------- */

static ox_status make_room(const ox_tensor_source *source, ox_tensor *tensor, size_t size) {
    tensor->data = ox_pile_get(source->pile, size ? size : 1);
    return tensor->data ? OX_OK : ox_fail_memory(source->error, "its elements", size);
}

static void copy_swapped(unsigned char *to, const unsigned char *from, size_t size, size_t width) {
    for (size_t i = 0; i < size; i++)
        to[i] = from[i - i % width + (width - 1 - i % width)];
}

/* The bytes of a number of an element: the whole element, or one of its two parts. */
static size_t number_size(ox_dtype dtype) {
    return ox_dtype_size(dtype) / (1 + is_complex(dtype));
}

/* Little-endian bytes: used where they lie if the machine can. */
static ox_status take_bytes(const ox_tensor_source *source, ox_tensor *tensor, const found *f, size_t size) {
    bool aligned = OX_UNALIGNED || (uintptr_t)f->data % number_size(tensor->dtype) == 0;
    if (f->stays && aligned && (LITTLE_ENDIAN_HOST || number_size(tensor->dtype) == 1)) {
        tensor->data = (void *)(uintptr_t)f->data;
        return OX_OK;
    }
    OX_TRY(make_room(source, tensor, size));
    if (LITTLE_ENDIAN_HOST)
        memcpy(tensor->data, f->data, size);
    else
        copy_swapped(tensor->data, f->data, size, number_size(tensor->dtype));
    return OX_OK;
}

static ox_status lacking(const ox_tensor_source *source, const ox_tensor *tensor) {
    return (ox_fail)(source->error, OX_ERROR_UNSUPPORTED, "this build of the library has no %s",
                     ox_dtype_name(tensor->dtype));
}

/* One element of a type below 8 bits, from the low bits. */
static unsigned char tiny(ox_dtype dtype, unsigned bits, unsigned value) {
    value &= (1u << bits) - 1;
    bool negative = (dtype == OX_INT4 || dtype == OX_INT2) && value >> (bits - 1);
    return (unsigned char)(negative ? value | (~0u << bits) : value);
}

/* All packed types are one stream of bits, lowest first. */
static ox_status take_packed(const ox_tensor_source *source, ox_tensor *tensor, const found *f, size_t count) {
    unsigned bits = (unsigned)ox_dtype_bits(tensor->dtype);
    const unsigned char *from = f->data;
    OX_TRY(make_room(source, tensor, count));
    unsigned char *to = tensor->data;
    size_t done = 0;
#if OX_WITH_OWN_OPERATORS
    if (OX_BIT(tensor->dtype) & OX_SET_PACKED) { /* of which there may be very many */
        done = count / (8 / bits) * (8 / bits);
        ox_unpack_bits(tensor->dtype, (int64_t)(done / (8 / bits)), from, to);
    }
#endif
    for (size_t i = done; i < count; i++) {
        size_t byte = i / 8 * bits + i % 8 * bits / 8;
        unsigned shift = (unsigned)(i % 8) * bits % 8;
        unsigned value = (unsigned)from[byte] >> shift;
        if (shift + bits > 8)
            value |= (unsigned)from[byte + 1] << (8 - shift);
        to[i] = tiny(tensor->dtype, bits, value);
    }
    return OX_OK;
}

#if OX_WITH_OWN_OPERATORS
/* Rows that may stay packed: many enough, and bytes for themselves. */
static bool may_stay(const ox_tensor *tensor, const found *f) {
    return f->stays && f->count >= OX_PACKED_BYTES && tensor->rank > 1 &&
           ox_packed_row(tensor->dtype, tensor->rank - 1, tensor->dims + 1);
}
#endif

static ox_status take_raw(const ox_tensor_source *source, ox_tensor *tensor, const found *f, size_t count) {
#if OX_WITH_OWN_OPERATORS
    if (source->packed && may_stay(tensor, f)) {
        *source->packed = f->data;
        return OX_OK;
    }
#endif
    if (ox_dtype_bits(tensor->dtype) < 8)
        return OX_MOVES_ANY(OX_SET_TINY) ? take_packed(source, tensor, f, count) : lacking(source, tensor);
    return take_bytes(source, tensor, f, f->count);
}

/* int32_data of 4-bit and 2-bit types: each entry is one packed byte. */
static void take_int32_packed(ox_tensor *tensor, const int32_t *from, unsigned bits, size_t count) {
    size_t each = 8 / bits;
    unsigned char *to = tensor->data;
    for (size_t i = 0; i < count; i++)
        to[i] = tiny(tensor->dtype, bits, (unsigned)from[i / each] >> (i % each * bits));
}

static void take_int32_entry(ox_tensor *tensor, size_t i, int32_t value) {
    switch (ox_dtype_size(tensor->dtype)) {
    case 1:
        ((uint8_t *)tensor->data)[i] = (uint8_t)(tensor->dtype == OX_BOOL ? value != 0 : value);
        break;
    case 2:
        ((uint16_t *)tensor->data)[i] = (uint16_t)value;
        break;
    default:
        ((int32_t *)tensor->data)[i] = value;
        break;
    }
}

/* Entries may be written signed or unsigned, but must fit the element's bits. */
static ox_status take_int32(const ox_tensor_source *source, ox_tensor *tensor, const found *f, size_t count) {
    const int32_t *from = f->data;
    unsigned bits = (unsigned)ox_dtype_bits(tensor->dtype);
    unsigned room = bits == 4 || bits == 2 ? 8 : bits;
    int64_t least = bits == 6 ? 0 : -(INT64_C(1) << (room - 1)), most = (INT64_C(1) << room) - 1;
    for (size_t i = 0; i < f->count; i++)
        if ((from[i] < least || from[i] > most) && tensor->dtype != OX_BOOL)
            return ox_fail(source->error, OX_ERROR_MODEL, "int32_data[%zu] is %d, which does not fit %s", i,
                           (int)from[i], ox_dtype_name(tensor->dtype));
    OX_TRY(make_room(source, tensor, count * ox_dtype_size(tensor->dtype)));
    if (room > bits) {
        take_int32_packed(tensor, from, bits, count);
        return OX_OK;
    }
    for (size_t i = 0; i < count; i++)
        take_int32_entry(tensor, i, from[i]);
    return OX_OK;
}

static ox_status take_uint64(const ox_tensor_source *source, ox_tensor *tensor, const found *f, size_t count) {
    const uint64_t *from = f->data;
    OX_TRY(make_room(source, tensor, count * ox_dtype_size(tensor->dtype)));
    if (tensor->dtype == OX_UINT64) {
        memcpy(tensor->data, from, count * sizeof *from);
        return OX_OK;
    }
    uint32_t *to = tensor->data;
    for (size_t i = 0; i < count; i++) {
        if (from[i] > UINT32_MAX)
            return ox_fail(source->error, OX_ERROR_MODEL, "uint64_data[%zu] is %llu, which does not fit uint32", i,
                           (unsigned long long)from[i]);
        to[i] = (uint32_t)from[i];
    }
    return OX_OK;
}

static ox_status take_strings(const ox_tensor_source *source, ox_tensor *tensor, const found *f, size_t count) {
    const ProtobufCBinaryData *from = f->data;
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += from[i].len;
    OX_TRY(make_room(source, tensor, count * sizeof(ox_string)));
    char *bytes = ox_pile_get(source->pile, total ? total : 1);
    if (!bytes)
        return ox_fail_memory(source->error, "its strings", total);
    ox_string *to = tensor->data;
    for (size_t i = 0; i < count; i++) {
        to[i] = (ox_string){bytes, from[i].len};
        if (from[i].len)
            memcpy(bytes, from[i].data, from[i].len);
        bytes += from[i].len;
    }
    return OX_OK;
}

/* Entries that have the elements' own form. */
static ox_status take_same(const ox_tensor_source *source, ox_tensor *tensor, const found *f, size_t count) {
    size_t size = count * ox_dtype_size(tensor->dtype);
    if (f->stays)
        return take_bytes(source, tensor, f, size);
    OX_TRY(make_room(source, tensor, size));
    memcpy(tensor->data, f->data, size);
    return OX_OK;
}

/* The types whose elements lie in int32_data. */
#define INT32_TYPES                                                                                                    \
    (OX_SET_ALL & ~(OX_BIT(OX_FLOAT) | OX_BIT(OX_DOUBLE) | OX_BIT(OX_INT64) | OX_BIT(OX_UINT32) | OX_BIT(OX_UINT64) |  \
                    OX_BIT(OX_STRING) | OX_SET_COMPLEX))

static ox_status take(const ox_tensor_source *source, ox_tensor *tensor, const found *f, size_t count) {
    if (!OX_WITH_TYPED)
        return take_raw(source, tensor, f, count);
    switch (f->field) {
    case RAW_DATA:
    case EXTERNAL_DATA:
        return take_raw(source, tensor, f, count);
    case INT32_DATA:
        if (!OX_MOVES_ANY(INT32_TYPES) || (!OX_MOVES_ANY(OX_SET_TINY) && ox_dtype_bits(tensor->dtype) < 8))
            return lacking(source, tensor);
        return take_int32(source, tensor, f, count);
    case UINT64_DATA:
        if (!OX_MOVES_ANY(OX_BIT(OX_UINT32) | OX_BIT(OX_UINT64)))
            return lacking(source, tensor);
        return take_uint64(source, tensor, f, count);
    case STRING_DATA:
        return OX_MOVES_ANY(OX_BIT(OX_STRING)) ? take_strings(source, tensor, f, count) : lacking(source, tensor);
    default:
        return take_same(source, tensor, f, count);
    }
}

/* ---- Tensors ------------------------------------------------------------------------------------------------ */

static ox_status take_type(const ox_tensor_source *source, const Onnx__TensorProto *proto, ox_tensor *tensor) {
    if (!proto->has_data_type || proto->data_type <= 0)
        return ox_fail(source->error, OX_ERROR_MODEL, "has no element type");
    if (proto->data_type >= OX_DTYPE_COUNT)
        return ox_fail(source->error, OX_ERROR_UNSUPPORTED, "element type %d is not known (1 to %d are)",
                       (int)proto->data_type, (int)OX_DTYPE_COUNT - 1);
    if (proto->segment)
        return ox_fail(source->error, OX_ERROR_UNSUPPORTED, "is only a segment of a tensor");
    tensor->dtype = (ox_dtype)proto->data_type;
    return OX_OK;
}

static ox_status take_shape(const ox_tensor_source *source, const Onnx__TensorProto *proto, ox_tensor *tensor,
                            size_t *count) {
    if (proto->n_dims > OX_MAX_RANK)
        return ox_fail(source->error, OX_ERROR_LIMIT, "has rank %zu, more than %d", proto->n_dims, OX_MAX_RANK);
    tensor->rank = (int)proto->n_dims;
    int64_t elements = ox_count(tensor->rank, proto->dims);
    if (!ox_can_hold(elements, tensor->dtype))
        return ox_fail(source->error, OX_ERROR_MODEL, "has the impossible shape %s",
                       OX_DIMS(tensor->rank, proto->dims));
    int64_t *dims = ox_pile_array(source->pile, proto->n_dims, sizeof *dims);
    if (!dims)
        return ox_fail_memory(source->error, "its shape", proto->n_dims * sizeof *dims);
    if (proto->n_dims)
        memcpy(dims, proto->dims, proto->n_dims * sizeof *dims);
    tensor->dims = dims;
    *count = (size_t)elements;
    return OX_OK;
}

static ox_status check_entries(const ox_tensor_source *source, const ox_tensor *tensor, const found *f, size_t count) {
    size_t wanted = 0;
    bool raw = f->field == RAW_DATA || f->field == EXTERNAL_DATA;
    if (OX_WITH_TYPED && f->field && (raw ? tensor->dtype == OX_STRING : f->field != typed_field(tensor->dtype)))
        return ox_fail(source->error, OX_ERROR_MODEL, "is of type %s, but its data is in %s",
                       ox_dtype_name(tensor->dtype), field_name(f->field));
    if (!f->field && count)
        return ox_fail(source->error, OX_ERROR_MODEL, "has no data for %s %s", ox_dtype_name(tensor->dtype),
                       OX_DIMS(tensor->rank, tensor->dims));
    if (!wanted_entries(tensor->dtype, f->field, count, &wanted) || f->count != wanted)
        return ox_fail(source->error, OX_ERROR_MODEL, "has %zu %s of %s, but %s %s takes %zu", f->count,
                       raw ? "bytes" : "entries", field_name(f->field), ox_dtype_name(tensor->dtype),
                       OX_DIMS(tensor->rank, tensor->dims), wanted);
    return OX_OK;
}

static ox_status take_tensor(const ox_tensor_source *source, const Onnx__TensorProto *proto, ox_tensor *tensor) {
    found f = {0};
    size_t count = 0, wanted;
    *tensor = (ox_tensor){0};
    OX_TRY(take_type(source, proto, tensor));
    OX_TRY(take_shape(source, proto, tensor, &count));
    if (proto->has_data_location && proto->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL) {
        if (!OX_WITH_EXTERNAL)
            return (ox_fail)(source->error, OX_ERROR_UNSUPPORTED, "this build of the library has no external data");
        if (!wanted_entries(tensor->dtype, EXTERNAL_DATA, count, &wanted))
            return ox_fail(source->error, OX_ERROR_MODEL, "is too large");
        OX_TRY(find_outside(source, proto, wanted, &f));
    } else {
        OX_TRY(find_inside(source, proto, &f));
    }
    OX_TRY(check_entries(source, tensor, &f, count));
    if (OX_WITH_EXTERNAL && f.field == EXTERNAL_DATA && !f.data)
        return OX_OK; /* missing */
    return count ? take(source, tensor, &f, count) : make_room(source, tensor, 0);
}

static ox_status explain(const ox_tensor_source *source, const char *name, ox_status status) {
    if (status && name && *name)
        ox_error_prefix(source->error, "tensor '%.*s': ", 80, name);
    else if (status)
        ox_error_prefix(source->error, "tensor: ");
    return status;
}

ox_status ox_payload_tensor(const ox_tensor_source *source, const Onnx__TensorProto *proto, ox_tensor *tensor) {
    return explain(source, proto->name, take_tensor(source, proto, tensor));
}

#if OX_WITH_OWN_OPERATORS
ox_status ox_payload_unpack(const ox_tensor_source *source, const void *packed, const char *name, ox_tensor *tensor) {
    const size_t count = (size_t)ox_tensor_count(tensor);
    const found f = {.field = RAW_DATA, .data = packed, .stays = true};
    return explain(source, name, take_packed(source, tensor, &f, count));
}
#endif
