/* test_prefetch.c: what asks for its operands ahead gives what it gives without. */
#include "src/alloc.h"
#include "src/iterate/bcast.h"
#include "src/pass/pass.h"
#include "builds.h"
#include "call.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 2100, /* of more than OX_PREFETCH_BYTES together */
    LENGTH = 1024
};

static float *numbers(int64_t count) {
    float *x = malloc((size_t)count * sizeof *x);
    ck_assert_ptr_nonnull(x);
    for (int64_t i = 0; i < count; i++)
        x[i] = (float)(i * 7919 % 1009) / 64 - 8;
    return x;
}

/* Sums of columns are of 64ths, and thus exact in any order. */
START_TEST(columns_of_large_operands) {
    static const char *const ops[] = {"ReduceSum", "ReduceMax"};
    const int64_t rows = ROWS + 3, length = LENGTH + 37;
    float *x = numbers(rows * length);
    for (int op = 0; op < 2; op++) {
        test_call t;
        test_call_begin(&t, ops[op], 20);
        test_call_input(&t, OX_FLOAT, DIMS(rows, length), x);
        test_call_list(&t, 0);
        ck_assert_int_eq(test_call_run(&t, 1), OX_OK);
        for (int64_t j = 0; j < length; j++) {
            double wanted = (double)x[j];
            for (int64_t i = 1; i < rows; i++) {
                const double next = (double)x[i * length + j];
                wanted = op == 0 ? wanted + next : next > wanted ? next : wanted;
            }
            ck_assert(((float *)t.outputs[0].data)[j] == (float)wanted);
        }
        test_call_end(&t);
    }
    free(x);
}
END_TEST

/* (a + row) * row, or only the sum of that and the sums of its rows, past the caches or not. */
static void run_pass(const ox_loops *loops, const float *a, const float *row, float *to, float *sums, int operations,
                     bool past) {
    const int64_t dims[] = {ROWS, LENGTH}, last[] = {LENGTH}, column[] = {ROWS, 1};
    const ox_tensor x = {.dtype = OX_FLOAT, .rank = 2, .dims = dims, .data = (void *)(uintptr_t)a};
    const ox_tensor y = {.dtype = OX_FLOAT, .rank = 1, .dims = last, .data = (void *)(uintptr_t)row};
    const ox_tensor out = {.dtype = OX_FLOAT, .rank = 2, .dims = dims, .data = to};
    const ox_tensor folded = {.dtype = OX_FLOAT, .rank = 2, .dims = column, .data = sums};
    ox_lane *const lanes[] = {OX_BUILD_OF(loops, OX_LANES_Add)->fn[OX_FLOAT],
                              OX_BUILD_OF(loops, OX_LANES_Mul)->fn[OX_FLOAT]};
    ox_pile pile;
    int tag;
    ox_pile_init(&pile, ox_default_allocator());
    ox_pass_builder *builder = ox_pass_begin(&pile, &pile, loops, 2, dims, operations ? 0 : 1);
    ox_reg reg = ox_pass_load(builder, &x, NULL);
    for (int i = 0; i < operations; i++)
        reg =
            ox_pass_loop(builder, lanes[i], NULL, OX_FLOAT, 2, (const ox_reg[]){reg, ox_pass_load(builder, &y, NULL)});
    if (!operations)
        reg = ox_pass_fold(builder, OX_FOLD_SUM, reg);
    ox_pass_store(builder, reg, operations ? &out : &folded);
    if (past)
        ox_pass_stream(builder, operations ? &out : &folded);
    ox_pass *pass = ox_pass_end(builder);
    ck_assert_ptr_nonnull(pass);
    void *scratch = aligned_alloc(64, (ox_pass_scratch(pass) + 63) / 64 * 64 + 64);
    ck_assert_ptr_nonnull(scratch);
    ck_assert_int_eq(ox_pass_run(pass, scratch, 0, ox_pass_tiles(pass), &tag), 0);
    free(scratch);
    ox_pile_free(&pile);
}

START_TEST(passes_over_large_operands) {
    const ox_loops *loops = ox_loops_find(builds[_i]);
    const size_t bytes = (size_t)ROWS * LENGTH * sizeof(float);
    float *a = numbers(ROWS * LENGTH), *to = aligned_alloc(64, bytes), sums[ROWS];
    ck_assert_ptr_nonnull(to);
    for (int operations = 0; operations <= 2; operations++) {
        run_pass(loops, a, a + 5, to, sums, operations, true);
        int64_t wrong = 0;
        for (int64_t i = 0; i < ROWS; i++) {
            double sum = 0;
            for (int64_t j = 0; j < LENGTH; j++) {
                const float x = a[i * LENGTH + j], y = a[5 + j];
                sum += (double)x;
                wrong += operations && to[i * LENGTH + j] != (operations == 1 ? x + y : (x + y) * y);
            }
            wrong += !operations && sums[i] != (float)sum; /* of 64ths: exact in any order */
        }
        ck_assert_msg(!wrong, "%d of %d operations, build %s", (int)wrong, operations, builds[_i]);
    }
    free(to);
    free(a);
}
END_TEST

/* The last half of each row, which thus lie apart. */
START_TEST(rows_of_large_copies) {
    enum {
        HALF = LENGTH / 2
    };
    const int64_t dims[] = {2 * ROWS, HALF}, w = (int64_t)sizeof(float), from[] = {LENGTH * w, w}, to[] = {HALF * w, w};
    float *a = numbers(2 * ROWS * LENGTH), *b = malloc(sizeof(float) * 2 * ROWS * HALF);
    ck_assert_ptr_nonnull(b);
    ox_move(ox_loops_find(builds[_i]), NULL, 2, dims, sizeof(float), b, to, a + HALF, from);
    for (int64_t i = 0; i < 2 * ROWS; i++)
        ck_assert(!memcmp(b + i * HALF, a + i * LENGTH + HALF, sizeof(float) * HALF));
    free(b);
    free(a);
}
END_TEST

Suite *ox_suite_prefetch(void);
Suite *ox_suite_prefetch(void) {
    Suite *suite = suite_create("prefetch");
    TCase *tests = tcase_create("prefetch");
    tcase_add_test(tests, columns_of_large_operands);
    tcase_add_loop_test(tests, passes_over_large_operands, 0, BUILDS);
    tcase_add_loop_test(tests, rows_of_large_copies, 0, BUILDS);
    suite_add_tcase(suite, tests);
    return suite;
}
