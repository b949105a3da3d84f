/* angle.h: sine, cosine and tangent of any angle, for C libraries that lose its digits: they are asked for an eighth of
 * a turn at most. */
#ifndef OX_LOOPS_ANGLE_H
#define OX_LOOPS_ANGLE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define OX_QUARTER 1.5707963267948966

/* The bits of 2 / pi, 32 in each number, as far as those of a double need them. */
static const uint32_t ox_turns[38] = {
    0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561,
    0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484,
    0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f,
    0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b,
    0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab,
};

/* 32 of those bits behind the first `at`; zeros in front. */
static inline uint32_t ox_turn_bits(int at) {
    uint64_t two = 0;
    const int word = at >= 0 ? at / 32 : -((31 - at) / 32), shift = at - word * 32;
    for (int i = word; i < word + 2; i++)
        two = two << 32 | (i >= 0 && i < 38 ? ox_turns[i] : 0);
    return (uint32_t)(two << shift >> 32);
}

/* x as whole quarters of a turn, the last two bits of their number, and a rest of half a quarter at most in radians. Of
 * the product of x and 2 / pi those bits are computed that are below four quarters, 190 of them behind the point: a
 * rest is as exact as a large one where x is near to whole quarters. x is positive and finite. */
static inline int ox_quarters(double x, double *rest) {
    uint64_t bits, carry = 0;
    uint32_t product[6];
    memcpy(&bits, &x, sizeof bits);
    const int exponent = (int)(bits >> 52) - 1075;
    const uint64_t digits = (bits & 0xfffffffffffff) | 0x10000000000000;
    /* From the lowest 32 bits of the six up; what is carried out of the highest is whole turns. */
    for (int i = 0; i < 6; i++) {
        const uint64_t turns = ox_turn_bits(exponent - 2 + (5 - i) * 32);
        const uint64_t low = turns * (uint32_t)digits + (uint32_t)carry;
        carry = (carry >> 32) + (low >> 32) + turns * (digits >> 32);
        product[i] = (uint32_t)low;
    }
    int quarters = (int)(product[5] >> 30);
    uint64_t high = (uint64_t)product[5] << 34 | (uint64_t)product[4] << 2 | product[3] >> 30;
    uint64_t low = (uint64_t)product[3] << 34 | (uint64_t)product[2] << 2 | product[1] >> 30;
    const bool over = high >> 63;
    if (over) {
        low = ~low + 1;
        high = ~high + !low;
        quarters++;
    }
    const double part = ((double)high * 0x1p-64 + (double)low * 0x1p-128) * OX_QUARTER;
    *rest = over ? -part : part;
    return quarters & 3;
}

/* The sine of x, a number of quarters further on. */
static inline double ox_sine(double x, int further) {
    const double size = fabs(x);
    double rest = size;
    if (!(size < INFINITY))
        return x - x;
    const int quarters = further + (size > OX_QUARTER / 2 ? ox_quarters(size, &rest) : 0);
    const double result = quarters & 1 ? cos(rest) : sin(rest);
    return (quarters & 2) != 0 ? -result : result;
}

static inline double ox_sin_f64(double x) {
    return copysign(1, x) * ox_sine(x, 0);
}

static inline double ox_cos_f64(double x) {
    return ox_sine(x, 1);
}

static inline double ox_tan_f64(double x) {
    const double size = fabs(x);
    double rest = size;
    if (!(size < INFINITY))
        return x - x;
    const int quarters = size > OX_QUARTER / 2 ? ox_quarters(size, &rest) : 0;
    const double result = quarters & 1 ? -1 / tan(rest) : tan(rest);
    return copysign(1, x) * result;
}

static inline float ox_sin_f32(float x) {
    return (float)ox_sin_f64((double)x);
}

static inline float ox_cos_f32(float x) {
    return (float)ox_cos_f64((double)x);
}

static inline float ox_tan_f32(float x) {
    return (float)ox_tan_f64((double)x);
}

#endif
