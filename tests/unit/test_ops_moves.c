/* test_ops_moves.c: operators that bring elements to other places, and those that make tensors of shapes. */
#include "tests/unit/call.h"

#include <check.h>
#include <string.h>

#define TEXT(s) ((ox_string){s, sizeof(s) - 1})

static void check_texts(const test_call *t, int n, const char *const *expected) {
    const ox_string *have = t->outputs[0].data;
    ck_assert_int_eq(t->outputs[0].dtype, OX_STRING);
    ck_assert_int_eq(ox_tensor_count(&t->outputs[0]), n);
    for (int i = 0; i < n; i++) {
        ck_assert_uint_eq(have[i].size, strlen(expected[i]));
        ck_assert(!memcmp(have[i].data, expected[i], have[i].size));
    }
}

static void check_ints(const test_call *t, int n, const int64_t *expected) {
    ck_assert_int_eq(t->outputs[0].dtype, OX_INT64);
    ck_assert_int_eq(ox_tensor_count(&t->outputs[0]), n);
    ck_assert(!memcmp(t->outputs[0].data, expected, (size_t)n * sizeof *expected));
}

START_TEST(concat_strings) {
    const ox_string a[] = {TEXT("a"), TEXT("")}, b[] = {TEXT("long one")};
    test_call t;
    test_call_begin(&t, "Concat", 13);
    test_call_input(&t, OX_STRING, DIMS(1, 2), a);
    test_call_input(&t, OX_STRING, DIMS(1, 0), NULL);
    test_call_input(&t, OX_STRING, DIMS(1, 1), b);
    test_call_int(&t, "axis", -1);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    check_texts(&t, 3, (const char *const[]){"a", "", "long one"});
    test_call_end(&t);
}
END_TEST

/* Two inputs of these dimensions, along axis 0. */
static ox_status concat(ox_dtype second, int rank_a, const int64_t *a, int rank_b, const int64_t *b, test_call *t) {
    test_call_begin(t, "Concat", 13);
    test_call_input(t, OX_INT64, rank_a, a, NULL);
    test_call_input(t, second, rank_b, b, NULL);
    test_call_int(t, "axis", 0);
    return test_call_infer(t, 1);
}

START_TEST(concat_refuses_what_does_not_fit) {
    test_call t;
    ck_assert_int_eq(concat(OX_INT64, DIMS(2, 3), DIMS(1, 3), &t), OX_OK);
    ck_assert_int_eq(t.results[0].dims[0], 3);
    test_call_end(&t);
    ck_assert_int_eq(concat(OX_INT64, DIMS(2, 3), DIMS(2, 4), &t), OX_ERROR_SHAPE);
    test_call_end(&t);
    ck_assert_int_eq(concat(OX_INT64, DIMS(2, 3), DIMS(6), &t), OX_ERROR_SHAPE);
    test_call_end(&t);
    ck_assert_int_eq(concat(OX_INT32, DIMS(2, 3), DIMS(2, 3), &t), OX_ERROR_SHAPE);
    test_call_end(&t);
    ck_assert_int_eq(concat(OX_INT64, DIMS(), DIMS(), &t), OX_ERROR_SHAPE);
    test_call_end(&t);
}
END_TEST

START_TEST(concat_overflows) {
    const int64_t huge = (int64_t)1 << 62;
    test_call t;
    ck_assert_int_eq(concat(OX_INT64, DIMS(huge, 0), DIMS(huge, 0), &t), OX_ERROR_LIMIT);
    test_call_end(&t);
    ck_assert_int_eq(concat(OX_INT64, DIMS(huge / 8), DIMS(huge / 8), &t), OX_ERROR_LIMIT);
    test_call_end(&t);
}
END_TEST

START_TEST(concat_axis_default) {
    test_call t;
    test_call_begin(&t, "Concat", 1);
    test_call_input(&t, OX_FLOAT, DIMS(2, 3), NULL);
    test_call_input(&t, OX_FLOAT, DIMS(2, 1), NULL);
    ck_assert_int_eq(test_call_infer(&t, 1), OX_OK);
    ck_assert_int_eq(t.results[0].dims[1], 4);
    test_call_end(&t);
    test_call_begin(&t, "Concat", 4);
    test_call_input(&t, OX_FLOAT, DIMS(2, 3), NULL);
    ck_assert_int_eq(test_call_infer(&t, 1), OX_ERROR_MODEL);
    test_call_end(&t);
}
END_TEST

