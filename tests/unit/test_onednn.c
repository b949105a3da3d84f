/* test_onednn.c: StaticUnsqueeze and StaticExpand: the views they give, that they are those of ONNX's Unsqueeze and
 * Expand, that nothing is copied, and the error of every violation. */
#include "own_model.h"
#include "tests/unit/call.h"

#include <check.h>
#include <string.h>

#define DOMAIN "onednn.graph"

static test_call a, b;

static void begin(test_call *t, const char *op) {
    test_call_begin(t, "Identity", 13);
    t->call.op = ox_op_find(DOMAIN, op, 1, NULL);
    ck_assert_ptr_nonnull(t->call.op);
    t->call.version = 1;
}

static void end(void) {
    test_call_end(&a);
    test_call_end(&b);
}

static void must_view(test_call *t, int rank, const int64_t *dims, const int64_t *strides) {
    ck_assert_msg(test_call_infer(t, 1) == OX_OK, "%s", t->error.text);
    const ox_result *r = &t->results[0];
    ck_assert_int_eq(r->rank, rank);
    ck_assert_int_eq(r->view_of, 0);
    ck_assert_int_eq(r->offset, 0);
    ck_assert_mem_eq(r->dims, dims, (size_t)rank * sizeof *dims);
    for (int d = 0; d < rank; d++) /* how far apart the elements of an axis of one are says nothing */
        ck_assert(dims[d] == 1 || r->strides[d] == strides[d]);
}

static void must_fail(test_call *t, ox_status status, const char *text) {
    t->call.attr_status = OX_OK;
    ck_assert_int_eq(test_call_infer(t, 1), status);
    ck_assert_msg(strstr(t->error.text, text), "no '%s' in: %s", text, t->error.text);
}

/* ---- StaticUnsqueeze -------------------------------------------------------------------------------------------- */

static const ox_dtype types[] = {OX_FLOAT, OX_FLOAT16, OX_BFLOAT16};

/* Every dim of [-rank - 1, rank] for ranks 0 to 3, on packed memory and on a view, beside ONNX's Unsqueeze. */
START_TEST(test_unsqueeze) {
    static const int64_t dims[] = {2, 3, 4}, strides[] = {64, 0, -4};
    int rank = _i / 2;
    for (int64_t dim = -rank - 1; dim <= rank; dim++) {
        begin(&a, "StaticUnsqueeze");
        test_call_strided(&a, types[_i % 3], rank, dims, _i % 2 ? strides : NULL, NULL);
        test_call_int(&a, "dim", dim);
        test_call_begin(&b, "Unsqueeze", 13);
        test_call_strided(&b, types[_i % 3], rank, dims, _i % 2 ? strides : NULL, NULL);
        test_call_list(&b, dim);
        ck_assert_int_eq(test_call_infer(&b, 1), OX_OK);
        must_view(&a, b.results[0].rank, b.results[0].dims, b.results[0].strides);
        ck_assert_int_eq(a.results[0].dims[dim < 0 ? dim + rank + 1 : dim], 1);
        end();
    }
}
END_TEST

START_TEST(test_unsqueeze_errors) {
    begin(&a, "StaticUnsqueeze");
    test_call_input(&a, OX_FLOAT, DIMS(2, 3), NULL);
    must_fail(&a, OX_ERROR_MODEL, "attribute 'dim' is missing");
    test_call_int(&a, "dim", 3);
    must_fail(&a, OX_ERROR_SHAPE, "attribute 'dim': axis 3 is out of range for rank 2 (-3 to 2)");
    a.attrs[0].u.i = -4;
    must_fail(&a, OX_ERROR_SHAPE, "attribute 'dim': axis -4");
    a.attrs[0].kind = OX_ATTR_FLOAT;
    must_fail(&a, OX_ERROR_MODEL, "attribute 'dim' is of type float, expected int");
    a.inputs[0].dtype = OX_DOUBLE;
    must_fail(&a, OX_ERROR_UNSUPPORTED, "type double");
    a.inputs[0].dtype = OX_FLOAT;
    a.inputs[0].rank = OX_MAX_RANK;
    a.attrs[0] = (ox_attr){.name = "dim", .kind = OX_ATTR_INT};
    must_fail(&a, OX_ERROR_LIMIT, "rank 65");
    end();
}
END_TEST

