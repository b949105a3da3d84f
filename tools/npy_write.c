/* npy_write.c: writing numpy's .npy files. */
#include <inttypes.h>
#include <string.h>

#include "npy.h"
#include "text.h"
#include "tool.h"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ORDER "<"
#else
#define ORDER ">"
#endif

const char *ox_npy_type(ox_dtype dtype) {
    switch (dtype) {
    case OX_BOOL:
        return "|b1";
    case OX_INT2:
    case OX_INT4:
    case OX_INT8:
        return "|i1";
    case OX_INT16:
        return ORDER "i2";
    case OX_INT32:
        return ORDER "i4";
    case OX_INT64:
        return ORDER "i8";
    case OX_UINT16:
        return ORDER "u2";
    case OX_UINT32:
        return ORDER "u4";
    case OX_UINT64:
        return ORDER "u8";
    case OX_FLOAT16:
        return ORDER "f2";
    case OX_FLOAT:
        return ORDER "f4";
    case OX_DOUBLE:
        return ORDER "f8";
    case OX_COMPLEX64:
        return ORDER "c8";
    case OX_COMPLEX128:
        return ORDER "c16";
    case OX_BFLOAT16:
        return "|V2";
    case OX_STRING:
        return "U";
    default:
        return "|u1";
    }
}

bool ox_npy_is_raw(ox_dtype dtype) {
    return dtype >= OX_BFLOAT16;
}

/* Where a file is written: a stream, or memory. */
typedef struct sink {
    FILE *file;
    ox_text *text;
} sink;

static void put(const void *bytes, size_t size, sink to) {
    if (to.file)
        fwrite(bytes, 1, size, to.file);
    else
        ox_text_add(to.text, bytes, size);
}

static bool has_failed(sink to) {
    return to.file && ferror(to.file);
}

/* How a string tensor is written: as Unicode if all of it is UTF-8, as wide as its longest string. */
typedef struct string_layout {
    bool is_unicode;
    size_t longest;
} string_layout;

static bool is_utf8(const ox_string *string) {
    uint32_t code;
    for (size_t i = 0, length; i < string->size; i += length)
        if (!(length = ox_utf8_read(string->data + i, string->size - i, &code)))
            return false;
    return true;
}

static string_layout layout_strings(const ox_tensor *tensor) {
    string_layout layout = {true, 1};
    size_t bytes = 1;
    for (ox_walk walk = ox_walk_start(tensor); walk.element; ox_walk_next(&walk)) {
        const ox_string *string = (const ox_string *)(const void *)walk.element;
        size_t count = ox_utf8_count(string->data, string->size);
        layout.is_unicode &= is_utf8(string);
        layout.longest = count > layout.longest ? count : layout.longest;
        bytes = string->size > bytes ? string->size : bytes;
    }
    if (!layout.is_unicode)
        layout.longest = bytes;
    return layout;
}

static void write_zeros(size_t count, sink to) {
    static const char zeros[64];
    for (; count > sizeof zeros; count -= sizeof zeros)
        put(zeros, sizeof zeros, to);
    put(zeros, count, to);
}

static void write_string(const ox_string *string, string_layout layout, sink to) {
    size_t count = 0;
    if (!layout.is_unicode) {
        put(string->data, string->size, to);
        write_zeros(layout.longest - string->size, to);
        return;
    }
    uint32_t code = 0;
    for (size_t i = 0; i < string->size; count++) {
        i += ox_utf8_read(string->data + i, string->size - i, &code);
        put(&code, sizeof code, to);
    }
    write_zeros(4 * (layout.longest - count), to);
}

/* The header, filled up with spaces so that the data starts at a multiple of 64. */
static void write_header(const ox_tensor *tensor, const char *type, sink to) {
    ox_text text = {0};
    ox_text_format(&text, "{'descr': '%s', 'fortran_order': False, 'shape': (", type);
    for (int d = 0; d < tensor->rank; d++)
        ox_text_format(&text, d ? ", %" PRId64 : "%" PRId64, tensor->dims[d]);
    ox_text_put(&text, tensor->rank == 1 ? ",), }" : "), }");
    ox_text_repeat(&text, ' ', 63 - (int)((10 + text.size) % 64));
    ox_text_put(&text, "\n");
    unsigned char start[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    start[8] = (unsigned char)(text.size & 0xFF);
    start[9] = (unsigned char)(text.size >> 8);
    put(start, sizeof start, to);
    put(text.data, text.size, to);
    ox_text_free(&text);
}

static ox_status write_to(const ox_tensor *tensor, sink to, ox_error *error) {
    int64_t count = ox_tensor_count(tensor);
    if (count < 0 || tensor->rank > OX_TOOL_RANK)
        return ox_tool_fail(error, OX_ERROR_LIMIT, "a tensor of rank %d cannot be written as .npy", tensor->rank);
    size_t width = ox_dtype_size(tensor->dtype);
    if (tensor->dtype == OX_STRING) {
        char type[32];
        string_layout layout = layout_strings(tensor);
        snprintf(type, sizeof type, "%s%zu", layout.is_unicode ? ORDER "U" : "|S", layout.longest);
        write_header(tensor, type, to);
        for (ox_walk walk = ox_walk_start(tensor); walk.element && !has_failed(to); ox_walk_next(&walk))
            write_string((const ox_string *)(const void *)walk.element, layout, to);
        return OX_OK;
    }
    write_header(tensor, ox_npy_type(tensor->dtype), to);
    if (ox_tensor_is_packed(tensor)) {
        if (count)
            put(tensor->data, width * (size_t)count, to);
        return OX_OK;
    }
    for (ox_walk walk = ox_walk_start(tensor); walk.element && !has_failed(to); ox_walk_next(&walk))
        put(walk.element, width, to);
    return OX_OK;
}

ox_status ox_npy_write(const ox_tensor *tensor, FILE *file, ox_error *error) {
    return write_to(tensor, (sink){.file = file}, error);
}

ox_status ox_npy_put(const ox_tensor *tensor, ox_text *text, ox_error *error) {
    return write_to(tensor, (sink){.text = text}, error);
}
