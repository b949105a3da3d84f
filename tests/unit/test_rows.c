/* test_rows.c: loops that go over rows by themselves give what one call for each row gives. */
#include "src/loops/lanes.h"
#include "builds.h"
#include "expect.h"

#include <check.h>
#include <string.h>

enum {
    MOST = 2000, /* elements */
    WIDEST = 8,
    LINE = 64
};

static const struct {
    const char *name;
    ox_lane_set rows, any;
} sets[] = {{"Add", OX_LANES_AddRows, OX_LANES_Add},
            {"Sub", OX_LANES_SubRows, OX_LANES_Sub},
            {"Mul", OX_LANES_MulRows, OX_LANES_Mul},
            {"Div", OX_LANES_DivRows, OX_LANES_Div},
            {"PRelu", OX_LANES_PReluRows, OX_LANES_PRelu}};

/* Numbers of both signs, zeros among them. */
static void fill(void *to, ox_dtype dtype, int count, int seed) {
    for (int i = 0; i < count; i++) {
        const float number = (float)((i * 37 + seed) % 101 - 50) / 8, zero = i % 2 ? -0.0F : 0.0F;
        const float value = i % 9 ? number : zero;
        if (dtype == OX_FLOAT)
            ((float *)to)[i] = value;
        else
            ((double *)to)[i] = (double)value;
    }
}

/* Operand `of` is one element for each of n / row rows. The result lies `shift` bytes behind the start of a line. */
static void compare(const ox_loops *loops, size_t s, ox_dtype dtype, int64_t row, int64_t n, int of, int64_t shift,
                    bool past) {
    static char in[2][MOST * WIDEST], expected[MOST * WIDEST];
    static char out[MOST * WIDEST + LINE] __attribute__((aligned(LINE)));
    const int64_t width = (int64_t)ox_dtype_size(dtype), step[] = {width, of == 1 ? 0 : width, of == 2 ? 0 : width};
    const int64_t past_step[] = {past ? -width : width, past ? -step[1] : step[1], step[2]};
    char *result = out + shift;
    fill(in[0], dtype, MOST, 3);
    fill(in[1], dtype, MOST, 5);
    memset(out, 0x55, sizeof out);
    for (int64_t r = 0; r < n / row; r++) {
        char *arg[] = {expected + r * row * width, in[0] + r * (of == 1 ? 1 : row) * width,
                       in[1] + r * (of == 2 ? 1 : row) * width};
        OX_BUILD_OF(loops, sets[s].any)->fn[dtype](row, arg, step, NULL);
    }
    char *arg[] = {result, in[0], in[1]};
    OX_BUILD_OF(loops, sets[s].rows)->fn[dtype](n, arg, past_step, &row);
    expect(!memcmp(result, expected, (size_t)(n * width)) && result[n * width] == 0x55,
           "%s of %s, build %s: %d rows of %d, operand %d, %d bytes behind a line%s", sets[s].name,
           ox_dtype_name(dtype), loops->name, (int)(n / row), (int)row, of, (int)shift, past ? ", past" : "");
}

START_TEST(rows_give_what_calls_for_each_give) {
    const ox_loops *loops = ox_loops_find(builds[_i]);
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++)
        for (int64_t row = LINE / 4; row < 80; row++)
            for (int64_t rows = 1; rows < 24; rows += 1 + rows / 4)
                for (int k = 0; k < 8; k++) {
                    /* What stores past the caches may do so at any byte. */
                    const int64_t shift = loops->streams && rows % 4 == 0 ? row % 16 : 8 * ((row + rows) % 8);
                    compare(loops, s, k & 1 ? OX_DOUBLE : OX_FLOAT, row, rows * row, k & 2 ? 1 : 2, shift,
                            k & 4 && loops->streams);
                }
}
END_TEST

Suite *ox_suite_rows(void);
Suite *ox_suite_rows(void) {
    Suite *suite = suite_create("rows");
    TCase *tests = tcase_create("rows");
    tcase_add_loop_test(tests, rows_give_what_calls_for_each_give, 0, BUILDS);
    suite_add_tcase(suite, tests);
    return suite;
}
