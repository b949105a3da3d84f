/* test_check.c: the self-check of runs (ox_options.check). Faults are planted by operators from outside, which the
 * library has no reason to doubt: a loop that gives something else each time, an operator that writes over what it
 * reads, and one that reads an input with strides as if it were packed. */
#include "own_model.h"

#include <check.h>
#include <string.h>

#define DOMAIN "com.test"

static own_model m;
static int calls; /* of what goes wrong */

enum {
    DRIFT = 3 /* the run of a step, and its two checks */
};

static const int64_t two_by_3[] = {2, 3}, three[] = {3}, none[] = {0};

/* x, and at the first of three calls, 1 more in the last element. */
static int drift_f32(int64_t n, char *const arg[], const int64_t step[], const void *attr) {
    (void)attr;
    for (int64_t i = 0; i < n; i++) {
        float x;
        memcpy(&x, arg[1] + i * step[1], sizeof x);
        x += i == n - 1 && calls % DRIFT == 0 ? 1 : 0;
        memcpy(arg[0] + i * (int64_t)sizeof x, &x, sizeof x);
    }
    calls++;
    return 0;
}

static ox_status infer_same(ox_call *call) {
    const ox_tensor *x = ox_call_input(call, 0);
    return ox_call_output(call, 0, x->dtype, x->rank, x->dims);
}

static float *floats(const ox_tensor *tensor) {
    return tensor->data;
}

/* 2 * x, and then it writes 99 into x, once. */
static ox_status run_spoil(ox_call *call) {
    const ox_tensor *x = ox_call_input(call, 0), *y = ox_call_result(call, 0);
    for (int64_t i = 0; i < ox_tensor_count(x); i++)
        floats(y)[i] = 2 * floats(x)[i];
    if (!calls++)
        floats(x)[1] = 99;
    return OX_OK;
}

/* x, if that is packed. */
static ox_status run_blind(ox_call *call) {
    const ox_tensor *x = ox_call_input(call, 0), *y = ox_call_result(call, 0);
    memcpy(y->data, x->data, (size_t)ox_tensor_count(x) * sizeof(float));
    return OX_OK;
}

static const ox_typed_lane drift_lanes[] = {{OX_FLOAT, OX_FLOAT, drift_f32}};
#define NAMED(text)                                                                                                    \
    .domain = DOMAIN, .name = text, .since = 1, .min_inputs = 1, .max_inputs = 1, .min_outputs = 1, .max_outputs = 1
static const ox_operator operators[] = {
    {NAMED("Drift"), .lanes = drift_lanes, .lane_count = 1},
    {NAMED("Spoil"), .infer = infer_same, .run = run_spoil},
    {NAMED("Blind"), .infer = infer_same, .run = run_blind, .flags = OX_OP_STRIDED}};

static void setup(void) {
    memset(&m, 0, sizeof m);
    own_begin(&m, DOMAIN, 1);
    m.options.operators = operators;
    m.options.operator_count = sizeof operators / sizeof *operators;
    m.options.check = true;
    calls = 0;
}

static ox_status load_and_run(void) {
    static float x[] = {1, 2, 3, 4, 5, 6};
    ck_assert_msg(!own_load(&m), "%s", m.error.text);
    for (int i = 0; i < 6; i++)
        x[i] = (float)(i + 1);
    return own_run(&m, 1, &(ox_tensor){OX_FLOAT, 2, two_by_3, NULL, x});
}

static void finds(const char *const *texts) {
    ox_status status = load_and_run();
    ck_assert_msg(status == OX_ERROR_CHECK, "status %d: %s", (int)status, m.error.text);
    for (; *texts; texts++)
        ck_assert_msg(strstr(m.error.text, *texts), "no '%s' in: %s", *texts, m.error.text);
}

/* In a pass with its neighbours, and by itself. */
START_TEST(a_step_that_its_nodes_do_not_give_is_named) {
    m.options.no_fuse = _i;
    ox_put_input(&m.graph, "x", OX_FLOAT, 2, two_by_3);
    ox_put_node(&m.graph, "Neg", "x", "a", NULL);
    own_node(&m, "Drift", "a", "b", NULL);
    ox_put_node(&m.graph, "Abs", "b", "y", NULL);
    static const char *const fused[] = {"model: node that gives 'y' (Abs-13): ",
                                        "output 'y', element [1,2] is 5 (0x",
                                        "but 6 (0x",
                                        "by the node alone",
                                        "step 2 is Neg Drift Abs",
                                        NULL};
    static const char *const single[] = {"node that gives 'b' (com.test.Drift-1): ",
                                         "output 'b', element [1,2] is -5 (0x", "but -6 (0x", "step 1 is Drift", NULL};
    finds(_i ? single : fused);
    own_end(&m);
}
END_TEST

