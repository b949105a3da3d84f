/* test_parts.c: values that are computed in their part of what Concat puts together from them, alone and with other
 * readers before and behind. */
#include "samples.h"

#include <check.h>
#include <string.h>

enum {
    ROW = 256, /* elements of x, a cache line and more */
    MOST_ROWS = 16,
    MOST_NODES = 8
};

/* A graph on x, of one row; every value has rows. Outputs are its last values. */
static const struct graph {
    const char *title;
    struct node {
        const char *op, *in, *out;
    } nodes[MOST_NODES];
    int outputs;
    int rows; /* that the arena has, without fusing; workspaces are less than one more */
} graphs[] = {
    {"two parts", {{"Abs", "x", "a"}, {"Neg", "x", "b"}, {"Concat", "a,b", "c"}}, 1, 2},
    {"parts of parts",
     {{"Abs", "x", "a"}, {"Neg", "x", "b"}, {"Concat", "a,b", "c"}, {"Neg", "c", "d"}, {"Concat", "c,d", "e"}},
     1,
     4},
    {"a part read behind",
     {{"Abs", "x", "a"}, {"Neg", "x", "b"}, {"Concat", "a,b", "c"}, {"Neg", "c", "d"}, {"Neg", "a", "e"}},
     2,
     5},
    {"a part of two", {{"Abs", "x", "a"}, {"Neg", "x", "b"}, {"Concat", "a,b", "c"}, {"Concat", "b,a", "d"}}, 2, 4},
    {"twice the same", {{"Abs", "x", "a"}, {"Concat", "a,a", "b"}}, 1, 2},
    {"an input of the graph", {{"Abs", "x", "a"}, {"Concat", "x,a,x", "b"}}, 1, 3},
    {"a part that is a result",
     {{"Neg", "x", "a"}, {"Concat", "x,a", "b"}, {"Abs", "b", "c"}, {"Abs", "a", "d"}},
     3,
     5},
    {"in place before", {{"Abs", "x", "a"}, {"Neg", "a", "b"}, {"Concat", "b,x", "c"}, {"Neg", "c", "d"}}, 1, 2},
    {"of one part", {{"Abs", "x", "a"}, {"Concat", "a", "b"}, {"Neg", "b", "c"}, {"Abs", "a", "d"}}, 2, 2},
};

/* What a value is by the definitions. */
typedef struct known {
    char name;
    int rows;
    float elements[MOST_ROWS * ROW];
} known;

static const known *find(const known *list, char name) {
    while (list->name != name)
        list++;
    return list;
}

static void compute(const struct node *node, const known *list, known *to) {
    to->name = node->out[0];
    to->rows = 0;
    for (const char *in = node->in; *in; in += in[1] ? 2 : 1) {
        const known *from = find(list, *in);
        ck_assert_int_le(to->rows + from->rows, MOST_ROWS);
        for (int i = 0; i < from->rows * ROW; i++) {
            const float a = from->elements[i];
            to->elements[to->rows * ROW + i] = *node->op == 'C' ? a : *node->op == 'A' && a > 0 ? a : -a;
        }
        to->rows += from->rows;
    }
}

static void put_graph(const struct graph *g, int count, ox_bytes *model) {
    ox_bytes bytes = {0}, axis = {0};
    ox_put_attr_int(&axis, "axis", 0);
    ox_put_input(&bytes, "x", OX_FLOAT, -1, NULL);
    for (int n = 0; n < count; n++)
        ox_put_node(&bytes, g->nodes[n].op, g->nodes[n].in, g->nodes[n].out, *g->nodes[n].op == 'C' ? &axis : NULL);
    for (int n = count - g->outputs; n < count; n++)
        ox_put_output(&bytes, g->nodes[n].out, OX_FLOAT, -1, NULL);
    ox_put_model(model, &bytes, 13);
}

/* Runs the graph twice, and compares its outputs. */
static void check_session(const struct graph *g, const known *list, int count, bool no_fuse, ox_session *session) {
    const int64_t dims[] = {1, ROW};
    const ox_tensor x = {OX_FLOAT, 2, dims, NULL, (void *)(uintptr_t)list->elements};
    ox_memory_info memory;
    ox_error error;
    ck_assert_msg(!ox_session_set_input(session, 0, &x, &error), "%s", error.text);
    for (int run = 0; run < 2; run++) {
        ck_assert_msg(!ox_session_run(session, &error), "%s", error.text);
        for (int k = 0; k < g->outputs; k++) {
            const known *wanted = find(list, g->nodes[count - g->outputs + k].out[0]);
            ox_tensor out;
            ck_assert_msg(!ox_session_output(session, (size_t)k, &out, &error), "%s", error.text);
            ck_assert_int_eq(ox_tensor_count(&out), wanted->rows * ROW);
            ck_assert_msg(!memcmp(out.data, wanted->elements, (size_t)wanted->rows * ROW * sizeof(float)), "%s: %c",
                          g->title, wanted->name);
        }
    }
    ox_session_memory(session, &memory);
    if (no_fuse)
        ck_assert_msg(memory.arena_bytes / (ROW * sizeof(float)) == (size_t)g->rows, "%s: %zu bytes", g->title,
                      memory.arena_bytes);
}

START_TEST(parts_are_computed_in_place) {
    static known list[MOST_NODES + 1];
    static ox_bytes bytes;
    const struct graph *g = &graphs[_i];
    int count = 0;
    list[0].name = 'x', list[0].rows = 1;
    for (int i = 0; i < ROW; i++)
        list[0].elements[i] = (float)(i % 2 ? -i : i + 1);
    for (; count < MOST_NODES && g->nodes[count].op; count++)
        compute(&g->nodes[count], list, &list[count + 1]);
    bytes.size = 0;
    put_graph(g, count, &bytes);
    for (int no_fuse = 0; no_fuse < 2; no_fuse++) {
        const ox_options options = {.no_fuse = no_fuse};
        ox_model *model;
        ox_session *session;
        ox_error error;
        ck_assert_msg(!ox_model_load_memory(bytes.data, bytes.size, NULL, &model, &error), "%s", error.text);
        ck_assert_msg(!ox_session_create(model, &options, &session, &error), "%s", error.text);
        check_session(g, list, count, no_fuse, session);
        ox_session_free(session);
        ox_model_free(model);
    }
}
END_TEST

Suite *ox_suite_parts(void);
Suite *ox_suite_parts(void) {
    Suite *suite = suite_create("parts");
    TCase *tests = tcase_create("parts");
    tcase_add_loop_test(tests, parts_are_computed_in_place, 0, sizeof graphs / sizeof *graphs);
    suite_add_tcase(suite, tests);
    return suite;
}
