/* test_status.c: error texts are formatted without stdio. */
#include "src/status.h"

#include <check.h>
#include <limits.h>
#include <math.h>
#include <string.h>

static char text[64];
static const char *volatile nothing; /* a missing text, which the compiler must not see */

#define CHECK(wanted, ...)                                                                                             \
    do {                                                                                                               \
        ck_assert_uint_eq(ox_format(text, sizeof text, __VA_ARGS__), strlen(wanted));                                  \
        ck_assert_str_eq(text, wanted);                                                                                \
    } while (0)

START_TEST(integers) {
    CHECK("0 -1 4294967295", "%d %d %u", 0, -1, UINT_MAX);
    CHECK("-9223372036854775808", "%lld", LLONG_MIN);
    CHECK("18446744073709551615", "%llu", ULLONG_MAX);
    CHECK("-2147483648 7", "%ld %lu", -2147483647L - 1, 7UL);
    CHECK("12 ff 00ff", "%zu %x %04x", (size_t)12, 255U, 255U);
}
END_TEST

START_TEST(real_numbers) {
    CHECK("0 1 -2.5", "%g %g %g", 0.0, 1.0, -2.5);
    CHECK("0.333333 123456.789", "%g %g", 1.0 / 3, 123456.789);
    CHECK("1e6 1.5e10 2e-5", "%g %g %g", 1e6, 1.5e10, 2e-5);
    CHECK("1e300 -1e-300", "%g %g", 1e300, -1e-300);
    CHECK("nan inf -inf", "%g %g %g", (double)NAN, (double)INFINITY, -(double)INFINITY);
}
END_TEST

START_TEST(texts) {
    CHECK("a model, mod", "%s, %.*s", "a model", 3, "model");
    CHECK("(none) x 100%", "%s %c %d%%", nothing, 'x', 100);
    CHECK("a?b?[31m", "%s", "a\nb\x1b[31m");
}
END_TEST

START_TEST(what_does_not_fit_is_cut_off) {
    ck_assert_uint_eq(ox_format(text, 4, "%s", "abcdef"), 3);
    ck_assert_str_eq(text, "abc");
    ck_assert_uint_eq(ox_format(text, 1, "%d", 12), 0);
    ck_assert_str_eq(text, "");
    ck_assert_uint_eq(ox_format(text, 0, "x"), 0);
}
END_TEST

START_TEST(prefixes_come_first) {
    ox_error error;
    ck_assert_int_eq(ox_fail(&error, OX_ERROR_SHAPE, "rank %d", 3), OX_ERROR_SHAPE);
    ox_error_prefix(&error, "node '%s': ", "n");
    ck_assert_str_eq(error.text, "node 'n': rank 3");
    ck_assert_int_eq(error.status, OX_ERROR_SHAPE);
    ck_assert_int_eq(ox_fail(NULL, OX_ERROR_LIMIT, "x"), OX_ERROR_LIMIT);
    ox_error_prefix(NULL, "y");
}
END_TEST

START_TEST(every_status_has_a_name) {
    for (int status = OX_OK; status <= OX_ERROR_CHECK; status++) {
        ck_assert_str_ne(ox_status_name((ox_status)status), "unknown status");
        for (int other = OX_OK; other < status; other++)
            ck_assert_str_ne(ox_status_name((ox_status)status), ox_status_name((ox_status)other));
    }
    ck_assert_str_eq(ox_status_name((ox_status)(OX_ERROR_CHECK + 1)), "unknown status");
}
END_TEST

Suite *ox_suite_status(void);
Suite *ox_suite_status(void) {
    Suite *suite = suite_create("status");
    TCase *tests = tcase_create("status");
    tcase_add_test(tests, integers);
    tcase_add_test(tests, real_numbers);
    tcase_add_test(tests, texts);
    tcase_add_test(tests, what_does_not_fit_is_cut_off);
    tcase_add_test(tests, prefixes_come_first);
    tcase_add_test(tests, every_status_has_a_name);
    suite_add_tcase(suite, tests);
    return suite;
}
