/* range.c: between which values random ones lie. */
#include "range.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_integral(ox_dtype dtype) {
    return ox_number_kind_of(dtype) <= OX_NUMBER_INT;
}

/* A number, the text up to `end`. */
static bool read_one(const char *text, const char *end, ox_dtype dtype, int64_t *integer, double *real) {
    char copy[64], *stop;
    size_t size = (size_t)(end - text);
    if (!size || size >= sizeof copy || strchr(" \t\n", *text))
        return false;
    memcpy(copy, text, size);
    copy[size] = '\0';
    errno = 0;
    *integer = is_integral(dtype) ? strtoll(copy, &stop, 10) : 0;
    *real = is_integral(dtype) ? (double)*integer : strtod(copy, &stop);
    return !*stop && !errno && isfinite(*real);
}

static bool fits(const ox_range *range, ox_dtype dtype) {
    char element[16];
    ox_number low = ox_number_real(range->least), high = ox_number_real(range->most);
    if (is_integral(dtype)) {
        low = ox_number_int(range->first < 0, range->first < 0 ? 0 - (uint64_t)range->first : (uint64_t)range->first);
        high = ox_number_int(range->last < 0, range->last < 0 ? 0 - (uint64_t)range->last : (uint64_t)range->last);
    }
    return ox_number_store(dtype, element, low) && ox_number_store(dtype, element, high);
}

bool ox_range_read(ox_range *range, const char *text, ox_dtype dtype, const char **end) {
    const char *dots = strstr(text, "..");
    if (!dots)
        return false;
    *end = dots + 2 + strcspn(dots + 2, ":");
    range->given = read_one(text, dots, dtype, &range->first, &range->least) &&
                   read_one(dots + 2, *end, dtype, &range->last, &range->most) && range->first <= range->last &&
                   range->least <= range->most && fits(range, dtype);
    return range->given;
}

ox_range ox_range_below(int64_t end) {
    return (ox_range){.given = true, .last = end - 1, .most = (double)(end - 1)};
}

int64_t ox_range_int(const ox_range *range, uint64_t bits) {
    uint64_t span = (uint64_t)range->last - (uint64_t)range->first + 1; /* 0 for all there are */
    uint64_t value = (uint64_t)range->first + (span ? bits % span : bits);
    int64_t result;
    memcpy(&result, &value, sizeof result);
    return result;
}

double ox_range_real(const ox_range *range, double fraction) {
    return range->least * (1 - fraction) + range->most * fraction;
}
