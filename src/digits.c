/* digits.c: numbers as decimal text and back, by exact arithmetic on large integers. */
#include "digits.h"

#include <math.h>
#include <string.h>

/* ---- Large integers ----------------------------------------------------------------------------------------- */

/* 10 to the power of what a double's smallest digits are, after MOST_READ digits, and 64 bits more. */
enum {
    MOST_READ = 768, /* digits that can decide how a double is rounded */
    WORDS = 128
};

/* word[0] is the lowest; there are no zeros on top. */
typedef struct big {
    int count;
    uint32_t word[WORDS];
} big;

static void big_put(big *b, uint32_t word) {
    if (word && b->count < WORDS)
        b->word[b->count++] = word;
}

static big big_of(uint64_t value) {
    big b = {.count = 0};
    b.word[0] = (uint32_t)value;
    b.word[1] = (uint32_t)(value >> 32);
    b.count = b.word[1] ? 2 : b.word[0] ? 1 : 0;
    return b;
}

/* b = b * factor + more */
static void big_scale(big *b, uint32_t factor, uint32_t more) {
    uint64_t carry = more;
    for (int i = 0; i < b->count; i++) {
        carry += (uint64_t)b->word[i] * factor;
        b->word[i] = (uint32_t)carry;
        carry >>= 32;
    }
    big_put(b, (uint32_t)carry);
}

static void big_times_ten(big *b, int power) {
    for (; power >= 9; power -= 9)
        big_scale(b, 1000000000, 0);
    for (; power > 0; power--)
        big_scale(b, 10, 0);
}

static void big_shift(big *b, int bits) {
    int words = bits / 32;
    if (!b->count || b->count + words > WORDS)
        return;
    memmove(b->word + words, b->word, (size_t)b->count * sizeof *b->word);
    memset(b->word, 0, (size_t)words * sizeof *b->word);
    b->count += words;
    big_scale(b, (uint32_t)1 << bits % 32, 0);
}

static int big_compare(const big *a, const big *b) {
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    for (int i = a->count; i-- > 0;)
        if (a->word[i] != b->word[i])
            return a->word[i] < b->word[i] ? -1 : 1;
    return 0;
}

static void big_add(big *a, const big *b) {
    uint64_t carry = 0;
    for (int i = 0; i < a->count || i < b->count; i++) {
        carry += (i < a->count ? a->word[i] : 0);
        carry += (i < b->count ? b->word[i] : 0);
        a->word[i] = (uint32_t)carry;
        carry >>= 32;
    }
    a->count = a->count > b->count ? a->count : b->count;
    big_put(a, (uint32_t)carry);
}

/* a -= b, which is not larger */
static void big_subtract(big *a, const big *b) {
    uint64_t borrow = 0;
    for (int i = 0; i < a->count; i++) {
        uint64_t taken = (i < b->count ? b->word[i] : 0) + borrow;
        borrow = a->word[i] < taken;
        a->word[i] = (uint32_t)(a->word[i] - taken);
    }
    while (a->count && !a->word[a->count - 1])
        a->count--;
}

static int big_bits(const big *b) {
    int bits = 32 * b->count;
    for (uint32_t top = b->count ? b->word[b->count - 1] : 1u << 31; !(top >> 31); top <<= 1)
        bits--;
    return bits;
}

/* ---- Shortest digits ---------------------------------------------------------------------------------------- */

/* A value of the type is an integer below 2^precision times 2 to the power of at least `least`. */
typedef struct format {
    int8_t precision;
    int16_t least;
} format;

