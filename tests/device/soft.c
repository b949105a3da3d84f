/* soft.c: src/bare/soft.c beside the doubles of this machine: random floats and integers, special ones among them. */
#include "soft.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static uint64_t state = 88172645463325252;

static uint32_t draw(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

static float draw_float(void) {
    static const float special[] = {0, -0.0F, INFINITY, -INFINITY, NAN, 1, 0.5F, 0x1p-149F, 0x1.fffffep127F, 3};
    uint32_t bits = draw();
    if (draw() % 4 == 0)
        return special[bits % (sizeof special / sizeof *special)];
    if (draw() % 2) /* of moderate size, many with few digits */
        bits = (bits & 0x807fffff & ~(uint32_t)0 << draw() % 24) | (110 + draw() % 34) << 23;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static int64_t draw_integer(void) {
    const int64_t x = (int64_t)((uint64_t)draw() << 32 | draw()) >> draw() % 64;
    return draw() % 2 ? x : -x;
}

/* The same number, or the same kind of none. */
static int is_same(ox_soft s, double x) {
    if (s.kind == OX_SOFT_NAN || isnan(x))
        return s.kind == OX_SOFT_NAN && isnan(x);
    const double value = s.kind == OX_SOFT_INFINITE ? (double)INFINITY : ldexp((double)s.digits, s.exponent);
    return (s.negative ? -value : value) == x && (s.kind != OX_SOFT_NUMBER || s.digits >> 52 == 1);
}

static int32_t round_of(double x, int32_t low, int32_t high) {
    x = x > low ? x : low;
    return (int32_t)rint(x < high ? x : high);
}

int main(void) {
    for (int i = 0; i < 2000000; i++) {
        const float x = draw_float(), y = draw_float(), w = draw_float();
        const int64_t n = draw_integer();
        const int32_t low = -(int32_t)(draw() % 384), high = low + 255;
        const ox_soft a = ox_soft_float(x), b = ox_soft_float(y), c = ox_soft_float(w), k = ox_soft_integer(n);
        const ox_soft one = ox_soft_quotient(ox_soft_product(a, c), b),
                      other = ox_soft_product(ox_soft_quotient(a, b), c);
        const ox_soft all = ox_soft_product(k, one);
        const double first = (double)x * (double)w / (double)y, second = (double)x / (double)y * (double)w;
        if (!is_same(a, (double)x) || !is_same(k, (double)n) || !is_same(one, first) || !is_same(other, second) ||
            !is_same(all, (double)n * first) ||
            ox_soft_round(all, low, high) != round_of((double)n * first, low, high) ||
            ox_soft_round(a, low, high) != round_of((double)x, low, high)) {
            printf("differs: %a %a %a %lld\n", (double)x, (double)y, (double)w, (long long)n);
            return 1;
        }
    }
    return 0;
}
