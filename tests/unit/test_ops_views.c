/* test_ops_views.c: operators that only change the shape, or show a part of their input. */
#include "tests/unit/call.h"

#include <check.h>
#include <string.h>

#define SIX                                                                                                            \
    (const float[]) {                                                                                                  \
        0, 1, 2, 3, 4, 5                                                                                               \
    }

/* Output k has these dimensions. */
static void check_dims(const test_call *t, int k, int rank, const int64_t *dims) {
    ck_assert_int_eq(t->results[k].rank, rank);
    for (int d = 0; d < rank; d++)
        ck_assert_int_eq(t->results[k].dims[d], dims[d]);
}

static void check_floats(const test_call *t, int k, int n, const float *expected) {
    ck_assert_int_eq(ox_tensor_count(&t->outputs[k]), n);
    ck_assert(!memcmp(t->outputs[k].data, expected, (size_t)n * sizeof *expected));
}

/* A Reshape of a [2,3] tensor: its status, or OX_OK and the first dimensions. */
static ox_status reshape(int64_t version, int64_t allow_zero, int rank, const int64_t *shape, test_call *t) {
    test_call_begin(t, "Reshape", version);
    test_call_input(t, OX_FLOAT, DIMS(2, 3), SIX);
    test_call_input(t, OX_INT64, DIMS(rank), shape);
    if (allow_zero)
        test_call_int(t, "allowzero", 1);
    return test_call_run(t, 1);
}

START_TEST(reshape_infers_a_dimension) {
    test_call t;
    ck_assert_int_eq(reshape(13, 0, DIMS(3, -1), &t), OX_OK);
    check_dims(&t, 0, DIMS(3, 2));
    check_floats(&t, 0, 6, SIX);
    test_call_end(&t);
    ck_assert_int_eq(reshape(13, 0, DIMS(0, -1, 1), &t), OX_OK);
    check_dims(&t, 0, DIMS(2, 3, 1));
    test_call_end(&t);
}
END_TEST

START_TEST(reshape_refuses_what_does_not_fit) {
    static const int64_t shapes[][3] = {{-1, -1, 6}, {-2, 3, 1}, {4, 1, 2}, {4, -1, 1}, {2, 3, 0}};
    test_call t;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        ck_assert_int_eq(reshape(13, 0, 3, shapes[i], &t), OX_ERROR_SHAPE);
        ck_assert_str_ne(t.error.text, "");
        test_call_end(&t);
    }
}
END_TEST

START_TEST(reshape_allowzero) {
    test_call t;
    ck_assert_int_eq(reshape(14, 1, DIMS(0, 3), &t), OX_ERROR_SHAPE);
    test_call_end(&t);
    ck_assert_int_eq(reshape(14, 1, DIMS(0, -1), &t), OX_ERROR_SHAPE);
    test_call_end(&t);
    test_call_begin(&t, "Reshape", 14);
    test_call_input(&t, OX_FLOAT, DIMS(0, 3), SIX);
    test_call_list(&t, 7, 0);
    test_call_int(&t, "allowzero", 1);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    check_dims(&t, 0, DIMS(7, 0));
    test_call_end(&t);
}
END_TEST

START_TEST(reshape_of_huge_dims_does_not_overflow) {
    test_call t;
    ck_assert_int_eq(reshape(13, 0, DIMS((int64_t)1 << 40, (int64_t)1 << 40), &t), OX_ERROR_SHAPE);
    test_call_end(&t);
    ck_assert_int_eq(reshape(13, 0, DIMS((int64_t)1 << 40, (int64_t)1 << 40, -1), &t), OX_ERROR_SHAPE);
    test_call_end(&t);
}
END_TEST

