/* test_plans.c: the memory that a plan takes for a node that stands alone, and for the nodes of long chains; what stays
 * in registers takes none of the arena. */
#include "samples.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum {
    FEW = 100,
    MANY = 500,
    BUFFER = 8 << 20,
    MOST_ALONE = 1024, /* bytes of a node that is a pass, or another step, by itself */
    MOST_IN_CHAIN = 256,
    MODEL_GRAPH = 7 /* a field */
};

/* ---- Models of many nodes --------------------------------------------------------------------------------------- */

/* A message that grows. */
typedef struct long_bytes {
    size_t size;
    unsigned char *data;
} long_bytes;

static void append(long_bytes *to, const void *bytes, size_t size) {
    to->data = realloc(to->data, to->size + size);
    ck_assert_ptr_nonnull(to->data);
    memcpy(to->data + to->size, bytes, size);
    to->size += size;
}

static void put_varint(long_bytes *to, size_t value) {
    for (; value > 127; value >>= 7)
        append(to, &(unsigned char){(unsigned char)(value | 128)}, 1);
    append(to, &(unsigned char){(unsigned char)value}, 1);
}

static void name_value(char text[16], int number) {
    text[0] = 'v';
    for (int i = 8; i > 0; i--, number /= 10)
        text[i] = (char)('0' + number % 10);
    text[9] = 0;
}

/* A kind of node: its inputs and attributes are in `fields`. */
typedef struct sample_node {
    const char *op, *inputs[3];
    ox_dtype result;
    int axis; /* an attribute, 0 for none */
} sample_node;

/* Node number i gives value i; in a chain it reads the value before. */
static void put_node(ox_bytes *graph, const sample_node *node, int i, bool chain) {
    char out[16], in[16], inputs[64] = "";
    ox_bytes attrs = {0};
    name_value(out, i);
    name_value(in, i - 1);
    for (int k = 0; k < 3 && node->inputs[k]; k++) {
        strcat(inputs, k ? "," : "");
        strcat(inputs, chain && i && !strcmp(node->inputs[k], "x") ? in : node->inputs[k]);
    }
    if (node->axis)
        ox_put_attr_int(&attrs, "axis", node->axis);
    ox_put_node(graph, node->op, inputs, out, &attrs);
}

/* A model of `count` nodes of a kind, all of whose results are outputs, or only the last one's. */
static long_bytes write_model(const sample_node *node, int count, bool chain) {
    static const int64_t dims[] = {4, 5}, row[] = {5}, list[] = {1};
    static const float numbers[20];
    static const int64_t one[] = {1};
    long_bytes graph = {0}, model = {0};
    ox_bytes piece = {0};
    ox_put_input(&piece, "x", OX_FLOAT, 2, dims);
    ox_put_input(&piece, "h", OX_FLOAT16, 2, dims);
    ox_put_initializer(&piece, "row", OX_FLOAT, 1, row, numbers);
    ox_put_initializer(&piece, "one", OX_FLOAT, 0, NULL, numbers);
    ox_put_initializer(&piece, "list", OX_INT64, 1, list, one);
    append(&graph, piece.data, piece.size);
    for (int i = 0; i < count; i++) {
        char name[16];
        piece.size = 0;
        name_value(name, i);
        put_node(&piece, node, i, chain);
        if (!chain || i == count - 1)
            ox_put_output(&piece, name, node->result, -1, NULL);
        append(&graph, piece.data, piece.size);
    }
    piece.size = 0;
    ox_put_versions(&piece, 18);
    append(&model, piece.data, piece.size);
    append(&model, &(unsigned char){MODEL_GRAPH << 3 | 2}, 1);
    put_varint(&model, graph.size);
    append(&model, graph.data, graph.size);
    free(graph.data);
    return model;
}

/* ---- Measuring -------------------------------------------------------------------------------------------------- */

/* What a plan takes, in memory of that allocator. */
static ox_memory_info measure(const sample_node *node, int count, bool chain, bool no_fuse,
                              const ox_allocator *allocator) {
    static float elements[20];
    static const int64_t dims[] = {4, 5};
    const ox_options options = {.allocator = allocator, .no_fuse = no_fuse};
    const ox_tensor inputs[] = {{OX_FLOAT, 2, dims, NULL, elements}, {OX_FLOAT16, 2, dims, NULL, elements}};
    ox_error error;
    ox_model *model;
    ox_session *session;
    ox_memory_info info;
    long_bytes bytes = write_model(node, count, chain);
    ck_assert_msg(!ox_model_load_memory(bytes.data, bytes.size, &options, &model, &error), "%s", error.text);
    ck_assert_int_eq(ox_session_create(model, &options, &session, &error), OX_OK);
    for (size_t i = 0; i < 2; i++)
        ck_assert_int_eq(ox_session_set_input(session, i, &inputs[i], &error), OX_OK);
    ck_assert_msg(!ox_session_prepare(session, &error), "%s", error.text);
    ox_session_memory(session, &info);
    ox_session_free(session);
    ox_model_free(model);
    free(bytes.data);
    return info;
}

/* Bytes of a plan. In a fixed buffer, memory grows by what is asked for and no more. */
static size_t plan_bytes(const sample_node *node, int count, bool chain, bool no_fuse) {
    static _Alignas(16) unsigned char buffer[BUFFER];
    ox_fixed fixed;
    const ox_allocator allocator = ox_fixed_allocator(&fixed, buffer, BUFFER);
    return measure(node, count, chain, no_fuse, &allocator).plan_bytes;
}

