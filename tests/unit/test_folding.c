/* test_folding.c: what nodes make of constants stays only where runs read it. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/loading.h"
#include "tests/unit/samples.h"

enum {
    SLACK = 1 << 19 /* bytes of model, session and plan beside the constants */
};

/* A model in a counting allocator, with the sessions on it. */
typedef struct folded {
    ox_bytes bytes; /* which the model reads */
    ox_counter counter;
    ox_options options;
    size_t loaded; /* bytes */
    ox_session *sessions[2];
} folded;

static void load_folded(folded *f, ox_bytes *graph) {
    *f = (folded){.loaded = 0};
    ox_put_input(graph, "x", OX_FLOAT, 1, (const int64_t[]){-1});
    ox_put_output(graph, "y", OX_FLOAT, -1, NULL);
    ox_put_model(&f->bytes, graph, 11);
    ox_counter_init(&f->counter);
    f->options.allocator = &f->counter.allocator;
    ck_assert_msg(ox_model_load_memory(f->bytes.data, f->bytes.size, &f->options, &model, &error) == OX_OK, "%s",
                  error.text);
    f->loaded = f->counter.peak = f->counter.live;
}

/* Runs session i on x = 1, and gives the first element of y. */
static float run_folded(folded *f, int i) {
    float one = 1;
    const int64_t dims[] = {1};
    ox_tensor y;
    if (!f->sessions[i])
        ck_assert_int_eq(ox_session_create(model, NULL, &f->sessions[i], &error), OX_OK);
    ck_assert_int_eq(ox_session_set_input(f->sessions[i], 0, &(ox_tensor){OX_FLOAT, 1, dims, NULL, &one}, &error),
                     OX_OK);
    ck_assert_msg(ox_session_run(f->sessions[i], &error) == OX_OK, "%s", error.text);
    ck_assert_int_eq(ox_session_output(f->sessions[i], 0, &y, &error), OX_OK);
    return *(const float *)y.data;
}

static ox_memory_info memory_of(const folded *f) {
    ox_memory_info info;
    ox_session_memory(f->sessions[0], &info);
    return info;
}

static void free_folded(folded *f) {
    ox_session_free(f->sessions[0]);
    ox_session_free(f->sessions[1]);
    ox_model_free(model);
    ck_assert_uint_eq(f->counter.live, 0);
}

/* `count` times: n times a value of one element are made, and the largest of these taken. The last is called q. */
static void put_chain(ox_bytes *graph, int64_t n, int count) {
    char from[16] = "w", to[16], view[16], wide[16];
    ox_put_initializer(graph, "w", OX_FLOAT, 1, (const int64_t[]){1}, (const float[]){3});
    ox_put_initializer(graph, "n", OX_INT64, 1, (const int64_t[]){1}, &n);
    for (int i = 0; i < count; i++) {
        char inputs[32];
        snprintf(to, sizeof to, i + 1 < count ? "q%d" : "q", i);
        snprintf(view, sizeof view, "e%d", i);
        snprintf(wide, sizeof wide, "t%d", i);
        snprintf(inputs, sizeof inputs, "%s,n", from);
        ox_put_node(graph, "Tile", inputs, view, NULL);
        ox_put_node(graph, "Abs", view, wide, NULL);
        ox_put_node(graph, "ReduceMax", wide, to, NULL);
        strcpy(from, to);
    }
}

START_TEST(temporaries_are_given_back) {
    folded f;
    ox_bytes graph = {0};
    const size_t wide = sizeof(float) << 20;
    put_chain(&graph, 1 << 20, 30);
    ox_put_node(&graph, "Add", "x,q", "y", NULL);
    load_folded(&f, &graph);
    ck_assert(run_folded(&f, 0) == 4 && run_folded(&f, 1) == 4);
    ck_assert_uint_lt(f.counter.live - f.loaded, SLACK);
    ck_assert_uint_lt(f.counter.peak - f.loaded, wide + SLACK);
    ck_assert_uint_lt(memory_of(&f).arena_bytes, SLACK); /* nothing is left to the run */
    ck_assert_uint_lt(memory_of(&f).weight_bytes, SLACK);
    free_folded(&f);
}
END_TEST

/* Together they are larger than what a plan may keep. */
START_TEST(more_is_folded_than_may_be_kept) {
    folded f;
    ox_bytes graph = {0};
    put_chain(&graph, 1 << 26, 5);
    ox_put_node(&graph, "Add", "x,q", "y", NULL);
    load_folded(&f, &graph);
    ck_assert(run_folded(&f, 0) == 4);
    ck_assert_uint_lt(memory_of(&f).arena_bytes, SLACK);
    ck_assert_uint_lt(f.counter.live - f.loaded, SLACK);
    free_folded(&f);
}
END_TEST