static format format_of(ox_dtype dtype) {
    static const format formats[OX_DTYPE_COUNT] = {
        [OX_DOUBLE] = {53, -1074},  [OX_FLOAT] = {24, -149},        [OX_FLOAT16] = {11, -24},
        [OX_BFLOAT16] = {8, -133},  [OX_FLOAT8E4M3FN] = {4, -9},    [OX_FLOAT8E4M3FNUZ] = {4, -10},
        [OX_FLOAT8E5M2] = {3, -16}, [OX_FLOAT8E5M2FNUZ] = {3, -17}, [OX_FLOAT8E8M0] = {1, -127},
        [OX_FLOAT4E2M1] = {2, -1},  [OX_FLOAT6E2M3] = {4, -3},      [OX_FLOAT6E3M2] = {3, -4},
    };
    return (unsigned)dtype < OX_DTYPE_COUNT && formats[dtype].precision ? formats[dtype] : formats[OX_DOUBLE];
}

/* value / scale is the number without its power of ten; all numbers between (value - below) / scale and (value + above)
 * / scale read as the same value. */
typedef struct range {
    big value, scale, above, below;
    int inclusive; /* 1 if the limits belong to the range */
} range;

static void times_ten(range *r, int power) {
    big_times_ten(&r->value, power);
    big_times_ten(&r->above, power);
    big_times_ten(&r->below, power);
}

static void make_range(range *r, format type, double value) {
    int exponent;
    frexp(value, &exponent);
    exponent = exponent - type.precision > type.least ? exponent - type.precision : type.least;
    uint64_t integer = (uint64_t)ldexp(value, -exponent);
    /* Next to a power of two the values below lie twice as dense. */
    int dense = integer == (uint64_t)1 << (type.precision - 1) && exponent > type.least;
    int up = exponent > 0 ? exponent : 0, down = exponent < 0 ? -exponent : 0;
    r->value = big_of(integer);
    r->scale = r->below = r->above = big_of(1);
    big_shift(&r->value, up + 1 + dense);
    big_shift(&r->scale, down + 1 + dense);
    big_shift(&r->below, up);
    big_shift(&r->above, up + dense);
    r->inclusive = !(integer & 1);
}

/* True if the upper limit is at least `times` the scale. */
static bool reaches(const range *r, uint32_t times) {
    big limit = r->value, scale = r->scale;
    big_add(&limit, &r->above);
    big_scale(&scale, times, 0);
    return big_compare(&limit, &scale) + r->inclusive > 0;
}

/* Divides by the power of ten that brings the upper limit between 1 and 10. */
static int remove_power(range *r, double value) {
    int power = (int)floor(log10(value));
    if (power > 0)
        big_times_ten(&r->scale, power);
    else
        times_ten(r, -power);
    for (; reaches(r, 10); power++)
        big_scale(&r->scale, 10, 0);
    for (; !reaches(r, 1); power--)
        times_ten(r, 1);
    return power;
}

ox_digits ox_digits_shortest(ox_dtype dtype, double value) {
    range r;
    ox_digits d = {.count = 0};
    make_range(&r, format_of(dtype), value);
    d.exponent = remove_power(&r, value);
    for (;;) {
        uint8_t digit = 0;
        for (; big_compare(&r.value, &r.scale) >= 0; digit++)
            big_subtract(&r.value, &r.scale);
        bool low = big_compare(&r.value, &r.below) - r.inclusive < 0, high = reaches(&r, 1);
        if (low || high || d.count == OX_MOST_DIGITS - 1) {
            big twice = r.value;
            big_scale(&twice, 2, 0);
            int half = big_compare(&twice, &r.scale);
            bool nearer = half > 0 || (half == 0 && digit & 1);
            d.digit[d.count++] = (uint8_t)(digit + (high && (!low || nearer)));
            return d;
        }
        d.digit[d.count++] = digit;
        times_ten(&r, 1);
    }
}

int ox_float_digits(ox_dtype dtype, double value, uint8_t digits[17], int *exponent) {
    if (!(value > 0) || isinf(value) || !digits || !exponent)
        return 0;
    ox_digits d = ox_digits_shortest(dtype, value);
    memcpy(digits, d.digit, (size_t)d.count);
    *exponent = d.exponent;
    return d.count;
}

/* ---- Writing ------------------------------------------------------------------------------------------------ */

