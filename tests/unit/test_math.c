/* test_math.c: the loops of math functions against long double, over all exponents and at the edges. */
#include "src/loops/angle.h"
#include "src/loops/lanes.h"
#include "builds.h"
#include "expect.h"

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
/* mingw's functions lose digits of large angles: there, those that are compared with good ones below. */
#ifdef _WIN32
#define EXACT_ANGLE(fn) ox_##fn##_f64((double)x)
#else
#define EXACT_ANGLE(fn) fn##l(x)
#endif
static long double exact_sin(long double x) {
    return EXACT_ANGLE(sin);
}
static long double exact_cos(long double x) {
    return EXACT_ANGLE(cos);
}
static long double exact_tan(long double x) {
    return EXACT_ANGLE(tan);
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
    {"Sin", OX_LANES_Sin, exact_sin, 4},
    {"Cos", OX_LANES_Cos, exact_cos, 4},
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
    expect(!OX_BUILD_OF(loops, set)->fn[OX_FLOAT](n, arg, step, NULL), "build %s: a fault", loops->name);
}

/* Every build that runs here, on floats spread evenly over all bit patterns. */
START_TEST(within_four_units) {
    const math_case *c = &cases[_i];
    static float x[BLOCK], y[BLOCK];
    static long double right[BLOCK];
    for (uint32_t i = 0; i < SAMPLES; i += BLOCK) {
        for (uint32_t k = 0; k < BLOCK; k++) {
            uint32_t bits = (i + k) * 4096u + (i ^ k) % 4096u;
            memcpy(&x[k], &bits, sizeof bits);
            right[k] = c->exact(x[k]);
        }
        for (int b = 0; b < BUILDS; b++) {
            const ox_loops *loops = ox_loops_find(builds[b]);
            if (strcmp(loops->name, builds[b]) != 0)
                continue; /* does not run here */
            run(loops, c->set, BLOCK, x, y);
            for (uint32_t k = 0; k < BLOCK; k++) {
                const double d = distance(y[k], right[k]);
                expect(d <= c->most, "%s, build %s: %g units at %a", c->name, loops->name, d, (double)x[k]);
            }
        }
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
    expect(!OX_BUILD_OF(loops, OX_LANES_Pow)->fn[OX_FLOAT](n, arg, step, NULL), "build %s: a fault", loops->name);
}

/* musl's powl loses the sign of a negative number's large odd power, which its pow does not. */
static long double exact_pow(long double x, long double y) {
#if defined(__GLIBC__) || defined(_WIN32)
    return powl(x, y);
#else
    return pow((double)x, (double)y);
#endif
}

static void check_powers(const ox_loops *loops, int64_t n, const float *x, const float *y, const long double *right) {
    static float z[BLOCK];
    run_pow(loops, n, x, y, false, z);
    for (int64_t k = 0; k < n; k++) {
        float one;
        const double d = distance(z[k], right[k]);
        expect(d <= 4, "pow(%a, %a), build %s: %g units", (double)x[k], (double)y[k], loops->name, d);
        run_pow(loops, 1, x + k, y + k, true, &one);
        expect(isnan(one) || !memcmp(&one, &z[k], sizeof one), "pow(%a, %a), build %s: %a alone, %a among others",
               (double)x[k], (double)y[k], loops->name, (double)one, (double)z[k]);
    }
}

/* In each build. */
static void check_all_powers(int64_t n, const float *x, const float *y) {
    static long double right[BLOCK];
    for (int64_t k = 0; k < n; k++)
        right[k] = exact_pow(x[k], y[k]);
    for (int b = 0; b < BUILDS; b++)
        check_powers(ox_loops_find(builds[b]), n, x, y, right);
}

/* Bases of all exponents, with results of all exponents. */
START_TEST(powers_within_four_units) {
    static float x[BLOCK], y[BLOCK];
    for (uint32_t i = 0; i < SAMPLES / 4; i += BLOCK) {
        for (uint32_t k = 0; k < BLOCK; k++) {
            uint32_t bits = ((i + k) * 8191u + (i ^ k) % 8191u) % 0x7f800000u;
            if (k % 2) /* near 1, where the logarithm is small */
                bits = 0x3f400000u + bits % 0x00c00000u;
            memcpy(&x[k], &bits, sizeof bits);
            y[k] = ((float)((i / BLOCK * 37 + k * 11) % 2800) * 0.1f - 150.0f) / (float)log2((double)x[k] * 1.0000001);
        }
        check_all_powers(BLOCK, x, y);
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
    for (int k = 0; k < EDGES * EDGES; k++)
        check_all_powers(1, x + k, y + k);
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
        expect(got[k] == exact, "pow(%a, %g), build %s: %a", (double)a, (double)y[k], builds[_i], (double)got[k]);
    }
}
END_TEST

/* Sine, cosine and tangent near whole quarters of a turn, and of very large angles. */
static const struct {
    double x, right[3];
} angles[] = {
    {0x1.921fb54442d18p+1, {0x1.1a62633145c07p-53, -0x1p+0, -0x1.1a62633145c07p-53}},
    {0x1.6p+3, {-0x1.fffeb762e93ebp-1, 0x1.220ae41ee2fdfp-8, -0x1.c3e6d558b0924p+7}},
    {-0x1.86a08p+16, {0x1.ca7e13c8a7c7fp-2, -0x1.c9cf67d7425b8p-1, -0x1.0061ac6d6e98dp-1}},
    {0x1.0f0cf064dd592p+73, {-0x1.b453ab76bf397p-1, 0x1.0be2cef01c8f4p-1, -0x1.a0f79c1b6b257p+0}},
    {-0x1.5p+63, {0x1.4ae666c739879p-1, 0x1.86b41553de1a7p-1, 0x1.b1a152b52b912p-1}},
    {0x1.7e43c8800759cp+996, {-0x1.a2c16b010e385p-1, -0x1.2699022adc4c1p-1, 0x1.6be411f37ac77p+0}},
    {0x1.fffffffffffffp+1023, {0x1.452fc98b34e97p-8, -0x1.fffe62ecfab75p-1, -0x1.4530cfe729484p-8}},
    /* The double that is nearest to quarters of a turn. glibc's cosine of vectors is eight units off there. */
    {0x1.6ac5b262ca1ffp+849, {0x1p+0, -0x1.14ae72e6ba22fp-61, -0x1.d9ba9a7975636p+60}},
};
enum {
    ANGLES = sizeof angles / sizeof *angles
};

/* Units in the last place of the double nearest to `right`. */
static double double_distance(double got, long double right) {
    int exponent;
    frexpl(right, &exponent);
    return isnan(got) ? INFINITY : (double)(fabsl(got - right) / ldexpl(1, exponent - 53));
}

START_TEST(angles_within_four_units) {
    static const ox_lane_set sets[] = {OX_LANES_Sin, OX_LANES_Cos, OX_LANES_Tan};
    const int64_t step[] = {sizeof(double), sizeof(double)};
    double x[ANGLES], y[ANGLES];
    for (int k = 0; k < ANGLES - 1; k++)
        x[k] = angles[k].x;
    for (int set = 0; set < 3; set++) {
        char *arg[] = {(char *)y, (char *)x};
        OX_BUILD_OF(ox_loops_find(builds[_i]), sets[set])->fn[OX_DOUBLE](ANGLES - 1, arg, step, NULL);
        for (int k = 0; k < ANGLES - 1; k++)
            expect(double_distance(y[k], angles[k].right[set]) <= 4, "function %d of %a, build %s: %a", set, x[k],
                   builds[_i], y[k]);
    }
}
END_TEST

/* The functions of angle.h, which only some C libraries need, on all. */
START_TEST(own_angles_within_four_units) {
    for (int k = 0; k < ANGLES; k++) {
        const double x = angles[k].x, got[] = {ox_sin_f64(x), ox_cos_f64(x), ox_tan_f64(x)};
        for (int set = 0; set < 3; set++)
            expect(double_distance(got[set], angles[k].right[set]) <= 4, "function %d of %a: %a", set, x, got[set]);
    }
    ck_assert(signbit(ox_sin_f64(-0.0)) && isnan(ox_sin_f64(INFINITY)) && isnan(ox_tan_f64(-INFINITY)));
#if LDBL_MANT_DIG >= 64 &&                                                                                             \
    !defined(_WIN32) /* with what is exact there: of all exponents, and beside quarters of a turn */
    uint64_t bits = 1;
    for (int k = 0; k < 100000; k++) {
        double x;
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        memcpy(&x, &bits, sizeof x);
        if (k % 2)
            x = nextafter(OX_QUARTER * (double)(bits >> 40), (double)(k % 3) * 1e9);
        if (!isfinite(x) || fabs(x) < 0x1p-1000)
            continue;
        expect(double_distance(ox_sin_f64(x), sinl(x)) <= 4 && double_distance(ox_cos_f64(x), cosl(x)) <= 4 &&
                   double_distance(ox_tan_f64(x), tanl(x)) <= 4,
               "%a", x);
    }
#endif
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
    tcase_add_loop_test(tests, angles_within_four_units, 0, BUILDS);
    tcase_add_test(tests, own_angles_within_four_units);
    suite_add_tcase(suite, tests);
    return suite;
}
