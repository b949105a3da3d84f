/* test_extra.c: inner values as outputs, progress, and the nodes of a model one by one. */
#include "samples.h"

#include <check.h>
#include <string.h>

static ox_counter counter;
static ox_options options;
static ox_model *model;
static ox_session *session;
static ox_error error;
static ox_feed feed;

static void load(const char *name) {
    static ox_bytes bytes;
    const ox_sample *sample = ox_samples;
    while (strcmp(sample->name, name))
        ck_assert_int_lt(++sample - ox_samples, ox_sample_count);
    bytes.size = 0;
    feed = (ox_feed){0};
    sample->build(&bytes);
    sample->feed(&feed, 3);
    ck_assert_int_eq(ox_model_load_memory(bytes.data, bytes.size, &options, &model, &error), OX_OK);
}

static void create(size_t count, const char *const *names) {
    options.extra_outputs = names;
    options.extra_output_count = count;
    ck_assert_msg(ox_session_create(model, &options, &session, &error) == OX_OK, "%s", error.text);
    for (int i = 0; i < feed.count; i++)
        ck_assert_int_eq(ox_session_set_input(session, (size_t)i, &feed.tensor[i], &error), OX_OK);
}

static void run(void) {
    ck_assert_msg(ox_session_run(session, &error) == OX_OK, "%s", error.text);
}

static const float *output(size_t index, int64_t count) {
    ox_tensor tensor;
    ck_assert_msg(ox_session_output(session, index, &tensor, &error) == OX_OK, "%s", error.text);
    ck_assert_int_eq(tensor.dtype, OX_FLOAT);
    ck_assert_int_eq(ox_tensor_count(&tensor), count);
    return tensor.data;
}

static void setup(void) {
    ox_counter_init(&counter);
    options = (ox_options){.allocator = &counter.allocator};
    session = NULL;
    model = NULL;
}

static void teardown(void) {
    ox_session_free(session);
    ox_model_free(model);
    ck_assert_uint_eq(counter.live, 0);
}

/* What never reaches memory in a pass is kept when it is asked for; the outputs stay what they are. */
START_TEST(test_inner_values) {
    static const char *const names[] = {"s", "m", "y", "b", "s"};
    float y[12];
    load("chain");
    create(0, NULL);
    run();
    memcpy(y, output(0, 12), sizeof y);
    ox_session_free(session);
    create(5, names);
    run();
    ck_assert_mem_eq(output(0, 12), y, sizeof y);
    ck_assert_mem_eq(output(4, 12), y, sizeof y);
    const float *a = feed.data[0].f, *b = feed.data[1].f, *s = output(2, 12), *m = output(3, 12);
    for (int i = 0; i < 12; i++) {
        ck_assert_float_eq(s[i], a[i] + b[i % 4]);
        ck_assert_float_eq(m[i] > 0 ? m[i] : 0, y[i]);
    }
    ck_assert_mem_eq(output(5, 4), b, 4 * sizeof *b);
    ck_assert_mem_eq(output(6, 12), s, 12 * sizeof *s);
    ox_tensor none;
    ck_assert_int_eq(ox_session_output(session, 7, &none, &error), OX_ERROR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "there is no output 7, the session has 7"));
}
END_TEST

/* The session says so, and nothing is left of it. */
START_TEST(test_unknown_value) {
    static const char *const names[] = {"s", "nothing"}, *const none[] = {NULL};
    load("chain");
    options.extra_outputs = names;
    options.extra_output_count = 2;
    ck_assert_int_eq(ox_session_create(model, &options, &session, &error), OX_ERROR_ARGUMENT);
    ck_assert_ptr_null(session);
    ck_assert_str_eq(error.text, "model: the main graph has no value 'nothing' to give as an output");
    options.extra_outputs = none;
    options.extra_output_count = 1;
    ck_assert_int_eq(ox_session_create(model, &options, &session, &error), OX_ERROR_ARGUMENT);
    options.extra_outputs = NULL;
    ck_assert_int_eq(ox_session_create(model, &options, &session, &error), OX_ERROR_ARGUMENT);
    options.extra_output_count = SIZE_MAX;
    ck_assert_int_ne(ox_session_create(model, &options, &session, &error), OX_OK);
}
END_TEST

