/* npy.c: reading numpy's .npy files. Every byte is hostile. */
#include "npy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "text.h"
#include "tool.h"

/* Of a text that is no type, in its error. */
enum {
    MOST_QUOTED = 40
};

static const unsigned char magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

typedef struct npy_header {
    char order;  /* < > | = */
    char kind;   /* b i u f c S U V */
    size_t size; /* of an element, or of a string in characters */
    bool fortran;
    int rank;
    int64_t dims[OX_TOOL_RANK];
    size_t offset; /* of the data */
} npy_header;

/* A reader of the header's text, a Python dictionary. */
typedef struct cursor {
    const char *at;
    const char *end;
} cursor;

static ox_status invalid(ox_error *error, const char *what) {
    return ox_tool_fail(error, OX_ERROR_FILE, "not a valid .npy file: %s", what);
}

bool ox_npy_is(const unsigned char *bytes, size_t size) {
    return size >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

static void skip_space(cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t' || *c->at == '\r'))
        c->at++;
}

/* Takes the character if it is next. */
static bool take(cursor *c, char wanted) {
    skip_space(c);
    if (c->at == c->end || *c->at != wanted)
        return false;
    c->at++;
    return true;
}

static bool take_word(cursor *c, const char *word) {
    size_t length = strlen(word);
    skip_space(c);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0)
        return false;
    c->at += length;
    return true;
}

/* Takes a quoted string of at most 31 characters. */
static bool take_string(cursor *c, char text[32]) {
    char quote = take(c, '\'') ? '\'' : '"';
    if (quote == '"' && !take(c, '"'))
        return false;
    size_t length = 0;
    while (c->at < c->end && *c->at != quote && length < 31)
        text[length++] = *c->at++;
    text[length] = '\0';
    return c->at < c->end && *c->at++ == quote;
}

static bool take_number(cursor *c, int64_t *number) {
    skip_space(c);
    const char *start = c->at;
    *number = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        if (*number > (INT64_MAX - 9) / 10)
            return false;
        *number = *number * 10 + (*c->at - '0');
    }
    return c->at > start;
}

static bool take_shape(cursor *c, npy_header *header) {
    if (!take(c, '('))
        return false;
    while (!take(c, ')')) {
        if (header->rank == OX_TOOL_RANK || !take_number(c, &header->dims[header->rank++]))
            return false;
        take(c, 'L');
        if (!take(c, ',') && !(skip_space(c), c->at < c->end && *c->at == ')'))
            return false;
    }
    return true;
}

/* Splits "<f4" into order, kind and size. */
static bool split_type(const char *text, npy_header *header) {
    header->order = strchr("<>|=", *text) && *text ? *text++ : '=';
    header->kind = *text ? *text++ : '\0';
    if (header->kind == '?') {
        header->kind = 'b';
        header->size = 1;
        return !*text;
    }
    cursor c = {text, text + strlen(text)};
    int64_t size = 0;
    if (!take_number(&c, &size) || c.at != c.end || (uint64_t)size > SIZE_MAX / 8)
        return false;
    header->size = (size_t)size;
    return true;
}

static ox_status parse_type(cursor *c, npy_header *header, ox_error *error) {
    char text[32];
    skip_space(c);
    const char *start = c->at;
    if (c->at < c->end && *c->at == '[')
        return ox_tool_fail(error, OX_ERROR_UNSUPPORTED, "the .npy file holds records, not plain elements");
    if (take_string(c, text) && split_type(text, header))
        return OX_OK;
    int shown = 0;
    while (start + shown < c->end && shown < MOST_QUOTED && !strchr(",}\n", start[shown]))
        shown++;
    return ox_tool_fail(error, OX_ERROR_FILE, "not a valid .npy file: its 'descr' %.*s is no type", shown, start);
}

static ox_status parse_entry(cursor *c, npy_header *header, unsigned *seen, ox_error *error) {
    char key[32];
    if (!take_string(c, key) || !take(c, ':'))
        return invalid(error, "its header is no dictionary");
    unsigned bit = !strcmp(key, "descr") ? 1 : !strcmp(key, "fortran_order") ? 2 : !strcmp(key, "shape") ? 4 : 0;
    if (!bit || *seen & bit)
        return ox_tool_fail(error, OX_ERROR_FILE, "not a valid .npy file: its header has %s '%s'",
                            bit ? "two keys" : "the unknown key", key);
    *seen |= bit;
    if (bit == 1)
        return parse_type(c, header, error);
    if (bit == 4)
        return take_shape(c, header) ? OX_OK : invalid(error, "its 'shape' is no list of up to 64 sizes");
    header->fortran = take_word(c, "True");
    return header->fortran || take_word(c, "False") ? OX_OK : invalid(error, "its 'fortran_order' is not a bool");
}

