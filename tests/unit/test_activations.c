/* test_activations.c: functions of one operand, quantisation and Dropout, against formulas and values written here. */
#include "src/loops/lanes.h"
#include "tests/unit/builds.h"
#include "tests/unit/call.h"

#include <check.h>
#include <math.h>
#include <string.h>

/* ---- Functions of one operand ------------------------------------------------------------------------------- */

typedef struct function {
    const char *name;
    int version;
    double (*of)(double x);
    const char *attr[2];
    float value[2];
    double low, high;
} function;

static double elu(double x) {
    return x > 0 ? x : 1.5 * expm1(x);
}
static double celu(double x) {
    return fmax(0, x) + fmin(0, 1.5 * expm1(x / 1.5));
}
static double selu(double x) {
    return (double)1.05070102214813232421875f * (x > 0 ? x : (double)1.67326319217681884765625f * expm1(x));
}
static double selu_1(double x) {
    return (double)1.0507f * (x > 0 ? x : (double)1.6732f * expm1(x));
}
static double gelu(double x) {
    return x / 2 * erfc(-x / sqrt(2));
}
static double gelu_tanh(double x) {
    return x / 2 * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}
static double hard_sigmoid(double x) {
    return fmax(0, fmin(1, 0.25 * x + 0.5));
}
static double hard_swish(double x) {
    return x * fmax(0, fmin(1, x / 6 + 0.5));
}
static double mish(double x) {
    return x * tanh(log1p(exp(x)));
}
static double shrink(double x) {
    return x < -1.5 ? x + 0.25 : x > 1.5 ? x - 0.25 : 0;
}
static double softplus(double x) {
    return log1p(exp(x));
}
static double softsign(double x) {
    return x / (1 + fabs(x));
}
static double swish(double x) {
    return x / (1 + exp(-2 * x));
}
static double thresholded(double x) {
    return x > 1 ? x : 0;
}

#define NO_ATTR                                                                                                        \
    {NULL, NULL}, {                                                                                                    \
        0, 0                                                                                                           \
    }

static const function functions[] = {
    {"Acos", 22, acos, NO_ATTR, -1, 1},
    {"Acosh", 22, acosh, NO_ATTR, 1, 20},
    {"Asin", 22, asin, NO_ATTR, -1, 1},
    {"Asinh", 22, asinh, NO_ATTR, -20, 20},
    {"Atan", 22, atan, NO_ATTR, -20, 20},
    {"Atanh", 22, atanh, NO_ATTR, -0.875, 0.875},
    {"Cos", 22, cos, NO_ATTR, -1, 1},
    {"Cosh", 22, cosh, NO_ATTR, -8, 8},
    {"Sin", 22, sin, NO_ATTR, -1, 1},
    {"Sinh", 22, sinh, NO_ATTR, -8, 8},
    {"Tan", 22, tan, NO_ATTR, -1, 1},
    {"Erf", 13, erf, NO_ATTR, -4, 4},
    {"Round", 22, rint, NO_ATTR, -8, 8},
    {"Elu", 22, elu, {"alpha", NULL}, {1.5f, 0}, -8, 8},
    {"Celu", 28, celu, {"alpha", NULL}, {1.5f, 0}, -8, 8},
    {"Selu", 22, selu, NO_ATTR, -8, 8},
    {"Selu", 1, selu_1, NO_ATTR, -8, 8},
    {"Gelu", 20, gelu, NO_ATTR, -3, 8},
    {"HardSigmoid", 22, hard_sigmoid, {"alpha", "beta"}, {0.25f, 0.5f}, -8, 8},
    {"HardSwish", 22, hard_swish, NO_ATTR, -2.5, 8},
    {"Mish", 22, mish, NO_ATTR, -8, 30},
    {"Shrink", 9, shrink, {"lambd", "bias"}, {1.5f, 0.25f}, -8, 8},
    {"Softplus", 22, softplus, NO_ATTR, -20, 30},
    {"Softsign", 22, softsign, NO_ATTR, -8, 8},
    {"Swish", 24, swish, {"alpha", NULL}, {2, 0}, -4, 8},
    {"ThresholdedRelu", 22, thresholded, NO_ATTR, -8, 8},
};

