/* test_handing_on.c: passes that read a value later than the nodes say that name it: by another name, which a node gave
 * it that hands on what it is given, or once more for each reader of a difference. Nothing is stored over it before. */
#include "onnx_bytes.h"

#include <check.h>
#include <string.h>

enum {
    MOST = 2 * 512 /* elements */
};

/* A node that changes nothing, of the inputs `in` ("a" is the value). */
static const struct handing {
    const char *op, *in, *attr;
} handings[] = {{"Cast", "a", "to"}, {"CastLike", "a,w", NULL}, {"Max", "a", NULL},
                {"Min", "a", NULL},  {"Sum", "a", NULL},        {"Clip", "a", NULL}};

static void put_handing(ox_bytes *graph, const struct handing *how, const char *out) {
    ox_bytes attrs = {0};
    if (how->attr)
        ox_put_attr_int(&attrs, how->attr, OX_FLOAT);
    ox_put_node(graph, how->op, how->in, out, how->attr ? &attrs : NULL);
}

/* a is the input x twice, in a buffer of the session's; the nodes of `graph` follow. */
static void begin(ox_bytes *graph) {
    ox_bytes axis = {0};
    memset(graph, 0, sizeof *graph);
    ox_put_attr_int(&axis, "axis", 0);
    ox_put_node(graph, "Concat", "x,x", "a", &axis);
    ox_put_input(graph, "x", OX_FLOAT, -1, NULL);
    ox_put_input(graph, "w", OX_FLOAT, -1, NULL);
}

/* Runs the graph on x = [[1,2,...,n]] and w = [10]; gives its last output, of 2 * n elements. */
static void run_last(const ox_bytes *graph, bool no_fuse, int64_t n, float *result) {
    static ox_bytes bytes;
    static float x[MOST];
    const int64_t dims[] = {1, n}, one = 1;
    float w[] = {10};
    const ox_tensor inputs[] = {{OX_FLOAT, 2, dims, NULL, x}, {OX_FLOAT, 1, &one, NULL, w}};
    const ox_options options = {.no_fuse = no_fuse};
    ox_model *model;
    ox_session *session;
    ox_error error;
    ox_tensor out;
    for (int i = 0; i < n; i++)
        x[i] = (float)(i + 1);
    bytes.size = 0;
    ox_put_model(&bytes, graph, 21);
    ck_assert_msg(!ox_model_load_memory(bytes.data, bytes.size, NULL, &model, &error), "%s", error.text);
    ck_assert_msg(!ox_session_create(model, &options, &session, &error), "%s", error.text);
    for (size_t i = 0; i < 2; i++)
        ck_assert_msg(!ox_session_set_input(session, i, &inputs[i], &error), "%s", error.text);
    ck_assert_msg(!ox_session_run(session, &error), "%s", error.text);
    ck_assert_msg(!ox_session_output(session, ox_model_output_count(model) - 1, &out, &error), "%s", error.text);
    ck_assert_int_eq(ox_tensor_count(&out), 2 * n);
    memcpy(result, out.data, (size_t)(2 * n) * sizeof *result);
    ox_session_free(session);
    ox_model_free(model);
}

/* Fused and not, for n = 2. */
static void check_last(const ox_bytes *graph, const char *op, const float *wanted) {
    float got[4];
    for (int no_fuse = 0; no_fuse < 2; no_fuse++) {
        run_last(graph, no_fuse, 2, got);
        for (int i = 0; i < 4; i++)
            ck_assert_msg(got[i] == wanted[i], "%s%s: element %d is %g, not %g", op, no_fuse ? ", not fused" : "", i,
                          got[i], wanted[i]);
    }
}

/* s could take over the buffer of a, if b were not a. */
START_TEST(a_value_is_read_by_its_other_name) {
    const struct handing *how = &handings[_i];
    static ox_bytes graph;
    begin(&graph);
    put_handing(&graph, how, "b");
    ox_put_node(&graph, "Sub", "w,a", "s", NULL);
    ox_put_node(&graph, "Add", "s,b", "y", NULL);
    ox_put_output(&graph, "s", OX_FLOAT, -1, NULL);
    ox_put_output(&graph, "y", OX_FLOAT, -1, NULL);
    check_last(&graph, how->op, (const float[]){10, 10, 10, 10});
}
END_TEST

/* c is stored where n is made, before y reads a: it cannot take over the buffer of a, which it has as an input. */
START_TEST(a_result_is_stored_where_it_is_made) {
    static ox_bytes graph;
    begin(&graph);
    ox_put_node(&graph, "Neg", "w", "n", NULL);
    ox_put_node(&graph, "Sub", "n,a", "m", NULL);
    ox_put_node(&graph, "Mul", "m,a", "y", NULL);
    ox_put_node(&graph, "CastLike", "m,a", "c", NULL);
    ox_put_output(&graph, "c", OX_FLOAT, -1, NULL);
    ox_put_output(&graph, "y", OX_FLOAT, -1, NULL);
    check_last(&graph, "CastLike", (const float[]){-11, -24, -11, -24});
}
END_TEST

/* The difference is done again for each of its readers, where rows are long: s cannot take over the buffer of a. */
START_TEST(a_difference_is_made_again) {
    static ox_bytes graph, attrs;
    static float fused[MOST], single[MOST];
    const int64_t last = -1, one = 1;
    begin(&graph);
    attrs.size = 0;
    ox_put_attr_int(&attrs, "keepdims", 1);
    ox_put_initializer(&graph, "axes", OX_INT64, 1, &one, &last);
    ox_put_node(&graph, "ReduceMean", "a,axes", "m", &attrs);
    ox_put_node(&graph, "Sub", "a,m", "d", NULL);
    ox_put_node(&graph, "Mul", "d,a", "s", NULL);
    ox_put_node(&graph, "Sub", "d,w", "y", NULL);
    ox_put_output(&graph, "s", OX_FLOAT, -1, NULL);
    ox_put_output(&graph, "y", OX_FLOAT, -1, NULL);
    run_last(&graph, false, MOST / 2, fused);
    run_last(&graph, true, MOST / 2, single);
    ck_assert_mem_eq(fused, single, sizeof fused);
}
END_TEST

Suite *ox_suite_handing_on(void);
Suite *ox_suite_handing_on(void) {
    Suite *suite = suite_create("handing_on");
    TCase *tests = tcase_create("handing_on");
    tcase_add_loop_test(tests, a_value_is_read_by_its_other_name, 0, sizeof handings / sizeof *handings);
    tcase_add_test(tests, a_result_is_stored_where_it_is_made);
    tcase_add_test(tests, a_difference_is_made_again);
    suite_add_tcase(suite, tests);
    return suite;
}