static size_t put_text(char *text, const char *word) {
    size_t size = ox_text_size(word, SIZE_MAX);
    memcpy(text, word, size);
    return size;
}

size_t ox_int_text(bool negative, uint64_t magnitude, char text[OX_NUMBER_TEXT]) {
    char reversed[20];
    size_t count = 0, size = 0;
    do
        reversed[count++] = (char)('0' + magnitude % 10);
    while (magnitude /= 10);
    if (negative)
        text[size++] = '-';
    while (count)
        text[size++] = reversed[--count];
    return size;
}

/* "0.00123", "12.3" or "12300.0" */
static size_t put_plain(const ox_digits *d, char *text) {
    size_t size = 0;
    int first = d->exponent < 0 ? d->exponent : 0, last = d->exponent + 1;
    if (last < d->count - 1)
        last = d->count - 1;
    for (int i = first; i <= last; i++) {
        text[size++] = (char)('0' + (i >= 0 && i < d->count ? d->digit[i] : 0));
        if (i == d->exponent)
            text[size++] = '.';
    }
    return size;
}

/* "1.23e-05" */
static size_t put_scientific(const ox_digits *d, char *text) {
    size_t size = 0;
    uint64_t exponent = (uint64_t)(d->exponent < 0 ? -d->exponent : d->exponent);
    for (int i = 0; i < d->count; i++) {
        if (i == 1)
            text[size++] = '.';
        text[size++] = (char)('0' + d->digit[i]);
    }
    text[size++] = 'e';
    text[size++] = d->exponent < 0 ? '-' : '+';
    if (exponent < 10)
        text[size++] = '0';
    return size + ox_int_text(false, exponent, text + size);
}

size_t ox_float_text(ox_dtype dtype, double value, char text[OX_NUMBER_TEXT]) {
    if (value != value)
        return put_text(text, "NaN");
    size_t size = signbit(value) ? put_text(text, "-") : 0;
    if (isinf(value))
        return size + put_text(text + size, "INF");
    if (value == 0)
        return size + put_text(text + size, "0.0");
    ox_digits d = ox_digits_shortest(dtype, fabs(value));
    bool plain = d.exponent >= -4 && d.exponent < 16;
    return size + (plain ? put_plain(&d, text + size) : put_scientific(&d, text + size));
}

/* ---- Reading ------------------------------------------------------------------------------------------------ */

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Takes a sign off the front; true for a minus. */
static bool take_sign(const char **text, size_t *size) {
    if (!*size || (**text != '-' && **text != '+'))
        return false;
    --*size;
    return *(*text)++ == '-';
}

static bool whole_parse(const char *text, size_t size, bool *negative, uint64_t *magnitude) {
    *negative = take_sign(&text, &size);
    *magnitude = 0;
    for (size_t i = 0; i < size; i++)
        if (!is_digit(text[i]) || __builtin_mul_overflow(*magnitude, 10, magnitude) ||
            __builtin_add_overflow(*magnitude, (uint64_t)(text[i] - '0'), magnitude))
            return false;
    return size > 0;
}

/* An integer times 10 to the exponent. */
typedef struct decimal {
    big integer;
    int kept; /* its digits */
    int64_t exponent;
} decimal;

/* A digit after MOST_READ others only matters as "not zero". */
static void take_digit(decimal *d, uint32_t digit, bool fraction) {
    bool counts = d->kept < MOST_READ || (d->kept == MOST_READ && digit);
    if (counts && (d->kept || digit)) {
        big_scale(&d->integer, 10, digit);
        d->kept++;
    } else if (d->kept) {
        d->exponent++;
    }
    d->exponent -= fraction;
}

