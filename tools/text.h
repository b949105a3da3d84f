/* text.h: growing text, UTF-8, and model text made safe for a terminal. */
#ifndef OX_TEXT_H
#define OX_TEXT_H

#include <stdarg.h>

#include "ox.h"

/* Starts zeroed; data is NUL-terminated once something was added. */
typedef struct ox_text {
    char *data;
    size_t size;
    size_t room;
} ox_text;

void ox_text_add(ox_text *text, const char *bytes, size_t size);
void ox_text_put(ox_text *text, const char *string);
void ox_text_repeat(ox_text *text, char c, int count);
void ox_text_format(ox_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ox_text_vformat(ox_text *text, const char *format, va_list list) __attribute__((format(printf, 2, 0)));
void ox_text_free(ox_text *text);

/* The text so far as a C string; never NULL. */
const char *ox_text_get(const ox_text *text);

/* Adds bytes with control characters, bytes that are not UTF-8, and invisible direction marks as \xNN or \uNNNN.
 * Characters in `keep` (may be NULL) stay as they are. */
void ox_text_escape(ox_text *text, const char *bytes, size_t size, const char *keep);

/* Adds a string as Python's repr writes it: 'a', "it's", 'tab\t'. */
void ox_text_repr(ox_text *text, const char *bytes, size_t size);

/* Adds a JSON string with its quotes; bytes that are no UTF-8 become U+FFFD. */
void ox_text_json(ox_text *text, const char *string);
void ox_text_json_bytes(ox_text *text, const char *bytes, size_t size);

/* True if `size` characters are the same but for the case of ASCII's letters; a string that ends before is another. */
bool ox_text_alike(const char *a, const char *b, size_t size);

/* The length of a string, or `most` if it is longer. */
size_t ox_text_length(const char *string, size_t most);

/* Adds "[2,3]". */
void ox_text_shape(ox_text *text, int rank, const int64_t *dims);

/* Adds "float [batch,1,8,8]", or "seq(tensor(float))". */
void ox_text_value(ox_text *text, const ox_value_info *info);

/* The length of the UTF-8 character at bytes, with its code; 0 if the bytes are none. */
size_t ox_utf8_read(const char *bytes, size_t left, uint32_t *code);

/* Writes a code point (at most 0x10FFFF) as up to 4 bytes and returns their number. */
size_t ox_utf8_write(uint32_t code, char *bytes);

/* The number of characters, a byte that is no UTF-8 counting as one. */
size_t ox_utf8_count(const char *bytes, size_t size);

#endif