/* ---- StaticExpand ----------------------------------------------------------------------------------------------- */

static void put_shape(test_call *t, int rank, const int64_t *dims) {
    test_call_ints(t, "target_shape", (size_t)rank, dims);
}

static void put_axes(test_call *t, int count, const int64_t *axes) {
    test_call_ints(t, "axes_mapping", (size_t)count, axes);
}

/* Without axes_mapping it is ONNX's Expand. */
START_TEST(test_expand) {
    static const int64_t strides[] = {0, 4, -40};
    static const struct {
        int64_t from[3], to[3];
    } cases[] = {{{1, 3, 1}, {2, 3, 4}}, {{2, 3, 4}, {2, 3, 4}}, {{1, 1, 1}, {5, 1, 0}}, {{1, 0, 2}, {3, 0, 2}}};
    begin(&a, "StaticExpand");
    test_call_strided(&a, types[_i % 3], 3, cases[_i / 2].from, _i % 2 ? strides : NULL, NULL);
    put_shape(&a, 3, cases[_i / 2].to);
    test_call_begin(&b, "Expand", 13);
    test_call_strided(&b, types[_i % 3], 3, cases[_i / 2].from, _i % 2 ? strides : NULL, NULL);
    test_call_list(&b, cases[_i / 2].to[0], cases[_i / 2].to[1], cases[_i / 2].to[2]);
    ck_assert_int_eq(test_call_infer(&b, 1), OX_OK);
    must_view(&a, 3, b.results[0].dims, b.results[0].strides);
    end();
}
END_TEST

START_TEST(test_axes_mapping) {
    begin(&a, "StaticExpand"); /* [C] to [N,C,H,W] */
    test_call_input(&a, OX_FLOAT, DIMS(5), NULL);
    put_shape(&a, DIMS(2, 5, 3, 4));
    put_axes(&a, DIMS(1));
    must_view(&a, DIMS(2, 5, 3, 4), (const int64_t[]){0, 4, 0, 0});
    begin(&b, "StaticExpand"); /* [H,W] to [N,H,W,C] */
    test_call_input(&b, OX_BFLOAT16, DIMS(3, 4), NULL);
    put_shape(&b, DIMS(2, 3, 4, 5));
    put_axes(&b, DIMS(1, 2));
    must_view(&b, DIMS(2, 3, 4, 5), (const int64_t[]){0, 8, 2, 0});
    end();
    begin(&a, "StaticExpand"); /* axes in another order, one of them repeated */
    test_call_input(&a, OX_FLOAT, DIMS(3, 1, 4), NULL);
    put_shape(&a, DIMS(4, 7, 3));
    put_axes(&a, DIMS(2, 1, 0));
    must_view(&a, DIMS(4, 7, 3), (const int64_t[]){4, 0, 16});
    begin(&b, "StaticExpand"); /* a scalar has no axes */
    test_call_input(&b, OX_FLOAT16, DIMS(), NULL);
    put_shape(&b, DIMS(2, 3));
    put_axes(&b, DIMS());
    must_view(&b, DIMS(2, 3), (const int64_t[]){0, 0});
    end();
}
END_TEST

/* The view of an axes_mapping is that of Unsqueeze and Expand. */
START_TEST(test_pair) {
    begin(&a, "StaticExpand");
    test_call_input(&a, OX_FLOAT, DIMS(3, 4), NULL);
    put_shape(&a, DIMS(2, 3, 4, 5));
    put_axes(&a, DIMS(1, 2));
    test_call_begin(&b, "Unsqueeze", 13);
    test_call_input(&b, OX_FLOAT, DIMS(3, 4), NULL);
    test_call_list(&b, 0, 3);
    ck_assert_int_eq(test_call_infer(&b, 1), OX_OK);
    const ox_result middle = b.results[0];
    test_call_end(&b);
    test_call_begin(&b, "Expand", 13);
    test_call_strided(&b, OX_FLOAT, middle.rank, middle.dims, middle.strides, NULL);
    test_call_list(&b, 2, 3, 4, 5);
    ck_assert_int_eq(test_call_infer(&b, 1), OX_OK);
    must_view(&a, 4, b.results[0].dims, b.results[0].strides);
    end();
}
END_TEST