START_TEST(a_value_that_is_written_over_before_it_is_read_is_named) {
    ox_put_input(&m.graph, "x", OX_FLOAT, 2, two_by_3);
    ox_put_node(&m.graph, "Neg", "x", "a", NULL);
    own_node(&m, "Spoil", "a", "b", NULL);
    if (_i) { /* a later node reads it, or the caller */
        ox_put_node(&m.graph, "Add", "a,b", "y", NULL);
    }
    ox_put_output(&m.graph, "b", OX_FLOAT, 2, two_by_3);
    ox_put_output(&m.graph, _i ? "y" : "a", OX_FLOAT, 2, two_by_3);
    static const char *const texts[] = {"value 'a', element [0,1] is 99 (0x", "but -2 (0x", "when it was written",
                                        NULL};
    finds(texts);
    own_end(&m);
}
END_TEST

/* A node with subgraphs reads it, which are planned when the run comes there: as an input of its own, or within. */
START_TEST(what_a_subgraph_reads_is_as_it_was_written) {
    const bool yes = true;
    const int64_t once = 1;
    ox_bytes attrs = {0};
    own_model inner = {.domain = DOMAIN};
    ox_put_input(&m.graph, "x", OX_FLOAT, 2, two_by_3);
    ox_put_node(&m.graph, "Neg", "x", "a", NULL);
    own_node(&m, "Spoil", "a", "b", NULL);
    if (_i) {
        ox_put_initializer(&m.graph, "once", OX_INT64, 0, none, &once);
        ox_put_input(&inner.graph, "i", OX_INT64, 0, none);
        ox_put_input(&inner.graph, "go", OX_BOOL, 0, none);
        ox_put_input(&inner.graph, "v", OX_FLOAT, 2, two_by_3);
        ox_put_node(&inner.graph, "Identity", "go", "on", NULL);
        ox_put_node(&inner.graph, "Abs", "v", "w", NULL);
        ox_put_output(&inner.graph, "on", OX_BOOL, 0, none);
        ox_put_output(&inner.graph, "w", OX_FLOAT, 2, two_by_3);
        ox_put_attr_graph(&attrs, "body", &inner.graph);
        ox_put_node(&m.graph, "Loop", "once,,a", "y", &attrs);
    } else {
        ox_put_initializer(&m.graph, "yes", OX_BOOL, 0, none, &yes);
        ox_put_node(&inner.graph, "Abs", "a", "w", NULL);
        ox_put_output(&inner.graph, "w", OX_FLOAT, 2, two_by_3);
        ox_put_attr_graph(&attrs, "then_branch", &inner.graph);
        ox_put_attr_graph(&attrs, "else_branch", &inner.graph);
        ox_put_node(&m.graph, "If", "yes", "y", &attrs);
    }
    ox_put_output(&m.graph, "b", OX_FLOAT, 2, two_by_3);
    ox_put_output(&m.graph, "y", OX_FLOAT, 2, two_by_3);
    static const char *const texts[] = {"node that gives 'y' (",
                                        "value 'a', element [0,1] is 99 (0x",
                                        "but -2 (0x",
                                        "when it was written",
                                        "; step ",
                                        NULL};
    finds(texts);
    ck_assert_msg(!strstr(m.error.text, "'w'"), "found in the subgraph only: %s", m.error.text);
    own_end(&m);
}
END_TEST

START_TEST(an_input_that_is_read_wrongly_is_named) {
    ox_put_input(&m.graph, "x", OX_FLOAT, 2, two_by_3);
    ox_put_node(&m.graph, "Neg", "x", "a", NULL);
    ox_put_node(&m.graph, "Transpose", "a", "t", NULL);
    own_node(&m, "Blind", "t", "y", NULL);
    static const char *const texts[] = {"(com.test.Blind-1): ", "output 'y', element [0,1] is -2 (0x", "but -4 (0x",
                                        "by the plain way", NULL};
    finds(texts);
    own_end(&m);
}
END_TEST

