/* test_abi.c: a program that was compiled with the header of version 0.1 goes on working. The struct here is a copy of
 * that header's ox_options; it is never to be changed. */
#include "own_model.h"

#include <check.h>
#include <stddef.h>
#include <stdlib.h>

typedef struct first_limits {
    size_t bytes, tensor_bytes, file_bytes, nodes;
    int depth;
    bool (*cancel)(void *context);
    void *cancel_context;
    size_t reserved[4];
} first_limits;

typedef struct first_options {
    const void *allocator;
    first_limits limits;
    const char *isa;
    int threads;
    bool no_fuse, no_winograd, no_integer, check;
    const void *operators;
    size_t operator_count;
    const void *external_data, *external_context, *warn, *warn_context;
    const char *const *extra_outputs;
    size_t extra_output_count;
    size_t reserved[8];
} first_options;

#define SAME_PLACE(member) ck_assert_uint_eq(offsetof(first_options, member), offsetof(ox_options, member))

START_TEST(members_stay_where_they_were) {
    SAME_PLACE(allocator);
    SAME_PLACE(limits.bytes);
    SAME_PLACE(limits.tensor_bytes);
    SAME_PLACE(limits.file_bytes);
    SAME_PLACE(limits.nodes);
    SAME_PLACE(limits.depth);
    SAME_PLACE(limits.cancel);
    SAME_PLACE(limits.cancel_context);
    SAME_PLACE(isa);
    SAME_PLACE(threads);
    SAME_PLACE(no_fuse);
    SAME_PLACE(no_winograd);
    SAME_PLACE(no_integer);
    SAME_PLACE(check);
    SAME_PLACE(operators);
    SAME_PLACE(operator_count);
    SAME_PLACE(external_data);
    SAME_PLACE(external_context);
    SAME_PLACE(warn);
    SAME_PLACE(warn_context);
    SAME_PLACE(extra_outputs);
    SAME_PLACE(extra_output_count);
    ck_assert_uint_eq(sizeof(first_limits), sizeof(ox_limits));
    ck_assert_uint_eq(sizeof(first_options), sizeof(ox_options));
}
END_TEST

/* The bytes of the old struct lie at the end of a block, so that a sanitizer sees a read behind them. */
START_TEST(program_of_the_first_version) {
    static const char *const extra[] = {"h"};
    own_model m = {0};
    own_begin(&m, "", 21);
    ox_put_input(&m.graph, "x", OX_FLOAT, -1, NULL);
    ox_put_output(&m.graph, "y", OX_FLOAT, -1, NULL);
    ox_put_node(&m.graph, "Neg", "x", "h", NULL);
    ox_put_node(&m.graph, "Abs", "h", "y", NULL);
    first_options *old = calloc(1, sizeof *old);
    old->limits.bytes = 1 << 20;
    old->threads = 1;
    old->extra_outputs = extra;
    old->extra_output_count = 1;
    ox_options *options = (ox_options *)(void *)old;
    ck_assert_int_eq(own_load(&m), OX_OK);
    ox_session *session;
    ck_assert_int_eq(ox_session_create(m.model, options, &session, NULL), OX_OK);
    float values[] = {2, -3};
    const int64_t dims[] = {2};
    const ox_tensor in = {.dtype = OX_FLOAT, .rank = 1, .dims = dims, .data = values};
    ox_tensor out;
    ck_assert_int_eq(ox_session_set_input(session, 0, &in, NULL), OX_OK);
    ck_assert_int_eq(ox_session_run(session, NULL), OX_OK);
    ck_assert_int_eq(ox_session_output(session, 1, &out, NULL), OX_OK);
    ck_assert(((float *)out.data)[0] == -2 && ((float *)out.data)[1] == 3);
    ox_session_free(session);
    free(old);
    own_end(&m);
}
END_TEST

Suite *ox_suite_abi(void) {
    Suite *suite = suite_create("abi");
    TCase *tests = tcase_create("first version");
    tcase_add_test(tests, members_stay_where_they_were);
    tcase_add_test(tests, program_of_the_first_version);
    suite_add_tcase(suite, tests);
    return suite;
}