typedef struct list {
    int count;
    int64_t at[4];
} list;

static const struct {
    list from, shape, axes; /* axes.count -1: not given */
    ox_status status;
    const char *text;
} wrong[] = {
    {{2, {3, 1}},
     {3, {2, 3, 4}},
     {-1, {0}},
     OX_ERROR_SHAPE,
     "'target_shape' has 3 dimensions and src has rank 2: they must be equal without 'axes_mapping'"},
    {{2, {3, 2}},
     {2, {3, 4}},
     {-1, {0}},
     OX_ERROR_SHAPE,
     "'target_shape': axis 1 is 4, but axis 1 of src is 2, which cannot be repeated"},
    {{2, {3, 2}}, {2, {3, 1}}, {-1, {0}}, OX_ERROR_SHAPE, "axis 1 is 1, but axis 1 of src is 2"},
    {{1, {0}}, {1, {3}}, {-1, {0}}, OX_ERROR_SHAPE, "axis 0 is 3, but axis 0 of src is 0"},
    {{2, {3, 1}}, {2, {3, -1}}, {-1, {0}}, OX_ERROR_SHAPE, "attribute 'target_shape': -1 at axis 1 is negative"},
    {{1, {5}}, {2, {5, 5}}, {2, {0, 1}}, OX_ERROR_SHAPE, "attribute 'axes_mapping' has 2 axes, but src has rank 1"},
    {{2, {5, 5}}, {2, {5, 5}}, {0, {0}}, OX_ERROR_SHAPE, "attribute 'axes_mapping' has 0 axes, but src has rank 2"},
    {{2, {5, 5}}, {2, {5, 5}}, {2, {1, 1}}, OX_ERROR_SHAPE, "attribute 'axes_mapping' names axis 1 twice"},
    {{1, {5}},
     {2, {5, 5}},
     {1, {2}},
     OX_ERROR_SHAPE,
     "attribute 'axes_mapping': axis 2 is out of range for 'target_shape' of rank 2"},
    {{1, {5}}, {2, {5, 5}}, {1, {-1}}, OX_ERROR_SHAPE, "attribute 'axes_mapping': axis -1 is out of range"},
    {{1, {5}}, {2, {5, 4}}, {1, {1}}, OX_ERROR_SHAPE, "'target_shape': axis 1 is 4, but axis 0 of src is 5"},
    {{1, {1}}, {2, {INT64_MAX, 4}}, {1, {1}}, OX_ERROR_LIMIT, "too large"},
};

START_TEST(test_expand_errors) {
    begin(&a, "StaticExpand");
    test_call_input(&a, OX_FLOAT, wrong[_i].from.count, wrong[_i].from.at, NULL);
    put_shape(&a, wrong[_i].shape.count, wrong[_i].shape.at);
    if (wrong[_i].axes.count >= 0)
        put_axes(&a, wrong[_i].axes.count, wrong[_i].axes.at);
    must_fail(&a, wrong[_i].status, wrong[_i].text);
    end();
}
END_TEST

START_TEST(test_expand_attributes) {
    static const int64_t ones[65] = {0};
    begin(&a, "StaticExpand");
    test_call_input(&a, OX_FLOAT, DIMS(1), NULL);
    must_fail(&a, OX_ERROR_MODEL, "attribute 'target_shape' is missing");
    put_shape(&a, 65, ones);
    must_fail(&a, OX_ERROR_LIMIT, "attribute 'target_shape' has 65 dimensions, at most 64");
    a.attrs[0].kind = OX_ATTR_INT;
    must_fail(&a, OX_ERROR_MODEL, "attribute 'target_shape' is of type int, expected ints");
    a.attrs[0].kind = OX_ATTR_INTS;
    a.attrs[0].count = 1;
    test_call_int(&a, "axes_mapping", 0);
    must_fail(&a, OX_ERROR_MODEL, "attribute 'axes_mapping' is of type int, expected ints");
    a.inputs[0].dtype = OX_INT32;
    must_fail(&a, OX_ERROR_UNSUPPORTED, "type int32");
    end();
}
END_TEST

