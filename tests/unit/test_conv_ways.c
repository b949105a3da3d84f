/* test_conv_ways.c: every way to compute a convolution, taken because the environment asks for it. */
#define _DEFAULT_SOURCE
#include "onnx_bytes.h"
#include "src/host.h"
#include "src/loops/conv_loops.h"
#include "src/loops/lanes.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    IN = 8,
    OUT = 16,
    SIDE = 7,
    TAPS = 9,
    RESULTS = OUT * SIDE * SIDE
};

static ox_model *model;
static ox_session *session;
static ox_error error;
static float results[RESULTS];
static char algorithm[96];

static void setup(void) {
    model = NULL;
    session = NULL;
}

static void teardown(void) {
    ox_session_free(session);
    ox_model_free(model);
    unsetenv("OX_CONV");
}

/* A convolution 3x3 with bias, and Relu behind it. */
static void load(const char *way) {
    static ox_bytes graph, bytes, attrs, pads;
    static float w[OUT * IN * TAPS], b[OUT];
    graph.size = bytes.size = attrs.size = pads.size = 0;
    for (int i = 0; i < OUT * IN * TAPS; i++)
        w[i] = (float)(i * 7919 % 5 - 2);
    for (int i = 0; i < OUT; i++)
        b[i] = (float)(i % 3);
    ox_put_text(&pads, 1, "pads");
    for (int i = 0; i < 4; i++)
        ox_put_int(&pads, 8, 1);
    ox_put_int(&pads, 20, 7); /* INTS */
    ox_put_message(&attrs, 5, &pads);
    ox_put_node(&graph, "Conv", "x,w,b", "c", &attrs);
    ox_put_node(&graph, "Relu", "c", "y", NULL);
    ox_put_initializer(&graph, "w", OX_FLOAT, 4, (const int64_t[]){OUT, IN, 3, 3}, w);
    ox_put_initializer(&graph, "b", OX_FLOAT, 1, (const int64_t[]){OUT}, b);
    ox_put_input(&graph, "x", OX_FLOAT, 4, (const int64_t[]){1, IN, SIDE, SIDE});
    ox_put_output(&graph, "y", OX_FLOAT, 4, (const int64_t[]){1, OUT, SIDE, SIDE});
    ox_put_model(&bytes, &graph, 22);
    setenv("OX_CONV", way, 1);
    ck_assert_msg(ox_model_load_memory(bytes.data, bytes.size, NULL, &model, &error) == OX_OK, "%s", error.text);
}

/* An ox_node_fn. */
static void note_algorithm(void *context, const ox_node_info *node) {
    (void)context;
    if (!strcmp(node->op, "Conv"))
        strncpy(algorithm, node->algorithm, sizeof algorithm - 1);
}

static ox_status run(const ox_options *options) {
    static float x[IN * SIDE * SIDE];
    const ox_tensor input = {OX_FLOAT, 4, (const int64_t[]){1, IN, SIDE, SIDE}, NULL, x};
    for (int i = 0; i < IN * SIDE * SIDE; i++)
        x[i] = (float)(i * 31 % 7 - 3);
    ck_assert_int_eq(ox_session_create(model, options, &session, &error), OX_OK);
    ck_assert_int_eq(ox_session_set_input(session, 0, &input, &error), OX_OK);
    if (ox_session_run(session, &error))
        return error.status;
    ox_tensor output;
    ck_assert_int_eq(ox_session_output(session, 0, &output, &error), OX_OK);
    memcpy(results, output.data, sizeof results);
    ox_model_visit(model, session, note_algorithm, NULL);
    return OX_OK;
}

/* Whether this processor's loops have outputs side by side. */
static bool has_beside(void) {
    return OX_BUILD_OF(ox_loops_find(ox_default_isa()), ox_beside_builds)->products;
}

START_TEST(a_way_is_taken_where_it_is_asked_for) {
    static const struct {
        const char *name, *algorithm;
    } ways[] = {{"columns", "product of gathered columns, channels first"},
                {"rows", "product of gathered pixels as rows, channels first"},
                {"direct", "direct, channels first"},
                {"beside", "direct with outputs side by side, channels first"},
                {"winograd", "Winograd "}};
    static float first[RESULTS];
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (!strcmp(ways[i].name, "beside") && !has_beside())
            continue;
        load(ways[i].name);
        ck_assert_msg(run(NULL) == OX_OK, "%s", error.text);
        ck_assert_msg(!strncmp(algorithm, ways[i].algorithm, strlen(ways[i].algorithm)), "%s", algorithm);
        if (!i)
            memcpy(first, results, sizeof results);
        for (int k = 0; k < RESULTS; k++)
            ck_assert_msg(fabsf(results[k] - first[k]) <= (strcmp(ways[i].name, "winograd") ? 0 : 1e-3F),
                          "%s: %d: %g, not %g", ways[i].name, k, (double)results[k], (double)first[k]);
        teardown();
        setup();
    }
}
END_TEST

START_TEST(plain_sums_and_ways_that_cannot_be_leave_the_choice) {
    load("winograd");
    ck_assert_int_eq(run(&(ox_options){.no_winograd = true}), OX_OK);
    ck_assert_ptr_null(strstr(algorithm, "Winograd"));
    teardown();
    setup();
    load("words"); /* of bytes alone */
    ck_assert_int_eq(run(NULL), OX_OK);
}
END_TEST

START_TEST(a_way_that_is_none_is_an_error) {
    load("sideways");
    ck_assert_int_eq(run(NULL), OX_ERROR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "OX_CONV is 'sideways', which is not the name of a way of a convolution"));
}
END_TEST

Suite *ox_suite_conv_ways(void) {
    Suite *suite = suite_create("conv_ways");
    TCase *ways = tcase_create("ways");
    tcase_add_checked_fixture(ways, setup, teardown);
    tcase_add_test(ways, a_way_is_taken_where_it_is_asked_for);
    tcase_add_test(ways, plain_sums_and_ways_that_cannot_be_leave_the_choice);
    tcase_add_test(ways, a_way_that_is_none_is_an_error);
    suite_add_tcase(suite, ways);
    return suite;
}
