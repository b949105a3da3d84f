/* test_store.c: what is made of weights once for all sessions. */
#include "src/store.h"
#include "src/tensor.h"

#include <check.h>
#include <string.h>

/* An ox_store_fn: fills a block of 100 bytes, and counts. */
static int made;
static void fill(const void *context, void *block) {
    memset(block, *(const char *)context, 100);
    made++;
}

typedef struct sized {
    size_t size;
    char letter;
} sized;
static void fill_sized(const void *context, void *block) {
    const sized *s = context;
    memset(block, s->letter, s->size);
}

static const char *get(ox_store *store, const ox_store_key *key, char letter) {
    const void *block;
    ck_assert_int_eq(ox_store_get(store, key, 100, fill, &letter, &block, NULL), OX_OK);
    return block;
}

START_TEST(blocks_are_made_once) {
    ox_store *store;
    made = 0;
    ck_assert_int_eq(ox_store_create(ox_default_allocator(), SIZE_MAX, &store, NULL), OX_OK);
    const ox_store_key one = {.weights = &made, .dims = {2, 3}}, other = {.weights = &made, .dims = {3, 2}};
    const char *block = get(store, &one, 'a');
    ck_assert_uint_eq((uintptr_t)block % OX_ALIGN, 0);
    ck_assert(block[0] == 'a' && block[99] == 'a');
    ck_assert_ptr_eq(get(store, &one, 'b'), block);
    ck_assert_int_eq(get(store, &other, 'c')[0], 'c');
    ck_assert_int_eq(block[0], 'a');
    ck_assert_int_eq(made, 2);
    ck_assert_uint_ge(ox_store_bytes(store), 200);
    ox_store_free(store);
}
END_TEST

/* Each member alone tells blocks of the same weights apart: a product's panels from a convolution's, too. */
START_TEST(keys_differ_by_every_name) {
    static const char weights[8], builds[2];
    const ox_store_key first = {
        .layout = OX_LAYOUT_PANELS, .dtype = OX_FLOAT, .weights = weights, .build = builds, .dims = {4, 3, 2}};
    ox_store_key keys[9];
    const char *blocks[9];
    ox_store *store;
    for (int i = 0; i < 9; i++)
        keys[i] = first;
    keys[1].layout = OX_LAYOUT_ROWS;
    keys[2].dtype = OX_INT32;
    keys[3].weights = weights + 1;
    keys[4].build = builds + 1;
    keys[5].groups = 2;
    keys[6].variant = 4;
    keys[7].dims[2] = 3;
    keys[8].strides[5] = 1;
    made = 0;
    ck_assert_int_eq(ox_store_create(ox_default_allocator(), SIZE_MAX, &store, NULL), OX_OK);
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < 9; i++) {
            const char *block = get(store, &keys[i], (char)('a' + i));
            ck_assert(turn ? block == blocks[i] : block[0] == 'a' + i);
            blocks[i] = block;
        }
    ck_assert_int_eq(made, 9);
    ox_store_free(store);
}
END_TEST

/* As many as a large model has, of which some are of the same data: the table grows several times. */
START_TEST(many_blocks_are_found_again) {
    enum {
        COUNT = 1000
    };
    static char weights[COUNT];
    const char *blocks[COUNT];
    ox_store *store;
    made = 0;
    ck_assert_int_eq(ox_store_create(ox_default_allocator(), SIZE_MAX, &store, NULL), OX_OK);
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < COUNT; i++) {
            const ox_store_key key = {.weights = &weights[i / 4 * 4], .dims = {i % 4}};
            const char *block = get(store, &key, (char)i);
            ck_assert(turn ? block == blocks[i] : block[0] == (char)i);
            blocks[i] = block;
        }
    ck_assert_int_eq(made, COUNT);
    ox_store_free(store);
}
END_TEST

START_TEST(beyond_the_limit_there_is_no_block) {
    ox_store *store;
    made = 0;
    ck_assert_int_eq(ox_store_create(ox_default_allocator(), 150, &store, NULL), OX_OK);
    ck_assert_ptr_null(get(store, &(const ox_store_key){.variant = 1}, 'a'));
    ck_assert_uint_eq(ox_store_bytes(store), 0);
    ck_assert_int_eq(made, 0);
    ox_store_free(store);
}
END_TEST

/* An ox_store_read_fn. */
static const void *told;
static size_t told_bytes;
static int tellings;
static void tell(const void *context, const void *data, size_t bytes) {
    ck_assert_ptr_eq(context, &tellings);
    told = data, told_bytes = bytes;
    tellings++;
}

START_TEST(what_is_read_is_told_once) {
    static const char weights[8];
    ox_store *store;
    ck_assert_int_eq(ox_store_create(ox_default_allocator(), SIZE_MAX, &store, NULL), OX_OK);
    ox_store_tell(store, tell, &tellings);
    get(store, &(const ox_store_key){.weights = weights + 1}, 'a'); /* no memory */
    ck_assert_int_eq(tellings, 0);
    for (int i = 0; i < 2; i++) {
        get(store, &(const ox_store_key){.weights = weights, .bytes = sizeof weights}, 'b');
        ck_assert_int_eq(tellings, 1);
        ck_assert(told == weights && told_bytes == sizeof weights);
    }
    ox_store_free(store);
}
END_TEST

