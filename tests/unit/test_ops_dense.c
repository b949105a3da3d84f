/* test_ops_dense.c: the operators that compute on whole tensors: products, reductions, Softmax, Conv. */
#include "tests/unit/call.h"
#include "tests/unit/own_model.h"

#include <check.h>
#include <math.h>
#include <string.h>

#define SIX                                                                                                            \
    (const float[]) {                                                                                                  \
        1, 2, 3, 4, 5, 6                                                                                               \
    }

static void check_floats(const test_call *t, int n, const float *expected) {
    const float *have = t->outputs[0].data;
    ck_assert_int_eq(t->outputs[0].dtype, OX_FLOAT);
    ck_assert_int_eq(ox_tensor_count(&t->outputs[0]), n);
    for (int i = 0; i < n; i++)
        if (isnan(expected[i]))
            ck_assert(isnan(have[i]));
        else
            ck_assert(have[i] == expected[i] || fabsf(have[i] - expected[i]) < 1e-5F);
}

static void check_shape(const test_call *t, int rank, const int64_t *dims) {
    ck_assert(ox_same_dims(t->results[0].rank, t->results[0].dims, rank, dims));
}

/* ---- Products ----------------------------------------------------------------------------------------------- */

START_TEST(gemm_of_nothing_is_c) {
    test_call t;
    test_call_begin(&t, "Gemm", 13);
    test_call_input(&t, OX_FLOAT, DIMS(2, 0), NULL);
    test_call_input(&t, OX_FLOAT, DIMS(0, 3), NULL);
    test_call_input(&t, OX_FLOAT, DIMS(3), SIX);
    test_call_float(&t, "beta", 2);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    check_floats(&t, 6, (const float[]){2, 4, 6, 2, 4, 6});
    test_call_end(&t);
}
END_TEST

START_TEST(gemm_without_c) {
    test_call t;
    test_call_begin(&t, "Gemm", 11);
    test_call_input(&t, OX_FLOAT, DIMS(1, 3), SIX);
    test_call_input(&t, OX_FLOAT, DIMS(1, 3), SIX);
    test_call_int(&t, "transB", 1);
    test_call_float(&t, "alpha", 0.5F);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    check_floats(&t, 1, (const float[]){7});
    test_call_end(&t);
}
END_TEST

START_TEST(gemm_beta_zero_ignores_c) {
    test_call t;
    test_call_begin(&t, "Gemm", 13);
    test_call_input(&t, OX_FLOAT, DIMS(1, 1), SIX);
    test_call_input(&t, OX_FLOAT, DIMS(1, 2), SIX);
    test_call_input(&t, OX_FLOAT, DIMS(), &(const float){NAN});
    test_call_float(&t, "beta", 0);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    check_floats(&t, 2, SIX);
    test_call_end(&t);
}
END_TEST

/* Gemm of [2,1] and [1,3] with a C of ones. */
static ox_status gemm_c(int64_t version, int64_t broadcast, int rank, const int64_t *dims, test_call *t) {
    test_call_begin(t, "Gemm", version);
    test_call_input(t, OX_FLOAT, DIMS(2, 1), SIX);
    test_call_input(t, OX_FLOAT, DIMS(1, 3), SIX);
    test_call_input(t, OX_FLOAT, rank, dims, (const float[]){1, 1, 1, 1, 1, 1});
    if (broadcast)
        test_call_int(t, "broadcast", 1);
    return test_call_run(t, 1);
}

