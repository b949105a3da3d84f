/* source.c: one SOURCE of the command line: a file, standard input, or literal text. */
#include "source.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "file.h"
#include "image.h"
#include "literal.h"
#include "npy.h"
#include "tool.h"

static bool ends_with(const char *text, const char *suffix) {
    size_t length = strlen(text);
    size_t wanted = strlen(suffix);
    return length > wanted && strcasecmp(text + length - wanted, suffix) == 0;
}

static bool has_known_suffix(const char *text) {
    static const char *const suffixes[] = {".npy", ".pb", ".png", ".pgm", ".ppm", ".pnm"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (ends_with(text, suffixes[i]))
            return true;
    return false;
}

static bool is_literal(const char *text) {
    return ox_literal_is(text) && (*text == '[' || *text == '"' || *text == '\'' || !has_known_suffix(text));
}

bool ox_source_is(const char *text) {
    return strcmp(text, "-") == 0 || *text == '@' || is_literal(text) || ox_file_exists(text);
}

ox_status ox_source_proto(const unsigned char *bytes, size_t size, ox_array *array, const char **name,
                          ox_error *error) {
    *array = (ox_array){0};
    ox_status status = ox_tensor_from_proto(bytes, size, NULL, &array->from_proto, name, error);
    if (!status)
        array->tensor = *array->from_proto;
    return status;
}

/* Takes over `bytes`. */
static ox_status read_bytes(const char *path, unsigned char *bytes, size_t size, const ox_value_info *info,
                            ox_array *array, ox_error *error) {
    ox_status status;
    if (ox_npy_is(bytes, size)) {
        status = ox_npy_read(bytes, size, array, error);
        if (!status)
            return OX_OK;
    } else if (ends_with(path, ".pb")) {
        status = ox_source_proto(bytes, size, array, NULL, error);
    } else if (ox_image_is(bytes, size)) {
        status = ox_image_read(bytes, size, info, array, error);
    } else {
        status = ox_tool_fail(error, OX_ERROR_FILE, "neither a .npy, .pb, .png, .pgm nor .ppm file");
    }
    free(bytes);
    return status;
}

static ox_status read_file(const char *path, const ox_value_info *info, ox_array *array, ox_error *error) {
    unsigned char *bytes;
    size_t size;
    ox_status status = ox_file_read(path, &bytes, &size, error);
    if (status)
        return status;
    status = read_bytes(path, bytes, size, info, array, error);
    if (!status) {
        status = ox_array_convert(array, info->dtype, error);
        if (status)
            ox_array_free(array);
    }
    if (status)
        ox_tool_prefix(error, "%s: ", strcmp(path, "-") == 0 ? "standard input" : path);
    return status;
}

ox_status ox_source_load(const char *text, const ox_value_info *info, ox_array *array, ox_error *error) {
    *array = (ox_array){0};
    if (strcmp(text, "-") != 0 && is_literal(text))
        return ox_literal_read(text, info->dtype, array, error);
    if (strcmp(text, "-") == 0 || has_known_suffix(text) || ox_file_exists(text))
        return read_file(text, info, array, error);
    return ox_tool_fail(error, OX_ERROR_ARGUMENT,
                        "'%s' is neither a file nor a literal such as '[1,2]', 7 or '\"text\"'", text);
}