START_TEST(reshape_by_attribute) {
    test_call t;
    test_call_begin(&t, "Reshape", 4);
    test_call_input(&t, OX_FLOAT, DIMS(2, 3), SIX);
    test_call_ints(&t, "shape", 1, (const int64_t[]){-1});
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    check_dims(&t, 0, DIMS(6));
    test_call_end(&t);
    test_call_begin(&t, "Reshape", 4);
    test_call_input(&t, OX_FLOAT, DIMS(2, 3), SIX);
    ck_assert_int_eq(test_call_infer(&t, 1), OX_ERROR_MODEL);
    test_call_end(&t);
}
END_TEST

START_TEST(reshape_waits_for_a_shape) {
    test_call t;
    test_call_begin(&t, "Reshape", 13);
    test_call_input(&t, OX_FLOAT, DIMS(2, 3), NULL);
    test_call_input(&t, OX_INT64, DIMS(2), NULL);
    ck_assert_int_eq(test_call_infer(&t, 1), OX_DEFER);
    test_call_end(&t);
}
END_TEST

/* A transposed input cannot be viewed as a list, but some shapes can. */
START_TEST(reshape_of_strided_input) {
    static const int64_t strides[2] = {4, 8}, repeated[2] = {0, 4};
    test_call t;
    test_call_begin(&t, "Reshape", 13);
    test_call_strided(&t, OX_FLOAT, DIMS(2, 3), strides, SIX);
    test_call_list(&t, 6);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    ck_assert_int_eq(t.results[0].view_of, -1);
    check_floats(&t, 0, 6, (const float[]){0, 2, 4, 1, 3, 5});
    test_call_end(&t);
    test_call_begin(&t, "Reshape", 13);
    test_call_strided(&t, OX_FLOAT, DIMS(2, 4), repeated, SIX);
    test_call_list(&t, 1, 2, 1, 2, 2);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    ck_assert_int_eq(t.results[0].view_of, 0);
    check_floats(&t, 0, 8, (const float[]){0, 1, 2, 3, 0, 1, 2, 3});
    test_call_end(&t);
}
END_TEST

static ox_status flatten(int rank, const int64_t *dims, int64_t axis, test_call *t) {
    test_call_begin(t, "Flatten", 13);
    test_call_input(t, OX_FLOAT, rank, dims, SIX);
    test_call_int(t, "axis", axis);
    return test_call_infer(t, 1);
}

START_TEST(flatten_axes) {
    static const struct {
        int64_t axis, dims[2];
    } cases[] = {{0, {1, 6}}, {1, {1, 6}}, {2, {2, 3}}, {3, {6, 1}}, {-1, {2, 3}}, {-3, {1, 6}}};
    test_call t;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(flatten(DIMS(1, 2, 3), cases[i].axis, &t), OX_OK);
        check_dims(&t, 0, 2, cases[i].dims);
        test_call_end(&t);
    }
    ck_assert_int_eq(flatten(DIMS(1, 2, 3), 4, &t), OX_ERROR_SHAPE);
    ck_assert_str_eq(t.error.text, "axis 4 is out of range for rank 3 (-3 to 3)");
    test_call_end(&t);
    ck_assert_int_eq(flatten(DIMS(), 0, &t), OX_OK);
    check_dims(&t, 0, DIMS(1, 1));
    test_call_end(&t);
    ck_assert_int_eq(flatten(DIMS(0, (int64_t)1 << 40, (int64_t)1 << 40), 1, &t), OX_ERROR_LIMIT);
    test_call_end(&t);
}
END_TEST

START_TEST(squeeze_axes) {
    test_call t;
    test_call_begin(&t, "Squeeze", 13);
    test_call_input(&t, OX_FLOAT, DIMS(1, 6, 1), SIX);
    ck_assert_int_eq(test_call_infer(&t, 1), OX_OK);
    check_dims(&t, 0, DIMS(6));
    test_call_list(&t, -1);
    ck_assert_int_eq(test_call_infer(&t, 1), OX_OK);
    check_dims(&t, 0, DIMS(1, 6));
    test_call_end(&t);
    test_call_begin(&t, "Squeeze", 13);
    test_call_input(&t, OX_FLOAT, DIMS(1, 6, 1), SIX);
    test_call_list(&t, 1);
    ck_assert_int_eq(test_call_infer(&t, 1), OX_ERROR_SHAPE);
    test_call_end(&t);
}
END_TEST