/* ---- In a model ------------------------------------------------------------------------------------------------- */

/* A small input, expanded and summed up: no buffer of the expanded size is ever there. */
START_TEST(test_moves_nothing) {
    static own_model m;
    static const int64_t two_by_3[] = {2, 3}, shape[] = {1000, 2, 3, 1000}, axes[] = {1, 2}, result[] = {1, 2, 3, 1};
    const int64_t sides[] = {0, 3};
    float x[] = {1, 2, 3, 4, 5, 6}, sums[6];
    ox_bytes expand = {0}, squeeze = {0};
    ox_memory_info memory;
    own_ints(&expand, "target_shape", 4, shape);
    own_ints(&expand, "axes_mapping", 2, axes);
    ox_put_attr_int(&squeeze, "dim", 1);
    own_begin(&m, DOMAIN, 1);
    ox_put_input(&m.graph, "x", OX_FLOAT, 2, two_by_3);
    ox_put_initializer(&m.graph, "sides", OX_INT64, 1, (const int64_t[]){2}, sides);
    own_node(&m, "StaticUnsqueeze", "x", "u", &squeeze);
    ox_put_initializer(&m.graph, "one", OX_INT64, 1, (const int64_t[]){1}, (const int64_t[]){1});
    ox_put_node(&m.graph, "Squeeze", "u,one", "s", NULL);
    own_node(&m, "StaticExpand", "s", "e", &expand);
    ox_put_node(&m.graph, "ReduceMax", "e,sides", "y", NULL);
    ox_put_output(&m.graph, "y", OX_FLOAT, -1, NULL);
    ck_assert_msg(own_load(&m) == OX_OK, "%s", m.error.text);
    ck_assert_msg(own_run(&m, 1, &(ox_tensor){OX_FLOAT, 2, two_by_3, NULL, x}) == OX_OK, "%s", m.error.text);
    memcpy(sums, x, sizeof sums);
    own_check(&m, 4, result, sums);
    ox_session_memory(m.session, &memory);
    ck_assert_uint_lt(memory.arena_bytes, 1 << 20);
    own_end(&m);
}
END_TEST

/* A newer version of the domain may mean something else. */
START_TEST(test_version) {
    static own_model m;
    const int64_t three[] = {3};
    ox_bytes attrs = {0};
    ox_put_attr_int(&attrs, "dim", 0);
    own_begin(&m, DOMAIN, 2);
    ox_put_input(&m.graph, "x", OX_FLOAT, 1, three);
    own_node(&m, "StaticUnsqueeze", "x", "y", &attrs);
    ox_put_output(&m.graph, "y", OX_FLOAT, -1, NULL);
    ck_assert_int_eq(own_load(&m), OX_ERROR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(m.error.text, "opset 2 of domain 'onednn.graph' is newer than 1"));
    own_end(&m);
}
END_TEST

Suite *ox_suite_onednn(void) {
    Suite *suite = suite_create("onednn");
    TCase *tests = tcase_create("onednn");
    tcase_add_loop_test(tests, test_unsqueeze, 0, 8);
    tcase_add_test(tests, test_unsqueeze_errors);
    tcase_add_loop_test(tests, test_expand, 0, 8);
    tcase_add_test(tests, test_axes_mapping);
    tcase_add_test(tests, test_pair);
    tcase_add_loop_test(tests, test_expand_errors, 0, sizeof wrong / sizeof *wrong);
    tcase_add_test(tests, test_expand_attributes);
    tcase_add_test(tests, test_moves_nothing);
    tcase_add_test(tests, test_version);
    suite_add_tcase(suite, tests);
    return suite;
}
