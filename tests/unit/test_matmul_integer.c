/* test_matmul_integer.c: MatMulInteger and QLinearMatMul, called by themselves. */
#include "src/loops/integer_loops.h"
#include "src/loops/lanes.h"
#include "tests/unit/builds.h"
#include "tests/unit/call.h"
#include "tests/unit/expect.h"

#include <check.h>
#include <math.h>
#include <string.h>

static const uint8_t left[] = {200, 1, 2, 250};
static const int8_t right[] = {-128, 3, 127, -1};

/* left [2,2] times right [2,2]. */
static ox_status multiply(test_call *t, int rank, const int64_t *dims, const uint8_t *zero) {
    test_call_begin(t, "MatMulInteger", 10);
    test_call_input(t, OX_UINT8, DIMS(2, 2), left);
    test_call_input(t, OX_INT8, DIMS(2, 2), right);
    test_call_input(t, OX_UINT8, rank, dims, zero);
    return test_call_run(t, 1);
}

static void check_sums(const test_call *t, const int32_t *expected) {
    ck_assert_int_eq(t->outputs[0].dtype, OX_INT32);
    ck_assert_mem_eq(t->outputs[0].data, expected, 4 * sizeof *expected);
}

START_TEST(zero_points_belong_to_rows) {
    test_call t;
    ck_assert_int_eq(multiply(&t, DIMS(2), (const uint8_t[]){200, 2}), OX_OK);
    check_sums(&t, (const int32_t[]){-199 * 127, 199, 248 * 127, -248});
    test_call_end(&t);
    ck_assert_int_eq(multiply(&t, DIMS(2, 1), (const uint8_t[]){200, 2}), OX_OK);
    check_sums(&t, (const int32_t[]){-199 * 127, 199, 248 * 127, -248});
    test_call_end(&t);
}
END_TEST

START_TEST(zero_points_that_do_not_fit_are_errors) {
    test_call t;
    ck_assert_int_eq(multiply(&t, DIMS(3), (const uint8_t[]){1, 2, 3}), OX_ERROR_SHAPE);
    ck_assert_str_eq(t.error.text,
                     "input 2 (uint8 [3]) does not fit input 0 (uint8 [2,2]): it must be one value, or one "
                     "for each row");
    test_call_end(&t);
    ck_assert_int_eq(multiply(&t, DIMS(1, 2), (const uint8_t[]){1, 2}), OX_ERROR_SHAPE);
    test_call_end(&t);
    ck_assert_int_eq(multiply(&t, DIMS(2, 2, 1), (const uint8_t[]){1, 2, 3, 4}), OX_ERROR_SHAPE);
    test_call_end(&t);
}
END_TEST

/* The product of numbers and 1, less 0, as bytes of `scale`; one row of two columns. */
static ox_status requantize(test_call *t, const int8_t *numbers, float scale, int8_t zero) {
    static const float one = 1;
    static const int8_t nothing = 0, unit = 1;
    static float y_scale;
    static int8_t y_zero;
    y_scale = scale, y_zero = zero;
    test_call_begin(t, "QLinearMatMul", 21);
    test_call_input(t, OX_INT8, DIMS(4, 1), numbers);
    test_call_input(t, OX_FLOAT, DIMS(), &one);
    test_call_input(t, OX_INT8, DIMS(), &nothing);
    test_call_input(t, OX_INT8, DIMS(1, 1), &unit);
    test_call_input(t, OX_FLOAT, DIMS(), &one);
    test_call_input(t, OX_INT8, DIMS(), &nothing);
    test_call_input(t, OX_FLOAT, DIMS(), &y_scale);
    test_call_input(t, OX_INT8, DIMS(), &y_zero);
    return test_call_run(t, 1);
}

START_TEST(ties_go_to_even_before_the_zero_point) {
    test_call t;
    ck_assert_int_eq(requantize(&t, (const int8_t[]){1, 3, -1, -3}, 2, 1), OX_OK);
    ck_assert_mem_eq(t.outputs[0].data, ((const int8_t[]){1, 3, 1, -1}), 4);
    test_call_end(&t);
}
END_TEST

START_TEST(results_saturate) {
    test_call t;
    ck_assert_int_eq(requantize(&t, (const int8_t[]){127, -128, 100, 1}, 0.5F, 10), OX_OK);
    ck_assert_mem_eq(t.outputs[0].data, ((const int8_t[]){127, -128, 127, 12}), 4);
    test_call_end(&t);
    ck_assert_int_eq(requantize(&t, (const int8_t[]){127, -128, 0, 1}, 1e-38F, 0), OX_OK);
    ck_assert_mem_eq(t.outputs[0].data, ((const int8_t[]){127, -128, 0, 127}), 4);
    test_call_end(&t);
}
END_TEST

