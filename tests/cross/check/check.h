/* check.h: the part of libcheck that tests/unit uses, for systems without libcheck. All tests run in one process, one
 * after the other; tests that wait for a signal are left out. */
#ifndef OX_TESTS_CHECK_H
#define OX_TESTS_CHECK_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*TFun)(int);
typedef struct TTest {
    const char *name;
    TFun fn;
} TTest;
typedef struct TCase TCase;
typedef struct Suite Suite;
typedef struct SRunner SRunner;
enum {
    CK_ENV
};

Suite *suite_create(const char *name);
void suite_add_tcase(Suite *suite, TCase *tests);
TCase *tcase_create(const char *name);
void tcase_set_tags(TCase *tests, const char *tags);
void tcase_set_timeout(TCase *tests, double seconds);
void tcase_add_checked_fixture(TCase *tests, void (*before)(void), void (*after)(void));
void check_add(TCase *tests, const TTest *test, int first, int end);
#define tcase_add_test(tests, fn) check_add(tests, fn, 0, 1)
#define tcase_add_loop_test(tests, fn, first, end) check_add(tests, fn, first, end)
#define tcase_add_test_raise_signal(tests, fn, number) check_add(tests, fn, 0, 0)

SRunner *srunner_create(Suite *suite);
void srunner_add_suite(SRunner *runner, Suite *suite);
void srunner_run_all(SRunner *runner, int mode);
int srunner_ntests_run(const SRunner *runner);
int srunner_ntests_failed(const SRunner *runner);
void srunner_free(SRunner *runner);

/* Ends the test. */
_Noreturn void check_fail(const char *file, int line, const char *format, ...);

#define START_TEST(test)                                                                                               \
    static void test##_fn(int _i);                                                                                     \
    static const TTest test##_ttest = {#test, test##_fn}, *const test = &test##_ttest;                                 \
    static void test##_fn(int _i __attribute__((unused)))
#define END_TEST

#define CHECK_SAY(ok, ...)                                                                                             \
    do {                                                                                                               \
        if (!(ok))                                                                                                     \
            check_fail(__FILE__, __LINE__, __VA_ARGS__);                                                               \
    } while (0)
#define CHECK_TWO(type, format, a, op, b)                                                                              \
    do {                                                                                                               \
        const type check_a = (type)(a), check_b = (type)(b);                                                           \
        CHECK_SAY(check_a op check_b, "%s " #op " %s: %" format " and %" format, #a, #b, check_a, check_b);            \
    } while (0)
#define CHECK_TEXTS(a, op, b)                                                                                          \
    do {                                                                                                               \
        const char *check_a = (a), *check_b = (b);                                                                     \
        CHECK_SAY(check_a &&check_b &&strcmp(check_a, check_b) op 0, "%s " #op " %s: \"%s\" and \"%s\"", #a, #b,       \
                  check_a ? check_a : "(null)", check_b ? check_b : "(null)");                                         \
    } while (0)

#define ck_abort_msg(...) CHECK_SAY(false, __VA_ARGS__)
#define ck_assert(ok) CHECK_SAY(ok, "%s", #ok)
#define ck_assert_msg(ok, ...) CHECK_SAY(ok, __VA_ARGS__)
#define ck_assert_int_eq(a, b) CHECK_TWO(intmax_t, PRIdMAX, a, ==, b)
#define ck_assert_int_ne(a, b) CHECK_TWO(intmax_t, PRIdMAX, a, !=, b)
#define ck_assert_int_lt(a, b) CHECK_TWO(intmax_t, PRIdMAX, a, <, b)
#define ck_assert_int_le(a, b) CHECK_TWO(intmax_t, PRIdMAX, a, <=, b)
#define ck_assert_int_gt(a, b) CHECK_TWO(intmax_t, PRIdMAX, a, >, b)
#define ck_assert_int_ge(a, b) CHECK_TWO(intmax_t, PRIdMAX, a, >=, b)
#define ck_assert_uint_eq(a, b) CHECK_TWO(uintmax_t, PRIuMAX, a, ==, b)
#define ck_assert_uint_ne(a, b) CHECK_TWO(uintmax_t, PRIuMAX, a, !=, b)
#define ck_assert_uint_lt(a, b) CHECK_TWO(uintmax_t, PRIuMAX, a, <, b)
#define ck_assert_uint_le(a, b) CHECK_TWO(uintmax_t, PRIuMAX, a, <=, b)
#define ck_assert_uint_gt(a, b) CHECK_TWO(uintmax_t, PRIuMAX, a, >, b)
#define ck_assert_uint_ge(a, b) CHECK_TWO(uintmax_t, PRIuMAX, a, >=, b)
#define ck_assert_float_eq(a, b) CHECK_TWO(double, "g", a, ==, b)
#define ck_assert_double_eq(a, b) CHECK_TWO(double, "g", a, ==, b)
#define ck_assert_ptr_eq(a, b) CHECK_SAY((const void *)(a) == (const void *)(b), "%s == %s", #a, #b)
#define ck_assert_ptr_ne(a, b) CHECK_SAY((const void *)(a) != (const void *)(b), "%s != %s", #a, #b)
#define ck_assert_ptr_null(a) CHECK_SAY((const void *)(a) == NULL, "%s is not NULL", #a)
#define ck_assert_ptr_nonnull(a) CHECK_SAY((const void *)(a) != NULL, "%s is NULL", #a)
#define ck_assert_str_eq(a, b) CHECK_TEXTS(a, ==, b)
#define ck_assert_str_ne(a, b) CHECK_TEXTS(a, !=, b)
#define ck_assert_mem_eq(a, b, size) CHECK_SAY(!memcmp(a, b, size), "%s and %s differ", #a, #b)

#ifdef _WIN32
static inline int setenv(const char *name, const char *value, int over) {
    return over || !getenv(name) ? _putenv_s(name, value) : 0;
}
static inline int unsetenv(const char *name) {
    return _putenv_s(name, "");
}

/* Its free does not take what _aligned_malloc gives. */
void *check_aligned_alloc(size_t alignment, size_t size);
void check_free(void *block);
#define aligned_alloc check_aligned_alloc
#define free check_free
#endif

#endif
