/* number.h: one element of any numeric type, for the parts of the command that are not about speed. */
#ifndef OX_NUMBER_H
#define OX_NUMBER_H

#include "ox.h"

typedef enum ox_number_kind {
    OX_NUMBER_NONE, /* strings, and what is no type */
    OX_NUMBER_BOOL,
    OX_NUMBER_INT,
    OX_NUMBER_REAL,
    OX_NUMBER_COMPLEX
} ox_number_kind;

typedef struct ox_number {
    ox_number_kind kind;
    bool negative; /* bool and int: the value is magnitude or -magnitude */
    uint64_t magnitude;
    double real; /* the value for every kind, rounded for large integers */
    double imaginary;
} ox_number;

ox_number_kind ox_number_kind_of(ox_dtype dtype);

/* Numbers out of C values. */
ox_number ox_number_int(bool negative, uint64_t magnitude);
ox_number ox_number_real(double value);

/* Reads the element at any address; dtype is not OX_STRING. */
ox_number ox_number_load(ox_dtype dtype, const void *element);

/* Writes a number as an element, rounding floats to nearest even. False if it is out of the type's range, or has a
 * fraction or imaginary part that the type cannot hold at all. */
bool ox_number_store(ox_dtype dtype, void *element, ox_number number);

/* Converts a number to the type's kind: fractions are truncated, as in numpy's astype, and values other than 0 are
 * true. False for infinity or NaN as an integer, and for an imaginary part that would be lost. */
bool ox_number_cast(ox_dtype dtype, ox_number *number);

#endif
