/* test_memory.c: the default allocator, with blocks on both sides of the size from which they are mapped. */
#include "src/alloc.h"

#include <check.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The default of OX_MAPPED_BYTES, which the sanitizers change. */
#define BOUND ((size_t)4 << 20)

static const size_t sizes[] = {1, 1000, BOUND - 1, BOUND, BOUND + 1, 9 << 20, 3 << 20, 17 << 20, BOUND, 10};
enum {
    SIZES = sizeof sizes / sizeof *sizes
};

static void fill(unsigned char *block, size_t size, int number) {
    for (size_t i = 0; i < size; i++)
        block[i] = (unsigned char)(i * 7 + i / 4096 + (size_t)number);
}

static bool is_filled(const unsigned char *block, size_t size, int number) {
    for (size_t i = 0; i < size; i++)
        if (block[i] != (unsigned char)(i * 7 + i / 4096 + (size_t)number))
            return false;
    return true;
}

START_TEST(blocks_of_all_sizes) {
    const ox_allocator *allocator = ox_default_allocator();
    unsigned char *blocks[SIZES];
    for (int i = 0; i < SIZES; i++) {
        blocks[i] = ox_alloc(allocator, sizes[i]);
        ck_assert_ptr_nonnull(blocks[i]);
        fill(blocks[i], sizes[i], i);
    }
    for (int i = 0; i < SIZES; i++)
        ck_assert(is_filled(blocks[i], sizes[i], i));
    for (int i = 0; i < SIZES; i++)
        ox_release(allocator, blocks[i], sizes[i]);
}
END_TEST

START_TEST(a_block_keeps_its_bytes_when_it_grows_and_shrinks) {
    const ox_allocator *allocator = ox_default_allocator();
    unsigned char *block = NULL;
    size_t size = 0;
    for (int i = 0; i < SIZES; i++) {
        block = allocator->resize(allocator->context, block, size, sizes[i]);
        ck_assert_ptr_nonnull(block);
        if (i)
            ck_assert(is_filled(block, size < sizes[i] ? size : sizes[i], i - 1));
        size = sizes[i];
        fill(block, size, i);
    }
    ck_assert_ptr_null(allocator->resize(allocator->context, block, size, 0));
}
END_TEST

/* One block, as little aligned as an allocator may give it: no more than any type needs. */
static void *barely_aligned(void *context, void *block, size_t old_size, size_t new_size) {
    void **all = context;
    (void)old_size;
    if (block || *all) {
        free(block ? *all : NULL);
        *all = block ? NULL : *all;
        return NULL;
    }
    *all = malloc(new_size + 2 * OX_ALIGN);
    return *all ? (char *)ox_align(*all) + _Alignof(max_align_t) : NULL;
}

/* A block for loops ends before the next one begins, wherever the memory of the pile lies. */
START_TEST(aligned_blocks_of_a_pile_are_apart) {
    void *all = NULL;
    const ox_allocator allocator = {barely_aligned, &all};
    for (size_t size = 1; size < 200; size++) {
        ox_pile pile;
        ox_pile_init(&pile, &allocator);
        ck_assert_ptr_nonnull(ox_pile_get(&pile, 1 + size % OX_ALIGN));
        unsigned char *block = ox_pile_aligned(&pile, size);
        ck_assert_ptr_nonnull(block);
        ck_assert(ox_is_aligned(block));
        fill(block, size, 1);
        unsigned char *next = ox_pile_get(&pile, size);
        ck_assert_ptr_nonnull(next);
        ck_assert(is_filled(block, size, 1));
        fill(next, size, 2);
        ck_assert(is_filled(block, size, 1));
        ox_pile_free(&pile);
    }
}
END_TEST

START_TEST(what_does_not_fit_leaves_the_block_as_it_was) {
    if (OX_MAPPED_BYTES == SIZE_MAX)
        return; /* the sanitizers end the program instead */
    const ox_allocator *allocator = ox_default_allocator();
    static const size_t too_much[] = {SIZE_MAX, SIZE_MAX - (1 << 20), SIZE_MAX / 2};
    const size_t size = _i ? 8 << 20 : 100;
    unsigned char *block = ox_alloc(allocator, size);
    ck_assert_ptr_nonnull(block);
    fill(block, size, 0);
    for (int i = 0; i < 3; i++)
        ck_assert_ptr_null(allocator->resize(allocator->context, block, size, too_much[i]));
    ck_assert(is_filled(block, size, 0));
    ox_release(allocator, block, size);
}
END_TEST

Suite *ox_suite_memory(void);
Suite *ox_suite_memory(void) {
    Suite *suite = suite_create("memory");
    TCase *tests = tcase_create("memory");
    tcase_add_test(tests, blocks_of_all_sizes);
    tcase_add_test(tests, a_block_keeps_its_bytes_when_it_grows_and_shrinks);
    tcase_add_test(tests, aligned_blocks_of_a_pile_are_apart);
    tcase_add_loop_test(tests, what_does_not_fit_leaves_the_block_as_it_was, 0, 2);
    suite_add_tcase(suite, tests);
    return suite;
}
