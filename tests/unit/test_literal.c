/* test_literal.c: tensors as text on the command line, and rules that fill them. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/fill.h"
#include "tools/literal.h"
#include "tools/number.h"

static ox_array read_well(const char *text, ox_dtype dtype) {
    ox_array array;
    ox_error error = {OX_OK, ""};
    ck_assert_msg(ox_literal_read(text, dtype, &array, &error) == OX_OK, "%s", error.text);
    return array;
}

START_TEST(reads_nested_lists) {
    ox_array array = read_well(" [[1, 2.5,-3e1],\n[+4,.5,6.]] ", OX_FLOAT);
    const float expected[] = {1, 2.5f, -30, 4, .5f, 6};
    ck_assert_int_eq(array.tensor.rank, 2);
    ck_assert_int_eq(array.tensor.dims[0], 2);
    ck_assert_int_eq(array.tensor.dims[1], 3);
    ck_assert_mem_eq(array.tensor.data, expected, sizeof expected);
    ox_array_free(&array);
}
END_TEST

START_TEST(reads_scalars_and_empty_lists) {
    ox_array array = read_well("7", OX_INT64);
    ck_assert_int_eq(array.tensor.rank, 0);
    ck_assert_int_eq(*(int64_t *)array.tensor.data, 7);
    ox_array_free(&array);
    array = read_well("[[],[]]", OX_INT64);
    ck_assert_int_eq(array.tensor.rank, 2);
    ck_assert_int_eq(array.tensor.dims[0], 2);
    ck_assert_int_eq(array.tensor.dims[1], 0);
    ox_array_free(&array);
}
END_TEST

START_TEST(reads_special_values) {
    ox_array array = read_well("[nan,-inf,Infinity]", OX_FLOAT);
    const float *values = array.tensor.data;
    ck_assert(isnan(values[0]) && isinf(values[1]) && values[1] < 0 && isinf(values[2]) && values[2] > 0);
    ox_array_free(&array);
    array = read_well("[true,False,1]", OX_BOOL);
    ck_assert_mem_eq(array.tensor.data, "\1\0\1", 3);
    ox_array_free(&array);
    array = read_well("[1+2j,3,-4j]", OX_COMPLEX128);
    const double expected[] = {1, 2, 3, 0, 0, -4};
    ck_assert_mem_eq(array.tensor.data, expected, sizeof expected);
    ox_array_free(&array);
}
END_TEST

START_TEST(reads_strings) {
    ox_array array = read_well("[\"a\\n\\u00fc\", 'it', \"\\ud83d\\ude00\", '']", OX_STRING);
    const char *const expected[] = {"a\n\xC3\xBC", "it", "\xF0\x9F\x98\x80", ""};
    const ox_string *strings = array.tensor.data;
    for (int i = 0; i < 4; i++) {
        ck_assert_uint_eq(strings[i].size, strlen(expected[i]));
        ck_assert_int_eq(memcmp(strings[i].data, expected[i], strings[i].size), 0);
    }
    ox_array_free(&array);
}
END_TEST

START_TEST(keeps_all_digits_of_integers) {
    ox_array array = read_well("[9223372036854775807,-9223372036854775808]", OX_INT64);
    ck_assert_int_eq(((int64_t *)array.tensor.data)[0], INT64_MAX);
    ck_assert_int_eq(((int64_t *)array.tensor.data)[1], INT64_MIN);
    ox_array_free(&array);
    array = read_well("18446744073709551615", OX_UINT64);
    ck_assert_uint_eq(*(uint64_t *)array.tensor.data, UINT64_MAX);
    ox_array_free(&array);
}
END_TEST

START_TEST(rounds_to_small_floats) {
    static const struct {
        const char *text;
        ox_dtype dtype;
        uint16_t bits;
    } values[] = {{"0.1", OX_FLOAT16, 0x2E66},       {"65519", OX_FLOAT16, 0x7BFF}, {"-0.0", OX_FLOAT16, 0x8000},
                  {"2049", OX_FLOAT16, 0x6800},      {"2051", OX_FLOAT16, 0x6802},  {"1.01", OX_BFLOAT16, 0x3F81},
                  {"448", OX_FLOAT8E4M3FN, 0x7E},    {"-1.5", OX_FLOAT4E2M1, 0x0B}, {"nan", OX_FLOAT8E5M2FNUZ, 0x80},
                  {"-0.0", OX_FLOAT8E4M3FNUZ, 0x00}, {"-inf", OX_FLOAT8E5M2, 0xFC}, {"2", OX_FLOAT8E8M0, 0x80},
                  {"7.5", OX_FLOAT6E2M3, 0x1F}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        ox_array array = read_well(values[i].text, values[i].dtype);
        bool is_byte = ox_dtype_size(values[i].dtype) == 1;
        uint16_t bits = is_byte ? *(uint8_t *)array.tensor.data : *(uint16_t *)array.tensor.data;
        ck_assert_msg(bits == values[i].bits, "%s as %s is %#x", values[i].text, ox_dtype_name(values[i].dtype), bits);
        ox_array_free(&array);
    }
}
END_TEST

static const struct {
    const char *text;
    ox_dtype dtype;
} wrong[] = {{"", OX_FLOAT},
             {"[", OX_FLOAT},
             {"]", OX_FLOAT},
             {"[1", OX_FLOAT},
             {"[1,]", OX_FLOAT},
             {"[1 2]", OX_FLOAT},
             {"[1],2", OX_FLOAT},
             {"[[1],[2,3]]", OX_FLOAT},
             {"[1,[2]]", OX_FLOAT},
             {"[[1],2]", OX_FLOAT},
             {"[[],1]", OX_FLOAT},
             {"[[[]],[]]", OX_FLOAT},
             {"1e99", OX_FLOAT},
             {"1e999", OX_DOUBLE},
             {"65520", OX_FLOAT16},
             {"449000", OX_FLOAT8E4M3FN},
             {"inf", OX_FLOAT4E2M1},
             {"-1", OX_FLOAT8E8M0},
             {"0x10", OX_INT32},
             {"1.5", OX_INT32},
             {"nan", OX_INT32},
             {"128", OX_INT8},
             {"-129", OX_INT8},
             {"-1", OX_UINT8},
             {"8", OX_INT4},
             {"4", OX_UINT2},
             {"18446744073709551616", OX_UINT64},
             {"2", OX_BOOL},
             {"true", OX_FLOAT},
             {"1+2", OX_COMPLEX64},
             {"1+2j", OX_FLOAT},
             {"text", OX_STRING},
             {"\"open", OX_STRING},
             {"'a' 'b'", OX_STRING},
             {"\"\\q\"", OX_STRING},
             {"\"\\u12\"", OX_STRING},
             {"\"\\ud800\"", OX_STRING},
             {"[1]", OX_STRING}};

START_TEST(refuses_what_is_wrong) {
    ox_array array;
    ox_error error = {OX_OK, ""};
    ck_assert_msg(ox_literal_read(wrong[_i].text, wrong[_i].dtype, &array, &error) != OX_OK, "%s was taken",
                  wrong[_i].text);
    ck_assert_str_ne(error.text, "");
}
END_TEST

START_TEST(bounds_nesting) {
    char text[100001];
    ox_array array;
    ox_error error = {OX_OK, ""};
    memset(text, '[', 100000);
    text[100000] = '\0';
    ck_assert_int_ne(ox_literal_read(text, OX_FLOAT, &array, &error), OX_OK);
    memcpy(text + 64, "1", 1);
    memset(text + 65, ']', 64);
    text[129] = '\0';
    array = read_well(text, OX_FLOAT);
    ck_assert_int_eq(array.tensor.rank, 64);
    ox_array_free(&array);
}
END_TEST

START_TEST(fills_alike_for_the_same_seed) {
    int64_t dims[] = {100};
    for (int dtype = 1; dtype < OX_DTYPE_COUNT; dtype++) {
        ox_array a;
        ox_array b;
        ox_error error;
        if (dtype == OX_STRING)
            continue;
        ck_assert_int_eq(ox_fill("@random:7", &(ox_fill_shape){(ox_dtype)dtype, 1, dims, 0}, 0, &a, &error), OX_OK);
        ck_assert_int_eq(ox_fill("@random:7", &(ox_fill_shape){(ox_dtype)dtype, 1, dims, 0}, 0, &b, &error), OX_OK);
        ck_assert_mem_eq(a.data, b.data, 100 * ox_dtype_size((ox_dtype)dtype));
        for (ox_walk walk = ox_walk_start(&a.tensor); walk.element; ox_walk_next(&walk)) {
            ox_number number = ox_number_load((ox_dtype)dtype, walk.element);
            ck_assert(number.real >= 0 && number.real < (number.kind >= OX_NUMBER_REAL ? 1 : 10));
        }
        ox_array_free(&a);
        ox_array_free(&b);
    }
}
END_TEST

START_TEST(knows_its_rules) {
    static const char *const rules[] = {"@", "@zero", "@random:", "@random:x", "@random:1x", "@random:-1", "@onesies"};
    ox_array array;
    ox_error error;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        ck_assert_int_ne(ox_fill(rules[i], &(ox_fill_shape){OX_FLOAT, 0, NULL, 0}, 0, &array, &error), OX_OK);
    ck_assert_int_ne(ox_fill("@zeros", &(ox_fill_shape){OX_FLOAT8E8M0, 0, NULL, 0}, 0, &array, &error), OX_OK);
    ck_assert_int_ne(ox_fill("@ones", &(ox_fill_shape){OX_STRING, 0, NULL, 0}, 0, &array, &error), OX_OK);
    ck_assert_int_ne(ox_fill("@ones", &(ox_fill_shape){OX_FLOAT, 2, (int64_t[]){INT64_MAX, 2}, 0}, 0, &array, &error),
                     OX_OK);
    ck_assert_int_eq(ox_fill("@ones", &(ox_fill_shape){OX_INT4, 0, NULL, 0}, 0, &array, &error), OX_OK);
    ck_assert_int_eq(*(int8_t *)array.data, 1);
    ox_array_free(&array);
}
END_TEST

Suite *ox_suite_literal(void);

Suite *ox_suite_literal(void) {
    Suite *suite = suite_create("literal");
    TCase *tests = tcase_create("literal");
    tcase_add_test(tests, reads_nested_lists);
    tcase_add_test(tests, reads_scalars_and_empty_lists);
    tcase_add_test(tests, reads_special_values);
    tcase_add_test(tests, reads_strings);
    tcase_add_test(tests, keeps_all_digits_of_integers);
    tcase_add_test(tests, rounds_to_small_floats);
    tcase_add_loop_test(tests, refuses_what_is_wrong, 0, (int)(sizeof wrong / sizeof *wrong));
    tcase_add_test(tests, bounds_nesting);
    tcase_add_test(tests, fills_alike_for_the_same_seed);
    tcase_add_test(tests, knows_its_rules);
    suite_add_tcase(suite, tests);
    return suite;
}
