/* test_moves.c: the loops that copy matrices and short rows, in every build, against copies element by element. */
#define _DEFAULT_SOURCE /* memory from the system that is no file's */
#include "src/loops/lanes.h"
#include "builds.h"
#include "expect.h"

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    GAP = 0x55, /* what lies between the rows */
    PAGE = 64 << 10
};

/* Memory of exactly that many bytes, at an address that is `offset` bytes from a line of the cache. */
typedef struct memory {
    char *block, *data;
    size_t size, whole; /* bytes from data on, and of the block */
} memory;

static memory take(size_t size, size_t offset) {
    const size_t whole = (offset + size + 63) / 64 * 64;
    memory m = {aligned_alloc(64, whole), NULL, size, whole};
    ck_assert_ptr_nonnull(m.block);
    m.data = m.block + offset;
    memset(m.block, GAP, whole);
    return m;
}

/* As much as a page holds, up to its end: who reads on behind that ends the test. */
static memory take_to_end(size_t size) {
    static char *page;
    if (!page) {
        page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ck_assert(page != MAP_FAILED && !mprotect(page + PAGE, PAGE, PROT_NONE));
    }
    ck_assert_uint_le(size, PAGE);
    return (memory){NULL, page + PAGE - size, size, size};
}

/* Whether two of one size and offset are the same, what lies before and behind them included. */
static bool same(const memory *a, const memory *b) {
    return !memcmp(a->block, b->block, a->whole);
}

static void fill(const memory *m) {
    for (size_t i = 0; i < m->size; i++)
        m->data[i] = (char)((i * 2654435761u) >> 13);
}

/* Rows of the result are `to_row` elements apart, those of the source `from_row`. */
static void transposes(const ox_loops *loops, size_t width, int64_t inner, int64_t outer, int64_t to_row,
                       int64_t from_row, size_t offset, size_t whole) {
    const int64_t w = (int64_t)width, to_step = to_row * w, from_step = from_row * w;
    memory from = take((size_t)((inner - 1) * from_step + outer * w), offset),
           to = take((size_t)((outer - 1) * to_step + inner * w), offset), plain = take(to.size, offset);
    fill(&from);
    for (int64_t i = 0; i < inner; i++)
        for (int64_t j = 0; j < outer; j++)
            memcpy(plain.data + j * to_step + i * w, from.data + i * from_step + j * w, width);
    loops->transpose(width)(inner, outer, to.data, to_step, from.data, from_step, whole);
    expect(same(&to, &plain), "%d x %d elements of %d bytes, rows %d and %d apart, offset %d, build %s", (int)inner,
           (int)outer, (int)width, (int)to_row, (int)from_row, (int)offset, loops->name);
    free(from.block);
    free(to.block);
    free(plain.block);
}

START_TEST(transposes_are_transposes) {
    /* Few rows and columns; squares of a line, with and without more; strips, also above one another. */
    static const int64_t sizes[][2] = {{1, 1},    {2, 70},   {70, 2},   {3, 129},   {129, 3},  {4, 33},   {33, 4},
                                       {5, 5},    {16, 16},  {64, 64},  {65, 67},   {128, 48}, {48, 128}, {31, 200},
                                       {200, 31}, {70, 600}, {530, 37}, {600, 140}, {448, 70}, {512, 130}};
    /* Rows that share places in a cache where they are written, and where they are read, too. */
    static const int64_t near[][2] = {{1024, 142}, {1024, 512}, {512, 512}};
    static const size_t wholes[] = {0, 64 << 20}; /* kept in the caches, and stored past them */
    const ox_loops *loops = ox_loops_find(builds[_i]);
    for (size_t width = 1; width <= 16; width *= 2)
        for (size_t offset = 0; offset <= width % 16; offset += width)
            for (int k = 0; k < 2; k++) {
                for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
                    for (int64_t gap = 0; gap < 3; gap++)
                        transposes(loops, width, sizes[s][0], sizes[s][1], sizes[s][0] + gap, sizes[s][1] + gap, offset,
                                   wholes[k]);
                for (size_t s = 0; s < sizeof near / sizeof *near; s++)
                    transposes(loops, width, 146, 142, near[s][0], near[s][1], offset, wholes[k]);
                transposes(loops, width, 530, 570, 1024, 570, offset, wholes[k]);
            }
}
END_TEST

/* Some rows of n elements, `step` bytes apart in the source, with a gap behind each; in the result rows are `next`
 * bytes apart. */
