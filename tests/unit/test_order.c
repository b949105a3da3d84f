/* test_order.c: Max and Min against their definition: NaN wins, and -0 is less than +0. */
#include "src/loops/lanes.h"
#include "builds.h"

#include <check.h>
#include <math.h>

static const float values[] = {-INFINITY, -2.5F, -0x1p-149F, -0.0F, 0.0F, 0x1p-149F, 1, 3, INFINITY, NAN};
enum {
    VALUES = sizeof values / sizeof *values,
    COUNT = 67 * VALUES /* more than a block, and no whole number of vectors */
};

static float larger(float a, float b) {
    return isnan(a) || isnan(b) ? NAN : a > b || (a == b && signbit(b)) ? a : b;
}
static float smaller(float a, float b) {
    return isnan(a) || isnan(b) ? NAN : a < b || (a == b && signbit(a)) ? a : b;
}
static bool is_same(float a, float b) {
    return isnan(a) ? isnan(b) : a == b && !signbit(a) == !signbit(b);
}

static const struct {
    ox_lane_set set;
    float (*exact)(float a, float limit);
} loops[] = {{OX_LANES_Max, larger}, {OX_LANES_Min, smaller}};
enum {
    LOOPS = sizeof loops / sizeof *loops
};

/* All values against a limit that repeats, or not. */
static void check_loop(int loop, const char *build, float limit, int64_t limit_step) {
    static float x[COUNT], limits[COUNT], out[COUNT];
    ox_lane *lane = OX_BUILD_OF(ox_loops_find(build), loops[loop].set)->fn[OX_FLOAT];
    for (int i = 0; i < COUNT; i++) {
        x[i] = values[i % VALUES];
        limits[i] = limit;
    }
    const int64_t width = (int64_t)sizeof(float), step[] = {width, width, limit_step};
    ck_assert_int_eq(lane(COUNT, (char *[]){(char *)out, (char *)x, (char *)limits}, step, NULL), 0);
    for (int i = 0; i < COUNT; i++)
        ck_assert_msg(is_same(out[i], loops[loop].exact(x[i], limit)), "build %s, loop %d: %a, limit %a: %a", build,
                      loop, (double)x[i], (double)limit, (double)out[i]);
}

START_TEST(all_limits) {
    for (int loop = 0; loop < LOOPS; loop++)
        for (int k = 0; k < VALUES; k++)
            for (int64_t step = 0; step <= (int64_t)sizeof(float); step += (int64_t)sizeof(float))
                check_loop(loop, builds[_i], values[k], step);
}
END_TEST

Suite *ox_suite_order(void);
Suite *ox_suite_order(void) {
    Suite *suite = suite_create("order");
    TCase *tests = tcase_create("order");
    tcase_add_loop_test(tests, all_limits, 0, BUILDS);
    suite_add_tcase(suite, tests);
    return suite;
}