START_TEST(gemm_c_is_broadcast_one_way) {
    static const struct {
        int64_t version, broadcast;
        int rank;
        int64_t dims[3];
        ox_status status;
    } cases[] = {
        {6, 0, 2, {2, 3}, OX_OK},
        {6, 0, 1, {3}, OX_ERROR_SHAPE},
        {6, 1, 1, {3}, OX_OK},
        {7, 0, 1, {3}, OX_OK},
        {7, 0, 2, {2, 1}, OX_OK},
        {7, 0, 0, {0}, OX_OK},
        {7, 0, 1, {2}, OX_ERROR_SHAPE},
        {7, 0, 3, {1, 2, 3}, OX_ERROR_SHAPE},
        {7, 0, 2, {4, 3}, OX_ERROR_SHAPE},
        {7, 0, 2, {0, 3}, OX_ERROR_SHAPE},
    };
    test_call t;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(gemm_c(cases[i].version, cases[i].broadcast, cases[i].rank, cases[i].dims, &t),
                         cases[i].status);
        if (cases[i].status == OX_OK)
            check_floats(&t, 6, (const float[]){2, 3, 4, 3, 5, 7});
        test_call_end(&t);
    }
}
END_TEST

START_TEST(gemm_integers_wrap) {
    test_call t;
    test_call_begin(&t, "Gemm", 13);
    test_call_input(&t, OX_INT32, DIMS(1, 2), (const int32_t[]){INT32_MAX, 1});
    test_call_input(&t, OX_INT32, DIMS(2, 1), (const int32_t[]){1, 1});
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    ck_assert_int_eq(*(int32_t *)t.outputs[0].data, INT32_MIN);
    test_call_end(&t);
}
END_TEST