static void rows(const ox_loops *loops, size_t width, int64_t count, int64_t n, int64_t step, int64_t gap,
                 int64_t next) {
    const int64_t w = (int64_t)width, from_next = (n - 1) * step + w + gap;
    const size_t offset = (size_t)(n % 2 ? n * w : n) % 64;
    memory from = take_to_end((size_t)((count - 1) * from_next + (n - 1) * step + w)),
           to = take((size_t)((count - 1) * next + n * w), offset), plain = take(to.size, offset);
    fill(&from);
    for (int64_t i = 0; i < count * n; i++)
        memcpy(plain.data + i / n * next + i % n * w, from.data + i / n * from_next + i % n * step, width);
    loops->spread(width)(n, count, to.data, next, from.data, step, from_next);
    expect(same(&to, &plain), "%d rows of %d elements of %d bytes, %d apart, to %d, build %s", (int)count, (int)n,
           (int)width, (int)step, (int)next, loops->name);
    free(to.block);
    free(plain.block);
}

START_TEST(short_rows_are_copied) {
    const ox_loops *loops = ox_loops_find(builds[_i]);
    for (size_t width = 1; width <= 16; width *= 2)
        for (int64_t n = 1, w = (int64_t)width; n * w <= 130; n++)
            for (int64_t step = 0; step <= 2 * w; step += w) {
                rows(loops, width, 37, n, step, 0, n * w);
                rows(loops, width, 37, n, step, 2 * w, n * w);
                rows(loops, width, 37, n, step, 2 * w, (n + 2) * w);
            }
}
END_TEST

/* Wherever the rows begin, and however many there are. */
START_TEST(elements_fill_rows) {
    const ox_loops *loops = ox_loops_find(builds[_i]);
    for (size_t width = 1; width <= 16; width *= 2)
        for (int64_t n = 64 / (int64_t)width, w = (int64_t)width; n * w <= 330; n++)
            for (int64_t count = 1; count <= 21; count += count < 5 ? 1 : 4)
                rows(loops, width, count, n, 0, 0, n * w);
}
END_TEST

/* Nothing before and nothing behind them is written, wherever lines begin in both. */
START_TEST(bytes_are_copied) {
    enum {
        MOST = 2048,
        EDGE = 64
    };
    const ox_loops *loops = ox_loops_find(builds[_i]);
    memory from = take(MOST + EDGE, 0), to = take(MOST + 2 * EDGE, 0), plain = take(MOST + 2 * EDGE, 0);
    fill(&from);
    for (size_t size = 0; size <= MOST; size += size % 512 < 66 ? 1 : 37)
        for (size_t offset = 0; offset < EDGE; offset += 9) {
            memset(to.data, GAP, to.size);
            memset(plain.data, GAP, plain.size);
            memcpy(plain.data + EDGE - offset, from.data + offset / 2, size);
            loops->copy_bytes(to.data + EDGE - offset, from.data + offset / 2, size);
            expect(same(&to, &plain), "%d bytes, offset %d, build %s", (int)size, (int)offset, loops->name);
        }
    free(from.block);
    free(to.block);
    free(plain.block);
}
END_TEST

/* Some rows of n elements, the last of which end where memory ends. */
static void repeats(const ox_loops *loops, size_t width, int64_t n, int64_t count, int64_t rows, int64_t times) {
    memory from = take_to_end((size_t)(rows * n) * width), to = take((size_t)(rows * times * n * count) * width, 0),
           plain = take(to.size, 0);
    char *at = plain.data;
    fill(&from);
    for (int64_t r = 0; r < rows * times; r++)
        for (int64_t i = 0; i < n * count; i++, at += width)
            memcpy(at, from.data + (size_t)(r / times * n + i / count) * width, width);
    loops->repeat_rows(width, n, count, rows, times, to.data, from.data);
    expect(same(&to, &plain), "%d rows of %d elements of %d bytes, %d times each, rows %d times, build %s", (int)rows,
           (int)n, (int)width, (int)count, (int)times, loops->name);
    free(to.block);
    free(plain.block);
}

START_TEST(rows_repeat) {
    static const int64_t lengths[] = {1, 3, 4, 5, 8, 20, 131};
    const ox_loops *loops = ox_loops_find(builds[_i]);
    for (size_t width = 1; width <= 16; width *= 2)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
            for (int64_t count = 1; count <= 5; count++)
                for (int64_t times = 1; times <= 3; times++) {
                    repeats(loops, width, lengths[l], count, 1, times);
                    repeats(loops, width, lengths[l], count, 31, times);
                }
}
END_TEST

Suite *ox_suite_moves(void);
Suite *ox_suite_moves(void) {
    Suite *suite = suite_create("moves");
    TCase *tests = tcase_create("moves");
    tcase_add_loop_test(tests, transposes_are_transposes, 0, BUILDS);
    tcase_add_loop_test(tests, short_rows_are_copied, 0, BUILDS);
    tcase_add_loop_test(tests, elements_fill_rows, 0, BUILDS);
    tcase_add_loop_test(tests, bytes_are_copied, 0, BUILDS);
    tcase_add_loop_test(tests, rows_repeat, 0, BUILDS);
    suite_add_tcase(suite, tests);
    return suite;
}
