/* source.c: one SOURCE of the command line: a file, standard input, or literal text. */
#include "source.h"

#include <stdlib.h>
#include <string.h>

#include "csv.h"
#include "file.h"
#include "image.h"
#include "kind.h"
#include "literal.h"
#include "memory.h"
#include "npy.h"
#include "number.h"
#include "system.h"
#include "text.h"
#include "tool.h"
#include "value_source.h"

static const char cast_suffix[] = ",cast";

static bool has_suffix(const char *text, size_t length, const char *suffix) {
    size_t wanted = strlen(suffix);
    return length > wanted && ox_text_alike(text + length - wanted, suffix, wanted);
}

static bool has_known_suffix(const char *text, size_t length) {
    static const char *const suffixes[] = {".npy", ".npz", ".pb",   ".csv", ".tsv",  ".png", ".pgm",  ".ppm",
                                           ".pnm", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff", ".jp2"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (has_suffix(text, length, suffixes[i]))
            return true;
    return false;
}

static bool exists(const char *text, size_t length) {
    char *path = ox_tool_alloc(length + 1);
    memcpy(path, text, length);
    path[length] = 0;
    bool found = ox_file_exists(path);
    free(path);
    return found;
}

size_t ox_source_options(const char *text, size_t length) {
    if (strchr("[\"'@", *text) || exists(text, length))
        return length;
    for (size_t i = 1; i + 1 < length; i++)
        if (text[i] == ',' && text[i + 1] >= 'a' && text[i + 1] <= 'z' &&
            ((i == 1 && *text == '-') || has_known_suffix(text, i) || exists(text, i)))
            return i;
    return length;
}

bool ox_source_cast(const char *text, size_t *length) {
    *length = strlen(text);
    if (!has_suffix(text, *length, cast_suffix) || ox_file_exists(text))
        return false;
    *length -= sizeof cast_suffix - 1;
    return true;
}

static bool is_literal(const char *text) {
    size_t length;
    ox_source_cast(text, &length);
    length = ox_source_options(text, length);
    return ox_literal_is(text) && (*text == '[' || *text == '"' || *text == '\'' || !has_known_suffix(text, length));
}

/* The source without ",cast" and options. */
static char *path_of(const char *text) {
    size_t length;
    ox_source_cast(text, &length);
    length = ox_source_options(text, length);
    char *path = ox_tool_alloc(length + 1);
    memcpy(path, text, length);
    path[length] = 0;
    return path;
}

bool ox_source_is(const char *text) {
    char *path = path_of(text);
    bool is =
        strcmp(path, "-") == 0 || *text == '@' || is_literal(text) || ox_value_source_is(text) || ox_file_exists(path);
    free(path);
    return is;
}

bool ox_source_is_stdin(const char *text) {
    size_t length;
    ox_source_cast(text, &length);
    return *text == '-' && ox_source_options(text, length) == 1;
}

bool ox_source_is_csv(const char *text) {
    size_t length;
    ox_source_cast(text, &length);
    return !ox_literal_is(text) && ox_csv_is_name(text, ox_source_options(text, length));
}

bool ox_source_is_npz(const char *text) {
    size_t length;
    ox_source_cast(text, &length);
    return has_suffix(text, length, ".npz") && !ox_literal_is(text);
}

ox_status ox_source_proto(const unsigned char *bytes, size_t size, ox_array *array, const char **name,
                          ox_error *error) {
    *array = (ox_array){0};
    ox_status status = ox_tensor_from_proto(bytes, size, NULL, &array->from_proto, name, error);
    if (!status)
        array->tensor = *array->from_proto;
    return status;
}

static ox_status fail_kind(const unsigned char *bytes, size_t size, ox_error *error) {
    const ox_file_kind *kind = ox_kind_of(bytes, size);
    const char *ending = ox_kind_ending(kind);
    if (ending)
        return ox_tool_fail(error, OX_ERROR_FILE, "this is %s; ox reads those whose names end in %s", kind->name,
                            ending);
    return ox_tool_fail(error, OX_ERROR_FILE, "%s%sneither a .npy, .npz, .pb, .csv file nor a picture",
                        kind->name ? kind->name : "", kind->name ? ": " : "");
}

static bool has_options(const char *text) {
    size_t length;
    ox_source_cast(text, &length);
    return ox_source_options(text, length) < length;
}

static ox_status read_picture(const char *text, const unsigned char *bytes, size_t size, const ox_value_info *info,
                              ox_array *array, ox_error *error) {
    ox_picture how = {0};
    size_t length;
    ox_source_cast(text, &length);
    const size_t start = ox_source_options(text, length);
    ox_status status = start < length ? ox_picture_parse(text + start + 1, length - start - 1, &how, error) : OX_OK;
    return status ? status : ox_image_read(bytes, size, info, &how, array, error);
}

/* "column=NAME" after a table. */
static ox_status read_table(const char *text, const unsigned char *bytes, size_t size, const ox_value_info *info,
                            ox_array *array, ox_error *error) {
    static const char option[] = "column=";
    size_t length;
    ox_csv csv = {0};
    ox_csv_wish wish = {.cast = ox_source_cast(text, &length)};
    const size_t start = ox_source_options(text, length);
    if (start < length) {
        wish.column = text + start + sizeof option;
        if (strncmp(text + start + 1, option, sizeof option - 1) != 0)
            return ox_tool_fail(error, OX_ERROR_ARGUMENT, "a table has the options column=NAME and cast, not '%.*s'",
                                (int)(length - start - 1), text + start + 1);
        wish.column_size = length - start - sizeof option;
    }
    ox_status status = ox_csv_parse(&csv, (const char *)bytes, size, error);
    if (!status)
        status = ox_csv_read(&csv, info, &wish, array, error);
    ox_csv_free(&csv);
    return status;
}

/* Takes over `bytes`, which come from the source `text`. */
static ox_status read_bytes(const char *path, const char *text, unsigned char *bytes, size_t size,
                            const ox_value_info *info, ox_array *array, ox_error *error) {
    ox_status status;
    if (ox_csv_is_name(path, strlen(path))) {
        status = read_table(text, bytes, size, info, array, error);
    } else if (has_options(text) && !ox_image_is(bytes, size)) {
        status = ox_tool_fail(error, OX_ERROR_ARGUMENT, "this is no picture: it takes no option but ',cast'");
    } else if (ox_npy_is(bytes, size)) {
        status = ox_npy_read(bytes, size, array, error);
        if (!status)
            return OX_OK;
    } else if (ox_file_is_pb(path)) {
        status = ox_source_proto(bytes, size, array, NULL, error);
    } else if (ox_image_is(bytes, size)) {
        status = read_picture(text, bytes, size, info, array, error);
    } else {
        status = fail_kind(bytes, size, error);
    }
    free(bytes);
    return status;
}

ox_status ox_source_convert(const char *text, const ox_value_info *info, ox_array *array, ox_error *error) {
    size_t length;
    bool cast = ox_source_cast(text, &length);
    ox_dtype from = array->tensor.dtype;
    bool can = ox_array_can_cast(array, info->dtype) && ox_number_kind_of(from) != ox_number_kind_of(info->dtype);
    ox_status status = (cast ? ox_array_cast : ox_array_convert)(array, info->dtype, error);
    if (status && can && !cast)
        ox_tool_fail(error, status, "the values are %s but the model wants %s: -i %s=%s%s converts them",
                     ox_dtype_name(from), ox_dtype_name(info->dtype), info->name, text, cast_suffix);
    if (status)
        ox_array_free(array);
    return status;
}

static ox_status read_file(const char *path, const char *text, const ox_value_info *info, ox_array *array,
                           ox_error *error) {
    unsigned char *bytes;
    size_t size;
    ox_status status = ox_file_read(path, &bytes, &size, error);
    if (status)
        return status;
    status = read_bytes(path, text, bytes, size, info, array, error);
    if (!status)
        status = ox_source_convert(text, info, array, error);
    if (status)
        ox_tool_prefix(error, "%s: ", strcmp(path, "-") == 0 ? "standard input" : path);
    return status;
}

static bool is_folder(const char *path) {
    ox_file_info info;
    return ox_system_look(path, &info) && info.is_folder;
}

/* A string without quotes, for an input of one: each dimension is 1. */
static ox_status read_word(const char *text, const ox_value_info *info, ox_array *array, ox_error *error) {
    int64_t dims[OX_TOOL_RANK];
    const int rank = info->rank < 0 ? 0 : info->rank;
    for (int d = 0; d < rank; d++)
        dims[d] = 1;
    ox_status status = ox_array_create(array, OX_STRING, rank, dims, error);
    if (status)
        return status;
    ox_string *string = array->data;
    string->size = strlen(text);
    string->data = array->characters = ox_tool_alloc(string->size + 1);
    memcpy(array->characters, text, string->size + 1);
    return OX_OK;
}

/* A string that looks like a number is one for an input of strings. */
static bool is_word(const char *text, const ox_value_info *info) {
    return info->dtype == OX_STRING && *text && !strchr("[\"'", *text);
}

ox_status ox_source_load(const char *text, const ox_value_info *info, ox_array *array, ox_error *error) {
    *array = (ox_array){0};
    if (!ox_source_is_stdin(text) && is_literal(text) && !is_word(text, info))
        return ox_literal_read(text, info->dtype, array, error);
    char *path = path_of(text);
    ox_status status;
    if (strcmp(path, "-") == 0 || has_known_suffix(path, strlen(path)) || ox_file_exists(path))
        status = read_file(path, text, info, array, error);
    else if (is_folder(path))
        status = ox_tool_fail(error, OX_ERROR_ARGUMENT, "'%s' is a folder: give a file", path);
    else if (info->dtype == OX_STRING && *text)
        status = read_word(text, info, array, error);
    else
        status = ox_tool_fail(error, OX_ERROR_ARGUMENT,
                              "'%s' is neither a file nor a literal such as '[1,2]', 7 or '\"text\"'", path);
    free(path);
    return status;
}
