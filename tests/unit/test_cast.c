/* test_cast.c: Cast, CastLike and BitCast over all element types, against values worked out here. */
#include "src/loops/lanes.h"
#include "tests/unit/builds.h"
#include "tests/unit/call.h"

#include <check.h>
#include <math.h>
#include <string.h>

/* ---- Helpers ------------------------------------------------------------------------------------------------ */

/* Starts a cast of n elements; attributes may be added before it is run. */
static void begin(test_call *t, ox_dtype from, int64_t n, const void *data, ox_dtype to) {
    test_call_begin(t, "Cast", 28);
    test_call_input(t, from, 1, &n, data);
    test_call_int(t, "to", to);
}

/* Casts n elements into `out`. */
static void cast(ox_dtype from, int64_t n, const void *data, ox_dtype to, bool saturate, void *out) {
    test_call t;
    begin(&t, from, n, data, to);
    test_call_int(&t, "saturate", saturate);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    memcpy(out, t.outputs[0].data, (size_t)n * ox_dtype_size(to));
    test_call_end(&t);
}

static uint8_t narrowed(float value, ox_dtype to, bool saturate) {
    uint8_t code;
    cast(OX_FLOAT, 1, &value, to, saturate, &code);
    return code;
}

/* ---- Formats of 8 bits and less ----------------------------------------------------------------------------- */

typedef struct tiny {
    ox_dtype dtype;
    int exponent_bits, mantissa_bits, bias;
    int top;                       /* the code of the largest finite value */
    int beyond;                    /* the code of what is larger, without saturation */
    int nan;                       /* the code of NaN; of formats without one, the zero that stands for it */
    bool unsigned_zero, only_zero; /* there is no -0; there are neither infinity nor NaN */
} tiny;

static const tiny formats[] = {
    {OX_FLOAT8E4M3FN, 4, 3, 7, 0x7e, 0x7f, 0x7f, false, false},
    {OX_FLOAT8E4M3FNUZ, 4, 3, 8, 0x7f, 0x80, 0x80, true, false},
    {OX_FLOAT8E5M2, 5, 2, 15, 0x7b, 0x7c, 0x7e, false, false},
    {OX_FLOAT8E5M2FNUZ, 5, 2, 16, 0x7f, 0x80, 0x80, true, false},
    {OX_FLOAT4E2M1, 2, 1, 1, 0x07, 0x07, 0x08, false, true},
    {OX_FLOAT6E2M3, 2, 3, 1, 0x1f, 0x1f, 0x20, false, true},
    {OX_FLOAT6E3M2, 3, 2, 3, 0x1f, 0x1f, 0x20, false, true},
};

enum {
    FORMATS = sizeof formats / sizeof *formats
};

static int sign_bit(const tiny *f) {
    return 1 << (f->exponent_bits + f->mantissa_bits);
}

/* The value of a finite code. */
static double value_of(const tiny *f, int code) {
    int magnitude = code & (sign_bit(f) - 1), exponent = magnitude >> f->mantissa_bits;
    double mantissa = magnitude & ((1 << f->mantissa_bits) - 1);
    if (exponent)
        mantissa += 1 << f->mantissa_bits;
    double value = ldexp(mantissa, (exponent ? exponent : 1) - f->bias - f->mantissa_bits);
    return code & sign_bit(f) ? -value : value;
}

START_TEST(every_code_widens) {
    const tiny *f = &formats[_i];
    uint8_t codes[256] = {0};
    float values[256];
    int n = 2 * sign_bit(f);
    for (int code = 0; code < n; code++)
        codes[code] = (uint8_t)code;
    cast(f->dtype, n, codes, OX_FLOAT, true, values);
    for (int code = 0; code < n; code++) {
        int magnitude = code & (sign_bit(f) - 1);
        bool is_infinite = magnitude > f->top && magnitude == f->beyond && f->beyond != f->nan;
        if (f->unsigned_zero ? code == 0x80 : magnitude > f->top && !is_infinite)
            ck_assert(isnan(values[code]));
        else if (is_infinite)
            ck_assert(isinf(values[code]) && !signbit(values[code]) == (code == magnitude));
        else
            ck_assert(values[code] == value_of(f, code) && !signbit(values[code]) == (code == magnitude));
    }
}
END_TEST