enum {
    POINTS = 1001 /* no multiple of a vector */
};

static void start(test_call *t, const function *f, ox_dtype dtype, const void *x) {
    test_call_begin(t, f->name, f->version);
    test_call_input(t, dtype, DIMS(POINTS), x);
    for (int i = 0; i < 2; i++)
        if (f->attr[i])
            test_call_float(t, f->attr[i], f->value[i]);
}

/* Points that are floats in every type. */
static double point(const function *f, int i) {
    return (double)(float)(f->low + (f->high - f->low) * i / (POINTS - 1));
}

START_TEST(values_of_functions) {
    const function *f = &functions[_i];
    static double wide[POINTS];
    static float single[POINTS];
    test_call t, u;
    for (int i = 0; i < POINTS; i++) {
        wide[i] = point(f, i);
        single[i] = (float)wide[i];
    }
    start(&t, f, OX_DOUBLE, wide);
    start(&u, f, OX_FLOAT, single);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    ck_assert_int_eq(test_call_run(&u, 1), OX_OK);
    const double *doubles = t.outputs[0].data;
    const float *floats = u.outputs[0].data;
    for (int i = 0; i < POINTS; i++) {
        double expected = f->of(wide[i]);
        ck_assert_msg(fabs(doubles[i] - expected) <= 4e-14 * fabs(expected) + 1e-15, "%s(%g) = %.17g, not %.17g",
                      f->name, wide[i], doubles[i], expected);
        ck_assert_msg(fabs((double)floats[i] - expected) <= 4e-6 * fabs(expected) + 2e-7, "%s(%g) = %.9g, not %.9g",
                      f->name, wide[i], (double)floats[i], expected);
    }
    test_call_end(&t);
    test_call_end(&u);
}
END_TEST

START_TEST(nan_stays_nan) {
    const function *f = &functions[_i];
    float x[POINTS];
    test_call t;
    for (int i = 0; i < POINTS; i++)
        x[i] = NAN;
    start(&t, f, OX_FLOAT, x);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    const float *y = t.outputs[0].data;
    bool compares = !strcmp(f->name, "Shrink") || !strcmp(f->name, "ThresholdedRelu"); /* "0 otherwise" */
    for (int i = 0; i < POINTS; i += POINTS - 1)
        ck_assert(compares ? y[i] == 0 : isnan(y[i]));
    test_call_end(&t);
}
END_TEST

/* A float operator on one element. */
static float once(const char *op, int version, float x) {
    test_call t;
    test_call_begin(&t, op, version);
    test_call_input(&t, OX_FLOAT, DIMS(), &x);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    float y = *(const float *)t.outputs[0].data;
    test_call_end(&t);
    return y;
}

START_TEST(large_operands_do_not_overflow) {
    ck_assert(once("Softplus", 22, 200) == 200);
    ck_assert(once("Softplus", 22, -200) == 0);
    ck_assert(once("Mish", 22, 200) == 200);
    ck_assert(once("Swish", 24, 200) == 200);
    ck_assert(once("Swish", 24, -200) == 0);
    ck_assert(once("Gelu", 20, 1e20f) == 1e20f);
    ck_assert(once("Elu", 22, -200) == -1);
    ck_assert(once("Celu", 28, INFINITY) == INFINITY);
}
END_TEST

START_TEST(halves_go_to_the_even_integer) {
    ck_assert(once("Round", 22, 0.5f) == 0 && !signbit(once("Round", 22, 0.5f)));
    ck_assert(signbit(once("Round", 22, -0.5f)));
    ck_assert(once("Round", 22, 1.5f) == 2);
    ck_assert(once("Round", 22, -2.5f) == -2);
    ck_assert(once("Round", 22, 8388607.5f) == 8388608);
}
END_TEST

START_TEST(gelu_approximations) {
    const float x = 1;
    test_call t;
    test_call_begin(&t, "Gelu", 20);
    test_call_input(&t, OX_FLOAT, DIMS(1), &x);
    test_call_string(&t, "approximate", "tanh");
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    ck_assert(fabs((double)*(const float *)t.outputs[0].data - gelu_tanh(1)) < 1e-6);
    test_call_end(&t);
    test_call_begin(&t, "Gelu", 20);
    test_call_input(&t, OX_FLOAT, DIMS(1), &x);
    test_call_string(&t, "approximate", "sigmoid");
    ck_assert_int_eq(test_call_infer(&t, 1), OX_ERROR_MODEL);
    test_call_end(&t);
}
END_TEST

