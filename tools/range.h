/* range.h: between which values random ones lie: "0..9", "-1.5..1.5". */
#ifndef OX_RANGE_H
#define OX_RANGE_H

#include "number.h"

/* Starts zeroed: no range. */
typedef struct ox_range {
    bool given;
    int64_t first, last; /* for integers and bools */
    double least, most;  /* for all others */
} ox_range;

/* Reads the range at the start of a text, both ends included; *end is after it. False if it is not a range, if it is
 * empty, or if the type cannot represent both ends. */
bool ox_range_read(ox_range *range, const char *text, ox_dtype dtype, const char **end);

/* The range from 0 up to but not `end`. */
ox_range ox_range_below(int64_t end);

/* The value for 64 random bits. */
int64_t ox_range_int(const ox_range *range, uint64_t bits);

/* The value for a fraction from 0 to 1. */
double ox_range_real(const ox_range *range, double fraction);

#endif