/* The shape of a MatMul of two tensors of ones of these shapes (at most 16 elements). */
static ox_status matmul(int rank_a, const int64_t *a, int rank_b, const int64_t *b, test_call *t) {
    static const float ones[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    test_call_begin(t, "MatMul", 13);
    test_call_input(t, OX_FLOAT, rank_a, a, ox_count(rank_a, a) ? ones : NULL);
    test_call_input(t, OX_FLOAT, rank_b, b, ox_count(rank_b, b) ? ones : NULL);
    return test_call_run(t, 1);
}

START_TEST(matmul_shapes) {
    test_call t;
    ck_assert_int_eq(matmul(DIMS(3), DIMS(3), &t), OX_OK);
    check_shape(&t, DIMS());
    check_floats(&t, 1, (const float[]){3});
    test_call_end(&t);
    ck_assert_int_eq(matmul(DIMS(2, 1, 1, 3), DIMS(2, 3, 1), &t), OX_OK);
    check_shape(&t, DIMS(2, 2, 1, 1));
    check_floats(&t, 4, (const float[]){3, 3, 3, 3});
    test_call_end(&t);
    ck_assert_int_eq(matmul(DIMS(2, 2, 3), DIMS(3), &t), OX_OK);
    check_shape(&t, DIMS(2, 2));
    test_call_end(&t);
    ck_assert_int_eq(matmul(DIMS(1, 0), DIMS(0, 2), &t), OX_OK);
    check_floats(&t, 2, (const float[]){0, 0});
    test_call_end(&t);
    ck_assert_int_eq(matmul(DIMS(3, 1, 0), DIMS(1, 0, 2), &t), OX_OK);
    check_floats(&t, 6, (const float[6]){0});
    test_call_end(&t);
    ck_assert_int_eq(matmul(DIMS(0, 2, 3), DIMS(1, 3, 1), &t), OX_OK);
    check_shape(&t, DIMS(0, 2, 1));
    test_call_end(&t);
}
END_TEST

START_TEST(matmul_refuses_what_does_not_fit) {
    test_call t;
    ck_assert_int_eq(matmul(DIMS(2, 3), DIMS(2, 3), &t), OX_ERROR_SHAPE);
    test_call_end(&t);
    ck_assert_int_eq(matmul(DIMS(), DIMS(2), &t), OX_ERROR_SHAPE);
    test_call_end(&t);
    ck_assert_int_eq(matmul(DIMS(2, 1, 2), DIMS(3, 2, 1), &t), OX_ERROR_SHAPE);
    test_call_end(&t);
    ck_assert_int_eq(matmul(DIMS((int64_t)1 << 40, 0), DIMS(0, (int64_t)1 << 40), &t), OX_ERROR_LIMIT);
    test_call_end(&t);
}
END_TEST

/* A block whose scale is infinite, or so large that what codes and zero points add up to apart is; of one row, and of
 * as many as tiles have. */
START_TEST(scales_of_blocks_are_infinite_only_once) {
    enum {
        BITS = 8,
        MOST = 127,
        DEPTH = 32,
        COLUMNS = 5,
        ROWS = 4
    };
    static const int64_t of_weights[] = {COLUMNS, 1, DEPTH}, of_zeros[] = {COLUMNS, 1};
    static float a[ROWS * DEPTH], scales[COLUMNS], right[ROWS * COLUMNS];
    static unsigned char weights[COLUMNS * DEPTH], zeros[COLUMNS];
    const int64_t rows = _i ? ROWS : 1, of_a[] = {rows, DEPTH}, of_y[] = {rows, COLUMNS};
    own_model m = {0};
    ox_bytes attrs = {0};
    for (int i = 0; i < ROWS * DEPTH; i++)
        a[i] = MOST; /* that of a byte */
    for (int n = 0; n < COLUMNS; n++) {
        scales[n] = n % 2 ? 0x1p+114F : INFINITY;
        zeros[n] = (unsigned char)(n < 3 ? 1 << (BITS - 1) : 254);
        memset(weights + n * DEPTH, zeros[n] + 1, DEPTH);
        for (int i = 0; i < ROWS; i++)
            right[i * COLUMNS + n] = DEPTH * MOST * scales[n];
    }
    own_begin(&m, "com.microsoft", 1);
    ox_put_initializer(&m.graph, "weights", OX_UINT8, 3, of_weights, weights);
    ox_put_initializer(&m.graph, "scales", OX_FLOAT, 2, of_zeros, scales);
    ox_put_initializer(&m.graph, "zeros", OX_UINT8, 2, of_zeros, zeros);
    ox_put_input(&m.graph, "a", OX_FLOAT, 2, of_a);
    ox_put_attr_int(&attrs, "K", DEPTH);
    ox_put_attr_int(&attrs, "N", COLUMNS);
    ox_put_attr_int(&attrs, "bits", BITS);
    ox_put_attr_int(&attrs, "block_size", DEPTH);
    ox_put_attr_int(&attrs, "accuracy_level", 4);
    own_node(&m, "MatMulNBits", "a,weights,scales,zeros", "y", &attrs);
    ox_put_output(&m.graph, "y", OX_FLOAT, 2, of_y);
    ck_assert_msg(!own_load(&m), "%s", m.error.text);
    ck_assert_msg(!own_run(&m, 1, &(ox_tensor){OX_FLOAT, 2, of_a, NULL, a}), "%s", m.error.text);
    own_check(&m, 2, of_y, right);
    own_end(&m);
}
END_TEST

/* ---- Reductions --------------------------------------------------------------------------------------------- */

static ox_status reduce(const char *op, ox_dtype dtype, int rank, const int64_t *dims, const void *data, int64_t axis,
                        test_call *t) {
    test_call_begin(t, op, 20);
    test_call_input(t, dtype, rank, dims, data);
    test_call_list(t, axis);
    test_call_int(t, "keepdims", 0);
    return test_call_run(t, 1);
}

START_TEST(reduce_nothing_gives_the_identity) {
    static const struct {
        const char *op;
        float expected;
    } cases[] = {
        {"ReduceSum", 0}, {"ReduceProd", 1}, {"ReduceMax", -INFINITY}, {"ReduceMin", INFINITY}, {"ReduceMean", NAN}};
    test_call t;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(reduce(cases[i].op, OX_FLOAT, DIMS(1, 0), NULL, 1, &t), OX_OK);
        check_floats(&t, 1, &cases[i].expected);
        test_call_end(&t);
    }
    ck_assert_int_eq(reduce("ReduceMean", OX_INT32, DIMS(1, 0), NULL, 1, &t), OX_ERROR_VALUE);
    test_call_end(&t);
    ck_assert_int_eq(reduce("ReduceMax", OX_INT8, DIMS(1, 0), NULL, 1, &t), OX_OK);
    ck_assert_int_eq(*(int8_t *)t.outputs[0].data, INT8_MIN);
    test_call_end(&t);
    ck_assert_int_eq(reduce("ReduceMax", OX_BOOL, DIMS(1, 0), NULL, 1, &t), OX_OK);
    ck_assert_int_eq(*(uint8_t *)t.outputs[0].data, 0);
    test_call_end(&t);
}
END_TEST

