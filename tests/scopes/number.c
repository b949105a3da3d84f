/* number.c: elements as doubles. */
#include <math.h>
#include <string.h>

#include "scopes.h"

bool scope_is_float(ox_dtype dtype) {
    return dtype == OX_FLOAT || dtype == OX_DOUBLE || dtype == OX_FLOAT16 || dtype == OX_BFLOAT16;
}

/* The nearest float with that many bits behind the point, and no exponent below `least`; ties to even. */
static double nearest(double x, int bits, int least, double limit) {
    if (isnan(x) || isinf(x) || x == 0)
        return x;
    int exponent;
    frexp(x, &exponent);
    exponent = exponent - 1 < least ? least : exponent - 1;
    const double rounded = ldexp(nearbyint(ldexp(x, bits - exponent)), exponent - bits);
    return fabs(rounded) >= limit ? copysign(INFINITY, x) : rounded;
}

double scope_round(ox_dtype dtype, double x) {
    if (isnan(x))
        return x;
    switch (dtype) {
    case OX_FLOAT:
        return (double)(float)x;
    case OX_FLOAT16:
        return nearest(x, 10, -14, 0x1p16);
    case OX_BFLOAT16:
        return nearest(x, 7, -126, 0x1p128);
    case OX_DOUBLE:
        return x;
    default:
        return trunc(x);
    }
}

/* The first bits of the fraction of what is no number, which are not 0. */
static uint32_t nan_bits(double x, int bits) {
    uint64_t all;
    memcpy(&all, &x, sizeof all);
    const uint32_t first = (uint32_t)((all & (((uint64_t)1 << 52) - 1)) >> (52 - bits));
    return first ? first : 1U << (bits - 1);
}

/* Not by a conversion, which makes all that is no number quiet. */
static uint32_t float_bits(double x) {
    const float rounded = (float)x;
    uint32_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    return isnan(x) ? (signbit(x) ? 0xff800000U : 0x7f800000U) | nan_bits(x, 23) : bits;
}

/* The bits of a value that the type has. */
static uint16_t half_bits(ox_dtype dtype, double x) {
    const int bits = dtype == OX_FLOAT16 ? 10 : 7, bias = dtype == OX_FLOAT16 ? 15 : 127;
    const unsigned sign = signbit(x) ? 0x8000 : 0, top = (0x7fffU >> bits) << bits;
    int exponent;
    if (isnan(x))
        return (uint16_t)(sign | top | nan_bits(x, bits));
    if (isinf(x))
        return (uint16_t)(sign | top);
    if (x == 0)
        return (uint16_t)sign;
    frexp(x, &exponent);
    exponent += bias - 1;
    if (exponent < 1)
        return (uint16_t)(sign | (unsigned)ldexp(fabs(x), bits + bias - 1));
    const unsigned fraction = (unsigned)ldexp(fabs(x), bits + bias - exponent); /* with the bit in front of the point */
    return (uint16_t)(sign | (((unsigned)(exponent - 1) << bits) + fraction));
}

void scope_encode(ox_dtype dtype, double x, void *to) {
#define PUT(type, value) memcpy(to, &(type){(type)(value)}, sizeof(type))
    switch (dtype) {
    case OX_FLOAT:
        PUT(uint32_t, float_bits(x));
        break;
    case OX_DOUBLE:
        PUT(double, x);
        break;
    case OX_FLOAT16:
    case OX_BFLOAT16:
        PUT(uint16_t, half_bits(dtype, x));
        break;
    case OX_INT32:
    case OX_UINT32:
        PUT(uint32_t, (int64_t)x);
        break;
    case OX_INT64:
    case OX_UINT64:
        PUT(uint64_t, (int64_t)x);
        break;
    default:
        PUT(uint8_t, (int64_t)x);
    }
}

double scope_decode(ox_dtype dtype, const void *from) {
#define GET(type) ((double)*(const type *)memcpy(&(type){0}, from, sizeof(type)))
    switch (dtype) {
    case OX_FLOAT:
        return GET(float);
    case OX_DOUBLE:
        return GET(double);
    case OX_FLOAT16:
    case OX_BFLOAT16:
        return (double)ox_float_from_bits(dtype, (uint32_t)GET(uint16_t));
    case OX_INT32:
        return GET(int32_t);
    case OX_UINT32:
        return GET(uint32_t);
    case OX_INT64:
        return GET(int64_t);
    case OX_UINT64:
        return GET(uint64_t);
    case OX_INT8:
        return GET(int8_t);
    default:
        return GET(uint8_t);
    }
}