START_TEST(floats_narrow_to_the_nearest_code) {
    const tiny *f = &formats[_i];
    for (int code = 0; code <= f->top; code++) {
        float value = (float)value_of(f, code);
        ck_assert_int_eq(narrowed(value, f->dtype, true), code);
        ck_assert_int_eq(narrowed(-value, f->dtype, true), code || !f->unsigned_zero ? code | sign_bit(f) : 0);
        if (code == f->top)
            break;
        float half = (float)((value_of(f, code) + value_of(f, code + 1)) / 2);
        ck_assert_int_eq(narrowed(half, f->dtype, true), code + (code & 1));
        ck_assert_int_eq(narrowed(nextafterf(half, 0), f->dtype, true), code);
        ck_assert_int_eq(narrowed(nextafterf(half, INFINITY), f->dtype, true), code + 1);
    }
}
END_TEST

START_TEST(floats_beyond_the_largest_code) {
    const tiny *f = &formats[_i];
    double top = value_of(f, f->top), step = top - value_of(f, f->top - 1);
    float inside = nextafterf((float)(top + step / 2), 0), outside = nextafterf((float)(top + step / 2), INFINITY);
    int minus = f->unsigned_zero && f->beyond == 0x80 ? 0 : sign_bit(f);
    for (int saturate = 0; saturate < 2; saturate++) {
        int expected = saturate ? f->top : f->beyond;
        ck_assert_int_eq(narrowed(inside, f->dtype, saturate), f->top);
        ck_assert_int_eq(narrowed(outside, f->dtype, saturate), expected);
        ck_assert_int_eq(narrowed(1e38f, f->dtype, saturate), expected);
        ck_assert_int_eq(narrowed(INFINITY, f->dtype, saturate), expected);
        ck_assert_int_eq(narrowed(-INFINITY, f->dtype, saturate), saturate ? f->top | sign_bit(f) : expected | minus);
        ck_assert_int_eq(narrowed(copysignf(NAN, 1), f->dtype, saturate), f->nan);
        if (f->nan == sign_bit(f)) /* types without NaN, and types with one: the sign does not count */
            ck_assert_int_eq(narrowed(copysignf(NAN, -1), f->dtype, saturate), f->nan);
    }
}
END_TEST

/* ---- float8e8m0 --------------------------------------------------------------------------------------------- */

static uint8_t power(float value, const char *mode, bool saturate) {
    test_call t;
    begin(&t, OX_FLOAT, 1, &value, OX_FLOAT8E8M0);
    test_call_string(&t, "round_mode", mode);
    test_call_int(&t, "saturate", saturate);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    uint8_t code = *(const uint8_t *)t.outputs[0].data;
    test_call_end(&t);
    return code;
}

START_TEST(powers_of_two_widen) {
    uint8_t codes[256];
    double values[256];
    for (int code = 0; code < 256; code++)
        codes[code] = (uint8_t)code;
    cast(OX_FLOAT8E8M0, 256, codes, OX_DOUBLE, true, values);
    for (int code = 0; code < 255; code++)
        ck_assert(values[code] == ldexp(1, code - 127));
    ck_assert(isnan(values[255]));
}
END_TEST