START_TEST(reduce_keeps_nan) {
    const float data[] = {1, NAN, 3};
    test_call t;
    ck_assert_int_eq(reduce("ReduceMax", OX_FLOAT, DIMS(3), data, -1, &t), OX_OK);
    check_floats(&t, 1, &(const float){NAN});
    test_call_end(&t);
    ck_assert_int_eq(reduce("ReduceMin", OX_FLOAT, DIMS(3, 1), data, 0, &t), OX_OK);
    check_floats(&t, 1, &(const float){NAN});
    test_call_end(&t);
}
END_TEST

START_TEST(reduce_empty_axes) {
    test_call t;
    test_call_begin(&t, "ReduceSum", 13);
    test_call_input(&t, OX_FLOAT, DIMS(2, 3), SIX);
    test_call_input(&t, OX_INT64, DIMS(0), NULL);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    check_shape(&t, DIMS(1, 1));
    check_floats(&t, 1, (const float[]){21});
    test_call_int(&t, "noop_with_empty_axes", 1);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    check_floats(&t, 6, SIX);
    test_call_end(&t);
}
END_TEST

START_TEST(reduce_wrong_axis) {
    test_call t;
    ck_assert_int_eq(reduce("ReduceSum", OX_FLOAT, DIMS(2, 3), SIX, 2, &t), OX_ERROR_SHAPE);
    ck_assert_str_eq(t.error.text, "axis 2 is out of range for rank 2 (-2 to 1)");
    test_call_end(&t);
    ck_assert_int_eq(reduce("ReduceSum", OX_STRING, DIMS(2), SIX, 0, &t), OX_ERROR_UNSUPPORTED);
    test_call_end(&t);
}
END_TEST

START_TEST(reduce_sums_precisely) {
    static float data[100001];
    data[0] = 16777216; /* 2^24: adding ones to it in float does nothing */
    for (int i = 1; i <= 100000; i++)
        data[i] = 1;
    test_call t;
    ck_assert_int_eq(reduce("ReduceSum", OX_FLOAT, DIMS(100001), data, 0, &t), OX_OK);
    check_floats(&t, 1, (const float[]){16877216});
    test_call_end(&t);
}
END_TEST

START_TEST(reduce_integers) {
    const int32_t data[] = {INT32_MAX, INT32_MAX, -1, -2};
    test_call t;
    ck_assert_int_eq(reduce("ReduceSum", OX_INT32, DIMS(2, 2), data, 1, &t), OX_OK);
    ck_assert(!memcmp(t.outputs[0].data, (const int32_t[]){-2, -3}, 8));
    test_call_end(&t);
    ck_assert_int_eq(reduce("ReduceMean", OX_INT32, DIMS(2, 2), data, 1, &t), OX_OK);
    ck_assert(!memcmp(t.outputs[0].data, (const int32_t[]){INT32_MAX, -1}, 8));
    test_call_end(&t);
}
END_TEST

/* ---- Softmax, Conv ------------------------------------------------------------------------------------------ */

static ox_status softmax(int64_t version, int rank, const int64_t *dims, const float *data, int64_t axis,
                         test_call *t) {
    test_call_begin(t, "Softmax", version);
    test_call_input(t, OX_FLOAT, rank, dims, data);
    test_call_int(t, "axis", axis);
    return test_call_run(t, 1);
}

