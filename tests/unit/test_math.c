/* test_math.c: the loops of math functions against long double, over all exponents and at the edges. */
#include "src/loops/lanes.h"
#include "builds.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <string.h>

typedef long double exact_fn(long double x);

static long double exact_sigmoid(long double x) {
    return 1 / (1 + expl(-x));
}
/* Some C libraries give numbers below 1. */
static long double exact_acosh(long double x) {
    return x < 1 ? (long double)NAN : log1pl(x - 1 + sqrtl((x - 1) * (x + 1)));
}
/* mingw's long double gives up on large angles. */
static long double exact_tan(long double x) {
#ifdef _WIN32
    return tan((double)x);
#else
    return tanl(x);
#endif
}
static long double exact_gelu(long double x) {
    return x < -100 ? 0 : x / 2 * erfcl(-x * 0.70710678118654752440084436210485L);
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
    {"Gelu", OX_LANES_Gelu, exact_gelu, 8},
    {"Sigmoid", OX_LANES_Sigmoid, exact_sigmoid, 4},
    {"Sqrt", OX_LANES_Sqrt, exact_sqrt, 0.5},
    {"Sin", OX_LANES_Sin, sinl, 4},
    {"Cos", OX_LANES_Cos, cosl, 4},
    {"Tan", OX_LANES_Tan, exact_tan, 4},
    {"Asin", OX_LANES_Asin, asinl, 4},
    {"Acos", OX_LANES_Acos, acosl, 4},
    {"Atan", OX_LANES_Atan, atanl, 4},
    {"Sinh", OX_LANES_Sinh, sinhl, 4},
    {"Cosh", OX_LANES_Cosh, coshl, 4},
    {"Asinh", OX_LANES_Asinh, asinhl, 4},
    {"Acosh", OX_LANES_Acosh, exact_acosh, 4},
    {"Atanh", OX_LANES_Atanh, atanhl, 4},
};
enum {
    CASES = sizeof cases / sizeof *cases,
    SAMPLES = 1 << 20,
    BLOCK = 4096
};

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
    for (int b = 0; b < BUILDS; b++) {
        const ox_loops *loops = ox_loops_find(builds[b]);
        if (strcmp(loops->name, builds[b]) != 0)
            continue; /* does not run here */
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
    for (int b = 0; b < BUILDS; b++) {
        const ox_loops *loops = ox_loops_find(builds[b]);
        if (strcmp(loops->name, builds[b]) != 0)
            continue; /* does not run here */
        run(loops, c->set, 40, x, all);
        for (int i = 0; i < 40; i++)
            run(loops, c->set, 1, x + i, one + i);
        ck_assert_mem_eq(all, one, sizeof all);
    }
}
END_TEST

/* ---- Powers -------------------------------------------------------------------------------------------------- */

static void run_pow(const ox_loops *loops, int64_t n, const float *x, const float *y, bool y_repeats, float *z) {
    char *arg[] = {(char *)z, (char *)(uintptr_t)x, (char *)(uintptr_t)y};
    const int64_t step[] = {sizeof *z, sizeof *x, y_repeats ? 0 : sizeof *y};
    ck_assert_int_eq(OX_BUILD_OF(loops, OX_LANES_Pow)->fn[OX_FLOAT](n, arg, step, NULL), 0);
}

/* musl's powl loses the sign of a negative number's large odd power, which its pow does not. */
static long double exact_pow(long double x, long double y) {
#if defined(__GLIBC__) || defined(_WIN32)
    return powl(x, y);
#else
    return pow((double)x, (double)y);
#endif
}

static void check_powers(const ox_loops *loops, int64_t n, const float *x, const float *y) {
    static float z[BLOCK];
    run_pow(loops, n, x, y, false, z);
    for (int64_t k = 0; k < n; k++) {
        float one;
        double d = distance(z[k], exact_pow(x[k], y[k]));
        ck_assert_msg(d <= 4, "pow(%a, %a), build %s: %g units", (double)x[k], (double)y[k], loops->name, d);
        run_pow(loops, 1, x + k, y + k, true, &one);
        ck_assert_mem_eq(&one, &z[k], isnan(one) ? 0 : sizeof one);
    }
}