/* Each allocation fails once. */
START_TEST(test_memory) {
    static const char *const names[] = {"s", "m"};
    load("chain");
    options.extra_outputs = names;
    options.extra_output_count = 2;
    ox_status status = OX_ERROR_MEMORY;
    for (size_t n = 1; status; n++) {
        counter.fail_at = counter.calls + n;
        status = ox_session_create(model, &options, &session, &error);
        ck_assert(status == OX_OK || status == OX_ERROR_MEMORY);
    }
    counter.fail_at = 0;
}
END_TEST

/* ---- Progress --------------------------------------------------------------------------------------------------- */

typedef struct steps {
    size_t count;
    ox_progress at[16];
} steps;

static void note(void *context, const ox_progress *progress) {
    steps *to = context;
    ck_assert_uint_lt(to->count, 16);
    to->at[to->count++] = *progress;
}

static void check_step(const ox_progress *step, int depth, size_t done, size_t total, const char *op) {
    ck_assert_int_eq(step->depth, depth);
    ck_assert_uint_eq(step->done, done);
    ck_assert_uint_eq(step->total, total);
    ck_assert_str_eq(step->node.op, op);
}

START_TEST(test_progress) {
    steps seen = {0};
    load("if");
    create(0, NULL);
    ox_session_set_progress(session, note, &seen);
    run();
    ck_assert_uint_ge(seen.count, 3);
    check_step(&seen.at[0], 0, 0, 2, "If");
    check_step(&seen.at[seen.count - 2], 1, 0, 1, "Add");
    check_step(&seen.at[seen.count - 1], 0, 1, 2, "Sub");
    ck_assert_str_eq(seen.at[seen.count - 1].node.output, "y");
    ox_session_set_progress(session, NULL, NULL);
    seen.count = 0;
    run();
    ck_assert_uint_eq(seen.count, 0);
}
END_TEST

/* A pass is one step, of which the last node is named. */
START_TEST(test_progress_of_pass) {
    steps seen = {0};
    load("chain");
    create(0, NULL);
    ox_session_set_progress(session, note, &seen);
    run();
    ck_assert_uint_eq(seen.count, 1);
    check_step(&seen.at[0], 0, 3, 4, "Relu");
}
END_TEST

/* ---- Nodes ------------------------------------------------------------------------------------------------------ */

typedef struct listing {
    char text[1024];
    size_t used;
} listing;

static void put(listing *to, const char *text) {
    size_t size = strlen(text);
    ck_assert_uint_lt(to->used + size, sizeof to->text);
    memcpy(to->text + to->used, text, size + 1);
    to->used += size;
}

static void put_value(listing *to, const ox_value_info *info) {
    put(to, " ");
    put(to, info->name);
    put(to, ":");
    put(to, ox_dtype_name(info->dtype));
    for (int d = 0; d < info->rank; d++) {
        char digit[] = {',', info->dims[d] < 0 ? '?' : (char)('0' + info->dims[d]), 0};
        put(to, digit);
    }
}

static void list_node(void *context, const ox_node_info *node) {
    listing *to = context;
    ox_value_info info;
    put(to, node->depth ? "-" : "");
    put(to, node->op);
    ck_assert(node->supported);
    for (size_t i = 0; i < node->input_count; i++) {
        ck_assert_int_eq(ox_node_input(node, i, &info), OX_OK);
        put_value(to, &info);
    }
    put(to, " >");
    for (size_t i = 0; i < node->output_count; i++) {
        ck_assert_int_eq(ox_node_output(node, i, &info), OX_OK);
        put_value(to, &info);
    }
    ck_assert_int_eq(ox_node_input(node, node->input_count, &info), OX_ERROR_ARGUMENT);
    ck_assert_int_eq(ox_node_output(node, node->output_count, &info), OX_ERROR_ARGUMENT);
    put(to, "\n");
}