START_TEST(spans_of_tensors) {
    const int64_t dims[] = {2, 1, 3}, none[] = {2, 0}, packed[] = {12, 12, 4}, apart[] = {100, -1, 8};
    const int64_t repeated[] = {0, 0, 4}, back[] = {12, 12, -4};
    ck_assert_uint_eq(ox_tensor_span(&(ox_tensor){OX_FLOAT, 3, dims, NULL, NULL}), 24);
    ck_assert_uint_eq(ox_tensor_span(&(ox_tensor){OX_FLOAT, 3, dims, packed, NULL}), 24);
    ck_assert_uint_eq(ox_tensor_span(&(ox_tensor){OX_FLOAT, 3, dims, apart, NULL}), 120);
    ck_assert_uint_eq(ox_tensor_span(&(ox_tensor){OX_FLOAT, 3, dims, repeated, NULL}), 12);
    ck_assert_uint_eq(ox_tensor_span(&(ox_tensor){OX_FLOAT, 3, dims, back, NULL}), 0);
    ck_assert_uint_eq(ox_tensor_span(&(ox_tensor){OX_FLOAT, 2, none, NULL, NULL}), 0);
    ck_assert_uint_eq(ox_tensor_span(&(ox_tensor){OX_FLOAT, 0, NULL, NULL, NULL}), 4);
}
END_TEST

/* Blocks of all sizes, whether more or less was expected, are aligned and apart from each other. */
START_TEST(blocks_share_chunks) {
    static const size_t expected[] = {0, 1, 10000, SIZE_MAX};
    enum {
        COUNT = 200
    };
    for (size_t e = 0; e < sizeof expected / sizeof *expected; e++) {
        const char *blocks[COUNT];
        ox_store *store;
        ck_assert_int_eq(ox_store_create(ox_default_allocator(), SIZE_MAX, &store, NULL), OX_OK);
        ox_store_expect(store, expected[e]);
        for (int i = 0; i < COUNT; i++) {
            const ox_store_key key = {.variant = i};
            const sized s = {(size_t)(i * 7919 % 20011), (char)i};
            ck_assert_int_eq(ox_store_get(store, &key, s.size, fill_sized, &s, (const void **)&blocks[i], NULL), OX_OK);
            ck_assert_uint_eq((uintptr_t)blocks[i] % OX_ALIGN, 0);
        }
        size_t wrong = 0;
        for (int i = 0; i < COUNT; i++)
            for (size_t j = 0; j < (size_t)(i * 7919 % 20011); j++)
                wrong += blocks[i][j] != (char)i;
        ck_assert_uint_eq(wrong, 0);
        ox_store_free(store);
    }
}
END_TEST

/* Large pages take what is touched as a whole: blocks of whole large pages touch no others. */
START_TEST(large_blocks_lie_side_by_side) {
    const sized s = {16 << 20, 'a'};
    const char *blocks[2];
    ox_store *store;
    ck_assert_int_eq(ox_store_create(ox_default_allocator(), SIZE_MAX, &store, NULL), OX_OK);
    ox_store_expect(store, 4 * s.size);
    for (int i = 0; i < 2; i++) {
        const ox_store_key key = {.variant = i};
        ck_assert_int_eq(ox_store_get(store, &key, s.size, fill_sized, &s, (const void **)&blocks[i], NULL), OX_OK);
    }
    ck_assert_int_eq(blocks[1] - blocks[0], s.size);
    ox_store_free(store);
}
END_TEST

/* Gives as much as is asked for, up to a size; counts what it has given and not got back. */
typedef struct small_memory {
    size_t most, given;
} small_memory;
static void *small_resize(void *context, void *block, size_t old_size, size_t new_size) {
    small_memory *memory = context;
    if (new_size > memory->most)
        return NULL;
    memory->given += new_size - old_size;
    return ox_default_allocator()->resize(ox_default_allocator()->context, block, old_size, new_size);
}

START_TEST(without_memory_for_more_there_is_one_block) {
    small_memory memory = {.most = 2000};
    ox_store *store;
    ck_assert_int_eq(ox_store_create(&(ox_allocator){small_resize, &memory}, SIZE_MAX, &store, NULL), OX_OK);
    ox_store_expect(store, 1 << 20);
    for (int i = 0; i < 5; i++)
        ck_assert_ptr_nonnull(get(store, &(const ox_store_key){.variant = i}, 'a'));
    const sized large = {2000, 'b'};
    const void *block;
    ck_assert_int_eq(ox_store_get(store, &(const ox_store_key){.variant = 9}, 2000, fill_sized, &large, &block, NULL),
                     OX_ERROR_MEMORY);
    ck_assert_ptr_null(block);
    ox_store_free(store);
    ck_assert_uint_eq(memory.given, 0);
}
END_TEST

Suite *ox_suite_store(void);
Suite *ox_suite_store(void) {
    Suite *suite = suite_create("store");
    TCase *tests = tcase_create("store");
    tcase_add_test(tests, blocks_are_made_once);
    tcase_add_test(tests, keys_differ_by_every_name);
    tcase_add_test(tests, many_blocks_are_found_again);
    tcase_add_test(tests, beyond_the_limit_there_is_no_block);
    tcase_add_test(tests, what_is_read_is_told_once);
    tcase_add_test(tests, spans_of_tensors);
    tcase_add_test(tests, blocks_share_chunks);
    tcase_add_test(tests, large_blocks_lie_side_by_side);
    tcase_add_test(tests, without_memory_for_more_there_is_one_block);
    suite_add_tcase(suite, tests);
    return suite;
}
