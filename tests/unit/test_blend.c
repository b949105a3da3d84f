/* test_blend.c: sums of listed elements, in several planes at a time, are those of each plane by itself. */
#include "src/loops/blend_loops.h"
#include "src/loops/lanes.h"
#include "builds.h"
#include "expect.h"

#include <check.h>
#include <string.h>

enum {
    ELEMENTS = 50, /* of a plane, ... */
    PLANES = 11,
    SUMS = 23,
    APART = SUMS + 2, /* ... and from its sums to the next ones */
    MOST = 9          /* elements of a sum */
};

#define SUMS_OF(T, sums)                                                                                               \
    static void check_##T(const ox_loops *loops, int64_t planes) {                                                     \
        T from[PLANES * ELEMENTS], weights[SUMS * MOST], to[PLANES * APART];                                           \
        int64_t end[SUMS], element[SUMS * MOST], count = 0;                                                            \
        for (int i = 0; i < PLANES * ELEMENTS; i++)                                                                    \
            from[i] = (T)((i * 37) % 101 - 50) / 3;                                                                    \
        for (int64_t i = 0; i < SUMS; end[i++] = count)                                                                \
            for (int64_t k = 0; k < i * 5 % (MOST + 1); k++, count++) {                                                \
                element[count] = (i * 11 + k * 17) % ELEMENTS;                                                         \
                weights[count] = (T)(i - 2 * k) / 7;                                                                   \
            }                                                                                                          \
        memset(to, 0x55, sizeof to);                                                                                   \
        OX_BUILD_OF(loops, sums)(SUMS, end, element, weights, planes, from, ELEMENTS, to, APART);                      \
        for (int64_t p = 0; p < planes; p++)                                                                           \
            for (int64_t i = 0, k = 0; i < SUMS; i++) {                                                                \
                T sum = 0;                                                                                             \
                for (; k < end[i]; k++) {                                                                              \
                    const T product = weights[k] * from[p * ELEMENTS + element[k]];                                    \
                    sum += product;                                                                                    \
                }                                                                                                      \
                expect(!memcmp(&to[p * APART + i], &sum, sizeof sum), "%s of build %s: sum %d of plane %d", #sums,     \
                       loops->name, (int)i, (int)p);                                                                   \
            }                                                                                                          \
        for (size_t i = (size_t)planes * APART * sizeof(T); i < sizeof to; i++)                                        \
            ck_assert_int_eq(((const unsigned char *)to)[i], 0x55);                                                    \
    }
SUMS_OF(float, ox_blend_points_f32_builds)
SUMS_OF(double, ox_blend_points_f64_builds)

START_TEST(planes_have_their_own_sums) {
    for (int64_t planes = 1; planes <= PLANES; planes++) {
        check_float(ox_loops_find(builds[_i]), planes);
        check_double(ox_loops_find(builds[_i]), planes);
    }
}
END_TEST

Suite *ox_suite_blend(void);
Suite *ox_suite_blend(void) {
    Suite *suite = suite_create("blend");
    TCase *tests = tcase_create("blend");
    tcase_add_loop_test(tests, planes_have_their_own_sums, 0, BUILDS);
    suite_add_tcase(suite, tests);
    return suite;
}
