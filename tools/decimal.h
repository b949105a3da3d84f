/* decimal.h: floating-point elements as decimal text, the way numpy formats a whole array alike. */
#ifndef OX_DECIMAL_H
#define OX_DECIMAL_H

#include "text.h"

/* How the values of one array are written. Starts zeroed but for dtype and plus; then every value that will be shown
 * is given to ox_decimal_scan, ox_decimal_choose is called, every value is given to ox_decimal_measure, and
 * ox_decimal_finish ends the preparation. */
typedef struct ox_decimal {
    ox_dtype dtype; /* OX_FLOAT, OX_DOUBLE or a smaller floating type; parts of complex numbers use the first two */
    bool plus;      /* positive values get a '+' */
    double least;   /* of the absolute values that are finite and not zero; 0 if there are none */
    double most;
    bool has_finite;
    bool has_other; /* NaN or infinity */
    bool has_negative_infinity;
    bool exponent; /* scientific notation */
    int left;      /* characters before the point */
    int right;     /* digits after the point, with spaces for those cut off */
    int exponent_digits;
} ox_decimal;

void ox_decimal_scan(ox_decimal *format, double value);
void ox_decimal_choose(ox_decimal *format);
void ox_decimal_measure(ox_decimal *format, double value);
void ox_decimal_finish(ox_decimal *format);

/* Adds the value; all values of the array have the same width. */
void ox_decimal_write(const ox_decimal *format, double value, ox_text *text);

/* Adds the value with the fewest digits that give it back when read as the type. */
void ox_decimal_shortest(ox_dtype dtype, double value, ox_text *text);

#endif