static ox_status unsqueeze(int64_t first, int64_t second, test_call *t) {
    test_call_begin(t, "Unsqueeze", 13);
    test_call_input(t, OX_FLOAT, DIMS(6), SIX);
    test_call_list(t, first, second);
    return test_call_infer(t, 1);
}

START_TEST(unsqueeze_axes) {
    test_call t;
    ck_assert_int_eq(unsqueeze(-1, 0, &t), OX_OK);
    check_dims(&t, 0, DIMS(1, 6, 1));
    test_call_end(&t);
    ck_assert_int_eq(unsqueeze(1, -2, &t), OX_ERROR_SHAPE);
    test_call_end(&t);
    ck_assert_int_eq(unsqueeze(0, 3, &t), OX_ERROR_SHAPE);
    ck_assert_str_eq(t.error.text, "axis 3 is out of range for rank 3 (-3 to 2)");
    test_call_end(&t);
}
END_TEST

START_TEST(unsqueeze_stops_at_the_highest_rank) {
    int64_t dims[OX_MAX_RANK], axes[2] = {0, 1};
    for (int d = 0; d < OX_MAX_RANK; d++)
        dims[d] = 1;
    test_call t;
    test_call_begin(&t, "Unsqueeze", 13);
    test_call_input(&t, OX_FLOAT, OX_MAX_RANK - 1, dims, SIX);
    test_call_input(&t, OX_INT64, DIMS(2), axes);
    ck_assert_int_eq(test_call_infer(&t, 1), OX_ERROR_LIMIT);
    test_call_end(&t);
}
END_TEST

static ox_status expand(int rank, const int64_t *dims, int count, const int64_t *shape, test_call *t) {
    test_call_begin(t, "Expand", 13);
    test_call_input(t, OX_FLOAT, rank, dims, SIX);
    test_call_input(t, OX_INT64, DIMS(count), shape);
    return test_call_infer(t, 1);
}

START_TEST(expand_shapes) {
    test_call t;
    ck_assert_int_eq(expand(DIMS(3, 1), DIMS(2, 1, 4), &t), OX_OK);
    check_dims(&t, 0, DIMS(2, 3, 4));
    test_call_end(&t);
    ck_assert_int_eq(expand(DIMS(3, 1), DIMS(1, 0), &t), OX_OK);
    check_dims(&t, 0, DIMS(3, 0));
    test_call_end(&t);
    ck_assert_int_eq(expand(DIMS(), DIMS(), &t), OX_OK);
    check_dims(&t, 0, DIMS());
    test_call_end(&t);
    ck_assert_int_eq(expand(DIMS(3), DIMS(2), &t), OX_ERROR_SHAPE);
    test_call_end(&t);
    ck_assert_int_eq(expand(DIMS(1), DIMS(-1), &t), OX_ERROR_SHAPE);
    test_call_end(&t);
    ck_assert_int_eq(expand(DIMS(1), DIMS((int64_t)1 << 40, (int64_t)1 << 40), &t), OX_ERROR_LIMIT);
    test_call_end(&t);
}
END_TEST

START_TEST(transpose_refuses_what_is_no_permutation) {
    static const int64_t perms[][2] = {{0, 0}, {0, 2}, {-1, 0}};
    test_call t;
    for (size_t i = 0; i < sizeof perms / sizeof *perms; i++) {
        test_call_begin(&t, "Transpose", 13);
        test_call_input(&t, OX_FLOAT, DIMS(2, 3), SIX);
        test_call_ints(&t, "perm", 2, perms[i]);
        ck_assert_int_eq(test_call_infer(&t, 1), OX_ERROR_SHAPE);
        test_call_end(&t);
    }
}
END_TEST

