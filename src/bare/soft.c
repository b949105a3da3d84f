/* soft.c: doubles in integers. */
#include "soft.h"

#include <string.h>

enum {
    SPARE = 11 /* bits of 64 beyond those of a double */
};

/* Rounds top * 2^exponent, where the highest bit of top is set; more: it is a little less than the number. */
static ox_soft rounded(uint64_t top, bool more, int32_t exponent, bool negative) {
    const uint32_t half = 1 << (SPARE - 1), rest = (uint32_t)top & (2 * half - 1);
    ox_soft s = {top >> SPARE, exponent + SPARE, negative, OX_SOFT_NUMBER};
    if (rest > half || (rest == half && (more || s.digits & 1)))
        s.digits++;
    if (s.digits >> 53) {
        s.digits >>= 1;
        s.exponent++;
    }
    return s;
}

ox_soft ox_soft_float(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const bool negative = bits >> 31;
    const int32_t exponent = (int32_t)(bits >> 23 & 0xff);
    const uint32_t digits = bits & 0x7fffff;
    if (exponent == 0xff)
        return (ox_soft){0, 0, negative, digits ? OX_SOFT_NAN : OX_SOFT_INFINITE};
    if (!exponent && !digits)
        return (ox_soft){0, 0, negative, OX_SOFT_ZERO};
    const uint32_t all = exponent ? digits | 0x800000 : digits; /* times 2^(exponent - 150) */
    const int zeros = __builtin_clz(all);
    return rounded((uint64_t)all << 32 << zeros, false, (exponent ? exponent : 1) - 150 - 32 - zeros, negative);
}

ox_soft ox_soft_integer(int64_t x) {
    const uint64_t all = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    if (!all)
        return (ox_soft){0, 0, false, OX_SOFT_ZERO};
    const int zeros = __builtin_clzll(all);
    return rounded(all << zeros, false, -zeros, x < 0);
}

/* What a product of two kinds is. */
static ox_soft_kind kind_of(ox_soft_kind a, ox_soft_kind b) {
    if (a == OX_SOFT_NAN || b == OX_SOFT_NAN || (a != b && a != OX_SOFT_NUMBER && b != OX_SOFT_NUMBER))
        return OX_SOFT_NAN;
    return a == OX_SOFT_NUMBER ? b : a;
}

ox_soft ox_soft_product(ox_soft a, ox_soft b) {
    const ox_soft_kind kind = kind_of(a.kind, b.kind);
    const bool negative = a.negative != b.negative;
    if (kind != OX_SOFT_NUMBER)
        return (ox_soft){0, 0, negative, kind};
    const uint64_t x = a.digits << SPARE, y = b.digits << (SPARE - 1);
    const uint64_t lows = (x & UINT32_MAX) * (y & UINT32_MAX), across = (x >> 32) * (y & UINT32_MAX) + (lows >> 32);
    const uint64_t other = (x & UINT32_MAX) * (y >> 32) + (across & UINT32_MAX);
    uint64_t high = (x >> 32) * (y >> 32) + (across >> 32) + (other >> 32);
    uint64_t low = other << 32 | (lows & UINT32_MAX);
    int32_t exponent = a.exponent + b.exponent + 64 - (2 * SPARE - 1);
    while (!(high >> 63)) {
        high = high << 1 | low >> 63;
        low <<= 1;
        exponent--;
    }
    return rounded(high, low, exponent, negative);
}

ox_soft ox_soft_quotient(ox_soft a, ox_soft b) {
    const ox_soft_kind inverse = b.kind == OX_SOFT_ZERO       ? OX_SOFT_INFINITE
                                 : b.kind == OX_SOFT_INFINITE ? OX_SOFT_ZERO
                                                              : b.kind;
    const ox_soft_kind kind = kind_of(a.kind, inverse);
    const bool negative = a.negative != b.negative;
    if (kind != OX_SOFT_NUMBER)
        return (ox_soft){0, 0, negative, kind};
    int32_t exponent = a.exponent - b.exponent - 63;
    uint64_t left = a.digits, digits = 0;
    if (left < b.digits) {
        left <<= 1;
        exponent--;
    }
    for (int bit = 0; bit < 64; bit++, left <<= 1) {
        digits <<= 1;
        if (left >= b.digits) {
            left -= b.digits;
            digits |= 1;
        }
    }
    return rounded(digits, left, exponent, negative);
}

int32_t ox_soft_round(ox_soft x, int32_t low, int32_t high) {
    int32_t whole = 0;
    if (x.kind == OX_SOFT_NAN)
        return low;
    if (x.kind == OX_SOFT_INFINITE || (x.kind == OX_SOFT_NUMBER && x.exponent > SPARE - 53))
        whole = 1 << SPARE; /* it is at least that */
    else if (x.kind == OX_SOFT_NUMBER && x.exponent >= -54) {
        const uint64_t half = (uint64_t)1 << (-x.exponent - 1), rest = x.digits & (2 * half - 1);
        whole = (int32_t)(x.digits >> -x.exponent);
        whole += rest > half || (rest == half && whole & 1);
    }
    whole = x.negative ? -whole : whole;
    return whole < low ? low : whole > high ? high : whole;
}
