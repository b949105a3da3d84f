/* test_print.c: tensors as text. The expected texts are numpy 2.4's array2string. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "tools/literal.h"
#include "tools/number.h"
#include "tools/print.h"

static void expect(const ox_tensor *tensor, const char *expected) {
    ox_text text = {0};
    ox_print_tensor(&text, tensor);
    ck_assert_str_eq(ox_text_get(&text), expected);
    ox_text_free(&text);
}

static const struct {
    const char *literal;
    ox_dtype dtype;
    const char *text;
} plain[] = {
    {"3.1415927", OX_FLOAT, "3.1415927"},
    {"0.1", OX_FLOAT16, "0.1"},
    {"[0.1,0.25,100]", OX_FLOAT, "[  0.1    0.25 100.  ]"},
    {"[1,-2,3.5]", OX_DOUBLE, "[ 1.  -2.   3.5]"},
    {"[0.123456789012,1]", OX_DOUBLE, "[0.12345679 1.        ]"},
    {"[1e-5,1]", OX_DOUBLE, "[1.e-05 1.e+00]"},
    {"[0.5,501]", OX_FLOAT, "[5.00e-01 5.01e+02]"},
    {"[1000]", OX_FLOAT16, "[1.e+03]"},
    {"[1e6]", OX_FLOAT, "[1.e+06]"},
    {"[999999]", OX_FLOAT, "[999999.]"},
    {"[12345678]", OX_DOUBLE, "[12345678.]"},
    {"[1e300,1]", OX_DOUBLE, "[1.e+300 1.e+000]"},
    {"[nan,1,-inf]", OX_DOUBLE, "[ nan   1. -inf]"},
    {"[nan,nan]", OX_FLOAT, "[nan nan]"},
    {"[-0.0,0]", OX_FLOAT, "[-0.  0.]"},
    {"0.015625", OX_FLOAT16, "0.01563"},
    {"[1.2621775e-29]", OX_FLOAT, "[1.2621775e-29]"},
    {"[1+2j,-1.5-0.25j]", OX_COMPLEX64, "[ 1. +2.j   -1.5-0.25j]"},
    {"[[1,20],[-3,4]]", OX_INT8, "[[ 1 20]\n [-3  4]]"},
    {"[[[1],[2]],[[3],[4]]]", OX_UINT64, "[[[1]\n  [2]]\n\n [[3]\n  [4]]]"},
    {"[true,false]", OX_BOOL, "[ True False]"},
    {"true", OX_BOOL, "True"},
    {"['a',\"it's\",'\\n\\\\']", OX_STRING, "['a' \"it's\" '\\n\\\\']"},
    {"[[],[]]", OX_FLOAT, "[]"},
    {"[1.01,2]", OX_BFLOAT16, "[1.01 2.  ]"},
    {"[1.5,-6]", OX_FLOAT4E2M1, "[ 1.5 -6. ]"},
    {"[-8,7]", OX_INT4, "[-8  7]"},
    {"[10000000,10000001,10000002,10000003,10000004,10000005,10000006,10000007,10000008]", OX_INT32,
     "[10000000 10000001 10000002 10000003 10000004 10000005 10000006 10000007\n 10000008]"},
};

START_TEST(prints_as_numpy_does) {
    ox_array array;
    ox_error error = {OX_OK, ""};
    ck_assert_msg(ox_literal_read(plain[_i].literal, plain[_i].dtype, &array, &error) == OX_OK, "%s", error.text);
    expect(&array.tensor, plain[_i].text);
    ox_array_free(&array);
}
END_TEST

START_TEST(shortens_large_tensors) {
    int32_t values[1001];
    int64_t dims[] = {1001};
    for (int i = 0; i < 1001; i++)
        values[i] = i;
    expect(&(ox_tensor){OX_INT32, 1, dims, NULL, values}, "[   0    1    2 ...  998  999 1000]");
    int64_t table[] = {500, 2};
    ox_text text = {0};
    ox_print_tensor(&text, &(ox_tensor){OX_INT32, 2, table, NULL, values});
    ck_assert_uint_gt(text.size, 4000);
    ox_text_free(&text);
    int64_t long_table[] = {7, 143};
    expect(&(ox_tensor){OX_INT32, 2, long_table, NULL, values}, "[[   0    1    2 ...  140  141  142]\n"
                                                                " [ 143  144  145 ...  283  284  285]\n"
                                                                " [ 286  287  288 ...  426  427  428]\n"
                                                                " ...\n"
                                                                " [ 572  573  574 ...  712  713  714]\n"
                                                                " [ 715  716  717 ...  855  856  857]\n"
                                                                " [ 858  859  860 ...  998  999 1000]]");
}
END_TEST

START_TEST(follows_strides) {
    float values[] = {1, 2, 3, 4};
    int64_t dims[] = {2, 2};
    int64_t swapped[] = {4, 8};
    int64_t repeated[] = {0, 4};
    int64_t backward[] = {-8, 4};
    expect(&(ox_tensor){OX_FLOAT, 2, dims, swapped, values}, "[[1. 3.]\n [2. 4.]]");
    expect(&(ox_tensor){OX_FLOAT, 2, dims, repeated, values}, "[[1. 2.]\n [1. 2.]]");
    expect(&(ox_tensor){OX_FLOAT, 2, dims, backward, values + 2}, "[[3. 4.]\n [1. 2.]]");
}
END_TEST

START_TEST(never_sends_control_characters) {
    ox_string strings[] = {{"\x1b[31m", 5}, {"\xFF", 1}, {"\xC2\x9B", 2}, {"\xE2\x80\xAE", 3}, {"\0x", 2}};
    int64_t dims[] = {5};
    expect(&(ox_tensor){OX_STRING, 1, dims, NULL, strings}, "['\\x1b[31m' '\\xff' '\\x9b' '\\u202e' '\\x00x']");
}
END_TEST

/* Every float16 is printed so that it is read back the same. */
START_TEST(gives_back_every_half) {
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        uint16_t half = (uint16_t)bits;
        uint16_t back = 0;
        ox_text text = {0};
        ox_print_element(&text, OX_FLOAT16, &half);
        ck_assert(ox_number_store(OX_FLOAT16, &back, ox_number_real(strtod(ox_text_get(&text), NULL))));
        ck_assert_msg(back == half || isnan(ox_float_from_bits(OX_FLOAT16, bits)), "%#x is printed as %s", bits,
                      ox_text_get(&text));
        ox_text_free(&text);
    }
}
END_TEST

Suite *ox_suite_print(void);

Suite *ox_suite_print(void) {
    Suite *suite = suite_create("print");
    TCase *tests = tcase_create("print");
    tcase_add_loop_test(tests, prints_as_numpy_does, 0, (int)(sizeof plain / sizeof *plain));
    tcase_add_test(tests, shortens_large_tensors);
    tcase_add_test(tests, follows_strides);
    tcase_add_test(tests, never_sends_control_characters);
    suite_add_tcase(suite, tests);
    TCase *all = tcase_create("print, every value");
    tcase_set_tags(all, "long");
    tcase_add_test(all, gives_back_every_half);
    suite_add_tcase(suite, all);
    return suite;
}