START_TEST(softmax_axes) {
    const float zeros[4] = {0};
    test_call t;
    ck_assert_int_eq(softmax(11, DIMS(1, 2, 2), zeros, 1, &t), OX_OK);
    check_floats(&t, 4, (const float[]){0.25F, 0.25F, 0.25F, 0.25F});
    test_call_end(&t);
    ck_assert_int_eq(softmax(13, DIMS(1, 2, 2), zeros, 1, &t), OX_OK);
    check_floats(&t, 4, (const float[]){0.5F, 0.5F, 0.5F, 0.5F});
    test_call_end(&t);
    ck_assert_int_eq(softmax(13, DIMS(4), zeros, 1, &t), OX_ERROR_SHAPE);
    test_call_end(&t);
    ck_assert_int_eq(softmax(13, DIMS(), zeros, -1, &t), OX_OK);
    check_floats(&t, 1, (const float[]){1});
    test_call_end(&t);
    ck_assert_int_eq(softmax(13, DIMS(0, 3), NULL, -1, &t), OX_OK);
    test_call_end(&t);
}
END_TEST

START_TEST(softmax_of_extremes) {
    test_call t;
    ck_assert_int_eq(softmax(13, DIMS(3), (const float[]){3e38F, -INFINITY, -3e38F}, 0, &t), OX_OK);
    check_floats(&t, 3, (const float[]){1, 0, 0});
    test_call_end(&t);
    ck_assert_int_eq(softmax(13, DIMS(2), (const float[]){0, NAN}, 0, &t), OX_OK);
    check_floats(&t, 2, (const float[]){NAN, NAN});
    test_call_end(&t);
}
END_TEST

/* Conv of a [1,1,3] input 1, 2, 3 with a kernel 1, 1. */
static void conv_begin(test_call *t) {
    static const float x[] = {1, 2, 3}, w[] = {1, 1};
    test_call_begin(t, "Conv", 11);
    test_call_input(t, OX_FLOAT, DIMS(1, 1, 3), x);
    test_call_input(t, OX_FLOAT, DIMS(1, 1, 2), w);
}

START_TEST(conv_padding) {
    test_call t;
    conv_begin(&t);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    check_floats(&t, 2, (const float[]){3, 5});
    test_call_ints(&t, "pads", 2, (const int64_t[]){2, 1});
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    check_floats(&t, 5, (const float[]){0, 1, 3, 5, 3});
    test_call_end(&t);
    conv_begin(&t);
    test_call_string(&t, "auto_pad", "SAME_UPPER");
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    check_floats(&t, 3, (const float[]){3, 5, 3});
    test_call_end(&t);
    conv_begin(&t);
    test_call_string(&t, "auto_pad", "SAME_LOWER");
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    check_floats(&t, 3, (const float[]){1, 3, 5});
    test_call_end(&t);
}
END_TEST

/* A machine of 32 bits has no room for sizes beyond them. */
#define WIDE(status) (SIZE_MAX > UINT32_MAX ? (status) : OX_ERROR_LIMIT)

START_TEST(conv_refuses_what_does_not_fit) {
    static const struct {
        const char *name;
        int64_t values[2];
        size_t count;
        ox_status status;
    } cases[] = {
        {"pads", {-1, 0}, 2, OX_ERROR_SHAPE},
        {"pads", {1, 0}, 1, OX_ERROR_SHAPE},
        {"strides", {0}, 1, OX_ERROR_SHAPE},
        {"dilations", {3}, 1, OX_ERROR_SHAPE},
        {"dilations", {INT64_MAX}, 1, WIDE(OX_ERROR_SHAPE)},
        {"kernel_shape", {3}, 1, OX_ERROR_SHAPE},
        {"pads", {INT64_MAX, 1}, 2, OX_ERROR_LIMIT},
        {"pads", {(int64_t)1 << 62, 0}, 2, OX_ERROR_LIMIT},
    };
    test_call t;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        conv_begin(&t);
        test_call_ints(&t, cases[i].name, cases[i].count, cases[i].values);
        ck_assert_int_eq(test_call_infer(&t, 1), cases[i].status);
        test_call_end(&t);
    }
    conv_begin(&t);
    test_call_int(&t, "group", 2);
    ck_assert_int_eq(test_call_infer(&t, 1), OX_ERROR_SHAPE);
    test_call_end(&t);
    conv_begin(&t);
    test_call_string(&t, "auto_pad", "SAME");
    ck_assert_int_eq(test_call_infer(&t, 1), OX_ERROR_MODEL);
    test_call_end(&t);
}
END_TEST

