/* test_gemm_finish.c: what tiles of products do with their sums, beside the same steps on what tiles without them give.
 */
#include "src/loops/lanes.h"
#include "builds.h"

#include <check.h>
#include <math.h>
#include <string.h>

enum {
    ROWS = OX_GEMM_TILE_ROWS,
    COLUMNS = OX_GEMM_PANEL_ROW / (int)sizeof(float),
    DEPTH = 39,
    TILES = 3000
};

static uint64_t drawn;
static unsigned draw(unsigned below) {
    drawn = drawn * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(drawn >> 33) % below;
}
static float draw_float(void) {
    static const float special[] = {0.0F, -0.0F, 1, -1, INFINITY, -INFINITY, NAN, 1e-40F};
    return draw(12) ? (float)((int)draw(4001) - 2000) / 256 : special[draw(sizeof special / sizeof *special)];
}
static void draw_floats(int count, float *to) {
    for (int i = 0; i < count; i++)
        to[i] = draw_float();
}

typedef struct operands {
    float a[ROWS][DEPTH], b[DEPTH][COLUMNS], c[ROWS][COLUMNS];
    float scale[COLUMNS], add[COLUMNS], plus[ROWS][COLUMNS];
} operands;

static ox_finish draw_finish(const operands *x) {
    static const float lows[] = {0.0F, -0.0F, -1, -INFINITY}, highs[] = {0.0F, 6, 1, INFINITY};
    ox_finish f = {.is_used = true, .by_column = draw(2), .plus_row = sizeof *x->plus};
    f.scale = draw(2) ? x->scale : NULL;
    f.add = draw(2) ? x->add : NULL;
    f.plus = draw(2) ? (const char *)x->plus : NULL;
    f.low = lows[draw(4)];
    f.high = highs[draw(4)];
    f.behind = f.low == 0 && !signbit(f.low) ? 0.0F : -0.0F;
    return f;
}

/* Each step is stored, so that none is rounded together with the next one. */
static float finish(const ox_finish *f, volatile float sum, int i, int j) {
    const int k = f->by_column ? j : i;
    if (f->scale)
        sum = sum * f->scale[k];
    if (f->add)
        sum = sum + f->add[k];
    if (f->plus)
        sum = sum + ((const float *)(const void *)(f->plus + i * f->plus_row))[j];
    sum = (f->low > sum ? f->low : sum) + f->behind;
    return f->high < sum ? f->high : sum;
}

/* The same bits of rows that are woven. */
static void check_woven(const ox_gemm_kernel *kernel, const ox_gemm_tile *tile, const char *build) {
    static char woven[ROWS * (DEPTH + 1) * sizeof(float)];
    float before[ROWS][COLUMNS], plain[ROWS][COLUMNS];
    ox_gemm_tile other = *tile;
    if (!kernel->weave || tile->rows < OX_GEMM_WOVEN_ROWS)
        return;
    draw_floats(ROWS * COLUMNS, before[0]);
    memcpy(plain, before, sizeof plain);
    kernel->weave(tile->rows, tile->depth * (int64_t)sizeof(float), tile->a, tile->a_row, woven);
    other.c = (char *)plain;
    kernel->tile(&other);
    other.a = woven, other.a_row = 0, other.c = (char *)before;
    kernel->woven_tile(&other);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        const float *one = &plain[i / COLUMNS][i % COLUMNS], *two = &before[i / COLUMNS][i % COLUMNS];
        if (isnan(*one) ? !isnan(*two) : memcmp(one, two, sizeof *one) != 0)
            ck_abort_msg("build %s, %d of %d, %d of %d, depth %d: woven rows give %a, not %a", build, i / COLUMNS,
                         (int)tile->rows, i % COLUMNS, (int)tile->columns, (int)tile->depth, (double)*two,
                         (double)*one);
    }
}

