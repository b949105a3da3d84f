/* test_isa.c: which build of the loops is chosen. */
#include "builds.h"
#include "src/host.h"
#include "src/loops/lanes.h"

#include <check.h>

/* What the compiler's own functions say of this processor. */
static int expected_build(void) {
#if defined(OX_VARIANTS) && defined(__x86_64__)
    bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
              __builtin_cpu_supports("bmi2");
    bool v4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
              __builtin_cpu_supports("avx512vl");
    return v3 && v4 ? OX_BUILD_v4 : v3 ? OX_BUILD_v3 : OX_BUILD_base;
#elif defined(OX_VARIANTS) && defined(__aarch64__)
    const unsigned features = ox_host_arm_features();
    if (!(features & OX_ARM_DOTPROD))
        return OX_BUILD_base;
    return features & OX_ARM_I8MM ? OX_BUILD_neon_i8mm : OX_BUILD_neon_dot;
#else
    return OX_BUILD_base;
#endif
}

START_TEST(the_best_build_that_runs_is_chosen) {
    ck_assert_int_eq(ox_loops_find(NULL)->build, expected_build());
    ck_assert_int_eq(ox_loops_find("no build")->build, expected_build());
}
END_TEST

START_TEST(a_build_is_chosen_by_its_name_if_it_runs) {
    const int best = expected_build();
    for (int b = 0; b < BUILDS; b++)
        ck_assert_int_eq(ox_loops_find(builds[b])->build, b < best ? b : best);
}
END_TEST

Suite *ox_suite_isa(void);
Suite *ox_suite_isa(void) {
    Suite *suite = suite_create("isa");
    TCase *tests = tcase_create("isa");
    tcase_add_test(tests, the_best_build_that_runs_is_chosen);
    tcase_add_test(tests, a_build_is_chosen_by_its_name_if_it_runs);
    suite_add_tcase(suite, tests);
    return suite;
}