START_TEST(a_subgraph_is_checked) {
    const bool yes = true;
    ox_bytes branch = {0}, attrs = {0};
    own_model inner = {.domain = DOMAIN};
    ox_put_input(&m.graph, "x", OX_FLOAT, 2, two_by_3);
    ox_put_initializer(&m.graph, "yes", OX_BOOL, 0, none, &yes);
    own_node(&inner, "Drift", "x", "b", NULL);
    ox_put_output(&inner.graph, "b", OX_FLOAT, 2, two_by_3);
    branch = inner.graph;
    ox_put_attr_graph(&attrs, "then_branch", &branch);
    ox_put_attr_graph(&attrs, "else_branch", &branch);
    ox_put_node(&m.graph, "If", "yes", "y", &attrs);
    static const char *const texts[] = {
        "node that gives 'y' (If-21): ", "(com.test.Drift-1): check failed: output 'b', element [1,2]", NULL};
    finds(texts);
    own_end(&m);
}
END_TEST

/* After a fault the session goes on; without the option, nothing is checked. */
START_TEST(a_fault_ends_a_run_and_no_more) {
    m.options.check = _i;
    ox_put_input(&m.graph, "x", OX_FLOAT, 1, three);
    own_node(&m, "Drift", "x", "y", NULL);
    ox_put_output(&m.graph, "y", OX_FLOAT, 1, three);
    float x[] = {1, 2, 3};
    const ox_tensor input = {OX_FLOAT, 1, three, NULL, x};
    ck_assert_msg(!own_load(&m), "%s", m.error.text);
    for (int turn = 0; turn < 3; turn++)
        ck_assert_msg(own_run(&m, 1, &input) == (_i ? OX_ERROR_CHECK : OX_OK), "%s", m.error.text);
    ck_assert_int_eq(calls, _i ? 7 : 3); /* two of the first run and the second, three of the last */
    own_end(&m);
}
END_TEST

/* Models without a fault give what they give without the check, run after run. */
START_TEST(right_runs_pass) {
    static ox_feed feed;
    static unsigned char wanted[1 << 14];
    for (int checked = 0; checked < 2; checked++)
        for (int64_t n = 3; n <= 21; n += 18) {
            ox_bytes bytes = {0};
            const ox_options options = {.check = checked};
            ox_model *model;
            ox_session *session;
            ox_tensor out;
            ox_error error;
            memset(&feed, 0, sizeof feed);
            ox_samples[_i].build(&bytes);
            ox_samples[_i].feed(&feed, n);
            ck_assert_msg(!ox_model_load_memory(bytes.data, bytes.size, &options, &model, &error), "%s", error.text);
            ck_assert_msg(!ox_session_create(model, NULL, &session, &error), "%s", error.text);
            for (int turn = 0; turn < 2; turn++) {
                for (int i = 0; i < feed.count; i++)
                    ck_assert_msg(!ox_session_set_input(session, (size_t)i, &feed.tensor[i], &error), "%s", error.text);
                ck_assert_msg(!ox_session_run(session, &error), "%s: %s", ox_samples[_i].name, error.text);
            }
            ck_assert(!ox_session_output(session, 0, &out, &error));
            const size_t size = (size_t)ox_tensor_count(&out) * ox_dtype_size(out.dtype);
            ck_assert_uint_le(size, sizeof wanted / 2);
            unsigned char *kept = wanted + (n > 3 ? sizeof wanted / 2 : 0);
            if (checked)
                ck_assert_mem_eq(out.data, kept, size);
            else
                memcpy(kept, out.data, size);
            ox_session_free(session);
            ox_model_free(model);
        }
}
END_TEST

/* An output that the operator does not give here, and that has no reader. */
START_TEST(a_missing_output_is_no_fault) {
    static const float ones[] = {1, 1, 1};
    static const char *const names[] = {"scale", "bias", "mean", "variance"};
    for (size_t i = 0; i < 4; i++)
        ox_put_initializer(&m.graph, names[i], OX_FLOAT, 1, three, ones);
    ox_put_input(&m.graph, "x", OX_FLOAT, 2, two_by_3);
    ox_put_node(&m.graph, "BatchNormalization", "x,scale,bias,mean,variance", "y,unread", NULL);
    ox_put_output(&m.graph, "y", OX_FLOAT, 2, two_by_3);
    ck_assert_msg(load_and_run() == OX_OK, "%s", m.error.text);
    own_end(&m);
}
END_TEST