START_TEST(powers_of_two_round_as_asked) {
    static const struct {
        float value;
        uint8_t up, down, nearest;
    } rows[] = {
        {1, 127, 127, 127},     {1.25f, 128, 127, 127},    {1.5f, 128, 127, 128},       {1.75f, 128, 127, 128},
        {2, 128, 128, 128},     {-2, 128, 128, 128},       {0.75f, 127, 126, 127},      {0x1p-127f, 0, 0, 0},
        {0x1.4p-127f, 1, 0, 0}, {0x1.8p-127f, 1, 0, 1},    {0x1p-126f, 1, 1, 1},        {0x1p-130f, 0, 0, 0},
        {0, 0, 0, 0},           {0x1p127f, 254, 254, 254}, {0x1.8p127f, 254, 254, 254}, {INFINITY, 254, 254, 254},
        {NAN, 255, 255, 255},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_int_eq(power(rows[i].value, "up", true), rows[i].up);
        ck_assert_int_eq(power(rows[i].value, "down", true), rows[i].down);
        ck_assert_int_eq(power(rows[i].value, "nearest", true), rows[i].nearest);
    }
    ck_assert_int_eq(power(0x1.8p127f, "nearest", false), 255);
    ck_assert_int_eq(power(0x1.8p127f, "down", false), 254);
    ck_assert_int_eq(power(INFINITY, "down", false), 255);
    ck_assert_int_eq(power(0, "nearest", false), 255);
}
END_TEST

/* ---- Other numbers ------------------------------------------------------------------------------------------ */

START_TEST(integers_wrap) {
    const int32_t from[] = {-9, -8, -1, 0, 3, 7, 8, 15, 16, 200};
    const int8_t int4[] = {7, -8, -1, 0, 3, 7, -8, -1, 0, -8}, uint4[] = {7, 8, 15, 0, 3, 7, 8, 15, 0, 8},
                 int2[] = {-1, 0, -1, 0, -1, -1, 0, -1, 0, 0}, uint2[] = {3, 0, 3, 0, 3, 3, 0, 3, 0, 0},
                 int8[] = {-9, -8, -1, 0, 3, 7, 8, 15, 16, -56};
    int8_t out[10];
    float floats[10];
    cast(OX_INT32, 10, from, OX_FLOAT, true, floats);
    const struct {
        ox_dtype to;
        const int8_t *expected;
    } rows[] = {{OX_INT4, int4}, {OX_UINT4, uint4}, {OX_INT2, int2}, {OX_UINT2, uint2}, {OX_INT8, int8}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cast(OX_INT32, 10, from, rows[i].to, true, out);
        ck_assert(!memcmp(out, rows[i].expected, sizeof out));
        cast(OX_FLOAT, 10, floats, rows[i].to, true, out);
        ck_assert(!memcmp(out, rows[i].expected, sizeof out));
    }
}
END_TEST

START_TEST(doubles_are_rounded_once) {
    /* Just above the middle of two codes, by less than a float can tell. */
    const double values[] = {1.0625 + 0x1p-40, 1.0625 - 0x1p-40, 1.0625, 1 + 0x1p-11 + 0x1p-40};
    uint8_t byte[4];
    uint16_t half[4];
    cast(OX_DOUBLE, 4, values, OX_FLOAT8E4M3FN, true, byte);
    ck_assert(byte[0] == 0x39 && byte[1] == 0x38 && byte[2] == 0x38);
    cast(OX_DOUBLE, 4, values, OX_FLOAT16, true, half);
    ck_assert_int_eq(half[3], 0x3c01);
}
END_TEST

START_TEST(one_element_that_repeats) {
    const float one = 1.5f;
    const uint16_t half = 0x3e00;
    test_call t;
    for (int widen = 0; widen < 2; widen++) {
        test_call_begin(&t, "Cast", 13);
        test_call_strided(&t, widen ? OX_FLOAT16 : OX_FLOAT, DIMS(3, 700), (const int64_t[]){0, 0},
                          widen ? (const void *)&half : &one);
        test_call_int(&t, "to", widen ? OX_FLOAT : OX_FLOAT16);
        ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
        for (int i = 0; i < 2100; i++)
            if (widen)
                ck_assert(((const float *)t.outputs[0].data)[i] == one);
            else
                ck_assert_int_eq(((const uint16_t *)t.outputs[0].data)[i], half);
        test_call_end(&t);
    }
}
END_TEST

/* ---- Strings ------------------------------------------------------------------------------------------------ */

static ox_string text(const char *s) {
    return (ox_string){s, strlen(s)};
}