START_TEST(transpose_strings) {
    const ox_string a[] = {TEXT("a"), TEXT("b"), TEXT("c"), TEXT("d")};
    test_call t;
    test_call_begin(&t, "Transpose", 13);
    test_call_input(&t, OX_STRING, DIMS(2, 2), a);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    check_texts(&t, 4, (const char *const[]){"a", "c", "b", "d"});
    test_call_end(&t);
}
END_TEST

START_TEST(gather_strings) {
    const ox_string a[] = {TEXT("a"), TEXT("b"), TEXT("c"), TEXT("d")};
    test_call t;
    test_call_begin(&t, "Gather", 13);
    test_call_input(&t, OX_STRING, DIMS(2, 2), a);
    test_call_input(&t, OX_INT32, DIMS(3), (const int32_t[]){1, -2, -1});
    test_call_int(&t, "axis", 1);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    check_texts(&t, 6, (const char *const[]){"b", "a", "b", "d", "c", "d"});
    test_call_end(&t);
}
END_TEST

static ox_status gather(int64_t dim, int64_t index, test_call *t) {
    test_call_begin(t, "Gather", 13);
    test_call_input(t, OX_INT64, DIMS(dim), (const int64_t[]){10, 11, 12});
    test_call_input(t, OX_INT64, DIMS(), &index);
    return test_call_run(t, 1);
}

START_TEST(gather_checks_every_index) {
    test_call t;
    ck_assert_int_eq(gather(3, -3, &t), OX_OK);
    check_ints(&t, 1, (const int64_t[]){10});
    ck_assert_int_eq(t.outputs[0].rank, 0);
    test_call_end(&t);
    static const int64_t wrong[] = {3, -4, INT64_MAX, INT64_MIN};
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(gather(3, wrong[i], &t), OX_ERROR_VALUE);
        test_call_end(&t);
    }
    ck_assert_int_eq(gather(0, 0, &t), OX_ERROR_VALUE);
    ck_assert_str_eq(t.error.text, "index 0 is out of range for axis 0 of size 0 of input 0 (int64 [0])");
    test_call_end(&t);
}
END_TEST

START_TEST(gather_nothing) {
    test_call t;
    test_call_begin(&t, "Gather", 13);
    test_call_input(&t, OX_INT64, DIMS(2, 2), (const int64_t[]){1, 2, 3, 4});
    test_call_input(&t, OX_INT64, DIMS(0, 5), NULL);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    ck_assert_int_eq(t.outputs[0].rank, 3);
    test_call_end(&t);
    test_call_begin(&t, "Gather", 13);
    test_call_input(&t, OX_INT64, DIMS(), (const int64_t[]){1});
    test_call_list(&t, 0);
    ck_assert_int_eq(test_call_infer(&t, 1), OX_ERROR_SHAPE);
    test_call_end(&t);
}
END_TEST

/* Without elements, the other dimensions may be of any size. */
START_TEST(gather_nothing_large) {
    const int64_t huge = INT64_C(1) << 40;
    test_call t;
    test_call_begin(&t, "Gather", 13);
    test_call_input(&t, OX_INT64, DIMS(0, 2, huge, huge), NULL);
    test_call_input(&t, OX_INT64, DIMS(0), NULL);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    ck_assert_int_eq(ox_tensor_count(&t.outputs[0]), 0);
    test_call_end(&t);
    test_call_begin(&t, "Gather", 13);
    test_call_input(&t, OX_INT64, DIMS(huge, huge, 0), NULL);
    test_call_input(&t, OX_INT64, DIMS(0), NULL);
    test_call_int(&t, "axis", 2);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    test_call_end(&t);
}
END_TEST

START_TEST(constant_of_shape_limits) {
    static const int64_t huge = (int64_t)1 << 40;
    test_call t;
    test_call_begin(&t, "ConstantOfShape", 9);
    test_call_list(&t, huge, huge);
    ck_assert_int_eq(test_call_infer(&t, 1), OX_ERROR_LIMIT);
    test_call_end(&t);
    test_call_begin(&t, "ConstantOfShape", 9);
    test_call_list(&t, 2, -1);
    ck_assert_int_eq(test_call_infer(&t, 1), OX_ERROR_SHAPE);
    test_call_end(&t);
}
END_TEST