START_TEST(integers_that_are_shrunk) {
    const int8_t x[] = {-128, -2, -1, 0, 1, 2, 127}, expected[] = {-126, 0, 0, 0, 0, 0, 125};
    test_call t;
    test_call_begin(&t, "Shrink", 9);
    test_call_input(&t, OX_INT8, DIMS(7), x);
    test_call_float(&t, "lambd", 1.5f);
    test_call_float(&t, "bias", 1.5f);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    ck_assert(!memcmp(t.outputs[0].data, expected, sizeof expected));
    test_call_end(&t);
}
END_TEST

/* ---- IsInf and IsNaN ---------------------------------------------------------------------------------------- */

static void check_test(const char *op, ox_dtype dtype, const void *x, int64_t positive, int64_t negative,
                       const char *expected) {
    test_call t;
    test_call_begin(&t, op, 20);
    test_call_input(&t, dtype, DIMS(5), x);
    if (!strcmp(op, "IsInf")) {
        test_call_int(&t, "detect_positive", positive);
        test_call_int(&t, "detect_negative", negative);
    }
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    ck_assert_int_eq(t.outputs[0].dtype, OX_BOOL);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(((const uint8_t *)t.outputs[0].data)[i], expected[i] == '1');
    test_call_end(&t);
}

START_TEST(infinity_and_nan) {
    const float x[] = {NAN, INFINITY, -INFINITY, 3e38f, 0};
    const uint8_t e5m2[] = {0x7e, 0x7c, 0xfc, 0x7b, 0};
    const uint16_t half[] = {0x7e00, 0x7c00, 0xfc00, 0x7bff, 0};
    const struct {
        ox_dtype dtype;
        const void *x;
    } inputs[] = {{OX_FLOAT, x}, {OX_FLOAT8E5M2, e5m2}, {OX_FLOAT16, half}};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        check_test("IsInf", inputs[i].dtype, inputs[i].x, 1, 1, "01100");
        check_test("IsInf", inputs[i].dtype, inputs[i].x, 1, 0, "01000");
        check_test("IsInf", inputs[i].dtype, inputs[i].x, 0, 1, "00100");
        check_test("IsInf", inputs[i].dtype, inputs[i].x, 0, 0, "00000");
        check_test("IsNaN", inputs[i].dtype, inputs[i].x, 0, 0, "10000");
    }
}
END_TEST

/* ---- Quantisation ------------------------------------------------------------------------------------------- */

static void quantize(test_call *t, const float *x, int rank, const int64_t *scale_dims, const float *scale,
                     const uint8_t *zero) {
    test_call_begin(t, "QuantizeLinear", 23);
    test_call_input(t, OX_FLOAT, DIMS(2, 5), x);
    test_call_input(t, OX_FLOAT, rank, scale_dims, scale);
    test_call_input(t, OX_UINT8, rank, scale_dims, zero);
}

static void check_bytes(test_call *t, const uint8_t *expected) {
    ck_assert_int_eq(test_call_run(t, 1), OX_OK);
    ck_assert(!memcmp(t->outputs[0].data, expected, (size_t)ox_tensor_count(&t->outputs[0])));
    test_call_end(t);
}

START_TEST(quantized_by_tensor_axis_and_block) {
    const float x[] = {-300, -1, 0, 1, 3, 2.5f, 5, 7, 300, NAN}, scale[] = {2, 0.5f, 1, 4, 1, 2};
    const uint8_t zero[] = {10, 0, 1, 2, 3, 4};
    test_call t;
    quantize(&t, x, DIMS(), scale, zero);
    check_bytes(&t, (const uint8_t[]){0, 10, 10, 10, 12, 11, 12, 14, 160, 0});
    quantize(&t, x, DIMS(2), scale, zero);
    test_call_int(&t, "axis", 0);
    check_bytes(&t, (const uint8_t[]){0, 10, 10, 10, 12, 5, 10, 14, 255, 0});
    quantize(&t, x, DIMS(2, 3), scale, zero);
    test_call_int(&t, "axis", -1);
    test_call_int(&t, "block_size", 2);
    check_bytes(&t, (const uint8_t[]){0, 10, 0, 2, 4, 3, 3, 10, 255, 0});
}
END_TEST