static void check_text(ox_dtype from, const void *number, const char *expected) {
    test_call t;
    begin(&t, from, 1, number, OX_STRING);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    const ox_string *s = t.outputs[0].data;
    ck_assert_uint_eq(s->size, strlen(expected));
    ck_assert(!memcmp(s->data, expected, s->size));
    test_call_end(&t);
}

START_TEST(numbers_become_text) {
    static const struct {
        double value;
        const char *expected;
    } rows[] = {
        {0, "0.0"},
        {-0.0, "-0.0"},
        {1, "1.0"},
        {0.1, "0.1"},
        {-314.15926, "-314.15926"},
        {1e15, "1000000000000000.0"},
        {1e16, "1e+16"},
        {1.5e-5, "1.5e-05"},
        {0.0001, "0.0001"},
        {5e-324, "5e-324"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {INFINITY, "INF"},
        {-INFINITY, "-INF"},
        {NAN, "NaN"},
        {9007199254740993.0, "9007199254740992.0"},
        {1.0 / 3, "0.3333333333333333"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_text(OX_DOUBLE, &rows[i].value, rows[i].expected);
    check_text(OX_FLOAT, &(const float){0.1f}, "0.1");
    check_text(OX_FLOAT, &(const float){16777216}, "16777216.0");
    check_text(OX_FLOAT, &(const float){0x1p-149f}, "1e-45");
    check_text(OX_FLOAT16, &(const uint16_t){0x2e66}, "0.1");
    check_text(OX_BFLOAT16, &(const uint16_t){0x3dcd}, "0.1");
    check_text(OX_FLOAT8E4M3FN, &(const uint8_t){0x7e}, "450.0");
    check_text(OX_INT64, &(const int64_t){INT64_MIN}, "-9223372036854775808");
    check_text(OX_UINT64, &(const uint64_t){UINT64_MAX}, "18446744073709551615");
    check_text(OX_INT4, &(const int8_t){-8}, "-8");
    check_text(OX_BOOL, &(const uint8_t){7}, "True");
    check_text(OX_BOOL, &(const uint8_t){0}, "False");
}
END_TEST

static ox_status parse(const char *s, ox_dtype to, void *number) {
    test_call t;
    ox_string string = text(s);
    begin(&t, OX_STRING, 1, &string, to);
    ox_status status = test_call_run(&t, 1);
    if (status == OX_OK)
        memcpy(number, t.outputs[0].data, ox_dtype_size(to));
    test_call_end(&t);
    return status;
}

START_TEST(text_becomes_numbers) {
    static const struct {
        const char *text;
        double expected;
    } rows[] = {
        {"3.14", 3.14},
        {"1e-5", 1e-5},
        {"1E8", 1e8},
        {"+INF", INFINITY},
        {"-inf", -INFINITY},
        {".5", 0.5},
        {"-7.", -7},
        {"1e400", INFINITY},
        {"1e-400", 0},
        {"0e99999999999", 0},
        {"4.9e-324", 5e-324},
        {"9007199254740993", 9007199254740992.0},
        {"00012", 12},
        {"9007199254740993.0000000000000000000001", 9007199254740994.0},
        {"2.4703282292062328e-324", 5e-324},
        {"2.4703282292062327e-324", 0},
        {"1.7976931348623158e308", 1.7976931348623157e308},
        {"1.7976931348623159e308", INFINITY},
    };
    double value;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_int_eq(parse(rows[i].text, OX_DOUBLE, &value), OX_OK);
        ck_assert(value == rows[i].expected);
    }
    ck_assert_int_eq(parse("NaN", OX_DOUBLE, &value), OX_OK);
    ck_assert(isnan(value));
    float single;
    /* The double nearest to it lies in the middle of two floats. */
    ck_assert_int_eq(parse("1.00000005960464477540", OX_FLOAT, &single), OX_OK);
    ck_assert(single == 0x1.000002p0f);
    int64_t number;
    uint8_t byte;
    uint16_t half;
    ck_assert(!parse("-9223372036854775808", OX_INT64, &number) && number == INT64_MIN);
    ck_assert(!parse("100.5", OX_INT64, &number) && number == 100);
    ck_assert(!parse("255", OX_UINT8, &byte) && byte == 255);
    ck_assert(!parse("-8", OX_INT4, &byte) && (int8_t)byte == -8);
    ck_assert(!parse("true", OX_BOOL, &byte) && byte == 1);
    ck_assert(!parse("0.0", OX_BOOL, &byte) && byte == 0);
    ck_assert(!parse("65519.999", OX_FLOAT16, &half) && half == 0x7bff);
}
END_TEST

START_TEST(what_is_no_number_is_refused) {
    static const char *const texts[] = {"", "Hello World!", "1.2.3", "-", ".", "1e", "0x10", " 1", "1 ", "infinite"};
    uint64_t number;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        ck_assert_int_eq(parse(texts[i], OX_FLOAT, &number), OX_ERROR_VALUE);
        ck_assert_int_eq(parse(texts[i], OX_INT32, &number), OX_ERROR_VALUE);
        ck_assert_int_eq(parse(texts[i], OX_BOOL, &number), OX_ERROR_VALUE);
    }
    ck_assert_int_eq(parse("256", OX_UINT8, &number), OX_ERROR_VALUE);
    ck_assert_int_eq(parse("-1", OX_UINT64, &number), OX_ERROR_VALUE);
    ck_assert_int_eq(parse("8", OX_INT4, &number), OX_ERROR_VALUE);
    ck_assert_int_eq(parse("18446744073709551616", OX_UINT64, &number), OX_ERROR_VALUE);
    ck_assert_int_eq(parse("NaN", OX_INT64, &number), OX_ERROR_VALUE);
}
END_TEST

/* ---- CastLike and BitCast ----------------------------------------------------------------------------------- */

START_TEST(cast_like_takes_the_type_only) {
    const float x[] = {1.9f, -1.9f};
    const int32_t expected[] = {1, -1};
    test_call t;
    test_call_begin(&t, "CastLike", 19);
    test_call_input(&t, OX_FLOAT, DIMS(2), x);
    test_call_input(&t, OX_INT32, DIMS(7, 5, 3), NULL);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    ck_assert_int_eq(t.outputs[0].rank, 1);
    ck_assert(!memcmp(t.outputs[0].data, expected, sizeof expected));
    test_call_end(&t);
}
END_TEST

static ox_status bit_cast(ox_dtype from, int64_t n, const void *data, ox_dtype to, void *out) {
    test_call t;
    test_call_begin(&t, "BitCast", 26);
    test_call_input(&t, from, 1, &n, data);
    test_call_int(&t, "to", to);
    ox_status status = test_call_run(&t, 1);
    if (status == OX_OK)
        memcpy(out, t.outputs[0].data, (size_t)n * ox_dtype_size(to));
    test_call_end(&t);
    return status;
}

START_TEST(bit_cast_keeps_the_bits) {
    uint32_t bits;
    int8_t nibbles[2];
    ck_assert_int_eq(bit_cast(OX_FLOAT, 1, &(const float){-2}, OX_UINT32, &bits), OX_OK);
    ck_assert_uint_eq(bits, 0xc0000000);
    ck_assert_int_eq(bit_cast(OX_UINT4, 2, (const uint8_t[]){15, 7}, OX_INT4, nibbles), OX_OK);
    ck_assert(nibbles[0] == -1 && nibbles[1] == 7);
    ck_assert_int_eq(bit_cast(OX_INT4, 2, nibbles, OX_FLOAT4E2M1, nibbles), OX_OK);
    ck_assert(nibbles[0] == 15 && nibbles[1] == 7);
    ck_assert_int_eq(bit_cast(OX_FLOAT, 1, &bits, OX_INT64, &bits), OX_ERROR_SHAPE);
    ck_assert_int_eq(bit_cast(OX_FLOAT, 1, &bits, OX_STRING, &bits), OX_ERROR_MODEL);
}
END_TEST

START_TEST(casts_that_make_no_sense) {
    test_call t;
    const float x = 1;
    const int64_t targets[] = {0, 99, -1, OX_COMPLEX64};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        begin(&t, OX_FLOAT, 1, &x, (ox_dtype)targets[i]);
        ck_assert_int_eq(test_call_infer(&t, 1), OX_ERROR_MODEL);
        test_call_end(&t);
    }
    begin(&t, OX_FLOAT, 1, &x, OX_FLOAT8E8M0);
    test_call_string(&t, "round_mode", "sideways");
    ck_assert_int_eq(test_call_infer(&t, 1), OX_ERROR_MODEL);
    test_call_end(&t);
}
END_TEST