static ox_status parse_dictionary(cursor *c, npy_header *header, ox_error *error) {
    unsigned seen = 0;
    if (!take(c, '{'))
        return invalid(error, "its header is no dictionary");
    while (!take(c, '}')) {
        ox_status status = parse_entry(c, header, &seen, error);
        if (status)
            return status;
        if (!take(c, ',') && !(skip_space(c), c->at < c->end && *c->at == '}'))
            return invalid(error, "its header is no dictionary");
    }
    return seen == 7 ? OX_OK : invalid(error, "its header lacks 'descr', 'fortran_order' or 'shape'");
}

static ox_status parse_header(const unsigned char *bytes, size_t size, npy_header *header, ox_error *error) {
    if (!ox_npy_is(bytes, size) || size < 12)
        return invalid(error, "it does not start as one, or is cut off");
    if (bytes[6] < 1 || bytes[6] > 3)
        return ox_tool_fail(error, OX_ERROR_UNSUPPORTED, ".npy version %d is unknown (1 to 3 are known)", bytes[6]);
    size_t start = bytes[6] == 1 ? 10 : 12;
    size_t length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
    if (start == 12)
        length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (length > size - start)
        return invalid(error, "its header is longer than the file");
    cursor c = {(const char *)bytes + start, (const char *)bytes + start + length};
    header->offset = start + length;
    return parse_dictionary(&c, header, error);
}

static ox_dtype type_of(const npy_header *header, size_t *raw) {
    static const struct {
        char kind;
        size_t size;
        ox_dtype dtype;
    } types[] = {{'b', 1, OX_BOOL},   {'i', 1, OX_INT8},    {'i', 2, OX_INT16},     {'i', 4, OX_INT32},
                 {'i', 8, OX_INT64},  {'u', 1, OX_UINT8},   {'u', 2, OX_UINT16},    {'u', 4, OX_UINT32},
                 {'u', 8, OX_UINT64}, {'f', 2, OX_FLOAT16}, {'f', 4, OX_FLOAT},     {'f', 8, OX_DOUBLE},
                 {'V', 1, OX_UINT8},  {'V', 2, OX_UINT16},  {'c', 8, OX_COMPLEX64}, {'c', 16, OX_COMPLEX128}};
    if (header->kind == 'S' || header->kind == 'U')
        return OX_STRING;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].kind == header->kind && types[i].size == header->size) {
            *raw = header->kind == 'V' ? header->size : 0;
            return types[i].dtype;
        }
    return OX_UNDEFINED;
}

static bool is_swapped(const npy_header *header) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return header->order == '>';
#else
    return header->order == '<';
#endif
}

static void swap_bytes(unsigned char *data, size_t count, size_t width) {
    for (; count--; data += width)
        for (size_t i = 0; i < width / 2; i++) {
            unsigned char byte = data[i];
            data[i] = data[width - 1 - i];
            data[width - 1 - i] = byte;
        }
}

/* Turns Fortran order into row-major order; width is the size of an element in the file. */
static unsigned char *transpose(const unsigned char *data, const npy_header *header, size_t count, size_t width) {
    unsigned char *packed = ox_tool_alloc(count * width);
    int64_t index[OX_TOOL_RANK] = {0};
    for (size_t i = 0; i < count; i++) {
        size_t from = 0;
        for (int d = header->rank; d-- > 0;)
            from = from * (size_t)header->dims[d] + (size_t)index[d];
        memcpy(packed + i * width, data + from * width, width);
        for (int d = header->rank; d-- > 0 && ++index[d] == header->dims[d];)
            index[d] = 0;
    }
    return packed;
}

/* Appends one fixed-width element as UTF-8 or bytes, without the zeros that fill it up. */
static bool add_string(ox_text *text, const unsigned char *element, const npy_header *header) {
    if (header->kind == 'S') {
        size_t length = header->size;
        while (length && !element[length - 1])
            length--;
        ox_text_add(text, (const char *)element, length);
        return true;
    }
    size_t length = header->size;
    uint32_t code = 0;
    while (length && (memcpy(&code, element + 4 * (length - 1), 4), code == 0))
        length--;
    for (size_t i = 0; i < length; i++) {
        char bytes[4];
        memcpy(&code, element + 4 * i, 4);
        if (code > 0x10FFFF)
            return false;
        ox_text_add(text, bytes, ox_utf8_write(code, bytes));
    }
    return true;
}