/* "e-05" at the end of a number. */
static bool take_exponent(decimal *d, const char *text, size_t size) {
    if (!size)
        return true;
    if (*text != 'e' && *text != 'E')
        return false;
    text++;
    size--;
    bool negative = take_sign(&text, &size);
    int64_t exponent = 0;
    for (size_t i = 0; i < size; i++) {
        if (!is_digit(text[i]))
            return false;
        if (exponent < INT64_MAX / 100) /* far out of any range already */
            exponent = 10 * exponent + (text[i] - '0');
    }
    d->exponent += negative ? -exponent : exponent;
    return size > 0;
}

static bool read_decimal(decimal *d, const char *text, size_t size) {
    bool fraction = false, any = false;
    size_t i = 0;
    for (; i < size && (is_digit(text[i]) || (text[i] == '.' && !fraction)); i++) {
        if (text[i] == '.') {
            fraction = true;
            continue;
        }
        any = true;
        take_digit(d, (uint32_t)(text[i] - '0'), fraction);
    }
    return any && take_exponent(d, text + i, size - i);
}

/* quotient * 2^-shift, and a bit more if `rest`, as a double. */
static double assemble(uint64_t quotient, int shift, bool rest, bool to_odd) {
    int top = 63 - __builtin_clzll(quotient), exponent = top - shift;
    int dropped = top + 1 - (exponent >= -1022 ? 53 : 53 + 1022 + exponent);
    if (dropped > 64)
        return to_odd ? 0x1p-1074 : 0;
    uint64_t kept = dropped < 64 ? quotient >> dropped : 0, half = (uint64_t)1 << (dropped - 1);
    uint64_t lost = quotient & (2 * half - 1);
    if (to_odd)
        kept |= lost || rest;
    else
        kept += lost > half || (lost == half && (rest || kept & 1));
    return ldexp((double)kept, dropped - shift);
}

static double round_decimal(decimal *d, bool to_odd) {
    big divisor = big_of(1);
    big_times_ten(d->exponent > 0 ? &d->integer : &divisor, (int)(d->exponent > 0 ? d->exponent : -d->exponent));
    /* A quotient of 63 or 64 bits. */
    int shift = big_bits(&divisor) - big_bits(&d->integer) + 63;
    big_shift(shift > 0 ? &d->integer : &divisor, shift > 0 ? shift : -shift);
    big_shift(&divisor, 63);
    uint64_t quotient = 0;
    for (int bit = 63; bit >= 0; bit--) {
        if (big_compare(&d->integer, &divisor) >= 0) {
            big_subtract(&d->integer, &divisor);
            quotient |= (uint64_t)1 << bit;
        }
        big_shift(&d->integer, 1);
    }
    return assemble(quotient, shift, d->integer.count > 0, to_odd);
}

/* True if the text is this word of capitals, in any case. */
static bool is_word(const char *text, size_t size, const char *word) {
    for (size_t i = 0; i < size; i++)
        if (!word[i] || (text[i] & ~0x20) != word[i])
            return false;
    return !word[size];
}

bool ox_float_parse(const char *text, size_t size, bool to_odd, double *value) {
    decimal d = {.kept = 0};
    bool negative = take_sign(&text, &size);
    if (is_word(text, size, "INF") || is_word(text, size, "INFINITY"))
        *value = INFINITY;
    else if (is_word(text, size, "NAN"))
        *value = NAN;
    else if (!read_decimal(&d, text, size))
        return false;
    else if (!d.kept)
        *value = 0;
    else if (d.kept + d.exponent > 310)
        *value = INFINITY;
    else if (d.kept + d.exponent < -345)
        *value = to_odd ? 0x1p-1074 : 0;
    else
        *value = round_decimal(&d, to_odd);
    if (negative)
        *value = -*value;
    return true;
}

bool ox_int_parse(const char *text, size_t size, bool *negative, uint64_t *magnitude) {
    double value;
    if (whole_parse(text, size, negative, magnitude))
        return true;
    if (!ox_float_parse(text, size, false, &value) || !(fabs(value) < 0x1p64))
        return false;
    *negative = value < 0;
    *magnitude = (uint64_t)fabs(value);
    return true;
}
