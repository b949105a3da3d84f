/* soft.h: doubles in integers, with the bits of doubles, for the few that operators of bytes compute: where a processor
 * has none, its compiler's functions take 3 KB. There are no numbers so small or large that doubles would lack digits:
 * floats, integers, and what two or three of them give as factors and divisors. */
#ifndef OX_BARE_SOFT_H
#define OX_BARE_SOFT_H

#include <stdbool.h>
#include <stdint.h>

typedef enum ox_soft_kind {
    OX_SOFT_ZERO,
    OX_SOFT_NUMBER,
    OX_SOFT_INFINITE,
    OX_SOFT_NAN
} ox_soft_kind;

/* digits * 2^exponent, where the digits of a number are from 2^52 to 2^53. */
typedef struct ox_soft {
    uint64_t digits;
    int32_t exponent;
    bool negative;
    ox_soft_kind kind;
} ox_soft;

ox_soft ox_soft_float(float x);
/* An integer, rounded to 53 bits. */
ox_soft ox_soft_integer(int64_t x);
ox_soft ox_soft_product(ox_soft a, ox_soft b);
ox_soft ox_soft_quotient(ox_soft a, ox_soft b);
/* The nearest integer, of two the even one, from low to high, which are at most 1024 away from 0; of NaN low. */
int32_t ox_soft_round(ox_soft x, int32_t low, int32_t high);

#endif