/* A slice of [2,3] along axis 1. */
static ox_status slice(int64_t start, int64_t end, int64_t step, test_call *t) {
    test_call_begin(t, "Slice", 13);
    test_call_input(t, OX_FLOAT, DIMS(2, 3), SIX);
    test_call_list(t, start);
    test_call_list(t, end);
    test_call_list(t, -1);
    test_call_list(t, step);
    return test_call_run(t, 1);
}

START_TEST(slice_steps) {
    test_call t;
    ck_assert_int_eq(slice(-1, INT64_MIN, -2, &t), OX_OK);
    check_dims(&t, 0, DIMS(2, 2));
    check_floats(&t, 0, 4, (const float[]){2, 0, 5, 3});
    test_call_end(&t);
    ck_assert_int_eq(slice(INT64_MIN, INT64_MAX, INT64_MAX, &t), OX_OK);
    check_floats(&t, 0, 2, (const float[]){0, 3});
    test_call_end(&t);
    ck_assert_int_eq(slice(INT64_MAX, INT64_MIN, INT64_MIN, &t), OX_OK);
    check_floats(&t, 0, 2, (const float[]){2, 5});
    test_call_end(&t);
    ck_assert_int_eq(slice(2, 1, 1, &t), OX_OK);
    check_dims(&t, 0, DIMS(2, 0));
    test_call_end(&t);
    ck_assert_int_eq(slice(0, 3, 0, &t), OX_ERROR_SHAPE);
    test_call_end(&t);
}
END_TEST

START_TEST(slice_of_an_empty_tensor) {
    test_call t;
    test_call_begin(&t, "Slice", 9);
    test_call_input(&t, OX_INT64, DIMS(0, (int64_t)1 << 62), NULL);
    test_call_ints(&t, "starts", 2, (const int64_t[]){0, 1 << 30});
    test_call_ints(&t, "ends", 2, (const int64_t[]){5, INT64_MAX});
    ck_assert_int_eq(test_call_infer(&t, 1), OX_OK);
    check_dims(&t, 0, DIMS(0, ((int64_t)1 << 62) - (1 << 30)));
    test_call_end(&t);
}
END_TEST

START_TEST(slice_lists_must_agree) {
    test_call t;
    test_call_begin(&t, "Slice", 13);
    test_call_input(&t, OX_FLOAT, DIMS(2, 3), SIX);
    test_call_list(&t, 0, 0);
    test_call_list(&t, 1);
    ck_assert_int_eq(test_call_infer(&t, 1), OX_ERROR_SHAPE);
    test_call_end(&t);
    test_call_begin(&t, "Slice", 13);
    test_call_input(&t, OX_FLOAT, DIMS(2, 3), SIX);
    test_call_list(&t, 0, 0);
    test_call_list(&t, 1, 1);
    test_call_list(&t, 1, -1);
    ck_assert_int_eq(test_call_infer(&t, 1), OX_ERROR_SHAPE);
    ck_assert_str_eq(t.error.text, "axis 1 is sliced twice");
    test_call_end(&t);
}
END_TEST

START_TEST(split_uneven) {
    test_call t;
    test_call_begin(&t, "Split", 18);
    test_call_input(&t, OX_FLOAT, DIMS(5), SIX);
    test_call_int(&t, "num_outputs", 3);
    ck_assert_int_eq(test_call_run(&t, 3), OX_OK);
    check_floats(&t, 1, 2, SIX + 2);
    check_floats(&t, 2, 1, SIX + 4);
    test_call_end(&t);
    test_call_begin(&t, "Split", 18);
    test_call_input(&t, OX_FLOAT, DIMS(2), SIX);
    test_call_int(&t, "num_outputs", 3);
    ck_assert_int_eq(test_call_run(&t, 3), OX_OK);
    check_dims(&t, 2, DIMS(0));
    test_call_end(&t);
    /* Parts of 2, 2 and 2 leave -1. */
    test_call_begin(&t, "Split", 18);
    test_call_input(&t, OX_FLOAT, DIMS(5), SIX);
    test_call_int(&t, "num_outputs", 4);
    ck_assert_int_eq(test_call_infer(&t, 4), OX_ERROR_SHAPE);
    test_call_end(&t);
    test_call_begin(&t, "Split", 13);
    test_call_input(&t, OX_FLOAT, DIMS(5), SIX);
    ck_assert_int_eq(test_call_infer(&t, 2), OX_ERROR_SHAPE);
    test_call_end(&t);
}
END_TEST