START_TEST(dequantized_by_block) {
    const int8_t x[] = {-8, 7, 1, 0, -1, 2}, zero[] = {0, 1, 0, -1};
    const float scale[] = {1, 0.5f, 2, 4}, expected[] = {-8, 7, 0, 0, -2, 12};
    test_call t;
    test_call_begin(&t, "DequantizeLinear", 21);
    test_call_input(&t, OX_INT4, DIMS(2, 3), x);
    test_call_input(&t, OX_FLOAT, DIMS(2, 2), scale);
    test_call_input(&t, OX_INT4, DIMS(2, 2), zero);
    test_call_int(&t, "block_size", 2);
    ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
    ck_assert(!memcmp(t.outputs[0].data, expected, sizeof expected));
    test_call_end(&t);
}
END_TEST

START_TEST(scales_that_do_not_fit) {
    const float x[10] = {0}, scale[10] = {1};
    const uint8_t zero[10] = {0};
    const struct {
        int64_t rank, dims[2], axis, block;
    } rows[] = {{1, {2, 0}, 1, 0}, {1, {2, 0}, 2, 0}, {2, {2, 5}, 1, 0}, {2, {2, 3}, 1, 1}, {2, {2, 3}, 1, -2},
                {2, {2, 2}, 1, 2}, {2, {1, 3}, 1, 2}, {1, {3, 0}, 1, 2}, {2, {2, 3}, -3, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        test_call t;
        quantize(&t, x, (int)rows[i].rank, rows[i].dims, scale, zero);
        test_call_int(&t, "axis", rows[i].axis);
        test_call_int(&t, "block_size", rows[i].block);
        ck_assert_int_eq(test_call_infer(&t, 1), OX_ERROR_SHAPE);
        ck_assert_str_ne(t.error.text, "");
        test_call_end(&t);
    }
}
END_TEST

START_TEST(quantized_as_the_data_want) {
    const float x[] = {-1, 0, 1, 4};
    test_call t;
    test_call_begin(&t, "DynamicQuantizeLinear", 11);
    test_call_input(&t, OX_FLOAT, DIMS(2, 2), x);
    ck_assert_int_eq(test_call_run(&t, 3), OX_OK);
    ck_assert(!memcmp(t.outputs[0].data, (const uint8_t[]){0, 51, 102, 255}, 4));
    ck_assert(*(const float *)t.outputs[1].data == 5.0f / 255);
    ck_assert_int_eq(*(const uint8_t *)t.outputs[2].data, 51);
    test_call_end(&t);
}
END_TEST

static float saturated(float value) {
    return value < 0 ? 0 : value > 255 ? 255 : value;
}

/* Numbers of all lengths; ranges without zero, and ranges of which it is an end. */
START_TEST(many_quantized_as_the_data_want) {
    enum {
        MOST = 1000
    };
    const ox_loops *loops = ox_loops_find(builds[_i]);
    static float x[MOST];
    for (int n = 1; n <= MOST; n += n < 70 ? 1 : 93)
        for (int offset = -2; offset <= 2; offset++) {
            float low = 0, high = 0;
            for (int i = 0; i < n; i++) {
                x[i] = (float)((i * 7919 + n) % 1000) * 0.003f + (float)offset;
                low = x[i] < low ? x[i] : low;
                high = x[i] > high ? x[i] : high;
            }
            const float scale = (high - low) / 255, zero = saturated(rintf(-low / scale));
            test_call t;
            test_call_begin(&t, "DynamicQuantizeLinear", 11);
            t.call.loops = loops;
            test_call_input(&t, OX_FLOAT, DIMS(n), x);
            ck_assert_int_eq(test_call_run(&t, 3), OX_OK);
            const uint8_t *y = t.outputs[0].data;
            ck_assert(*(const float *)t.outputs[1].data == scale && *(const uint8_t *)t.outputs[2].data == zero);
            for (int i = 0; i < n; i++)
                ck_assert_int_eq(y[i], (int)saturated(rintf(x[i] / scale) + zero));
            test_call_end(&t);
        }
}
END_TEST

/* ---- Dropout ------------------------------------------------------------------------------------------------ */

START_TEST(dropout_drops_nothing) {
    const float x[] = {1, 2, 3}, ratio = 0;
    const bool training = true;
    test_call t;
    test_call_begin(&t, "Dropout", 13);
    test_call_input(&t, OX_FLOAT, DIMS(3), x);
    test_call_input(&t, OX_FLOAT, DIMS(), &ratio);
    test_call_input(&t, OX_BOOL, DIMS(), &training);
    ck_assert_int_eq(test_call_run(&t, 2), OX_OK);
    ck_assert(!memcmp(t.outputs[0].data, x, sizeof x));
    ck_assert(!memcmp(t.outputs[1].data, (const uint8_t[]){1, 1, 1}, 3));
    test_call_end(&t);
    test_call_begin(&t, "Dropout", 7);
    test_call_input(&t, OX_FLOAT, DIMS(3), x);
    ck_assert_int_eq(test_call_run(&t, 2), OX_OK);
    ck_assert(!memcmp(t.outputs[1].data, (const float[]){1, 1, 1}, sizeof x));
    test_call_end(&t);
}
END_TEST

/* In training, what stays is scaled, a seed says what stays, and a ratio of 1 is refused. */
START_TEST(dropout_drops_at_random) {
    float x[64];
    const float ratio = 0.75f, all = 1;
    const bool training = true;
    uint8_t masks[2][64];
    test_call t;
    for (int i = 0; i < 64; i++)
        x[i] = (float)(i + 1);
    for (int seed = 0; seed < 4; seed++) {
        test_call_begin(&t, "Dropout", 13);
        test_call_int(&t, "seed", seed / 2);
        test_call_input(&t, OX_FLOAT, DIMS(64), x);
        test_call_input(&t, OX_FLOAT, DIMS(), &ratio);
        test_call_input(&t, OX_BOOL, DIMS(), &training);
        ck_assert_int_eq(test_call_run(&t, 2), OX_OK);
        const uint8_t *mask = t.outputs[1].data;
        for (int i = 0; i < 64; i++)
            ck_assert(((const float *)t.outputs[0].data)[i] == (mask[i] ? 4 * x[i] : 0));
        if (seed % 2)
            ck_assert(!memcmp(mask, masks[seed / 2], 64));
        memcpy(masks[seed / 2], mask, 64);
        test_call_end(&t);
    }
    ck_assert(memcmp(masks[0], masks[1], 64));
    test_call_begin(&t, "Dropout", 13);
    test_call_input(&t, OX_FLOAT, DIMS(64), x);
    test_call_input(&t, OX_FLOAT, DIMS(), &all);
    test_call_input(&t, OX_BOOL, DIMS(), &training);
    ck_assert_int_eq(test_call_infer(&t, 1), OX_ERROR_VALUE);
    test_call_end(&t);
}
END_TEST

Suite *ox_suite_activations(void);
Suite *ox_suite_activations(void) {
    Suite *suite = suite_create("activations");
    TCase *c = tcase_create("activations");
    tcase_add_loop_test(c, values_of_functions, 0, (int)(sizeof functions / sizeof *functions));
    tcase_add_loop_test(c, nan_stays_nan, 0, (int)(sizeof functions / sizeof *functions));
    tcase_add_test(c, large_operands_do_not_overflow);
    tcase_add_test(c, halves_go_to_the_even_integer);
    tcase_add_test(c, gelu_approximations);
    tcase_add_test(c, integers_that_are_shrunk);
    tcase_add_test(c, infinity_and_nan);
    tcase_add_test(c, quantized_by_tensor_axis_and_block);
    tcase_add_test(c, dequantized_by_block);
    tcase_add_test(c, scales_that_do_not_fit);
    tcase_add_test(c, quantized_as_the_data_want);
    tcase_add_loop_test(c, many_quantized_as_the_data_want, 0, BUILDS);
    tcase_add_test(c, dropout_drops_nothing);
    tcase_add_test(c, dropout_drops_at_random);
    suite_add_tcase(suite, c);
    return suite;
}
