/* test_math.c: the loops of math functions against long double, over all exponents and at the edges. */
#include "../../src/ops/lanes.h"

#include <check.h>
#include <math.h>
#include <string.h>

typedef long double exact_fn(long double x);

static long double exact_sigmoid(long double x) {
    return 1 / (1 + expl(-x));
}
static long double exact_sqrt(long double x) {
    return sqrtl(x);
}

typedef struct math_case {
    const char *name;
    ox_lane_set set;
    exact_fn *exact;
    double most; /* units in the last place */
} math_case;

static const math_case cases[] = {
    {"Exp", OX_LANES_Exp, expl, 4},
    {"Log", OX_LANES_Log, logl, 4},
    {"Tanh", OX_LANES_Tanh, tanhl, 4},
    {"Erf", OX_LANES_Erf, erfl, 4},
    {"Sigmoid", OX_LANES_Sigmoid, exact_sigmoid, 4},
    {"Sqrt", OX_LANES_Sqrt, exact_sqrt, 0.5},
    {"Sin", OX_LANES_Sin, sinl, 4},
    {"Cos", OX_LANES_Cos, cosl, 4},
    {"Tan", OX_LANES_Tan, tanl, 4},
    {"Asin", OX_LANES_Asin, asinl, 4},
    {"Acos", OX_LANES_Acos, acosl, 4},
    {"Atan", OX_LANES_Atan, atanl, 4},
    {"Sinh", OX_LANES_Sinh, sinhl, 4},
    {"Cosh", OX_LANES_Cosh, coshl, 4},
    {"Asinh", OX_LANES_Asinh, asinhl, 4},
    {"Acosh", OX_LANES_Acosh, acoshl, 4},
    {"Atanh", OX_LANES_Atanh, atanhl, 4},
};
enum {
    CASES = sizeof cases / sizeof *cases,
    SAMPLES = 1 << 20,
    BLOCK = 4096
};

static const char *const builds[] = {"base", "v3", "v4"};

/* Units in the last place of the float nearest to `right` that lie between it and `got`. */
static double distance(float got, long double right) {
    if (isnan(right) || isnan(got))
        return isnan(right) && isnan(got) ? 0 : INFINITY;
    float nearest = (float)right;
    if (isinf(nearest) || isinf(got))
        return nearest == got ? 0 : INFINITY;
    float step = nextafterf(fabsf(nearest), INFINITY) - fabsf(nearest);
    return (double)(fabsl((long double)got - right) / step);
}

static void run(const ox_loops *loops, ox_lane_set set, int64_t n, const float *x, float *y) {
    char *arg[] = {(char *)y, (char *)(uintptr_t)x};
    const int64_t step[] = {sizeof *y, sizeof *x};
    ck_assert_int_eq(OX_BUILD_OF(loops, set)->fn[OX_FLOAT](n, arg, step, NULL), 0);
}

/* Every build that runs here, on floats spread evenly over all bit patterns. */
START_TEST(within_four_units) {
    const math_case *c = &cases[_i];
    static float x[BLOCK], y[BLOCK];
    for (size_t b = 0; b < sizeof builds / sizeof *builds; b++) {
        const ox_loops *loops = ox_loops_find(builds[b]);
        double worst = 0;
        float where = 0;
        for (uint32_t i = 0; i < SAMPLES; i += BLOCK) {
            for (uint32_t k = 0; k < BLOCK; k++) {
                uint32_t bits = (i + k) * 4096u + (i ^ k) % 4096u;
                memcpy(&x[k], &bits, sizeof bits);
            }
            run(loops, c->set, BLOCK, x, y);
            for (uint32_t k = 0; k < BLOCK; k++) {
                double d = distance(y[k], c->exact(x[k]));
                if (d > worst) {
                    worst = d;
                    where = x[k];
                }
            }
        }
        ck_assert_msg(worst <= c->most, "%s, build %s: %g units at %a", c->name, loops->name, worst, (double)where);
    }
}
END_TEST

/* A result does not depend on its place, nor on how many are computed with it. */
START_TEST(same_bits_at_every_place) {
    const math_case *c = &cases[_i];
    float x[40], all[40], one[40];
    for (int i = 0; i < 40; i++)
        x[i] = 0.037f * (float)(i - 7);
    for (size_t b = 0; b < sizeof builds / sizeof *builds; b++) {
        const ox_loops *loops = ox_loops_find(builds[b]);
        run(loops, c->set, 40, x, all);
        for (int i = 0; i < 40; i++)
            run(loops, c->set, 1, x + i, one + i);
        ck_assert_mem_eq(all, one, sizeof all);
    }
}
END_TEST

Suite *ox_suite_math(void);
Suite *ox_suite_math(void) {
    Suite *suite = suite_create("math");
    TCase *tests = tcase_create("math");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, within_four_units, 0, CASES);
    tcase_add_loop_test(tests, same_bits_at_every_place, 0, CASES);
    suite_add_tcase(suite, tests);
    return suite;
}
