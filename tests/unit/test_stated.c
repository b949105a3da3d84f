/* test_stated.c: what a model states of its results, and how a caller learns that they are not so. */
#include <check.h>
#include <string.h>

#include "own_model.h"

static own_model m;
static int told;
static char text[OX_ERROR_TEXT];

static void note(void *context, const char *said) {
    told++;
    ck_assert_ptr_eq(context, &m);
    ck_assert_uint_lt(strlen(said), sizeof text);
    strcpy(text, said);
}

static void begin(void) {
    m = (own_model){0};
    own_begin(&m, "", 21);
    m.options.warn = note;
    m.options.warn_context = &m;
    told = 0;
}

static ox_status run(int64_t count) {
    static float elements[8];
    const int64_t dims[] = {count};
    return own_run(&m, 1, &(ox_tensor){OX_FLOAT, 1, dims, NULL, elements});
}

static void put_ends(ox_bytes *graph, int rank, const int64_t *stated) {
    ox_put_input(graph, "x", OX_FLOAT, 1, (const int64_t[]){-1});
    ox_put_output(graph, "y", OX_FLOAT, rank, stated);
}

START_TEST(another_shape_is_told_once) {
    begin();
    own_node(&m, "Relu", "x", "y", NULL);
    put_ends(&m.graph, 1, (const int64_t[]){3});
    ck_assert_int_eq(own_load(&m), OX_OK);
    ck_assert_int_eq(run(3), OX_OK);
    ck_assert_int_eq(told, 0);
    for (int64_t count = 4; count < 7; count++)
        ck_assert_int_eq(run(count), OX_OK);
    ck_assert_int_eq(told, 1);
    ck_assert_str_eq(text, "model: output 'y' has shape [4], the model states [3]");
    own_end(&m);
}
END_TEST

START_TEST(another_rank_is_told) {
    begin();
    own_node(&m, "Relu", "x", "y", NULL);
    put_ends(&m.graph, 2, (const int64_t[]){-1, -1});
    ck_assert_int_eq(own_load(&m), OX_OK);
    ck_assert_int_eq(run(2), OX_OK);
    ck_assert_int_eq(told, 1);
    ck_assert_str_eq(text, "model: output 'y' has shape [2], the model states [n,n]");
    own_end(&m);
}
END_TEST

START_TEST(symbolic_dimensions_fit) {
    begin();
    own_node(&m, "Relu", "x", "y", NULL);
    put_ends(&m.graph, 1, (const int64_t[]){-1});
    ck_assert_int_eq(own_load(&m), OX_OK);
    ck_assert_int_eq(run(2), OX_OK);
    ck_assert_int_eq(told, 0);
    own_end(&m);
}
END_TEST

START_TEST(outputs_of_branches_are_told) {
    ox_bytes branch = {0}, attrs = {0};
    static const bool yes = true;
    begin();
    ox_put_node(&branch, "Relu", "x", "r", NULL);
    ox_put_output(&branch, "r", OX_FLOAT, 1, (const int64_t[]){5});
    ox_put_attr_graph(&attrs, "then_branch", &branch);
    ox_put_attr_graph(&attrs, "else_branch", &branch);
    ox_put_initializer(&m.graph, "c", OX_BOOL, 0, NULL, &yes);
    own_node(&m, "If", "c", "y", &attrs);
    put_ends(&m.graph, 1, (const int64_t[]){-1});
    ck_assert_int_eq(own_load(&m), OX_OK);
    ck_assert_int_eq(run(2), OX_OK);
    ck_assert_int_eq(run(2), OX_OK);
    ck_assert_int_eq(told, 1);
    ck_assert_str_eq(text, "model: output 'r' of the subgraph '' has shape [2], the model states [5]");
    own_end(&m);
}
END_TEST

START_TEST(defaults_fit_symbolic_dimensions) {
    begin();
    own_node(&m, "Add", "x,w", "y", NULL);
    put_ends(&m.graph, 1, (const int64_t[]){-1});
    ox_put_input(&m.graph, "w", OX_FLOAT, 1, (const int64_t[]){-1});
    ox_put_initializer(&m.graph, "w", OX_FLOAT, 1, (const int64_t[]){2}, (const float[]){1, 2});
    ck_assert_int_eq(own_load(&m), OX_OK);
    ck_assert_int_eq(run(2), OX_OK);
    own_end(&m);
}
END_TEST

/* How many outputs Split has decides, whether somebody wants them or not. */
START_TEST(omitted_outputs_of_a_list_count) {
    ox_bytes attrs = {0};
    begin();
    ox_put_attr_int(&attrs, "num_outputs", 2);
    own_node(&m, "Split", "x", "y,,", &attrs);
    put_ends(&m.graph, 1, (const int64_t[]){-1});
    ck_assert_int_eq(own_load(&m), OX_OK);
    ck_assert_int_eq(run(4), OX_OK);
    ck_assert_int_eq(m.output.dims[0], 2);
    own_end(&m);
}
END_TEST

Suite *ox_suite_stated(void) {
    Suite *suite = suite_create("stated");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, another_shape_is_told_once);
    tcase_add_test(tests, another_rank_is_told);
    tcase_add_test(tests, symbolic_dimensions_fit);
    tcase_add_test(tests, outputs_of_branches_are_told);
    tcase_add_test(tests, defaults_fit_symbolic_dimensions);
    tcase_add_test(tests, omitted_outputs_of_a_list_count);
    suite_add_tcase(suite, tests);
    return suite;
}