START_TEST(constant_of_shape_values) {
    const ox_tensor value = {OX_INT64, 1, (const int64_t[]){1}, NULL, &(int64_t){7}};
    const ox_tensor two = {OX_INT64, 1, (const int64_t[]){2}, NULL, (int64_t[]){7, 8}};
    test_call t;
    test_call_begin(&t, "ConstantOfShape", 9);
    test_call_list(&t, 3);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    ck_assert(!memcmp(t.outputs[0].data, (const float[3]){0}, 12));
    ox_attr *attr = test_call_attr(&t, "value", OX_ATTR_TENSOR);
    attr->u.tensor = &value;
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    check_ints(&t, 3, (const int64_t[]){7, 7, 7});
    attr->u.tensor = &two;
    ck_assert_int_eq(test_call_infer(&t, 1), OX_ERROR_MODEL);
    test_call_end(&t);
    test_call_begin(&t, "ConstantOfShape", 9);
    test_call_input(&t, OX_INT64, DIMS(0), NULL);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    ck_assert_int_eq(t.outputs[0].rank, 0);
    test_call_end(&t);
}
END_TEST

START_TEST(constant_forms) {
    test_call t;
    test_call_begin(&t, "Constant", 13);
    ox_attr *attr = test_call_attr(&t, "value_strings", OX_ATTR_STRINGS);
    attr->count = 2;
    attr->u.strings = (const ox_string[]){TEXT("x"), TEXT("yz")};
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    check_texts(&t, 2, (const char *const[]){"x", "yz"});
    test_call_end(&t);
    test_call_begin(&t, "Constant", 13);
    test_call_int(&t, "value_int", -5);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    check_ints(&t, 1, (const int64_t[]){-5});
    ck_assert_int_eq(t.outputs[0].rank, 0);
    test_call_end(&t);
    test_call_begin(&t, "Constant", 13);
    test_call_ints(&t, "value_ints", 0, NULL);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    check_ints(&t, 0, (const int64_t[]){0});
    test_call_end(&t);
}
END_TEST

START_TEST(constant_without_a_value) {
    test_call t;
    test_call_begin(&t, "Constant", 13);
    ck_assert_int_eq(test_call_infer(&t, 1), OX_ERROR_MODEL);
    test_call_end(&t);
}
END_TEST

static void shape(int64_t start, int64_t end, int n, const int64_t *expected) {
    test_call t;
    test_call_begin(&t, "Shape", 15);
    test_call_input(&t, OX_FLOAT, DIMS(4, 0, 6), NULL);
    test_call_int(&t, "start", start);
    test_call_int(&t, "end", end);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    check_ints(&t, n, expected);
    test_call_end(&t);
}

START_TEST(shape_ranges) {
    shape(0, 3, 3, (const int64_t[]){4, 0, 6});
    shape(-1, INT64_MAX, 1, (const int64_t[]){6});
    shape(INT64_MIN, -2, 1, (const int64_t[]){4});
    shape(2, 1, 0, (const int64_t[]){0});
}
END_TEST

START_TEST(shape_of_a_scalar) {
    test_call t;
    test_call_begin(&t, "Shape", 1);
    test_call_input(&t, OX_STRING, DIMS(), NULL);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    check_ints(&t, 0, (const int64_t[]){0});
    test_call_end(&t);
    test_call_begin(&t, "Size", 1);
    test_call_input(&t, OX_STRING, DIMS(), NULL);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    check_ints(&t, 1, (const int64_t[]){1});
    test_call_end(&t);
}
END_TEST

Suite *ox_suite_ops_moves(void) {
    Suite *suite = suite_create("ops_moves");
    TCase *tests = tcase_create("all");
    const TTest *const all[] = {
        concat_strings,
        concat_refuses_what_does_not_fit,
        concat_overflows,
        concat_axis_default,
        transpose_strings,
        gather_strings,
        gather_checks_every_index,
        gather_nothing,
        gather_nothing_large,
        constant_of_shape_limits,
        constant_of_shape_values,
        constant_forms,
        constant_without_a_value,
        shape_ranges,
        shape_of_a_scalar,
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        tcase_add_test(tests, all[i]);
    suite_add_tcase(suite, tests);
    return suite;
}
