/* main.c: runs every suite of tests/unit. The list is made from the file names when the runner is built. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define SUITE(name) Suite *ox_suite_##name(void);
#include "suites.inc"
#undef SUITE

typedef Suite *suite_fn(void);

static suite_fn *const suites[] = {
#define SUITE(name) ox_suite_##name,
#include "suites.inc"
#undef SUITE
};

int main(void) {
    /* What hangs is stopped, but nothing that takes long because the machine is busy. */
    setenv("CK_DEFAULT_TIMEOUT", "120", 0);
    SRunner *runner = srunner_create(NULL);
    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++)
        srunner_add_suite(runner, suites[i]());
    srunner_run_all(runner, CK_ENV);
    int run = srunner_ntests_run(runner);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    printf("%d passed, %d failed, 0 skipped\n", run - failed, failed);
    return failed != 0;
}