static ox_status split(int64_t first, int64_t second, int nout, test_call *t) {
    test_call_begin(t, "Split", 13);
    test_call_input(t, OX_FLOAT, DIMS(5), SIX);
    test_call_list(t, first, second);
    return test_call_infer(t, nout);
}

START_TEST(split_lengths_must_add_up) {
    test_call t;
    ck_assert_int_eq(split(2, 3, 2, &t), OX_OK);
    test_call_end(&t);
    ck_assert_int_eq(split(5, 0, 2, &t), OX_OK);
    test_call_end(&t);
    ck_assert_int_eq(split(2, 2, 2, &t), OX_ERROR_SHAPE);
    test_call_end(&t);
    ck_assert_int_eq(split(6, -1, 2, &t), OX_ERROR_SHAPE);
    test_call_end(&t);
    ck_assert_int_eq(split(2, 3, 3, &t), OX_ERROR_SHAPE);
    test_call_end(&t);
}
END_TEST

START_TEST(split_by_floats) {
    test_call t;
    test_call_begin(&t, "Split", 1);
    test_call_input(&t, OX_FLOAT, DIMS(5), SIX);
    test_call_input(&t, OX_FLOAT, DIMS(2), (const float[]){4, 1});
    ck_assert_int_eq(test_call_run(&t, 2), OX_OK);
    check_floats(&t, 1, 1, SIX + 4);
    test_call_end(&t);
}
END_TEST

START_TEST(split_into_more_parts_than_outputs) {
    test_call t;
    test_call_begin(&t, "Split", 18);
    test_call_input(&t, OX_FLOAT, DIMS(5), SIX);
    test_call_int(&t, "num_outputs", INT64_MAX);
    ck_assert_int_eq(test_call_infer(&t, 1), OX_ERROR_MODEL);
    test_call_end(&t);
    ck_assert_int_eq(split(2, 3, 1, &t), OX_ERROR_SHAPE);
    test_call_end(&t);
}
END_TEST

START_TEST(wrong_attribute_type) {
    test_call t;
    test_call_begin(&t, "Flatten", 13);
    test_call_input(&t, OX_FLOAT, DIMS(2, 3), SIX);
    test_call_float(&t, "axis", 1);
    ck_assert_int_eq(test_call_infer(&t, 1), OX_ERROR_MODEL);
    test_call_end(&t);
}
END_TEST

Suite *ox_suite_ops_views(void) {
    Suite *suite = suite_create("ops_views");
    TCase *tests = tcase_create("all");
    const TTest *const all[] = {
        reshape_infers_a_dimension,
        reshape_refuses_what_does_not_fit,
        reshape_allowzero,
        reshape_of_huge_dims_does_not_overflow,
        reshape_by_attribute,
        reshape_waits_for_a_shape,
        reshape_of_strided_input,
        flatten_axes,
        squeeze_axes,
        unsqueeze_axes,
        unsqueeze_stops_at_the_highest_rank,
        expand_shapes,
        transpose_refuses_what_is_no_permutation,
        slice_steps,
        slice_of_an_empty_tensor,
        slice_lists_must_agree,
        split_uneven,
        split_lengths_must_add_up,
        split_by_floats,
        split_into_more_parts_than_outputs,
        wrong_attribute_type,
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        tcase_add_test(tests, all[i]);
    suite_add_tcase(suite, tests);
    return suite;
}
