/* digits.h: numbers as decimal text and back, exactly rounded, whatever the locale. */
#ifndef OX_DIGITS_H
#define OX_DIGITS_H

#include "tensor.h"

enum {
    OX_MOST_DIGITS = 17,
    OX_NUMBER_TEXT = 32 /* bytes that any number takes as text */
};

/* d.ddd times 10 to the exponent. */
typedef struct ox_digits {
    int count, exponent;
    uint8_t digit[OX_MOST_DIGITS];
} ox_digits;

/* The fewest digits that give the value back when they are read as the type, a floating one that holds it. The value
 * is finite and positive. */
ox_digits ox_digits_shortest(ox_dtype dtype, double value);

/* Writes numbers as text, not NUL-terminated, and gives its length. Floating ones have the fewest digits, and an
 * exponent below 1e-4 and from 1e16 on. */
size_t ox_float_text(ox_dtype dtype, double value, char text[OX_NUMBER_TEXT]);
size_t ox_int_text(bool negative, uint64_t magnitude, char text[OX_NUMBER_TEXT]);

/* Reads "3.14", "1e-5", "INF", "NaN", ... False if the text is anything else. Rounds to nearest even; or to odd, for a
 * value that is rounded to a narrower type next. */
bool ox_float_parse(const char *text, size_t size, bool to_odd, double *value);

/* Reads an integer; of a number with a fraction or an exponent, what is before the point. False if it is no number, or
 * needs more than 64 bits. */
bool ox_int_parse(const char *text, size_t size, bool *negative, uint64_t *magnitude);

#endif