static void check_bytes(const sample_node *node, bool chain, bool no_fuse, size_t most) {
    const size_t few = plan_bytes(node, FEW, chain, no_fuse), many = plan_bytes(node, MANY, chain, no_fuse);
    const size_t each = (many - few) / (MANY - FEW);
    ck_assert_msg(each > 16 && each <= most, "%s takes %zu bytes of plan for each node%s, at most %zu are allowed",
                  node->op, each, no_fuse ? ", unfused" : "", most);
}

static const sample_node kinds[] = {
    {"Neg", {"x"}, OX_FLOAT, 0},
    {"Neg", {"h"}, OX_FLOAT16, 0},
    {"Add", {"x", "row"}, OX_FLOAT, 0},
    {"Pow", {"h", "h"}, OX_FLOAT16, 0},
    {"Clip", {"x", "one", "one"}, OX_FLOAT, 0},
    {"Less", {"x", "x"}, OX_BOOL, 0},
    {"Sum", {"x", "x", "row"}, OX_FLOAT, 0},
    {"Mean", {"x", "x", "row"}, OX_FLOAT, 0},
    {"QuantizeLinear", {"x", "one"}, OX_UINT8, 0},
    {"Softmax", {"x"}, OX_FLOAT, 1},
    {"ReduceSum", {"x", "list"}, OX_FLOAT, 0},
    {"Concat", {"x", "x"}, OX_FLOAT, 1},
    {"Gather", {"x", "list"}, OX_FLOAT, 0},
    {"Transpose", {"x"}, OX_FLOAT, 0},
    {"MatMul", {"x", "row"}, OX_FLOAT, 0},
};

START_TEST(nodes_that_stand_alone) {
    check_bytes(&kinds[_i], false, false, MOST_ALONE);
    check_bytes(&kinds[_i], false, true, MOST_ALONE);
}
END_TEST

START_TEST(nodes_of_chains) {
    static const sample_node neg = {"Neg", {"x"}, OX_FLOAT, 0}, add = {"Add", {"x", "row"}, OX_FLOAT, 0};
    check_bytes(&neg, true, false, MOST_IN_CHAIN);
    check_bytes(&neg, true, true, MOST_ALONE);
    check_bytes(&add, true, false, MOST_IN_CHAIN);
}
END_TEST

/* ---- The arena -------------------------------------------------------------------------------------------------- */

/* Bytes of the arena of two nodes, besides which `op` (may be NULL) reads what lies between them. */
static size_t arena_bytes(const char *op, ox_dtype result) {
    static const int64_t dims[] = {64, 64};
    const ox_tensor input = {OX_FLOAT, 2, dims, NULL, calloc(64 * 64, sizeof(float))};
    ox_bytes graph = {0}, model = {0};
    ox_model *loaded;
    ox_session *session;
    ox_memory_info info;
    ck_assert_ptr_nonnull(input.data);
    ox_put_input(&graph, "x", OX_FLOAT, 2, dims);
    ox_put_output(&graph, "y", OX_FLOAT, -1, NULL);
    ox_put_node(&graph, "Neg", "x", "between", NULL);
    if (op) {
        ox_put_output(&graph, "z", result, -1, NULL);
        ox_put_node(&graph, op, "between", "z", NULL);
    }
    ox_put_node(&graph, "Neg", "between", "y", NULL);
    ox_put_model(&model, &graph, 17);
    ck_assert_int_eq(ox_model_load_memory(model.data, model.size, NULL, &loaded, NULL), OX_OK);
    ck_assert_int_eq(ox_session_create(loaded, NULL, &session, NULL), OX_OK);
    ck_assert_int_eq(ox_session_set_input(session, 0, &input, NULL), OX_OK);
    ck_assert_int_eq(ox_session_run(session, NULL), OX_OK);
    ox_session_memory(session, &info);
    ox_session_free(session);
    ox_model_free(loaded);
    free(input.data);
    return info.arena_bytes;
}

/* Where gaps would be looked for between too many values that are there at once, each has a place of its own. */
START_TEST(many_at_once) {
    enum {
        COUNT = 3000 /* each has all before it as neighbours */
    };
    static const sample_node neg = {"Neg", {"x"}, OX_FLOAT, 0};
    ck_assert_uint_ge(measure(&neg, COUNT, false, true, NULL).arena_bytes, COUNT * 20 * sizeof(float));
}
END_TEST

/* A node that reads elements makes a pass store them; one that reads a shape does not. */
START_TEST(shapes_that_are_read) {
    const size_t alone = arena_bytes(NULL, OX_FLOAT), matrix = 64 * 64 * sizeof(float);
    ck_assert_uint_lt(alone, 2 * matrix);
    ck_assert_uint_lt(arena_bytes("Shape", OX_INT64), 2 * matrix);
    ck_assert_uint_lt(arena_bytes("Size", OX_INT64), 2 * matrix);
    ck_assert_uint_ge(arena_bytes("Det", OX_FLOAT), 2 * matrix);
}
END_TEST

Suite *ox_suite_plans(void);
Suite *ox_suite_plans(void) {
    Suite *suite = suite_create("plans");
    TCase *tests = tcase_create("plans");
    tcase_add_loop_test(tests, nodes_that_stand_alone, 0, sizeof kinds / sizeof *kinds);
    tcase_add_test(tests, nodes_of_chains);
    tcase_add_test(tests, many_at_once);
    tcase_add_test(tests, shapes_that_are_read);
    suite_add_tcase(suite, tests);
    return suite;
}