enum {
    MOST_SUMS = 200
};

/* A sum as a byte, by the definition. */
static uint8_t requantized(int32_t sum, const ox_requantization *how, int64_t i) {
    const double factor = how->row_scale * (double)how->column_scales[i * how->step];
    const int low = how->dtype == OX_INT8 ? -128 : 0;
    const uint32_t off = how->column_sums ? how->column_zero * how->column_sums[i] : 0;
    const double result = nearbyint((int32_t)((uint32_t)sum + how->more - off) * factor) + how->zero;
    return (uint8_t)(int)(result > low ? fmin(low + 255, result) : low); /* low for NaN */
}

/* Of each length, in the place of sums, too. */
static void check_requantization(const ox_requantization *how, const int32_t *sums) {
    static const int64_t lengths[] = {1, 15, 16, 17, 21, 31, 49, 64, 65, 81, 128, MOST_SUMS};
    for (int b = 0; b < BUILDS; b++)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            int32_t room[MOST_SUMS];
            uint8_t bytes[MOST_SUMS + 1];
            const int64_t n = lengths[i];
            memcpy(room, sums, sizeof room);
            bytes[n] = 77;
            OX_BUILD_OF(ox_loops_find(builds[b]), ox_integer_builds)->requantize(n, how, (char *)room, (char *)bytes);
            ck_assert_int_eq(bytes[n], 77);
            memcpy(room, sums, sizeof room);
            OX_BUILD_OF(ox_loops_find(builds[b]), ox_integer_builds)->requantize(n, how, (char *)room, (char *)room);
            ck_assert_mem_eq(room, bytes, (size_t)n);
            for (int64_t j = 0; j < n; j++)
                expect(bytes[j] == requantized(sums[j], how, j), "%s: %d of %d by %g is %d", builds[b], (int)j, sums[j],
                       how->row_scale, bytes[j]);
        }
}

/* Factors of which sums are at, and hardly beside, the middle between two numbers, and such that floats cannot hold. */
START_TEST(sums_are_rounded_once_on_all_builds) {
    static const double factors[] = {0.5,   0.00390625, 0.1,           1.0 / 3,         0.0034567, 1,
                                     -0.25, 1.00000001, 0.49999999999, 1e-44,           1e-120,    0,
                                     1e30,  1e300,      0.5 + 0x1p-40, 0.0019499999999, 1e39};
    int32_t sums[MOST_SUMS];
    uint32_t column_sums[MOST_SUMS];
    ox_f32 scales[MOST_SUMS + 8];
    for (size_t f = 0; f < sizeof factors / sizeof *factors; f++)
        for (int round = 0; round < 24; round++) {
            for (int i = 0; i < MOST_SUMS; i++) {
                sums[i] = round < 8 ? i - 100 + round * 200 : (int32_t)(((uint32_t)i * 2654435761U) >> (round - 8));
            }
            for (int i = 0; i < MOST_SUMS + 8; i++)
                scales[i] = i % 7 ? (ox_f32)(i % 5 - 1) / 4 : i % 2 ? 1e38F : 1e-38F;
            const int zeros[] = {0, 128, 255, -128, 3}, zero = zeros[round % 5];
            ox_requantization how = {.dtype = zero < 0 ? OX_INT8 : OX_UINT8,
                                     .more = round % 3 ? 0U - (uint32_t)round : 0,
                                     .zero = zero,
                                     .row_scale = factors[f],
                                     .column_scales = scales + round / 3,
                                     .step = round % 2};
            check_requantization(&how, sums);
            for (int i = 0; i < MOST_SUMS; i++)
                column_sums[i] = i % 3 ? (uint32_t)(i * 11 - 700) : (uint32_t)i << 24;
            how.column_sums = column_sums, how.column_zero = (uint32_t)round * 3 - 9;
            check_requantization(&how, sums);
        }
}
END_TEST

/* Sums around the middles between results, three at each, and the limits. */
static void check_proven(const ox_requantization *how, const ox_integer_loops *loops, int32_t most, const char *build) {
    int32_t sums[MOST_SUMS], room[MOST_SUMS];
    uint8_t bytes[MOST_SUMS];
    const int first = how->dtype == OX_INT8 ? INT8_MIN : 0;
    for (int level = 0; level < 256; level += 64) {
        int n = 0;
        for (int i = level; i < level + 64; i++)
            for (int beside = -1; beside <= 1; beside++)
                sums[n++] = (int32_t)lround((i + first + 0.5 - how->zero) / how->row_scale) + beside;
        sums[n++] = most, sums[n++] = -most;
        memcpy(room, sums, sizeof room);
        for (int i = 0; i < n; i++)
            room[i] = sums[i] = (int32_t)((uint32_t)sums[i] - how->more);
        loops->requantize(n, how, (char *)room, (char *)bytes);
        for (int i = 0; i < n; i++)
            expect(bytes[i] == requantized(sums[i], how, i), "%s: %d by %g is %d", build, sums[i], how->row_scale,
                   bytes[i]);
    }
}

