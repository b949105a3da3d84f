/* test_control.c: operators that run subgraphs: what their results lie in, and what a run allocates. */
#include "own_model.h"

#include <check.h>
#include <string.h>

static own_model m;
static float x[64];
static bool condition[1];
static const int64_t dims[] = {64};

enum {
    OPSET = 21
};

static void begin(void) {
    memset(&m, 0, sizeof m);
    own_begin(&m, "", OPSET);
    for (int i = 0; i < 64; i++)
        x[i] = (float)i;
}

/* What a branch hands on of the values around it stays, though nobody else reads it: Neg gets its own memory. */
START_TEST(test_handed_on) {
    const ox_tensor inputs[] = {{OX_FLOAT, 1, dims, NULL, x}, {OX_BOOL, 0, NULL, NULL, condition}};
    ox_bytes branch = {0}, other = {0}, attrs = {0};
    float wanted[64];
    begin();
    ox_put_output(&branch, "twice", OX_FLOAT, 1, dims);
    ox_put_node(&other, "Relu", "twice", "o", NULL);
    ox_put_output(&other, "o", OX_FLOAT, 1, dims);
    ox_put_attr_graph(&attrs, "then_branch", &branch);
    ox_put_attr_graph(&attrs, "else_branch", &other);
    ox_put_input(&m.graph, "x", OX_FLOAT, 1, dims);
    ox_put_input(&m.graph, "c", OX_BOOL, 0, NULL);
    own_node(&m, "Add", "x,x", "twice", NULL);
    own_node(&m, "If", "c", "r", &attrs);
    own_node(&m, "Neg", "x", "n", NULL);
    own_node(&m, "MatMul", "n,r", "product", NULL);
    own_node(&m, "Sub", "r,product", "y", NULL);
    ox_put_output(&m.graph, "y", OX_FLOAT, 1, dims);
    ck_assert_msg(own_load(&m) == OX_OK, "%s", m.error.text);
    float product = 0;
    for (int i = 0; i < 64; i++)
        product -= 2 * x[i] * x[i];
    for (int i = 0; i < 64; i++)
        wanted[i] = 2 * x[i] - product;
    for (int taken = 0; taken < 4; taken++) {
        condition[0] = taken & 1;
        ck_assert_msg(own_run(&m, 2, inputs) == OX_OK, "%s", m.error.text);
        own_check(&m, 1, dims, wanted);
    }
    own_end(&m);
}
END_TEST

Suite *ox_suite_control(void);
Suite *ox_suite_control(void) {
    Suite *suite = suite_create("control");
    TCase *test = tcase_create("control");
    tcase_add_test(test, test_handed_on);
    suite_add_tcase(suite, test);
    return suite;
}
