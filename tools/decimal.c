/* decimal.c: floating-point elements as decimal text, the way numpy formats a whole array alike. */
#include "decimal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"

enum {
    PRECISION = 8,
    MOST_DIGITS = 17
};

/* Decimal digits d.ddd times 10 to the exponent, of an absolute value. */
typedef struct digits {
    char digit[MOST_DIGITS + 3];
    int count;
    int exponent;
} digits;

/* Reads "d.ddde+NN" as printf writes it. */
static digits split(const char *text) {
    digits d = {.count = 0};
    for (; *text && *text != 'e'; text++)
        if (*text != '.' && d.count < MOST_DIGITS + 2)
            d.digit[d.count++] = *text;
    d.exponent = *text ? atoi(text + 1) : 0;
    return d;
}

static digits rounded(double magnitude, int count) {
    char text[40];
    snprintf(text, sizeof text, "%.*e", count - 1, magnitude);
    return split(text);
}

/* The fewest digits that only this value of the type has. */
static digits shortest(ox_dtype dtype, double magnitude) {
    digits d = {.digit = "0", .count = 1};
    uint8_t digit[MOST_DIGITS];
    if (magnitude == 0)
        return d;
    d.count = ox_float_digits(dtype, magnitude, digit, &d.exponent);
    for (int i = 0; i < d.count; i++)
        d.digit[i] = (char)('0' + digit[i]);
    return d;
}

/* At most `places` digits after the point of d.ddd. */
static digits scientific(const ox_decimal *format, double magnitude, int places) {
    digits d = shortest(format->dtype, magnitude);
    if (d.count <= places + 1)
        return d;
    d = rounded(magnitude, places + 1);
    while (d.count > 1 && d.digit[d.count - 1] == '0')
        d.count--;
    return d;
}

/* "ddd.ddd" with at most PRECISION digits after the point and no zeros at the end. Returns the place of the point. */
static int positional(const ox_decimal *format, double magnitude, char *text, size_t room) {
    digits d = shortest(format->dtype, magnitude);
    int places = d.count - 1 - d.exponent;
    if (places > PRECISION) {
        snprintf(text, room, "%.*f", PRECISION, magnitude);
        size_t length = strlen(text);
        while (text[length - 1] == '0')
            text[--length] = '\0';
        return (int)strcspn(text, ".");
    }
    size_t at = 0;
    int first = d.exponent < 0 ? d.exponent : 0;
    int last = d.count - 1 > d.exponent ? d.count - 1 : d.exponent;
    int point = 0;
    for (int i = first; i <= last && at + 3 < room; i++) {
        text[at++] = i >= 0 && i < d.count ? d.digit[i] : '0';
        if (i == d.exponent || (i == first && d.exponent < 0)) {
            point = (int)at;
            text[at++] = '.';
        }
    }
    text[at] = '\0';
    return point;
}

/* Compares as numpy does: in the type itself, where the limits are rounded too. */
static double in_type(ox_dtype dtype, double value) {
    uint64_t element = 0;
    if (dtype == OX_DOUBLE)
        return value;
    return ox_number_store(dtype, &element, ox_number_real(value)) ? ox_number_load(dtype, &element).real
                                                                   : (double)INFINITY;
}

void ox_decimal_scan(ox_decimal *format, double value) {
    double magnitude = fabs(value);
    if (!isfinite(value)) {
        format->has_other = true;
        format->has_negative_infinity |= isinf(value) && value < 0;
        return;
    }
    format->has_finite = true;
    if (magnitude == 0)
        return;
    if (format->least == 0 || magnitude < format->least)
        format->least = magnitude;
    if (magnitude > format->most)
        format->most = magnitude;
}

void ox_decimal_choose(ox_decimal *format) {
    bool is_half = format->dtype == OX_FLOAT16;
    double limit = format->dtype == OX_FLOAT ? 1e6 : is_half ? 1e3 : 1e8;
    double small = 0.0001;
    double ratio = format->least > 0 ? format->most / format->least : 0;
    if (format->dtype == OX_FLOAT || is_half) {
        small = in_type(format->dtype, small);
        ratio = in_type(format->dtype, ratio);
    }
    format->exponent = format->least > 0 && (format->most >= limit || format->least < small || ratio > 1000);
}

static void widen(int *size, int wanted) {
    if (wanted > *size)
        *size = wanted;
}

static int sign_size(const ox_decimal *format, double value) {
    return signbit(value) || format->plus;
}

void ox_decimal_measure(ox_decimal *format, double value) {
    char text[400];
    if (!isfinite(value))
        return;
    if (!format->exponent) {
        int point = positional(format, fabs(value), text, sizeof text);
        widen(&format->left, point + sign_size(format, value));
        widen(&format->right, (int)strlen(text) - point - 1);
        return;
    }
    digits d = scientific(format, fabs(value), PRECISION);
    widen(&format->left, 1 + sign_size(format, value));
    widen(&format->right, d.count - 1);
    widen(&format->exponent_digits, abs(d.exponent) > 99 ? 3 : 2);
}

/* Characters after the point. */
static int tail_size(const ox_decimal *format) {
    return format->right + (format->exponent ? format->exponent_digits + 2 : 0);
}

void ox_decimal_finish(ox_decimal *format) {
    if (!format->has_other)
        return;
    int offset = tail_size(format) + 1;
    widen(&format->left, 3 - offset);
    widen(&format->left, 3 + (format->plus || format->has_negative_infinity) - offset);
}

static const char *sign_text(const ox_decimal *format, bool negative) {
    return negative ? "-" : format->plus ? "+" : "";
}

static void write_other(const ox_decimal *format, double value, ox_text *text) {
    char word[8];
    snprintf(word, sizeof word, "%s%s", sign_text(format, !isnan(value) && value < 0), isnan(value) ? "nan" : "inf");
    ox_text_repeat(text, ' ', format->left + tail_size(format) + 1 - (int)strlen(word));
    ox_text_put(text, word);
}

/* Digits that the shortest form lacks are those of the exact value, as numpy prints them. */
static void write_scientific(const ox_decimal *format, double value, ox_text *text) {
    digits d = shortest(format->dtype, fabs(value));
    if (d.count != format->right + 1)
        d = rounded(fabs(value), format->right + 1);
    ox_text_repeat(text, ' ', format->left - 1 - sign_size(format, value));
    ox_text_format(text, "%s%c.", sign_text(format, signbit(value)), d.digit[0]);
    ox_text_add(text, d.digit + 1, (size_t)format->right);
    ox_text_format(text, "e%c%0*d", d.exponent < 0 ? '-' : '+', format->exponent_digits, abs(d.exponent));
}

void ox_decimal_write(const ox_decimal *format, double value, ox_text *text) {
    char body[400];
    if (!isfinite(value)) {
        write_other(format, value, text);
        return;
    }
    if (format->exponent) {
        write_scientific(format, value, text);
        return;
    }
    int point = positional(format, fabs(value), body, sizeof body);
    ox_text_repeat(text, ' ', format->left - point - sign_size(format, value));
    ox_text_put(text, sign_text(format, signbit(value)));
    ox_text_put(text, body);
    ox_text_repeat(text, ' ', format->right - ((int)strlen(body) - point - 1));
}

void ox_decimal_shortest(ox_dtype dtype, double value, ox_text *text) {
    ox_decimal format = {.dtype = dtype};
    ox_decimal_scan(&format, value);
    ox_decimal_choose(&format);
    ox_decimal_measure(&format, value);
    ox_decimal_write(&format, value, text);
}
