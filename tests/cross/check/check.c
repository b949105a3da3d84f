/* check.c: see check.h. */
#include "check.h"

#include <stdarg.h>
#include <setjmp.h>

static jmp_buf end_of_test;

enum {
    MOST = 1024
};

#ifdef _WIN32
#undef free
static void *aligned[64];

void *check_aligned_alloc(size_t alignment, size_t size) {
    size_t i = 0;
    while (aligned[i])
        if (++i == sizeof aligned / sizeof *aligned)
            abort();
    return aligned[i] = _aligned_malloc(size, alignment);
}

void check_free(void *block) {
    for (size_t i = 0; block && i < sizeof aligned / sizeof *aligned; i++)
        if (aligned[i] == block) {
            aligned[i] = NULL;
            _aligned_free(block);
            return;
        }
    free(block);
}
#endif

typedef struct test {
    const TTest *test;
    int first, end;
} test;

struct TCase {
    const char *tags;
    test *tests;
    size_t count;
    void (*before)(void);
    void (*after)(void);
};

struct Suite {
    const char *name;
    TCase *parts[MOST];
    size_t count;
};

struct SRunner {
    Suite *suites[MOST];
    size_t count;
    int run, failed;
};

static void *get(void *block, size_t size) {
    void *got = realloc(block, size);
    if (!got)
        abort();
    return got;
}

Suite *suite_create(const char *name) {
    Suite *suite = get(NULL, sizeof *suite);
    *suite = (Suite){.name = name};
    return suite;
}

void suite_add_tcase(Suite *suite, TCase *tests) {
    if (suite->count == MOST)
        abort();
    suite->parts[suite->count++] = tests;
}

TCase *tcase_create(const char *name) {
    (void)name;
    TCase *tests = get(NULL, sizeof *tests);
    *tests = (TCase){0};
    return tests;
}

void tcase_set_tags(TCase *tests, const char *tags) {
    tests->tags = tags;
}

void tcase_set_timeout(TCase *tests, double seconds) {
    (void)tests, (void)seconds;
}

void tcase_add_checked_fixture(TCase *tests, void (*before)(void), void (*after)(void)) {
    tests->before = before;
    tests->after = after;
}

void check_add(TCase *tests, const TTest *one, int first, int end) {
    tests->tests = get(tests->tests, (tests->count + 1) * sizeof *tests->tests);
    tests->tests[tests->count++] = (test){one, first, end};
}

SRunner *srunner_create(Suite *suite) {
    (void)suite;
    SRunner *runner = get(NULL, sizeof *runner);
    *runner = (SRunner){0};
    return runner;
}

void srunner_add_suite(SRunner *runner, Suite *suite) {
    if (runner->count == MOST)
        abort();
    runner->suites[runner->count++] = suite;
}

void check_fail(const char *file, int line, const char *format, ...) {
    va_list list;
    va_start(list, format);
    printf("%s:%d: ", file, line);
    vprintf(format, list);
    va_end(list);
    printf("\n");
    longjmp(end_of_test, 1);
}

static bool run(const TCase *tests, const test *one, int i) {
    if (setjmp(end_of_test))
        return false;
    if (tests->before)
        tests->before();
    one->test->fn(i);
    if (tests->after)
        tests->after();
    return true;
}

static void run_part(SRunner *runner, const char *suite, const TCase *tests) {
    for (size_t t = 0; t < tests->count; t++)
        for (int i = tests->tests[t].first; i < tests->tests[t].end; i++) {
            runner->run++;
            if (run(tests, &tests->tests[t], i))
                continue;
            runner->failed++;
            printf("%s: %s, %d: failed\n", suite, tests->tests[t].test->name, i);
        }
}

void srunner_run_all(SRunner *runner, int mode) {
    const char *wanted = getenv("CK_RUN_SUITE"), *unwanted = getenv("CK_EXCLUDE_TAGS");
    (void)mode;
    for (size_t s = 0; s < runner->count; s++) {
        const Suite *suite = runner->suites[s];
        if (wanted && strcmp(wanted, suite->name))
            continue;
        for (size_t p = 0; p < suite->count; p++)
            if (!unwanted || !suite->parts[p]->tags || strcmp(unwanted, suite->parts[p]->tags) != 0)
                run_part(runner, suite->name, suite->parts[p]);
    }
}

int srunner_ntests_run(const SRunner *runner) {
    return runner->run;
}

int srunner_ntests_failed(const SRunner *runner) {
    return runner->failed;
}

void srunner_free(SRunner *runner) {
    free(runner);
}
