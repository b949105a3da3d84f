/* test_values.c: values that are no tensors: made, read, given to sessions, and grown without copies. */
#include "own_model.h"
#include "value.h"

#include <check.h>
#include <string.h>

/* Fields of ValueInfoProto, TypeProto and GraphProto. */
enum {
    NAME = 1,
    TYPE = 2,
    ELEMENT = 1,
    TENSOR = 1,
    SEQUENCE = 4,
    OPTIONAL = 9,
    INPUT = 11,
    OUTPUT = 12
};

static ox_error error;

/* A float as a value of its own. */
static ox_value *number(float x) {
    ox_value *value;
    const ox_tensor t = {.dtype = OX_FLOAT, .data = &x};
    ck_assert_int_eq(ox_value_from_tensor(&t, NULL, &value, &error), OX_OK);
    return value;
}

static ox_value *sequence(int count) {
    const ox_value *items[8] = {0};
    ox_value *value;
    for (int i = 0; i < count; i++)
        items[i] = number((float)i);
    ck_assert_int_eq(ox_value_from_items(OX_KIND_SEQUENCE, NULL, items, (size_t)count, NULL, &value, &error), OX_OK);
    for (int i = 0; i < count; i++)
        ox_value_free((ox_value *)(uintptr_t)items[i]);
    return value;
}

static float number_at(const ox_value *list, size_t i) {
    return *(const float *)ox_value_tensor(ox_value_item(list, i))->data;
}

START_TEST(values_own_what_they_are_made_of) {
    const char *words[] = {"one", "two"};
    ox_string keys[] = {{words[0], 3}, {words[1], 3}};
    const int64_t two = 2;
    const ox_tensor list = {OX_STRING, 1, &two, NULL, keys};
    ox_value *one = number(1), *map, *optional;
    const ox_value *items[] = {one, one};
    char type[OX_TYPE_TEXT];
    ck_assert_int_eq(ox_value_from_items(OX_KIND_MAP, &list, items, 2, NULL, &map, &error), OX_OK);
    items[0] = map;
    ck_assert_int_eq(ox_value_from_items(OX_KIND_OPTIONAL, NULL, items, 1, NULL, &optional, &error), OX_OK);
    ox_value_free(one);
    ox_value_free(map);
    ck_assert_str_eq(ox_value_type(optional, type), "optional(map(string,tensor(float)))");
    const ox_value *inner = ox_value_item(optional, 0);
    ck_assert_int_eq(ox_value_kind(inner), OX_KIND_MAP);
    ck_assert_uint_eq(ox_value_count(inner), 2);
    ck_assert(number_at(inner, 1) == 1);
    const ox_string *kept = ox_value_keys(inner)->data;
    ck_assert(kept[1].size == 3 && !memcmp(kept[1].data, "two", 3) && kept[1].data != words[1]);
    ck_assert_ptr_null(ox_value_tensor(inner));
    ck_assert_ptr_null(ox_value_item(optional, 1));
    ox_value_free(optional);
}
END_TEST

START_TEST(values_that_cannot_be) {
    int64_t whole = 7;
    const int64_t one_key = 1;
    const ox_tensor integer = {.dtype = OX_INT64, .data = &whole}, real_keys = {OX_FLOAT, 1, &one_key, NULL, &whole};
    ox_value *one = number(1), *two, *none;
    ck_assert_int_eq(ox_value_from_tensor(&integer, NULL, &two, &error), OX_OK);
    const ox_value *items[] = {one, two};
    ck_assert_int_eq(ox_value_from_items(OX_KIND_SEQUENCE, NULL, items, 2, NULL, &none, &error), OX_ERROR_SHAPE);
    ck_assert_str_eq(error.text, "item 1 is of type int64, those before it of type float");
    ck_assert_int_eq(ox_value_from_items(OX_KIND_OPTIONAL, NULL, items, 2, NULL, &none, &error), OX_ERROR_LIMIT);
    ck_assert_int_eq(ox_value_from_items(OX_KIND_MAP, &real_keys, items, 1, NULL, &none, &error), OX_ERROR_ARGUMENT);
    ck_assert_ptr_null(none);
    ox_value *nested = one;
    for (int level = 0; level < 7; level++) {
        const ox_value *item = nested;
        const ox_status status = ox_value_from_items(OX_KIND_SEQUENCE, NULL, &item, 1, NULL, &none, &error);
        ck_assert_int_eq(status, level < 6 ? OX_OK : OX_ERROR_ARGUMENT);
        ox_value_free(nested);
        nested = none;
    }
    ck_assert_ptr_null(nested);
    ox_value_free(two);
}
END_TEST

/* ---- Lists ---------------------------------------------------------------------------------------------------- */

static ox_pile pile;

static void check_list(const ox_value *list, size_t count, const ox_value *const *items) {
    ck_assert_uint_eq(list->count, count);
    for (size_t i = 0; i < count; i++)
        ck_assert_ptr_eq(list->items[i], items[i]);
}

