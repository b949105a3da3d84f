/* text.h: what operators on strings share. */
#ifndef OX_OPS_TEXT_TEXT_H
#define OX_OPS_TEXT_TEXT_H

#include "ops/op.h"

/* Element i of packed strings. */
static inline ox_string *ox_string_at(const ox_tensor *tensor, int64_t i) {
    return (ox_string *)tensor->data + i;
}

/* The character that begins at text[0], and how many bytes it takes; a number that is no character if no character
 * begins there. `left` is not 0. */
uint32_t ox_utf8_next(const char *text, size_t left, int *bytes);

/* Writes a character, or a byte that is none, and gives its bytes, 4 at most; with `text` NULL it only counts. */
int ox_utf8_put(uint32_t character, char *text);

/* Whether a character separates words. */
bool ox_is_space(uint32_t character);

/* Below, at or above 0 as a comes before, is, or comes after b. */
int ox_string_order(ox_string a, ox_string b);

#endif