/* Without a session the model's statements, with one what is known of a value: all that ran. */
START_TEST(test_nodes) {
    listing seen = {0};
    load("if");
    ox_model_visit(model, NULL, list_node, &seen);
    ck_assert_str_eq(seen.text, "If condition:bool > b:undefined\n"
                                "-Add x:undefined x:undefined > r:undefined\n"
                                "-Mul x:undefined x:undefined > r:undefined\n"
                                "Sub b:undefined x:float,?,4 > y:undefined\n");
    create(0, NULL);
    run();
    seen.used = 0;
    ox_model_visit(model, session, list_node, &seen);
    ck_assert_str_eq(seen.text, "If condition:bool > b:float,3,4\n"
                                "-Add x:float,3,4 x:float,3,4 > r:float,3,4\n"
                                "-Mul x:undefined x:undefined > r:undefined\n"
                                "Sub b:float,3,4 x:float,3,4 > y:float,3,4\n");
}
END_TEST

/* New shapes end the plan, and with it what is known of inner values; data decides on later ones in the run alone. */
START_TEST(test_nodes_without_plan) {
    listing seen = {0};
    load("expand");
    create(0, NULL);
    ck_assert_int_eq(ox_session_prepare(session, &error), OX_OK);
    ox_model_visit(model, session, list_node, &seen);
    ck_assert_ptr_nonnull(strstr(seen.text, "e:undefined"));
    run();
    seen.used = 0;
    ox_model_visit(model, session, list_node, &seen);
    ck_assert_ptr_null(strstr(seen.text, "undefined"));
    const ox_tensor *given = &feed.tensor[0];
    feed.dims[0][0] += given->dims[0] > 1 ? 1 : 4;
    ck_assert_int_eq(ox_session_set_input(session, 0, given, &error), OX_OK);
    seen.used = 0;
    ox_model_visit(model, session, list_node, &seen);
    ck_assert_ptr_nonnull(strstr(seen.text, "e:undefined"));
}
END_TEST

static void check_axis(void *context, const ox_node_info *node) {
    *(int64_t *)context = ox_node_int(node, "axis", 7);
    ck_assert_int_eq(ox_node_int(node, "no such", 5), 5);
}

START_TEST(test_attribute) {
    static ox_bytes graph, bytes, attrs;
    static const int64_t dims[] = {2, 3};
    int64_t axis = 0;
    ox_put_attr_int(&attrs, "axis", 1);
    ox_put_input(&graph, "x", OX_FLOAT, 2, dims);
    ox_put_output(&graph, "y", OX_FLOAT, 2, dims);
    ox_put_node(&graph, "Softmax", "x", "y", &attrs);
    ox_put_model(&bytes, &graph, 17);
    ck_assert_int_eq(ox_model_load_memory(bytes.data, bytes.size, &options, &model, &error), OX_OK);
    ox_model_visit(model, NULL, check_axis, &axis);
    ck_assert_int_eq(axis, 1);
}
END_TEST

START_TEST(test_null) {
    ox_value_info info;
    ck_assert_int_eq(ox_node_input(NULL, 0, &info), OX_ERROR_ARGUMENT);
    ck_assert_int_eq(ox_node_output(NULL, 0, &info), OX_ERROR_ARGUMENT);
    ck_assert_int_eq(ox_node_int(NULL, "axis", 3), 3);
    ox_model_visit(NULL, NULL, list_node, NULL);
    ox_session_set_progress(NULL, note, NULL);
}
END_TEST

Suite *ox_suite_extra(void) {
    Suite *suite = suite_create("extra");
    TCase *values = tcase_create("values");
    tcase_add_checked_fixture(values, setup, teardown);
    tcase_add_test(values, test_inner_values);
    tcase_add_test(values, test_unknown_value);
    tcase_add_test(values, test_memory);
    tcase_add_test(values, test_progress);
    tcase_add_test(values, test_progress_of_pass);
    tcase_add_test(values, test_nodes);
    tcase_add_test(values, test_nodes_without_plan);
    tcase_add_test(values, test_attribute);
    tcase_add_test(values, test_null);
    suite_add_tcase(suite, values);
    return suite;
}
