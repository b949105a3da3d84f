/* test_gemm_vector.c: products of one row with 16-bit floats: what they are widened to on the way. */
#include "src/half.h"
#include "src/loops/lanes.h"
#include "builds.h"

#include <check.h>
#include <math.h>

enum {
    VALUES = 1 << 16, /* all there are */
    WIDTH = 71,       /* columns at a time, or elements of one: some vectors, and what is left over */
    NUMBER = sizeof(uint16_t)
};

static float widened(ox_dtype dtype, int bits) {
    return dtype == OX_FLOAT16 ? ox_float_from_half((uint16_t)bits) : ox_float_from_bf16((uint16_t)bits);
}

static void check_value(const char *build, ox_dtype dtype, int bits, float have) {
    const float expected = widened(dtype, bits);
    if (isnan(expected) ? !isnan(have) : have != expected) /* a million checks are slow */
        ck_abort_msg("build %s, type %d: %x: %a instead of %a", build, (int)dtype, (unsigned)bits, (double)have,
                     (double)expected);
}

/* 1 times each value, along rows of WIDTH of them. */
static void check_rows(const char *build, ox_dtype dtype) {
    const ox_gemm_kernel *kernel = ox_gemm_kernel_of(ox_loops_find(build), dtype, dtype);
    const float one = 1;
    for (int first = 0; first < VALUES; first += WIDTH) {
        uint16_t row[WIDTH];
        float sums[WIDTH] = {0};
        for (int i = 0; i < WIDTH; i++)
            row[i] = (uint16_t)(first + i);
        kernel->row_vector(WIDTH, 1, (const char *)&one, 0, (const char *)row, 0, (char *)sums);
        for (int i = 0; i < WIDTH; i++)
            check_value(build, dtype, row[i], sums[i]);
    }
}

/* Columns of one value each, in another place each time, and zeros. */
static void check_columns(const char *build, ox_dtype dtype) {
    enum {
        COLUMNS = 5 /* four together, and one */
    };
    const ox_gemm_kernel *kernel = ox_gemm_kernel_of(ox_loops_find(build), dtype, dtype);
    float ones[WIDTH];
    for (int i = 0; i < WIDTH; i++)
        ones[i] = 1;
    for (int first = 0; first < VALUES; first += COLUMNS) {
        uint16_t columns[COLUMNS][WIDTH] = {{0}};
        float sums[COLUMNS] = {0};
        for (int i = 0; i < COLUMNS; i++)
            columns[i][(first + i) % WIDTH] = (uint16_t)(first + i);
        kernel->dots(COLUMNS, WIDTH, (const char *)ones, (const char *)columns, WIDTH * NUMBER, (char *)sums);
        for (int i = 0; i < COLUMNS; i++)
            check_value(build, dtype, (first + i) % VALUES, sums[i]);
    }
}

START_TEST(all_values) {
    for (int b = 0; b < BUILDS; b++) {
        check_rows(builds[b], OX_FLOAT16);
        check_rows(builds[b], OX_BFLOAT16);
        check_columns(builds[b], OX_FLOAT16);
        check_columns(builds[b], OX_BFLOAT16);
    }
}
END_TEST

Suite *ox_suite_gemm_vector(void);
Suite *ox_suite_gemm_vector(void) {
    Suite *suite = suite_create("gemm_vector");
    TCase *tests = tcase_create("gemm_vector");
    tcase_add_test(tests, all_values);
    suite_add_tcase(suite, tests);
    return suite;
}
