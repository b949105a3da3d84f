/* value_source.c: a SOURCE of the command line for a sequence, an optional or a map. */
#include "value_source.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "literal.h"
#include "memory.h"
#include "source.h"
#include "text.h"
#include "tool.h"

/* Types nest a few levels deep only, and so do the functions that follow them. */
typedef struct reader {
    const char *text;
    const char *at;
    ox_error *error;
} reader;

/* The items of a value while they are read. */
typedef struct items {
    ox_value **at;
    size_t count, room;
    ox_text keys; /* "[1,2": a literal list */
} items;

static ox_status read_value(reader *r, const char *type, ox_value **value);

static ox_status fail_at(const reader *r, const char *what) {
    return ox_literal_fail(r->text, r->at, what, r->error);
}

static void skip_space(reader *r) {
    while (isspace((unsigned char)*r->at))
        r->at++;
}

/* What is behind "seq(", say; NULL if the type is none. */
static const char *inside(const char *type, const char *outer) {
    const size_t length = strlen(outer);
    return strncmp(type, outer, length) == 0 ? type + length : NULL;
}

static ox_kind kind_of(const char *type) {
    return inside(type, "seq(")        ? OX_KIND_SEQUENCE
           : inside(type, "optional(") ? OX_KIND_OPTIONAL
           : inside(type, "map(")      ? OX_KIND_MAP
           : inside(type, "tensor(")   ? OX_KIND_TENSOR
                                       : OX_KIND_UNKNOWN;
}

/* The element type whose name begins the text. */
static ox_dtype dtype_at(const char *name) {
    char own[OX_TYPE_TEXT];
    const size_t length = strcspn(name, ",)");
    if (length >= sizeof own)
        return OX_UNDEFINED;
    memcpy(own, name, length);
    own[length] = 0;
    return ox_dtype_from_name(own);
}

static bool takes_none(const char *text) {
    return strncmp(text, "none", 4) == 0 && !isalnum((unsigned char)text[4]);
}

bool ox_value_source_is(const char *text) {
    return *text == '{' || strcmp(text, "none") == 0;
}

/* ---- Literals ---------------------------------------------------------------------------------------------------- */

/* Goes to the character of the set that ends a part of a list: one outside of strings and inner lists. */
static void skip_part(reader *r, const char *ends) {
    size_t depth = 0;
    for (; *r->at && (depth || !strchr(ends, *r->at)); r->at++) {
        if (*r->at == '"' || *r->at == '\'') {
            const char quote = *r->at++;
            for (; *r->at && *r->at != quote; r->at++)
                r->at += *r->at == '\\' && r->at[1];
            if (!*r->at)
                return;
        }
        depth += *r->at == '[';
        depth -= *r->at == ']' && depth;
    }
}

static ox_status read_tensor(reader *r, ox_dtype dtype, ox_value **value) {
    ox_text part = {0};
    ox_array array;
    const char *start = r->at;
    skip_part(r, ",]}");
    ox_text_add(&part, start, (size_t)(r->at - start));
    ox_status status = ox_literal_read(part.data, dtype, &array, r->error);
    ox_text_free(&part);
    if (status)
        return status;
    status = ox_value_from_tensor(&array.tensor, NULL, value, r->error);
    ox_array_free(&array);
    return status;
}

/* A key and its ':', which are checked when all are there. */
static ox_status read_key(reader *r, items *list) {
    const char *start = r->at;
    skip_part(r, ":,]}");
    if (*r->at != ':' || r->at == start)
        return fail_at(r, "expected a key and ':'");
    ox_text_put(&list->keys, list->count ? "," : "[");
    ox_text_add(&list->keys, start, (size_t)(r->at - start));
    r->at++;
    skip_space(r);
    return OX_OK;
}

/* Between brackets or braces. */
static ox_status read_items(reader *r, const char *type, bool has_keys, items *list) {
    const char end = has_keys ? '}' : ']';
    if (*r->at != (has_keys ? '{' : '['))
        return fail_at(r, has_keys ? "expected '{'" : "expected '['");
    r->at++;
    skip_space(r);
    for (bool more = *r->at != end; more; r->at += more) {
        skip_space(r);
        ox_status status = has_keys ? read_key(r, list) : OX_OK;
        if (list->count == list->room) {
            list->room = list->room ? 2 * list->room : 16;
            list->at = ox_tool_resize(list->at, list->room * sizeof *list->at);
        }
        if (!status)
            status = read_value(r, type, &list->at[list->count]);
        if (status) {
            ox_tool_prefix(r->error, "item %zu: ", list->count);
            return status;
        }
        list->count++;
        skip_space(r);
        more = *r->at == ',';
        if (!more && *r->at != end)
            return fail_at(r, has_keys ? "expected ',' or '}'" : "expected ',' or ']'");
    }
    r->at++;
    return OX_OK;
}