/* Factors that are proven to give what doubles do, by all builds. */
START_TEST(floats_round_as_doubles_where_that_is_proven) {
    enum {
        FACTORS = 2000,
        MOST = 1 << 29
    };
    static const ox_f32 scales[] = {1, 1};
    for (int b = 0; b < BUILDS; b++) {
        const ox_integer_loops *loops = OX_BUILD_OF(ox_loops_find(builds[b]), ox_integer_builds);
        int count = 0;
        uint32_t seed = 1;
        for (int i = 0; i < FACTORS; i++, seed = seed * 1664525U + 1013904223U) {
            static const int zeros[] = {0, 128, 255, -128, 3, -1, 127};
            const int zero = zeros[i % 7];
            const double factor = i < 40 ? ldexp(1 + i % 3, -1 - i / 3) : ldexp(1 + seed * 0x1p-32, -1 - i % 13);
            ox_requantization how = {.dtype = zero < 0 || i % 2 ? OX_INT8 : OX_UINT8,
                                     .more = seed >> 12,
                                     .zero = zero > 127 && i % 2 ? 5 : zero,
                                     .row_scale = factor,
                                     .column_scales = scales};
            how.proven = loops->prove(&how, MOST);
            count += how.proven.factor > 0;
            check_proven(&how, loops, MOST, builds[b]);
            how.step = 1;
            ck_assert(!(loops->prove(&how, MOST).factor > 0));
        }
        ck_assert_int_lt(count, FACTORS); /* no float rounds like some of them */
        if (count || !strcmp(ox_loops_find(builds[b])->name, "v3"))
            ck_assert_int_gt(count, FACTORS / 3);
    }
}
END_TEST

/* Of infinity, NaN, and what is too small or too large nothing is proven; nor of sums that wrap. */
START_TEST(nothing_is_proven_beyond_bytes) {
    static const double factors[] = {0, -0.25, 0x1p-14, 0.6, 1e30, INFINITY, NAN};
    static const ox_f32 one = 1;
    for (int b = 0; b < BUILDS; b++) {
        const ox_integer_loops *loops = OX_BUILD_OF(ox_loops_find(builds[b]), ox_integer_builds);
        ox_requantization how = {.dtype = OX_UINT8, .column_scales = &one};
        for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
            how.row_scale = factors[i];
            ck_assert(!(loops->prove(&how, 1000).factor > 0));
        }
        how.row_scale = 0.25;
        ck_assert(!(loops->prove(&how, INT32_MAX).factor > 0));
    }
}
END_TEST

enum {
    MOST_ROWS = 33,
    MOST_COLUMNS = 64,
    MOST_DEPTH = 1024
};

/* Bytes of a kind, of which the greatest and the least are among the first. */
static void fill_bytes(size_t count, unsigned seed, uint8_t *to) {
    static const uint8_t limits[] = {0, 255, 128, 127};
    for (size_t i = 0; i < count; i++, seed = seed * 1664525U + 1013904223U)
        to[i] = seed >> 30 ? (uint8_t)(seed >> 20) : limits[seed >> 8 & 3];
}

static int32_t byte_of(ox_dtype dtype, uint8_t byte) {
    return dtype == OX_INT8 ? (int8_t)byte : byte;
}

/* The types of two matrices. */
typedef struct byte_types {
    ox_dtype a, b;
} byte_types;

typedef int32_t tile_sums[MOST_ROWS + 1][MOST_COLUMNS + 1];
static int32_t before(int64_t i, int64_t j) {
    return (int32_t)(i * (MOST_COLUMNS + 1) + j) * 1001;
}
static void set_sums(tile_sums c) {
    for (int64_t i = 0; i <= MOST_ROWS; i++)
        for (int64_t j = 0; j <= MOST_COLUMNS; j++)
            c[i][j] = before(i, j);
}

/* What a tile is of. */
typedef struct tile_case {
    const uint8_t *a, *b;
    byte_types types;
    uint32_t shift;
} tile_case;

static void check_tile_sums(const tile_case *of, const ox_gemm_tile *t) {
    int32_t(*const c)[MOST_COLUMNS + 1] = (void *)t->c;
    for (int64_t i = 0; i <= MOST_ROWS; i++)
        for (int64_t j = 0; j <= MOST_COLUMNS; j++) {
            const bool inside = i < t->rows && j < t->columns;
            int32_t wanted = inside && !t->add ? 0 : before(i, j);
            for (int64_t l = 0; l < t->depth && inside; l++)
                wanted += byte_of(of->types.a, of->a[i * t->depth + l]) *
                          (byte_of(of->types.b, of->b[l * t->columns + j]) + (int32_t)of->shift);
            expect(c[i][j] == wanted, "%s %s %dx%dx%d at %d, %d: %d is not %d", ox_dtype_name(of->types.a),
                   ox_dtype_name(of->types.b), (int)t->rows, (int)t->columns, (int)t->depth, (int)i, (int)j, c[i][j],
                   wanted);
        }
}

