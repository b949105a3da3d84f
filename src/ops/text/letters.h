/* letters.h: the other case of texts, as Unicode maps it: one letter may become several, a capital sigma at the end of
 * a word becomes a final one, and Turkic languages and Lithuanian have rules of their own for i and j. */
#ifndef OX_OPS_TEXT_LETTERS_H
#define OX_OPS_TEXT_LETTERS_H

#include "text.h"

typedef enum ox_language {
    OX_LANGUAGE_ANY,
    OX_LANGUAGE_TURKIC,
    OX_LANGUAGE_LITHUANIAN
} ox_language;

/* Of a locale such as "tr_TR.UTF-8" or "az-Latn". */
ox_language ox_language_of(ox_string locale);

/* Walks over a text in another case. What is no UTF-8 stays as it is. Starts with `at` and `count` 0. */
typedef struct ox_letters {
    ox_string text;
    bool upper;
    ox_language language;
    size_t at;        /* bytes of the text that have been read */
    uint32_t made[3]; /* letters that come next, of one that has been read */
    int next, count;
} ox_letters;

/* The next letter, as ox_utf8_next gives them; false at the end. */
bool ox_letters_next(ox_letters *letters, uint32_t *letter);

#endif