/* Floats become integers of 64 bits, or the lower bits of those of 32 bits, in vectors and behind them, past the caches
 * or not. */
START_TEST(floats_are_cut_towards_zero) {
    enum {
        COUNT = 173
    };
    static const float ends[] = {NAN, INFINITY, -INFINITY, 2147483648.0F, -2147483648.0F, 2147483520.0F, -1.5F, 300.9F};
    static const ox_dtype types[] = {OX_UINT8, OX_INT8, OX_UINT16, OX_INT16, OX_INT32, OX_INT64};
    const ox_loops *loops = ox_loops_find(builds[_i]);
    float x[COUNT];
    int32_t whole[COUNT];
    int64_t wide[COUNT];
    for (int i = 0; i < COUNT; i++) {
        x[i] = i % 3 ? (float)(i * 977 - 70000) / 3 : ends[i / 33 % 2 ? 6 + i % 2 : i / 3 % 8];
        whole[i] = x[i] >= -2147483648.0F && x[i] < 2147483648.0F ? (int32_t)x[i] : INT32_MIN;
        wide[i] = x[i] >= -0x1p63F && x[i] < 0x1p63F ? (int64_t)x[i] : INT64_MIN;
    }
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int64_t n = 1; n <= COUNT; n += 4) {
            const int64_t width = (int64_t)ox_dtype_size(types[t]), lines = n / 64 * 64;
            const bool past = loops->streams && lines;
            const int64_t count = past ? lines : n, step[] = {past ? -width : width, (int64_t)sizeof *x};
            char got[COUNT * sizeof *wide] __attribute__((aligned(64)));
            char *const arg[] = {got, (char *)x};
            ck_assert_int_eq(loops->cast(OX_FLOAT, types[t])(count, arg, step, NULL), 0);
            for (int64_t i = 0; i < count; i++) {
                const uint8_t byte = (uint8_t)whole[i];
                const uint16_t two = (uint16_t)whole[i];
                const void *right = width == 1   ? &byte
                                    : width == 2 ? (const void *)&two
                                    : width == 4 ? (const void *)&whole[i]
                                                 : &wide[i];
                ck_assert_msg(!memcmp(got + i * width, right, (size_t)width), "%s, build %s: element %d of %d",
                              ox_dtype_name(types[t]), loops->name, (int)i, (int)count);
            }
        }
}
END_TEST

Suite *ox_suite_cast(void);
Suite *ox_suite_cast(void) {
    Suite *suite = suite_create("cast");
    TCase *c = tcase_create("cast");
    tcase_add_loop_test(c, every_code_widens, 0, FORMATS);
    tcase_add_loop_test(c, floats_narrow_to_the_nearest_code, 0, FORMATS);
    tcase_add_loop_test(c, floats_beyond_the_largest_code, 0, FORMATS);
    tcase_add_test(c, powers_of_two_widen);
    tcase_add_test(c, powers_of_two_round_as_asked);
    tcase_add_test(c, integers_wrap);
    tcase_add_test(c, doubles_are_rounded_once);
    tcase_add_test(c, one_element_that_repeats);
    tcase_add_test(c, numbers_become_text);
    tcase_add_test(c, text_becomes_numbers);
    tcase_add_test(c, what_is_no_number_is_refused);
    tcase_add_test(c, cast_like_takes_the_type_only);
    tcase_add_test(c, bit_cast_keeps_the_bits);
    tcase_add_test(c, casts_that_make_no_sense);
    tcase_add_loop_test(c, floats_are_cut_towards_zero, 0, BUILDS);
    suite_add_tcase(suite, c);
    return suite;
}
