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

/* The shortest digits that give the same value back when they are read as the floating type `dtype`. The value is a
 * finite and positive value of that type. */
ox_digits ox_digits_shortest(ox_dtype dtype, double value);

/* Writes numbers as text, not NUL-terminated, and returns its length. Floating ones have the shortest digits, and an
 * exponent below 1e-4 and from 1e16 on. */
size_t ox_float_text(ox_dtype dtype, double value, char text[OX_NUMBER_TEXT]);
size_t ox_int_text(bool negative, uint64_t magnitude, char text[OX_NUMBER_TEXT]);

/* Reads "3.14", "1e-5", "INF", "NaN", ... False for any other text. Rounds to nearest even; or to odd, for a value that
 * is then rounded to a narrower type. */
bool ox_float_parse(const char *text, size_t size, bool to_odd, double *value);

/* Reads an integer; for a number with a fraction or an exponent, its integer part. False if it is not a number, or
 * needs more than 64 bits. */
bool ox_int_parse(const char *text, size_t size, bool *negative, uint64_t *magnitude);

#endif