/* A run reads a view of what a node that is folded reads, too: it is there once, for all sessions. */
START_TEST(what_a_run_reads_stays) {
    folded f;
    ox_bytes graph = {0};
    const int64_t shape[] = {1 << 10, 1 << 10};
    const size_t wide = sizeof(float) << 20;
    put_chain(&graph, 1 << 20, 2);
    ox_put_initializer(&graph, "s", OX_INT64, 1, (const int64_t[]){2}, shape);
    ox_put_node(&graph, "Neg", "t0", "o", NULL);
    ox_put_node(&graph, "Reshape", "o,s", "v", NULL); /* is a constant only when it is planned */
    ox_put_node(&graph, "Transpose", "v", "r", NULL);
    ox_put_node(&graph, "ReduceMax", "r", "m", NULL);
    ox_put_node(&graph, "Add", "r,q", "a", NULL);
    ox_put_node(&graph, "Add", "x,a", "b", NULL);
    ox_put_node(&graph, "Add", "b,m", "y", NULL);
    load_folded(&f, &graph);
    ck_assert(run_folded(&f, 0) == -2 && run_folded(&f, 1) == -2);
    ck_assert_uint_lt(memory_of(&f).weight_bytes, wide + SLACK);
    ck_assert_uint_lt(memory_of(&f).plan_bytes, SLACK);
    ck_assert_uint_lt(memory_of(&f).arena_bytes, wide + SLACK); /* of y */
    ck_assert_uint_lt(f.counter.live - f.loaded, 3 * wide + SLACK);
    free_folded(&f);
}
END_TEST

/* What is laid out for a product that is folded is not there either. */
START_TEST(nothing_is_laid_out_for_what_is_folded) {
    static const float elements[24 * 24] = {1};
    folded f;
    ox_bytes graph = {0};
    ox_put_initializer(&graph, "a", OX_FLOAT, 2, (const int64_t[]){24, 24}, elements);
    ox_put_initializer(&graph, "b", OX_FLOAT, 2, (const int64_t[]){24, 24}, elements);
    ox_put_node(&graph, "MatMul", "a,b", "p", NULL);
    ox_put_node(&graph, "ReduceMax", "p", "q", NULL);
    ox_put_node(&graph, "Add", "x,q", "y", NULL);
    load_folded(&f, &graph);
    ck_assert(run_folded(&f, 0) == 2);
    ck_assert_uint_eq(memory_of(&f).weight_bytes, 0);
    free_folded(&f);
}
END_TEST

/* Every allocation fails once while that is planned. */
START_TEST(planning_survives_without_memory) {
    folded f;
    ox_bytes graph = {0};
    const int64_t dims[] = {1};
    float one = 1;
    put_chain(&graph, 1 << 10, 3);
    ox_put_node(&graph, "Neg", "t1", "o", NULL);
    ox_put_node(&graph, "Reshape", "o,n", "v", NULL);
    ox_put_node(&graph, "Add", "v,q", "a", NULL);
    ox_put_node(&graph, "Add", "x,a", "y", NULL);
    load_folded(&f, &graph);
    ox_status status = OX_ERROR_MEMORY;
    for (size_t i = 1; status == OX_ERROR_MEMORY; i++) {
        ox_session *session = NULL;
        f.counter.fail_at = f.counter.calls + i;
        status = ox_session_create(model, NULL, &session, &error);
        if (!status)
            status = ox_session_set_input(session, 0, &(ox_tensor){OX_FLOAT, 1, dims, NULL, &one}, &error);
        if (!status)
            status = ox_session_run(session, &error);
        f.counter.fail_at = 0;
        if (status && session) {
            ck_assert_int_eq(ox_session_set_input(session, 0, &(ox_tensor){OX_FLOAT, 1, dims, NULL, &one}, &error),
                             OX_OK);
            ck_assert_int_eq(ox_session_run(session, &error), OX_OK);
        }
        ox_session_free(session);
    }
    ck_assert_int_eq(status, OX_OK);
    free_folded(&f);
}
END_TEST

Suite *ox_suite_folding(void);
Suite *ox_suite_folding(void) {
    Suite *suite = suite_create("folding");
    TCase *tests = tcase_create("folding"), *large = tcase_create("large");
    tcase_add_test(tests, temporaries_are_given_back);
    tcase_add_test(tests, what_a_run_reads_stays);
    tcase_add_test(tests, nothing_is_laid_out_for_what_is_folded);
    tcase_add_test(tests, planning_survives_without_memory);
    tcase_set_tags(large, "long");
    tcase_add_test(large, more_is_folded_than_may_be_kept);
    suite_add_tcase(suite, tests);
    suite_add_tcase(suite, large);
    return suite;
}