/* Bases of all exponents, with results of all exponents. */
START_TEST(powers_within_four_units) {
    static float x[BLOCK], y[BLOCK];
    for (int b = 0; b < BUILDS; b++)
        for (uint32_t i = 0; i < SAMPLES / 4; i += BLOCK) {
            for (uint32_t k = 0; k < BLOCK; k++) {
                uint32_t bits = ((i + k) * 8191u + (i ^ k) % 8191u) % 0x7f800000u;
                if (k % 2) /* near 1, where the logarithm is small */
                    bits = 0x3f400000u + bits % 0x00c00000u;
                memcpy(&x[k], &bits, sizeof bits);
                y[k] =
                    ((float)((i / BLOCK * 37 + k * 11) % 2800) * 0.1f - 150.0f) / (float)log2((double)x[k] * 1.0000001);
            }
            check_powers(ox_loops_find(builds[b]), BLOCK, x, y);
        }
}
END_TEST

/* The special cases of C99, every one with every other. */
START_TEST(powers_at_the_edges) {
    const float edges[] = {0,
                           -0.0f,
                           1,
                           -1,
                           2,
                           -2,
                           3,
                           -3,
                           0.5f,
                           -0.5f,
                           1.5f,
                           -1.5f,
                           1e-40f,
                           -1e-40f,
                           1e38f,
                           -1e38f,
                           FLT_MIN,
                           FLT_MAX,
                           -FLT_MAX,
                           0x1p-149f,
                           0x1p23f,
                           0x1p24f,
                           0x1.fffffep-1f,
                           0x1.000002p0f,
                           127,
                           -150,
                           8388607,
                           INFINITY,
                           -INFINITY,
                           NAN};
    enum {
        EDGES = sizeof edges / sizeof *edges
    };
    float x[EDGES * EDGES], y[EDGES * EDGES];
    for (int k = 0; k < EDGES * EDGES; k++) {
        x[k] = edges[k / EDGES];
        y[k] = edges[k % EDGES];
    }
    for (int b = 0; b < BUILDS; b++)
        for (int k = 0; k < EDGES * EDGES; k++) {
            check_powers(ox_loops_find(builds[b]), 1, x + k, y + k);
        }
}
END_TEST

/* Squares, cubes and roots are what they are alone, whatever powers lie around them. */
START_TEST(whole_powers_among_others) {
    enum {
        COUNT = 300
    };
    static const float exponents[] = {1.7f, 2, -0.3f, 3, 0.5f, 1, 4};
    float x[COUNT], y[COUNT], got[COUNT];
    for (int k = 0; k < COUNT; k++) {
        x[k] = 0.25f + (float)k / 128;
        y[k] = exponents[k % 7];
    }
    const int64_t step[] = {sizeof(float), sizeof(float), sizeof(float)};
    char *arg[] = {(char *)got, (char *)x, (char *)y};
    OX_BUILD_OF(ox_loops_find(builds[_i]), OX_LANES_Pow)->fn[OX_FLOAT](COUNT, arg, step, NULL);
    for (int k = 0; k < COUNT; k++) {
        const float a = x[k];
        const float exact = y[k] == 2 ? a * a : y[k] == 3 ? a * a * a : y[k] == 0.5f ? sqrtf(a) : got[k];
        ck_assert_msg(got[k] == exact, "pow(%a, %g), build %s: %a", (double)a, (double)y[k], builds[_i],
                      (double)got[k]);
    }
}
END_TEST

Suite *ox_suite_math(void);
Suite *ox_suite_math(void) {
    Suite *suite = suite_create("math");
    TCase *tests = tcase_create("math");
    tcase_set_tags(tests, "long");
    tcase_add_loop_test(tests, within_four_units, 0, CASES);
    tcase_add_loop_test(tests, same_bits_at_every_place, 0, CASES);
    tcase_add_test(tests, powers_within_four_units);
    tcase_add_test(tests, powers_at_the_edges);
    tcase_add_loop_test(tests, whole_powers_among_others, 0, BUILDS);
    suite_add_tcase(suite, tests);
    return suite;
}
