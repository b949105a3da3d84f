/* test_streams.c: results that go past the caches are those that do not. */
#include "src/alloc.h"
#include "src/pass/pass.h"
#include "builds.h"

#include <check.h>
#include <stdint.h>
#include <string.h>

enum {
    COUNT = 320, /* a multiple of OX_LINE, and no whole number of blocks of 256 */
    WIDEST = 16
};

/* Bytes that are numbers of all kinds in any type; most floats among them are between -8 and 8. */
static void fill(char *bytes, ox_dtype dtype, uint64_t seed) {
    for (uint64_t i = 0; i < COUNT; i++) {
        const uint64_t mixed = (i + seed) * 0x9e3779b97f4a7c15u, bits = mixed ^ mixed >> 29;
        const float single = (float)((double)(bits % 1024) / 64 - 8);
        const double real = (double)single;
        const void *from = i % 8 == 7           ? (const void *)&bits
                           : dtype == OX_FLOAT  ? (const void *)&single
                           : dtype == OX_DOUBLE ? (const void *)&real
                                                : (const void *)&bits;
        memcpy(bytes + i * ox_dtype_size(dtype), from, ox_dtype_size(dtype));
    }
}

/* Runs a loop both ways, the second time asking for what it reads, with operands that repeat where a bit of `repeats`
 * says so: not the first, mostly, which some loops take for one that does not. */
static void compare(const ox_loops *loops, const char *name, ox_lane *lane, const void *attr, ox_dtype dtype,
                    int repeats) {
    static char operands[3][COUNT * WIDEST] __attribute__((aligned(64)));
    static char plain[COUNT * WIDEST] __attribute__((aligned(64))),
        streamed[COUNT * WIDEST] __attribute__((aligned(64)));
    const int64_t width = (int64_t)ox_dtype_size(dtype);
    int64_t step[OX_LANE_ARGS] = {width};
    char *arg[OX_LANE_ARGS] = {plain};
    for (int k = 0; k < 3; k++) {
        fill(operands[k], dtype, 1000 * (uint64_t)(k + 1));
        arg[k + 1] = operands[k];
        step[k + 1] = repeats >> k & 1 ? 0 : width;
    }
    memset(plain, 0x55, sizeof plain);
    memset(streamed, 0x55, sizeof streamed);
    const int fault = lane(COUNT, arg, step, attr);
    arg[0] = streamed;
    for (int k = 0; k < OX_LANE_ARGS; k++)
        step[k] = -step[k];
    ck_assert_msg(lane(COUNT, arg, step, attr) == fault && !memcmp(plain, streamed, sizeof plain),
                  "%s of %s, build %s, repeated operands %d", name, ox_dtype_name(dtype), loops->name, repeats);
}

START_TEST(every_loop_gives_the_same_past_the_caches) {
    static const struct {
        const char *name;
        ox_lane_set set;
    } all[] = {
#define LANE_SET(name) {#name, OX_LANES_##name},
#include "src/loops/lanes.inc"
#undef LANE_SET
    };
    static const float numbers[] = {1.5F, 2.5F, 0, 0};
    static const int64_t row = 40;
    const ox_loops *loops = ox_loops_find(builds[_i]);
    for (size_t s = 0; loops->streams && s < sizeof all / sizeof *all; s++) {
        const ox_lanes *set = OX_BUILD_OF(loops, all[s].set);
        const void *attr = strstr(all[s].name, "Rows") ? (const void *)&row : numbers;
        for (int dtype = 1; dtype <= OX_BFLOAT16; dtype++)
            for (int repeats = 0; set->fn[dtype] && dtype != OX_STRING && repeats < 8; repeats += 2)
                compare(loops, all[s].name, set->fn[dtype], attr, (ox_dtype)dtype, repeats);
    }
}
END_TEST

START_TEST(moves_and_casts_give_the_same_past_the_caches) {
    const ox_loops *loops = ox_loops_find(builds[_i]);
    static const ox_dtype by_width[] = {OX_UINT8, OX_UINT16, OX_UINT32, OX_UINT64};
    for (int w = 0; loops->streams && w < 4; w++)
        for (int repeats = 0; repeats < 2; repeats++)
            compare(loops, "copy", loops->copy((size_t)1 << w), NULL, by_width[w], repeats);
    for (int from = 1; loops->streams && from <= OX_UINT64; from++)
        for (int to = 1; to <= OX_UINT64; to++) {
            const bool numbers =
                ox_dtype_compute((ox_dtype)from) == from && OX_BIT(from) & OX_SET_NUM && OX_BIT(to) & OX_SET_NUM;
            ox_lane *lane = numbers ? loops->cast((ox_dtype)from, (ox_dtype)to) : NULL;
            if (lane)
                compare(loops, "cast", lane, NULL, (ox_dtype)from, 0);
        }
}
END_TEST

