/* text.c: growing text, UTF-8, and model text made safe for a terminal. */
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

static void reserve(ox_text *text, size_t size) {
    size_t wanted = text->size + size + 1;
    if (wanted <= text->room)
        return;
    text->room = wanted < 64 ? 64 : wanted + wanted / 2;
    text->data = ox_tool_resize(text->data, text->room);
}

void ox_text_add(ox_text *text, const char *bytes, size_t size) {
    reserve(text, size);
    if (size)
        memcpy(text->data + text->size, bytes, size);
    text->size += size;
    text->data[text->size] = '\0';
}

void ox_text_put(ox_text *text, const char *string) {
    ox_text_add(text, string, strlen(string));
}

void ox_text_repeat(ox_text *text, char c, int count) {
    for (int i = 0; i < count; i++)
        ox_text_add(text, &c, 1);
}

void ox_text_vformat(ox_text *text, const char *format, va_list list) {
    va_list again;
    va_copy(again, list);
    int size = vsnprintf(NULL, 0, format, list);
    if (size > 0) {
        reserve(text, (size_t)size);
        vsnprintf(text->data + text->size, (size_t)size + 1, format, again);
        text->size += (size_t)size;
    }
    va_end(again);
}

void ox_text_format(ox_text *text, const char *format, ...) {
    va_list list;
    va_start(list, format);
    ox_text_vformat(text, format, list);
    va_end(list);
}

void ox_text_free(ox_text *text) {
    free(text->data);
    *text = (ox_text){0};
}

static int lower(char c) {
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

bool ox_text_alike(const char *a, const char *b, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (lower(a[i]) != lower(b[i]))
            return false;
        if (!a[i])
            break;
    }
    return true;
}

size_t ox_text_length(const char *string, size_t most) {
    const char *end = memchr(string, 0, most);
    return end ? (size_t)(end - string) : most;
}

const char *ox_text_get(const ox_text *text) {
    return text->data ? text->data : "";
}

static size_t utf8_length(unsigned char lead) {
    if (lead < 0x80)
        return 1;
    if (lead >= 0xC2 && lead < 0xE0)
        return 2;
    if (lead >= 0xE0 && lead < 0xF0)
        return 3;
    return lead >= 0xF0 && lead < 0xF5 ? 4 : 0;
}

size_t ox_utf8_read(const char *bytes, size_t left, uint32_t *code) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *b = (const unsigned char *)bytes;
    size_t length = left ? utf8_length(b[0]) : 0;
    if (!length || length > left)
        return 0;
    uint32_t value = length == 1 ? b[0] : b[0] & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((b[i] & 0xC0) != 0x80)
            return 0;
        value = value << 6 | (b[i] & 0x3Fu);
    }
    if (value < least[length] || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000))
        return 0;
    *code = value;
    return length;
}

size_t ox_utf8_write(uint32_t code, char *bytes) {
    if (code < 0x80) {
        bytes[0] = (char)code;
        return 1;
    }
    size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = length; i-- > 1; code >>= 6)
        bytes[i] = (char)(0x80 | (code & 0x3F));
    bytes[0] = (char)((0xF00u >> length & 0xFFu) | code);
    return length;
}

size_t ox_utf8_count(const char *bytes, size_t size) {
    size_t count = 0;
    uint32_t code;
    for (size_t i = 0; i < size; count++) {
        size_t length = ox_utf8_read(bytes + i, size - i, &code);
        i += length ? length : 1;
    }
    return count;
}

/* C0, DEL and C1 controls, line separators, and marks that change the direction of text. */
static bool is_hidden(uint32_t code) {
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x200B && code <= 0x200F) ||
           (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF;
}

static void add_hidden(ox_text *text, uint32_t code) {
    const char *name = code == '\n' ? "\\n" : code == '\t' ? "\\t" : code == '\r' ? "\\r" : NULL;
    if (name)
        ox_text_put(text, name);
    else
        ox_text_format(text, code < 0x100 ? "\\x%02" PRIx32 : "\\u%04" PRIx32, code);
}

/* Adds the character at bytes, escaped if it must be; returns its length. */
static size_t add_safe(ox_text *text, const char *bytes, size_t left, const char *keep) {
    uint32_t code;
    size_t length = ox_utf8_read(bytes, left, &code);
    if (!length) {
        ox_text_format(text, "\\x%02x", (unsigned)(unsigned char)*bytes);
        return 1;
    }
    if (is_hidden(code) && !(code && code < 0x80 && keep && strchr(keep, (int)code)))
        add_hidden(text, code);
    else
        ox_text_add(text, bytes, length);
    return length;
}

void ox_text_escape(ox_text *text, const char *bytes, size_t size, const char *keep) {
    for (size_t i = 0; i < size;)
        i += add_safe(text, bytes + i, size - i, keep);
}

void ox_text_repr(ox_text *text, const char *bytes, size_t size) {
    bool has_single = size && memchr(bytes, '\'', size);
    char quote = has_single && !memchr(bytes, '"', size) ? '"' : '\'';
    ox_text_add(text, &quote, 1);
    for (size_t i = 0; i < size;) {
        if (bytes[i] == quote || bytes[i] == '\\')
            ox_text_put(text, "\\");
        i += add_safe(text, bytes + i, size - i, NULL);
    }
    ox_text_add(text, &quote, 1);
}

void ox_text_json_bytes(ox_text *text, const char *string, size_t left) {
    ox_text_put(text, "\"");
    while (left) {
        uint32_t code = 0xFFFD;
        size_t length = ox_utf8_read(string, left, &code);
        if (!length || is_hidden(code))
            ox_text_format(text, "\\u%04" PRIx32, code);
        else if (code == '"' || code == '\\')
            ox_text_format(text, "\\%c", (char)code);
        else
            ox_text_add(text, string, length);
        string += length ? length : 1;
        left -= length ? length : 1;
    }
    ox_text_put(text, "\"");
}

void ox_text_json(ox_text *text, const char *string) {
    ox_text_json_bytes(text, string, strlen(string));
}

void ox_text_shape(ox_text *text, int rank, const int64_t *dims) {
    ox_text_put(text, "[");
    for (int d = 0; d < rank; d++)
        ox_text_format(text, "%s%" PRId64, d ? "," : "", dims[d]);
    ox_text_put(text, "]");
}

void ox_text_value(ox_text *text, const ox_value_info *info) {
    if (info->dtype == OX_UNDEFINED) {
        ox_text_put(text, *info->type ? info->type : "not a tensor");
        return;
    }
    ox_text_put(text, ox_dtype_name(info->dtype));
    if (info->rank < 0) {
        ox_text_put(text, " of any shape");
        return;
    }
    ox_text_put(text, " [");
    for (int d = 0; d < info->rank; d++) {
        ox_text_put(text, d ? "," : "");
        if (info->dims[d] >= 0)
            ox_text_format(text, "%" PRId64, info->dims[d]);
        else
            ox_text_put(text, info->dim_names[d] && *info->dim_names[d] ? info->dim_names[d] : "?");
    }
    ox_text_put(text, "]");
}
