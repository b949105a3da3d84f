/* test_winograd.c: the weight transforms of Winograd's algorithm in every build of the loops. */
#include "src/loops/lanes.h"
#include "src/loops/winograd_loops.h"
#include "builds.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TAPS = 9,
    MOST_POINTS = 36,
    STEP = 128, /* floats from a factor to the next one */
    LINE = 16   /* floats of a cache line */
};

/* The polynomial of three taps at each interpolation point, divided by what the interpolation divides by there. */
static const long double two[4][3] = {{1, 0, 0}, {0.5L, 0.5L, 0.5L}, {0.5L, -0.5L, 0.5L}, {0, 0, 1}};
static const long double four[6][3] = {
    {64.0L / 81, 0, 0},
    {32.0L / 243, 16.0L / 81, 8.0L / 27},
    {32.0L / 243, -16.0L / 81, 8.0L / 27},
    {-128.0L / 243, -32.0L / 81, -8.0L / 27},
    {-128.0L / 243, 32.0L / 81, -8.0L / 27},
    {0, 0, 1},
};

static long double factor_of(const long double (*points)[3], const float *kernel, int row, int column) {
    long double sum = 0;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            sum += points[row][r] * points[column][c] * kernel[r * 3 + c];
    return sum;
}

/* Transforms `count` kernels; what lies behind their cache lines stays. */
static void check_factors(ox_winograd_weights_fn *transform, const long double (*points)[3], int n, int count) {
    static _Alignas(64) float to[MOST_POINTS * STEP];
    float from[TAPS * STEP];
    const int end = (count + LINE - 1) / LINE * LINE;
    for (int i = 0; i < TAPS * STEP; i++)
        from[i] = (float)(i * 7919 % 1009) / 512 - 1;
    memset(to, 0xff, sizeof to);
    transform(count, from, to, STEP);
    for (int p = 0; p < n * n; p++) {
        for (int i = 0; i < count; i++) {
            const long double wanted = factor_of(points, from + i * TAPS, p / n, p % n);
            ck_assert(fabsl((long double)to[p * STEP + i] - wanted) <= 0x1p-24L * fabsl(wanted) + 1e-15L);
        }
        for (int i = end; i < STEP; i++)
            ck_assert(isnan(to[p * STEP + i]));
    }
}

START_TEST(weights_are_rounded_once) {
    static const int counts[] = {1, 2, 15, 16, 17, 31, 32, 33, 100, 128};
    for (int b = 0; b < BUILDS; b++) {
        const ox_loops *loops = ox_loops_find(builds[b]);
        const ox_winograd_loops *w = OX_BUILD_OF(loops, ox_winograd_builds);
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            check_factors(w->two.weights, two, 4, counts[i]);
            check_factors(w->four.weights, four, 6, counts[i]);
        }
    }
}
END_TEST

Suite *ox_suite_winograd(void);
Suite *ox_suite_winograd(void) {
    Suite *suite = suite_create("winograd");
    TCase *tests = tcase_create("winograd");
    tcase_add_test(tests, weights_are_rounded_once);
    suite_add_tcase(suite, tests);
    return suite;
}