START_TEST(conv_of_nothing) {
    test_call t;
    test_call_begin(&t, "Conv", 11);
    test_call_input(&t, OX_FLOAT, DIMS(0, 1, 3), NULL);
    test_call_input(&t, OX_FLOAT, DIMS(1, 1, 2), SIX);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    check_shape(&t, DIMS(0, 1, 2));
    test_call_end(&t);
    test_call_begin(&t, "Conv", 11);
    test_call_input(&t, OX_FLOAT, DIMS(1, 0, 3), NULL);
    test_call_input(&t, OX_FLOAT, DIMS(1, 0, 2), NULL);
    test_call_input(&t, OX_FLOAT, DIMS(1), SIX);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    check_floats(&t, 2, (const float[]){1, 1});
    test_call_end(&t);
}
END_TEST

/* Without elements, the other dimensions may be of any size. */
START_TEST(conv_of_nothing_large) {
    const int64_t huge = INT64_C(1) << 31;
    test_call t;
    test_call_begin(&t, "Conv", 11);
    test_call_input(&t, OX_FLOAT, DIMS(0, huge, huge), NULL);
    test_call_input(&t, OX_FLOAT, DIMS(0, huge, huge), NULL);
    ck_assert_int_eq(test_call_run(&t, 1), WIDE(OX_OK));
    if (WIDE(OX_OK) == OX_OK)
        check_shape(&t, DIMS(0, 0, 1));
    test_call_end(&t);
    test_call_begin(&t, "Conv", 11);
    test_call_input(&t, OX_FLOAT, DIMS(1, 0, huge * huge), NULL);
    test_call_input(&t, OX_FLOAT, DIMS(1, 0, 1), NULL);
    test_call_ints(&t, "strides", 1, (const int64_t[]){huge * huge / 2});
    ck_assert_int_eq(test_call_run(&t, 1), OX_ERROR_LIMIT);
    test_call_end(&t);
}
END_TEST

START_TEST(global_max_pool) {
    test_call t;
    test_call_begin(&t, "GlobalMaxPool", 1);
    test_call_input(&t, OX_FLOAT, DIMS(1, 2, 1, 3), SIX);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    check_shape(&t, DIMS(1, 2, 1, 1));
    check_floats(&t, 2, (const float[]){3, 6});
    test_call_end(&t);
}
END_TEST

Suite *ox_suite_ops_dense(void) {
    Suite *suite = suite_create("ops_dense");
    TCase *tests = tcase_create("all");
    const TTest *const all[] = {
        gemm_of_nothing_is_c,
        gemm_without_c,
        gemm_beta_zero_ignores_c,
        gemm_c_is_broadcast_one_way,
        gemm_integers_wrap,
        matmul_shapes,
        matmul_refuses_what_does_not_fit,
        reduce_nothing_gives_the_identity,
        reduce_keeps_nan,
        reduce_empty_axes,
        reduce_wrong_axis,
        reduce_sums_precisely,
        reduce_integers,
        softmax_axes,
        softmax_of_extremes,
        conv_padding,
        conv_refuses_what_does_not_fit,
        conv_of_nothing,
        conv_of_nothing_large,
        global_max_pool,
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        tcase_add_test(tests, all[i]);
    tcase_add_loop_test(tests, scales_of_blocks_are_infinite_only_once, 0, 2);
    suite_add_tcase(suite, tests);
    return suite;
}