/* Means of windows whose sums overflow are infinite by one way and not by another. */
START_TEST(sums_that_overflow_are_no_fault) {
    static float x[36];
    static const int64_t image[] = {1, 1, 6, 6}, kernel[] = {3, 3}, four[] = {1, 1, 4, 4};
    ox_bytes attrs = {0};
    for (int i = 0; i < 36; i++)
        x[i] = i % 6 < 3 ? 2e38F : 1.5F;
    ox_put_attr_ints(&attrs, "kernel_shape", 2, kernel);
    ox_put_input(&m.graph, "x", OX_FLOAT, 4, image);
    ox_put_node(&m.graph, "AveragePool", "x", "y", &attrs);
    ox_put_output(&m.graph, "y", OX_FLOAT, 4, four);
    ck_assert_msg(!own_load(&m), "%s", m.error.text);
    ck_assert_msg(!own_run(&m, 1, &(ox_tensor){OX_FLOAT, 4, image, NULL, x}), "%s", m.error.text);
    own_end(&m);
}
END_TEST

/* Products below the smallest normal number, and those that underflow to 0, round by as much as at that number. */
START_TEST(sums_of_denormal_products_are_no_fault) {
    static float a[4 * 40], b[40 * 24];
    static const int64_t rows[] = {4, 40}, columns[] = {40, 24}, product[] = {4, 24};
    for (int i = 0; i < 4 * 40; i++)
        a[i] = (float)(i % 7 - 3) * 0x1p-5F;
    for (int i = 0; i < 40 * 24; i++)
        b[i] = (float)(i % 11 - 5) * (_i ? 0x1p-149F : 0x1p-146F);
    ox_put_input(&m.graph, "a", OX_FLOAT, 2, rows);
    ox_put_input(&m.graph, "b", OX_FLOAT, 2, columns);
    ox_put_node(&m.graph, "MatMul", "a,b", "y", NULL);
    ox_put_output(&m.graph, "y", OX_FLOAT, 2, product);
    ck_assert_msg(!own_load(&m), "%s", m.error.text);
    const ox_tensor inputs[] = {{OX_FLOAT, 2, rows, NULL, a}, {OX_FLOAT, 2, columns, NULL, b}};
    ck_assert_msg(!own_run(&m, 2, inputs), "%s", m.error.text);
    own_end(&m);
}
END_TEST

/* A last bit of Sigmoid or Tanh decides here which byte a state is quantized to, and so all that follows. */
START_TEST(bytes_that_a_last_bit_decides_are_no_fault) {
    enum {
        STEPS = 128,
        BATCH = 4,
        INPUT = 4,
        HIDDEN = 16,
        GATES = 4 * HIDDEN
    };
    static float x[STEPS * BATCH * INPUT];
    static signed char w[INPUT * GATES], r[HIDDEN * GATES];
    static const int64_t from[] = {STEPS, BATCH, INPUT}, to[] = {STEPS, 1, BATCH, HIDDEN}, one[] = {1},
                         of_w[] = {1, INPUT, GATES}, of_r[] = {1, HIDDEN, GATES};
    static const float scale[] = {0.01F};
    static const signed char zero[] = {0};
    const int stretch = _i ? 10 : 7;
    ox_bytes attrs = {0};
    for (int i = 0; i < STEPS * BATCH * INPUT; i++)
        x[i] = (float)(i * 13 * stretch % 97 - 48) / 32;
    for (int i = 0; i < INPUT * GATES; i++)
        w[i] = (signed char)(i * 7 * stretch % 121 - 60);
    for (int i = 0; i < HIDDEN * GATES; i++)
        r[i] = (signed char)(i * 11 * stretch % 121 - 60);
    m.domain = "com.microsoft";
    ox_put_initializer(&m.graph, "w", OX_INT8, 3, of_w, w);
    ox_put_initializer(&m.graph, "r", OX_INT8, 3, of_r, r);
    ox_put_initializer(&m.graph, "scale", OX_FLOAT, 1, one, scale);
    ox_put_initializer(&m.graph, "zero", OX_INT8, 1, one, zero);
    ox_put_input(&m.graph, "x", OX_FLOAT, 3, from);
    ox_put_attr_int(&attrs, "hidden_size", HIDDEN);
    own_node(&m, "DynamicQuantizeLSTM", "x,w,r,,,,,,scale,zero,scale,zero", "y", &attrs);
    ox_put_output(&m.graph, "y", OX_FLOAT, 4, to);
    ck_assert_msg(!own_load(&m), "%s", m.error.text);
    ck_assert_msg(!own_run(&m, 1, &(ox_tensor){OX_FLOAT, 3, from, NULL, x}), "%s", m.error.text);
    own_end(&m);
}
END_TEST