/* Every list stays as it is, whatever grows from it. */
START_TEST(lists_share_what_does_not_change) {
    ox_value some[5];
    const ox_value **room;
    ox_pile_init(&pile, ox_default_allocator());
    const ox_value *a = &some[0], *b = &some[1], *c = &some[2], *d = &some[3];
    const ox_value *none = ox_make_list(&pile, OX_FLOAT, 0, &room);
    const ox_value *la = ox_list_insert(&pile, none, 0, a), *lab = ox_list_insert(&pile, la, 1, b),
                   *lac = ox_list_insert(&pile, la, 1, c), *labc = ox_list_insert(&pile, lab, 2, c),
                   *ladb = ox_list_insert(&pile, lab, 1, d), *ldab = ox_list_insert(&pile, lab, 0, d),
                   *lcdab = ox_list_insert(&pile, ldab, 0, c), *lbdab = ox_list_insert(&pile, ldab, 0, b),
                   *lbc = ox_list_erase(&pile, labc, 0), *lac2 = ox_list_erase(&pile, labc, 1),
                   *lb = ox_list_erase(&pile, lbc, 1), *lbd = ox_list_insert(&pile, lb, 1, d);
    check_list(none, 0, NULL);
    check_list(la, 1, (const ox_value *[]){a});
    check_list(lab, 2, (const ox_value *[]){a, b});
    check_list(lac, 2, (const ox_value *[]){a, c});
    check_list(labc, 3, (const ox_value *[]){a, b, c});
    check_list(ladb, 3, (const ox_value *[]){a, d, b});
    check_list(ldab, 3, (const ox_value *[]){d, a, b});
    check_list(lcdab, 4, (const ox_value *[]){c, d, a, b});
    check_list(lbdab, 4, (const ox_value *[]){b, d, a, b});
    check_list(lbc, 2, (const ox_value *[]){b, c});
    check_list(lac2, 2, (const ox_value *[]){a, c});
    check_list(lb, 1, (const ox_value *[]){b});
    check_list(lbd, 2, (const ox_value *[]){b, d});
    ox_pile_free(&pile);
}
END_TEST

/* 100,000 items, at either end, take memory for so many, not for so many squared. */
START_TEST(lists_grow_at_both_ends) {
    const ox_value item = {.type = OX_FLOAT}, **room;
    ox_pile_init(&pile, ox_default_allocator());
    const ox_value *list = ox_make_list(&pile, OX_FLOAT, 0, &room);
    for (size_t i = 0; i < 100000; i++)
        list = ox_list_insert(&pile, list, i % 3 ? list->count : 0, &item);
    ck_assert_uint_eq(list->count, 100000);
    for (size_t i = 0; i < list->count; i++)
        ck_assert_ptr_eq(list->items[i], &item);
    ck_assert_uint_lt(pile.given, (size_t)100000 * (sizeof item + 16) + (size_t)100000 * 64);
    ox_pile_free(&pile);
}
END_TEST

/* ---- Sessions ------------------------------------------------------------------------------------------------- */

static void put_port(ox_bytes *graph, int field, const char *name, int kind) {
    ox_bytes info = {0}, type = {0}, around = {0}, tensor = {0};
    ox_put_int(&tensor, ELEMENT, OX_FLOAT);
    ox_put_message(&type, TENSOR, &tensor);
    if (kind) {
        ox_put_message(&around, ELEMENT, &type);
        type = (ox_bytes){0};
        ox_put_message(&type, kind, &around);
    }
    ox_put_text(&info, NAME, name);
    ox_put_message(&info, TYPE, &type);
    ox_put_message(graph, field, &info);
}

START_TEST(sessions_take_and_give_values) {
    static own_model m;
    float extra = 9;
    const ox_tensor x = {.dtype = OX_FLOAT, .data = &extra};
    ox_value *list = sequence(3), *empty = sequence(0);
    const ox_value *grown;
    ox_value_info info;
    ox_tensor out;
    m = (own_model){0};
    own_begin(&m, "", 21);
    put_port(&m.graph, INPUT, "s", SEQUENCE);
    put_port(&m.graph, INPUT, "x", 0);
    put_port(&m.graph, OUTPUT, "t", SEQUENCE);
    ox_put_node(&m.graph, "SequenceInsert", "s,x", "t", NULL);
    ck_assert_int_eq(own_load(&m), OX_OK);
    ck_assert_int_eq(ox_model_input(m.model, 0, &info), OX_OK);
    ck_assert_int_eq(info.kind, OX_KIND_SEQUENCE);
    ck_assert_str_eq(info.type, "seq(tensor(float))");
    ck_assert_int_eq(ox_session_set_input(m.session, 0, &x, &error), OX_ERROR_ARGUMENT);
    ck_assert_int_eq(ox_session_set_value(m.session, 1, list, &error), OX_ERROR_SHAPE);
    ck_assert_str_eq(error.text, "model: input 'x' is of type seq(tensor(float)), the model wants float");
    ck_assert_int_eq(ox_session_set_input(m.session, 1, &x, &error), OX_OK);
    for (int turn = 0; turn < 3; turn++) {
        ck_assert_int_eq(ox_session_set_value(m.session, 0, turn == 1 ? empty : list, &error), OX_OK);
        ck_assert_int_eq(ox_session_run(m.session, &error), OX_OK);
        ck_assert_int_eq(ox_session_output_value(m.session, 0, &grown, &error), OX_OK);
        const size_t before = turn == 1 ? 0 : 3;
        ck_assert_uint_eq(ox_value_count(grown), before + 1);
        ck_assert(number_at(grown, before) == 9);
        ck_assert(!before || number_at(grown, 2) == 2);
        ck_assert_int_eq(ox_session_output(m.session, 0, &out, &error), OX_ERROR_ARGUMENT);
    }
    own_end(&m);
    ox_value_free(list);
    ox_value_free(empty);
}
END_TEST

Suite *ox_suite_values(void);
Suite *ox_suite_values(void) {
    Suite *suite = suite_create("values");
    TCase *tests = tcase_create("values");
    tcase_add_test(tests, values_own_what_they_are_made_of);
    tcase_add_test(tests, values_that_cannot_be);
    tcase_add_test(tests, lists_share_what_does_not_change);
    tcase_add_test(tests, lists_grow_at_both_ends);
    tcase_add_test(tests, sessions_take_and_give_values);
    suite_add_tcase(suite, tests);
    return suite;
}