START_TEST(small_floats_give_the_same_past_the_caches) {
    static const ox_dtype small[] = {OX_FLOAT16, OX_BFLOAT16, OX_FLOAT8E4M3FN};
    const ox_loops *loops = ox_loops_find(builds[_i]);
    for (int i = 0; loops->streams && i < 3; i++)
        for (int repeats = 0; repeats < 2; repeats++) {
            compare(loops, "widen", loops->widen, &small[i], small[i], repeats);
            compare(loops, "narrow", loops->narrow, &(const ox_narrowing){.dtype = small[i]}, OX_FLOAT, repeats);
        }
}
END_TEST

/* A pass of (a + b) over rows of `length`, where b is one element for each row or for each element. */
static void add(const ox_loops *loops, int64_t rows, int64_t length, bool by_row, char *to, bool streamed) {
    static float a[4096], b[4096];
    const int64_t dims[] = {rows, length}, column[] = {rows, 1};
    const ox_tensor x = {.dtype = OX_FLOAT, .rank = 2, .dims = dims, .data = a};
    const ox_tensor y = {.dtype = OX_FLOAT, .rank = 2, .dims = by_row ? column : dims, .data = b};
    const ox_tensor out = {.dtype = OX_FLOAT, .rank = 2, .dims = dims, .data = to};
    char scratch[1 << 15] __attribute__((aligned(64)));
    ox_pile pile;
    int tag;
    for (int i = 0; i < 4096; i++) {
        a[i] = (float)i;
        b[i] = (float)(i % 7) / 4;
    }
    ox_pile_init(&pile, ox_default_allocator());
    ox_pass_builder *builder = ox_pass_begin(&pile, &pile, loops, 2, dims, 0);
    const ox_reg in[] = {ox_pass_load(builder, &x, NULL), ox_pass_load(builder, &y, NULL)};
    ox_lane *lane = OX_BUILD_OF(loops, OX_LANES_Add)->fn[OX_FLOAT];
    const ox_reg sum = ox_pass_loop(builder, lane, NULL, OX_FLOAT, 2, in);
    ox_pass_store(builder, sum, &out);
    if (streamed)
        ox_pass_stream(builder, &out);
    ox_pass *pass = ox_pass_end(builder);
    ck_assert_ptr_nonnull(pass);
    ck_assert_uint_le(ox_pass_scratch(pass), sizeof scratch);
    ck_assert_int_eq(ox_pass_run(pass, scratch, 0, ox_pass_tiles(pass), &tag), 0);
    ox_pile_free(&pile);
}

START_TEST(results_begin_and_end_within_lines) {
    static char plain[4096 * 4 + 128] __attribute__((aligned(64))), streamed[sizeof plain] __attribute__((aligned(64)));
    static const int64_t shapes[][2] = {{1, 5}, {1, 100}, {1, 1000}, {3, 300}, {2, 1025}, {7, 64}, {60, 31}};
    const ox_loops *loops = ox_loops_find(builds[_i]);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int offset = 0; offset < 64; offset += OX_UNALIGNED ? 2 : 4) {
            memset(plain, 0x55, sizeof plain);
            memset(streamed, 0x55, sizeof streamed);
            for (int by_row = 0; by_row < 2; by_row++) {
                add(loops, shapes[s][0], shapes[s][1], by_row, plain + offset, false);
                add(loops, shapes[s][0], shapes[s][1], by_row, streamed + offset, true);
                ck_assert_msg(!memcmp(plain, streamed, sizeof plain), "%d x %d at offset %d, build %s",
                              (int)shapes[s][0], (int)shapes[s][1], offset, loops->name);
            }
        }
}
END_TEST

Suite *ox_suite_streams(void);
Suite *ox_suite_streams(void) {
    Suite *suite = suite_create("streams");
    TCase *tests = tcase_create("streams");
    tcase_add_loop_test(tests, every_loop_gives_the_same_past_the_caches, 0, BUILDS);
    tcase_add_loop_test(tests, moves_and_casts_give_the_same_past_the_caches, 0, BUILDS);
    tcase_add_loop_test(tests, small_floats_give_the_same_past_the_caches, 0, BUILDS);
    tcase_add_loop_test(tests, results_begin_and_end_within_lines, 0, BUILDS);
    suite_add_tcase(suite, tests);
    return suite;
}