/* Weights that are their zero points: bytes times codes, and those times zero points, leave a rounding error. */
START_TEST(zero_points_that_are_taken_off_sums_are_no_fault) {
    enum {
        ROWS = 2,
        DEPTH = 32,
        COLUMNS = 41,
        BYTES = DEPTH / 2
    };
    static float a[ROWS * DEPTH], scales[COLUMNS];
    static unsigned char weights[COLUMNS * BYTES], zeros[COLUMNS];
    static const int64_t of_a[] = {ROWS, DEPTH}, of_weights[] = {COLUMNS, 1, BYTES}, of_zeros[] = {COLUMNS, 1},
                         of_y[] = {ROWS, COLUMNS};
    ox_bytes attrs = {0};
    for (int i = 0; i < ROWS * DEPTH; i++)
        a[i] = (float)(i * 37 % 101 - 50) / 77;
    for (int n = 0; n < COLUMNS; n++) {
        scales[n] = (float)(n + 3) / 613;
        zeros[n] = (unsigned char)(n % 16);
        memset(weights + n * BYTES, n % 16 * 17, BYTES);
    }
    m.domain = "com.microsoft";
    ox_put_initializer(&m.graph, "weights", OX_UINT8, 3, of_weights, weights);
    ox_put_initializer(&m.graph, "scales", OX_FLOAT, 2, of_zeros, scales);
    ox_put_initializer(&m.graph, "zeros", OX_UINT8, 2, of_zeros, zeros);
    ox_put_input(&m.graph, "a", OX_FLOAT, 2, of_a);
    ox_put_attr_int(&attrs, "K", DEPTH);
    ox_put_attr_int(&attrs, "N", COLUMNS);
    ox_put_attr_int(&attrs, "bits", 4);
    ox_put_attr_int(&attrs, "block_size", DEPTH);
    ox_put_attr_int(&attrs, "accuracy_level", 4);
    own_node(&m, "MatMulNBits", "a,weights,scales,zeros", "y", &attrs);
    ox_put_output(&m.graph, "y", OX_FLOAT, 2, of_y);
    ck_assert_msg(!own_load(&m), "%s", m.error.text);
    ck_assert_msg(!own_run(&m, 1, &(ox_tensor){OX_FLOAT, 2, of_a, NULL, a}), "%s", m.error.text);
    own_end(&m);
}
END_TEST

Suite *ox_suite_check(void);
Suite *ox_suite_check(void) {
    Suite *suite = suite_create("check");
    TCase *tests = tcase_create("check");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_loop_test(tests, a_step_that_its_nodes_do_not_give_is_named, 0, 2);
    tcase_add_loop_test(tests, a_value_that_is_written_over_before_it_is_read_is_named, 0, 2);
    tcase_add_loop_test(tests, what_a_subgraph_reads_is_as_it_was_written, 0, 2);
    tcase_add_test(tests, an_input_that_is_read_wrongly_is_named);
    tcase_add_test(tests, a_subgraph_is_checked);
    tcase_add_loop_test(tests, a_fault_ends_a_run_and_no_more, 0, 2);
    tcase_add_test(tests, a_missing_output_is_no_fault);
    tcase_add_test(tests, sums_that_overflow_are_no_fault);
    tcase_add_loop_test(tests, sums_of_denormal_products_are_no_fault, 0, 2);
    tcase_add_loop_test(tests, bytes_that_a_last_bit_decides_are_no_fault, 0, 2);
    tcase_add_test(tests, zero_points_that_are_taken_off_sums_are_no_fault);
    tcase_add_loop_test(tests, right_runs_pass, 0, ox_sample_count);
    suite_add_tcase(suite, tests);
    return suite;
}
