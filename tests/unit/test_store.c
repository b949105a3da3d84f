/* test_store.c: what is made of weights once for all sessions. */
#include "src/store.h"

#include <check.h>
#include <string.h>

/* An ox_store_fn: fills a block of 100 bytes, and counts. */
static int made;
static void fill(const void *context, void *block) {
    memset(block, *(const char *)context, 100);
    made++;
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
    const ox_store_key one = {.data = &made, .dims = {2, 3}}, other = {.data = &made, .dims = {3, 2}};
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

START_TEST(beyond_the_limit_there_is_no_block) {
    ox_store *store;
    made = 0;
    ck_assert_int_eq(ox_store_create(ox_default_allocator(), 150, &store, NULL), OX_OK);
    ck_assert_ptr_null(get(store, &(const ox_store_key){.kind = 1}, 'a'));
    ck_assert_uint_eq(ox_store_bytes(store), 0);
    ck_assert_int_eq(made, 0);
    ox_store_free(store);
}
END_TEST

Suite *ox_suite_store(void);
Suite *ox_suite_store(void) {
    Suite *suite = suite_create("store");
    TCase *tests = tcase_create("store");
    tcase_add_test(tests, blocks_are_made_once);
    tcase_add_test(tests, beyond_the_limit_there_is_no_block);
    suite_add_tcase(suite, tests);
    return suite;
}