static void check_tile(const ox_gemm_kernel *kernel, const char *build) {
    static operands x;
    float plain[ROWS][COLUMNS], finished[ROWS][COLUMNS], later[ROWS][COLUMNS];
    draw_floats(sizeof x / sizeof(float), &x.a[0][0]);
    const ox_finish f = draw_finish(&x);
    ox_gemm_tile tile = {.rows = 1 + (int64_t)draw((unsigned)kernel->rows),
                         .columns = 1 + (int64_t)draw((unsigned)kernel->columns),
                         .depth = 1 + (int64_t)draw(DEPTH),
                         .a = (const char *)x.a,
                         .b = (const char *)x.b,
                         .a_row = sizeof *x.a,
                         .b_row = sizeof *x.b,
                         .c = (char *)plain,
                         .c_row = sizeof *plain,
                         .add = draw(2),
                         .ahead = (const char *)x.b};
    check_woven(kernel, &tile, build);
    ox_gemm_tile_fn *const run = tile.rows == 1 && draw(2) ? kernel->row_tile : kernel->tile;
    memcpy(plain, x.c, sizeof plain), memcpy(finished, x.c, sizeof finished);
    run(&tile);
    memcpy(later, plain, sizeof later);
    tile.c = (char *)finished;
    tile.finish = &f;
    run(&tile);
    check_woven(kernel, &tile, build);
    kernel->finish(tile.rows, tile.columns, (char *)later, sizeof *later, &f);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            const bool inside = i < tile.rows && j < tile.columns;
            const float wanted = inside ? finish(&f, plain[i][j], i, j) : x.c[i][j];
            const bool same = isnan(wanted) ? isnan(finished[i][j]) && isnan(later[i][j])
                                            : !memcmp(&wanted, &finished[i][j], sizeof wanted) &&
                                                  !memcmp(&wanted, &later[i][j], sizeof wanted);
            if (!same)
                ck_abort_msg("build %s, %d of %d, %d of %d: %a and %a, not %a", build, i, (int)tile.rows, j,
                             (int)tile.columns, (double)finished[i][j], (double)later[i][j], (double)wanted);
        }
}

START_TEST(as_step_by_step) {
    for (int b = 0; b < BUILDS; b++) {
        const ox_gemm_kernel *kernel = ox_gemm_kernel_of(ox_loops_find(builds[b]), OX_FLOAT, OX_FLOAT);
        for (int i = 0; i < TILES; i++)
            check_tile(kernel, builds[b]);
    }
}
END_TEST

/* All panels of a row by one call, and a unit of columns at a time, as threads may cut them: the same bits. */
START_TEST(rows_by_parts) {
    enum {
        ALL = 3 * COLUMNS
    };
    for (int b = 0; b < BUILDS; b++) {
        const ox_gemm_kernel *kernel = ox_gemm_kernel_of(ox_loops_find(builds[b]), OX_FLOAT, OX_FLOAT);
        for (int n = 1; n <= ALL; n++) {
            static float a[DEPTH], panels[DEPTH * ALL], whole[ALL], part[ALL];
            const int64_t size = sizeof(float);
            draw_floats(DEPTH, a), draw_floats(DEPTH * ALL, panels);
            for (int at = 0; at < n; at += kernel->unit) {
                const int first = at / kernel->columns * kernel->columns, rest = n - first,
                          units = (rest + kernel->unit - 1) / kernel->unit * kernel->unit,
                          width = units < kernel->columns ? units : kernel->columns;
                ox_gemm_tile tile = {.rows = 1,
                                     .columns = n - at < kernel->unit ? n - at : kernel->unit,
                                     .depth = DEPTH,
                                     .a = (const char *)a,
                                     .a_row = sizeof a,
                                     .b = (const char *)(panels + DEPTH * first + at - first),
                                     .b_row = width * size,
                                     .c = (char *)(part + at),
                                     .c_row = sizeof part,
                                     .ahead = (const char *)panels};
                kernel->row_tile(&tile);
                if (at > 0)
                    continue;
                tile.columns = n, tile.c = (char *)whole;
                kernel->row_tile(&tile);
            }
            for (int j = 0; j < n; j++)
                ck_assert(isnan(part[j]) ? isnan(whole[j]) : !memcmp(&part[j], &whole[j], sizeof *part));
        }
    }
}
END_TEST

Suite *ox_suite_gemm_finish(void);
Suite *ox_suite_gemm_finish(void) {
    Suite *suite = suite_create("gemm_finish");
    TCase *tests = tcase_create("gemm_finish");
    tcase_add_test(tests, as_step_by_step);
    tcase_add_test(tests, rows_by_parts);
    suite_add_tcase(suite, tests);
    return suite;
}