static ox_status read_strings(const unsigned char *data, const npy_header *header, size_t count, ox_array *array,
                              ox_error *error) {
    ox_status status = ox_array_create(array, OX_STRING, header->rank, header->dims, error);
    if (status)
        return status;
    ox_string *strings = array->data;
    size_t width = header->kind == 'U' ? 4 * header->size : header->size;
    ox_text text = {0};
    ox_text_put(&text, "");
    for (size_t i = 0; i < count; i++) {
        size_t start = text.size;
        if (!add_string(&text, data + i * width, header)) {
            ox_text_free(&text);
            ox_array_free(array);
            return invalid(error, "a string holds a code that is no character");
        }
        strings[i].size = text.size - start;
    }
    size_t at = 0;
    for (size_t i = 0; i < count; at += strings[i++].size)
        strings[i].data = text.data + at;
    array->characters = text.data;
    return OX_OK;
}

static ox_status check_size(const npy_header *header, size_t size, size_t width, size_t *count, ox_error *error) {
    size_t bytes;
    *count = 1;
    for (int d = 0; d < header->rank; d++)
        if ((uint64_t)header->dims[d] > SIZE_MAX || !ox_tool_multiply(*count, (size_t)header->dims[d], count))
            return invalid(error, "its shape has too many elements");
    if (!ox_tool_multiply(*count, width ? width : 1, &bytes) || bytes > size - header->offset)
        return ox_tool_fail(error, OX_ERROR_FILE,
                            "not a valid .npy file: its shape needs %zu elements of %zu bytes, and %zu bytes are left",
                            *count, width, size - header->offset);
    return OX_OK;
}

/* Lets the array use the elements where they are in `block`. */
static void adopt(ox_array *array, ox_dtype dtype, const npy_header *header, void *block, void *data) {
    array->dims = ox_tool_alloc((size_t)header->rank * sizeof *array->dims);
    if (header->rank)
        memcpy(array->dims, header->dims, (size_t)header->rank * sizeof *array->dims);
    array->data = block;
    array->tensor = (ox_tensor){dtype, header->rank, array->dims, NULL, data};
}

/* Makes the array of a file whose sizes have been checked. */
static ox_status read_elements(unsigned char *bytes, const npy_header *header, ox_dtype dtype, size_t count,
                               ox_array *array, ox_error *error) {
    bool is_text = header->kind == 'U';
    size_t width = is_text ? 4 * header->size : header->size;
    size_t word = is_text ? 4 : header->kind == 'c' ? width / 2 : width;
    unsigned char *data = bytes + header->offset;
    if (is_swapped(header) && word > 1 && header->kind != 'S')
        swap_bytes(data, count * (width / word), word);
    unsigned char *packed = header->fortran && header->rank > 1 && count ? transpose(data, header, count, width) : NULL;
    if (dtype == OX_STRING) {
        ox_status status = read_strings(packed ? packed : data, header, count, array, error);
        free(packed);
        if (!status)
            free(bytes);
        return status;
    }
    if (packed)
        free(bytes);
    else if (header->offset % 16)
        data = memmove(bytes, data, count * width);
    adopt(array, dtype, header, packed ? packed : bytes, packed ? packed : data);
    return OX_OK;
}

ox_status ox_npy_read(unsigned char *bytes, size_t size, ox_array *array, ox_error *error) {
    npy_header header = {0};
    *array = (ox_array){0};
    ox_status status = parse_header(bytes, size, &header, error);
    if (status)
        return status;
    size_t raw = 0;
    ox_dtype dtype = type_of(&header, &raw);
    if (dtype == OX_UNDEFINED)
        return ox_tool_fail(error, OX_ERROR_UNSUPPORTED, "the .npy file has the type '%c%zu', which ONNX lacks",
                            header.kind ? header.kind : '?', header.size);
    size_t count;
    size_t width = header.kind == 'U' ? 4 * header.size : header.size;
    status = check_size(&header, size, width, &count, error);
    if (!status)
        status = read_elements(bytes, &header, dtype, count, array, error);
    array->raw = status ? 0 : raw;
    return status;
}