static ox_status make_map(reader *r, ox_dtype key, const items *list, ox_value **value) {
    ox_array keys;
    ox_text literal = {0};
    ox_text_format(&literal, "%s]", list->count ? list->keys.data : "[");
    ox_status status = ox_literal_read(literal.data, key, &keys, r->error);
    ox_text_free(&literal);
    if (status) {
        ox_tool_prefix(r->error, "the keys: ");
        return status;
    }
    status = ox_value_from_items(OX_KIND_MAP, &keys.tensor, (const ox_value *const *)list->at, list->count, NULL, value,
                                 r->error);
    ox_array_free(&keys);
    return status;
}

static ox_status read_list(reader *r, ox_kind kind, const char *type, ox_value **value) {
    items list = {0};
    const bool is_map = kind == OX_KIND_MAP;
    ox_status status = OX_OK;
    if (kind != OX_KIND_OPTIONAL) {
        status = read_items(r, is_map ? type + strcspn(type, ",") + 1 : type, is_map, &list);
    } else if (takes_none(r->at)) {
        r->at += 4;
    } else {
        list.at = ox_tool_alloc(sizeof *list.at);
        status = read_value(r, type, list.at);
        list.count = !status;
    }
    if (!status)
        status = is_map ? make_map(r, dtype_at(type), &list, value)
                        : ox_value_from_items(kind, NULL, (const ox_value *const *)list.at, list.count, NULL, value,
                                              r->error);
    for (size_t i = 0; i < list.count; i++)
        ox_value_free(list.at[i]);
    free(list.at);
    ox_text_free(&list.keys);
    return status;
}

/* The value of a type, in which `type` may be followed by the ends of types around it. */
static ox_status read_value(reader *r, const char *type, ox_value **value) {
    const ox_kind kind = kind_of(type);
    const char *inner = strchr(type, '(');
    if (kind == OX_KIND_TENSOR && dtype_at(inner + 1) != OX_UNDEFINED)
        return read_tensor(r, dtype_at(inner + 1), value);
    if (kind != OX_KIND_UNKNOWN && kind != OX_KIND_TENSOR)
        return read_list(r, kind, inner + 1, value);
    return fail_at(r, "it is not known of which type the item is");
}

static ox_status read_literal(const char *text, const char *type, ox_value **value, ox_error *error) {
    reader r = {text, text, error};
    skip_space(&r);
    ox_status status = read_value(&r, type, value);
    if (status)
        return status;
    skip_space(&r);
    if (!*r.at)
        return OX_OK;
    ox_value_free(*value);
    *value = NULL;
    return fail_at(&r, "text after the end");
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

static ox_status read_proto(const char *path, ox_kind kind, ox_value **value, ox_error *error) {
    unsigned char *bytes;
    size_t size;
    ox_status status = ox_file_read(path, &bytes, &size, error);
    if (status)
        return status;
    status = ox_value_from_proto(kind, bytes, size, NULL, value, NULL, error);
    free(bytes);
    if (status)
        ox_tool_prefix(error, "%s: ", strcmp(path, "-") == 0 ? "standard input" : path);
    return status;
}

/* An optional tensor is given as tensors are. */
static ox_status wrap_tensor(const char *text, const char *name, ox_dtype dtype, ox_value **value, ox_error *error) {
    const ox_value_info info = {.name = name, .dtype = dtype, .rank = -1};
    ox_array array;
    ox_value *item = NULL;
    ox_status status = ox_source_load(text, &info, &array, error);
    if (status)
        return status;
    status = ox_value_from_tensor(&array.tensor, NULL, &item, error);
    if (!status)
        status = ox_value_from_items(OX_KIND_OPTIONAL, NULL, (const ox_value *const[]){item}, 1, NULL, value, error);
    ox_value_free(item);
    ox_array_free(&array);
    return status;
}

static ox_status fail_source(const char *text, const char *type, ox_error *error) {
    static const char *const forms[] = {[OX_KIND_SEQUENCE] = "a list of its items such as '[[1,2],[3]]'",
                                        [OX_KIND_OPTIONAL] = "none or its item",
                                        [OX_KIND_MAP] = "a literal such as '{1: 0.5, 2: 3}'"};
    return ox_tool_fail(error, OX_ERROR_ARGUMENT, "it is %s, which comes from a .pb or is %s, not '%s'", type,
                        forms[kind_of(type)], text);
}

ox_status ox_value_source_load(const char *text, const ox_value_info *info, ox_value **value, ox_error *error) {
    const char *type = info->type;
    const ox_kind kind = kind_of(type);
    const char *item = inside(type, "optional(tensor(");
    *value = NULL;
    if (kind == OX_KIND_UNKNOWN || kind == OX_KIND_TENSOR)
        return ox_tool_fail(error, OX_ERROR_UNSUPPORTED, "it is %s, which cannot be given here",
                            *type ? type : "of a type that the model does not say");
    if (strcmp(text, "-") == 0 || ox_file_is_pb(text))
        return read_proto(text, kind, value, error);
    if (item && !takes_none(text) && *text != '@')
        return wrap_tensor(text, info->name, dtype_at(item), value, error);
    if (ox_literal_is(text) || ox_value_source_is(text))
        return read_literal(text, type, value, error);
    return fail_source(text, type, error);
}
