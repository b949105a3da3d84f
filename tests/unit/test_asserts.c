/* test_asserts.c: assertions: no code in a plain build; where they look, what does not hold ends the process. */
#include "src/asserts.h"
#include "src/ops/dense.h"

#include <check.h>
#include <signal.h>

/* A condition is evaluated only where somebody looks. */
START_TEST(test_evaluated) {
    int asked = 0;
    OX_ASSERT(++asked);
    ck_assert_int_eq(asked, OX_ASSERTIONS);
}
END_TEST

#if OX_ASSERTIONS
static _Alignas(64) char workspace[256];
static ox_error error;

/* A run takes two pieces as prepare asked for them, then one of `bytes`. */
static void take(size_t bytes) {
    ox_pile pile;
    ox_piece *pieces = NULL;
    size_t used = 0;
    ox_pile_init(&pile, ox_default_allocator());
    ox_call call = {.pile = &pile, .pieces = &pieces, .error = &error, .workspace = workspace};
    ck_assert_int_eq(ox_workspace_add(&call, 3, 4), OX_OK);
    ck_assert_int_eq(ox_workspace_add(&call, 0, 8), OX_OK);
    ck_assert_int_eq(ox_workspace_add(&call, 100, 1), OX_OK);
    ck_assert_uint_eq(call.workspace_size, 64 + 128);
    ck_assert_ptr_eq(ox_workspace_take(&call, &used, 12, 1), workspace);
    ck_assert_ptr_eq(ox_workspace_take(&call, &used, 0, 8), workspace + 64);
    ck_assert_ptr_eq(ox_workspace_take(&call, &used, 1, bytes), workspace + 64);
    for (const ox_piece *piece = pieces; piece; piece = piece->next)
        ck_assert(piece->taken || !piece->bytes);
    OX_ALLOW(workspace, sizeof workspace);
    ox_pile_free(&pile);
}

START_TEST(test_as_asked) {
    take(100);
}
END_TEST

START_TEST(test_another_size) {
    take(101);
}
END_TEST

START_TEST(test_does_not_hold) {
    OX_ASSERT(workspace[0] == 1);
}
END_TEST
#endif

Suite *ox_suite_asserts(void);
Suite *ox_suite_asserts(void) {
    Suite *suite = suite_create("asserts");
    TCase *tests = tcase_create("asserts");
    tcase_add_test(tests, test_evaluated);
#if OX_ASSERTIONS
    tcase_add_test(tests, test_as_asked);
    tcase_add_test_raise_signal(tests, test_another_size, SIGABRT);
    tcase_add_test_raise_signal(tests, test_does_not_hold, SIGABRT);
#endif
    suite_add_tcase(suite, tests);
    return suite;
}