/* A tile with its C between other bytes, which stay. */
static void check_tile(const ox_loops *loops, byte_types types, int64_t rows, int64_t columns, int64_t depth,
                       bool add) {
    static uint8_t a[MOST_ROWS * MOST_DEPTH], b[MOST_DEPTH * MOST_COLUMNS];
    static char packed_a[MOST_ROWS * (4 * MOST_DEPTH)] __attribute__((aligned(64))),
        packed_b[2 * MOST_DEPTH * MOST_COLUMNS * 2] __attribute__((aligned(64)));
    static char woven[OX_GEMM_TILE_ROWS * MOST_DEPTH];
    static tile_sums c;
    const ox_gemm_kernel *k = ox_gemm_kernel_of(loops, types.a, types.b);
    const ox_gemm_matrix from_a = {types.a, a, depth, 1}, from_b = {types.b, b, columns, 1};
    const int64_t row = k->find_panel(k, columns, 0, depth, 0).row;
    fill_bytes((size_t)(rows * depth), (unsigned)(rows + columns), a);
    fill_bytes((size_t)(depth * columns), (unsigned)depth, b);
    k->pack_a(loops, &from_a, rows, depth, packed_a, k->a_row, NULL);
    k->pack_b(loops, &from_b, depth, columns, packed_b, row, NULL);
    ox_gemm_tile tile = {.rows = rows,
                         .columns = columns,
                         .depth = depth,
                         .a = packed_a,
                         .b = packed_b,
                         .a_row = k->a_row,
                         .b_row = row,
                         .c = (char *)c,
                         .c_row = sizeof *c,
                         .add = add,
                         .ahead = packed_b};
    const tile_case of = {a, b, types, k->shift};
    set_sums(c);
    k->tile(&tile);
    check_tile_sums(&of, &tile);
    if (!k->weave || rows < OX_GEMM_WOVEN_ROWS)
        return;
    k->weave(rows, depth, (const char *)a, depth, woven);
    tile.a = woven, tile.a_row = 0;
    set_sums(c);
    k->woven_tile(&tile);
    check_tile_sums(&of, &tile);
}

/* Of every build, all heights and some widths and depths: steps that are whole, with a rest, and hardly any. */
START_TEST(tiles_of_bytes_give_exact_sums) {
    static const int64_t depths[] = {1, 4, 30, 32, 36, 64, 68, 96, 97, 148, 160, 512, MOST_DEPTH};
    static const int64_t widths[] = {1, 15, 16, 17, 40, 48, MOST_COLUMNS};
    const ox_loops *loops = ox_loops_find(builds[_i]);
    for (int kind = 0; kind < 4; kind++) {
        const byte_types types = {kind & 1 ? OX_INT8 : OX_UINT8, kind & 2 ? OX_INT8 : OX_UINT8};
        const ox_gemm_kernel *k = ox_gemm_kernel_of(loops, types.a, types.b);
        ck_assert_int_lt(k->rows, MOST_ROWS);
        for (int64_t rows = 1; rows <= k->rows; rows++)
            for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
                for (size_t d = (size_t)(rows + kind) % 4; d < sizeof depths / sizeof *depths; d += 4)
                    if (widths[w] <= k->columns && depths[d] <= k->depth)
                        check_tile(loops, types, rows, widths[w], depths[d], (rows + (int64_t)w) % 2);
    }
}
END_TEST

Suite *ox_suite_matmul_integer(void);
Suite *ox_suite_matmul_integer(void) {
    Suite *suite = suite_create("matmul_integer");
    TCase *tc = tcase_create("matmul_integer");
    tcase_add_test(tc, zero_points_belong_to_rows);
    tcase_add_test(tc, zero_points_that_do_not_fit_are_errors);
    tcase_add_test(tc, ties_go_to_even_before_the_zero_point);
    tcase_add_test(tc, results_saturate);
    tcase_add_test(tc, sums_are_rounded_once_on_all_builds);
    tcase_add_test(tc, floats_round_as_doubles_where_that_is_proven);
    tcase_add_test(tc, nothing_is_proven_beyond_bytes);
    tcase_add_loop_test(tc, tiles_of_bytes_give_exact_sums, 0, BUILDS);
    suite_add_tcase(suite, tc);
    return suite;
}
