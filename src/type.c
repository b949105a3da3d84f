/* type.c: types of values that are no tensors, as numbers. */
#include "type.h"

#include "status.h"

/* Codes of levels; those from CODE_MAP on are maps, by the type of their keys. */
enum {
    CODE_NONE = 0,
    CODE_SEQUENCE,
    CODE_OPTIONAL,
    CODE_MAP
};

static const uint8_t key_types[] = {OX_INT64, OX_STRING, OX_INT8,   OX_INT16, OX_INT32,
                                    OX_UINT8, OX_UINT16, OX_UINT32, OX_UINT64};

enum {
    KEY_TYPES = sizeof key_types,
    TYPE_MASK = (1 << OX_TYPE_BITS) - 1,
    LEVEL_MASK = (1 << OX_LEVEL_BITS) - 1,
    VALUE_BIT = 1 << 30 /* ox_is_value */
};

static unsigned levels_of(ox_dtype type) {
    return ox_is_value(type) ? ((unsigned)type & ~(unsigned)VALUE_BIT) >> OX_TYPE_BITS : 0;
}

static unsigned outermost(ox_dtype type) {
    return levels_of(type) & LEVEL_MASK;
}

ox_kind ox_type_kind(ox_dtype type) {
    const unsigned code = outermost(type);
    if (code == CODE_NONE)
        return type == OX_UNDEFINED ? OX_KIND_UNKNOWN : OX_KIND_TENSOR;
    return code == CODE_SEQUENCE ? OX_KIND_SEQUENCE : code == CODE_OPTIONAL ? OX_KIND_OPTIONAL : OX_KIND_MAP;
}

/* The type of elements of `type` in these levels. */
static ox_dtype with_levels(ox_dtype type, unsigned levels) {
    return (ox_dtype)(((unsigned)type & TYPE_MASK) | levels << OX_TYPE_BITS | (levels ? VALUE_BIT : 0));
}

ox_dtype ox_type_item(ox_dtype type) {
    return with_levels(type, levels_of(type) >> OX_LEVEL_BITS);
}

ox_dtype ox_type_key(ox_dtype type) {
    const unsigned code = outermost(type);
    return code >= CODE_MAP && code < CODE_MAP + KEY_TYPES ? (ox_dtype)key_types[code - CODE_MAP] : OX_UNDEFINED;
}

static unsigned code_of(ox_kind kind, ox_dtype key) {
    if (kind == OX_KIND_SEQUENCE)
        return CODE_SEQUENCE;
    if (kind == OX_KIND_OPTIONAL)
        return CODE_OPTIONAL;
    for (unsigned k = 0; k < KEY_TYPES && kind == OX_KIND_MAP; k++)
        if (key_types[k] == key)
            return CODE_MAP + k;
    return CODE_NONE;
}

ox_dtype ox_type_around(ox_kind kind, ox_dtype key, ox_dtype item) {
    const unsigned code = code_of(kind, key), levels = levels_of(item);
    if (code == CODE_NONE || levels >> OX_LEVEL_BITS * (OX_MOST_LEVELS - 1))
        return OX_UNDEFINED;
    return with_levels(item, levels << OX_LEVEL_BITS | code);
}

bool ox_type_fits(ox_dtype a, ox_dtype b) {
    for (int level = 0; a != b && a != OX_UNDEFINED && b != OX_UNDEFINED; level++) {
        if (level > OX_MOST_LEVELS || outermost(a) != outermost(b) || !outermost(a))
            return false;
        a = ox_type_item(a);
        b = ox_type_item(b);
    }
    return true;
}

bool ox_type_is_open(ox_dtype type) {
    return ((unsigned)type & TYPE_MASK) == OX_UNDEFINED;
}

const char *ox_type_write(char *text, ox_dtype type) {
    const size_t size = OX_TYPE_TEXT;
    size_t n = 0, closing = 1;
    for (; ox_is_value(type); type = ox_type_item(type), closing++) {
        const ox_kind kind = ox_type_kind(type);
        if (kind == OX_KIND_MAP)
            n += ox_format(text + n, size - n, "map(%s,", ox_dtype_name(ox_type_key(type)));
        else
            n += ox_format(text + n, size - n, kind == OX_KIND_SEQUENCE ? "seq(" : "optional(");
    }
    n += ox_format(text + n, size - n, "tensor(%s", ox_dtype_name(type));
    while (closing--)
        n += ox_format(text + n, size - n, ")");
    return text;
}

const char *ox_type_text(ox_type_buffer *buffer, ox_dtype type) {
    return ox_is_value(type) ? ox_type_write(buffer->text, type) : ox_dtype_name(type);
}

const char *ox_kind_text(ox_kind kind) {
    static const char *const texts[] = {"not known", "a tensor",        "a sequence",     "an optional",
                                        "a map",     "a sparse tensor", "an opaque value"};
    return (unsigned)kind < sizeof texts / sizeof *texts ? texts[kind] : texts[0];
}
