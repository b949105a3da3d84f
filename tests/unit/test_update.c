/* test_update.c: plans that become those of other shapes: what is asked of an operator again, and what is not. */
#include "own_model.h"

#include <check.h>
#include <string.h>

enum {
    ROWS = 3,
    MOST = 40,  /* columns that come one after the other, from 1 on */
    FIRST = 10, /* runs that make plans: there are four of them */
    ROUNDS = 80,
    KINDS = 3 /* of nodes: of the input that grows, of sums of it, and of the one that stays */
};

static own_model m;
static int inferred[KINDS], prepared[KINDS];
static int shown; /* how often planning showed data that only a run has */

static ox_status infer_copy(ox_call *call) {
    const ox_tensor *x = ox_call_input(call, 0);
    inferred[ox_call_int(call, "kind", 0)]++;
    return ox_call_output(call, 0, OX_FLOAT, x->rank, x->dims);
}

static ox_status infer_sums(ox_call *call) {
    inferred[ox_call_int(call, "kind", 0)]++;
    return ox_call_output(call, 0, OX_FLOAT, 1, ox_call_input(call, 0)->dims);
}

/* The number of columns goes into the state. */
static ox_status prepare(ox_call *call) {
    int64_t *columns = ox_call_state(call, sizeof *columns);
    const ox_tensor *x = ox_call_input(call, 0);
    if (!columns)
        return OX_ERROR_MEMORY;
    *columns = x->rank > 1 ? x->dims[1] : 1;
    prepared[ox_call_int(call, "kind", 0)]++;
    return OX_OK;
}

static ox_status run_copy(ox_call *call) {
    const ox_tensor *x = ox_call_input(call, 0);
    const int64_t *columns = ox_call_get_state(call);
    memcpy(ox_call_result(call, 0)->data, x->data, (size_t)(x->dims[0] * *columns) * sizeof(float));
    return OX_OK;
}

static ox_status run_sums(ox_call *call) {
    const ox_tensor *x = ox_call_input(call, 0);
    const int64_t *columns = ox_call_get_state(call);
    for (int64_t row = 0; row < x->dims[0]; row++) {
        float *sum = (float *)ox_call_result(call, 0)->data + row;
        *sum = 0;
        for (int64_t column = 0; column < *columns; column++)
            *sum += ((const float *)x->data)[row * *columns + column];
    }
    return OX_OK;
}

static ox_status infer_beside(ox_call *call) {
    shown += ox_call_input(call, 0)->data || ox_call_input(call, 1)->data;
    return infer_copy(call);
}

static ox_status prepare_beside(ox_call *call) {
    shown += ox_call_input(call, 0)->data || ox_call_input(call, 1)->data;
    return prepare(call);
}

static const ox_operator operators[] = {
    {"com.test", "Copied", 1, 1, 1, 1, 1, 0, 0, infer_copy, prepare, run_copy, NULL, 0},
    {"com.test", "Summed", 1, 1, 1, 1, 1, 0, 0, infer_sums, prepare, run_sums, NULL, 0},
    {"com.test", "CopiedBeside", 1, 2, 2, 1, 1, 0, 0, infer_beside, prepare_beside, run_copy, NULL, 0},
};

static void node(const char *op, const char *input, const char *output, int kind) {
    ox_bytes attrs = {0};
    ox_put_attr_int(&attrs, "kind", kind);
    own_node(&m, op, input, output, &attrs);
    ox_put_output(&m.graph, output, OX_UNDEFINED, -1, NULL);
}

/* A model without nodes: of inputs a, of any number of columns, and b, of one row. */
static void begin_model(void) {
    memset(&m, 0, sizeof m);
    shown = 0;
    memset(inferred, 0, sizeof inferred);
    memset(prepared, 0, sizeof prepared);
    own_begin(&m, "com.test", 1);
    m.options.operators = operators;
    m.options.operator_count = 3;
    ox_put_input(&m.graph, "a", OX_FLOAT, -1, NULL);
    ox_put_input(&m.graph, "b", OX_FLOAT, -1, NULL);
}

/* a is copied, also beside the copy of b, and summed up; b is copied. */
static void begin(void) {
    begin_model();
    node("Copied", "a", "copied", 0);
    node("Summed", "copied", "sums", 0);
    node("Copied", "sums", "again", 1);
    node("Copied", "b", "fixed", 2);
    node("CopiedBeside", "copied,fixed", "beside", 0);
    ck_assert_msg(own_load(&m) == OX_OK, "%s", m.error.text);
}

/* Runs it with so many columns of a number. */
static void run(int64_t columns, float number) {
    static float a[ROWS * MOST], b[ROWS] = {7, 8, 9};
    const int64_t dims[] = {ROWS, columns}, row[] = {ROWS};
    for (int64_t i = 0; i < ROWS * columns; i++)
        a[i] = number;
    const ox_tensor inputs[] = {{OX_FLOAT, 2, dims, NULL, a}, {OX_FLOAT, 1, row, NULL, b}};
    ck_assert_msg(own_run(&m, 2, inputs) == OX_OK, "%s", m.error.text);
    own_check(&m, 2, dims, a);
    for (size_t k = 1; k < 4; k++) {
        const float sum = number * (float)columns;
        ck_assert_int_eq(ox_session_output(m.session, k, &m.output, &m.error), OX_OK);
        own_check(&m, 1, row, k < 3 ? (const float[]){sum, sum, sum} : b);
    }
    ck_assert_int_eq(ox_session_output(m.session, 4, &m.output, &m.error), OX_OK);
    own_check(&m, 2, dims, a);
}

/* Nodes whose inputs are as before are not asked again: neither what reads another input, nor what reads a result that
 * has the shape of before. The others are, once in each step. */
START_TEST(nodes_that_stay) {
    begin();
    for (int64_t columns = 1; columns <= FIRST; columns++)
        run(columns, 2);
    const int before[KINDS] = {inferred[0], inferred[1], inferred[2]}, made[] = {prepared[0], prepared[1], prepared[2]};
    for (int64_t columns = FIRST + 1; columns <= MOST; columns++)
        run(columns, 3);
    ck_assert_int_eq(inferred[0] - before[0], 3 * (MOST - FIRST));
    ck_assert_int_eq(prepared[0] - made[0], 3 * (MOST - FIRST));
    for (int kind = 1; kind < KINDS; kind++) {
        ck_assert_int_eq(inferred[kind], before[kind]);
        ck_assert_int_eq(prepared[kind], made[kind]);
    }
    own_end(&m);
}
END_TEST

/* Of nodes with equal operators and attributes, whose inputs have equal shapes, one is inferred; each is prepared. What
 * differs in an attribute, or reads what comes from outside, is inferred, too. */
START_TEST(nodes_that_repeat) {
    static float a[2 * MOST], b[1] = {5};
    const int64_t row[] = {1};
    begin_model();
    node("Copied", "a", "one", 0);
    node("Copied", "a", "two", 0);
    node("Copied", "one", "three", 0);
    node("Copied", "two", "four", 0);
    node("Copied", "a", "other", 1);
    node("Summed", "two", "sums", 2);
    ck_assert_msg(own_load(&m) == OX_OK, "%s", m.error.text);
    int before[KINDS] = {0}, made[KINDS] = {0};
    for (int64_t columns = 1; columns <= MOST; columns++) {
        if (columns == FIRST + 1)
            memcpy(before, inferred, sizeof before), memcpy(made, prepared, sizeof made);
        const int64_t dims[] = {2, columns};
        for (int64_t i = 0; i < 2 * columns; i++)
            a[i] = (float)(i + columns);
        const ox_tensor inputs[] = {{OX_FLOAT, 2, dims, NULL, a}, {OX_FLOAT, 1, row, NULL, b}};
        ck_assert_msg(own_run(&m, 2, inputs) == OX_OK, "%s", m.error.text);
        for (size_t k = 0; k < 5; k++) {
            ck_assert_int_eq(ox_session_output(m.session, k, &m.output, &m.error), OX_OK);
            own_check(&m, 2, dims, a);
        }
    }
    const int steps = MOST - FIRST;
    ck_assert_int_eq(inferred[0] - before[0], 2 * steps); /* one of an input of the model, one of a result */
    ck_assert_int_eq(inferred[1] - before[1], steps);
    ck_assert_int_eq(inferred[2] - before[2], steps);
    ck_assert_int_eq(prepared[0] - made[0], 4 * steps);
    ck_assert_int_eq(prepared[1] - made[1], steps);
    own_end(&m);
}
END_TEST

/* Updates write again where they wrote before: memory stays, and no plan is made from the start, however many steps
 * come.
 */
START_TEST(steps_without_end) {
    ox_memory_info first, last;
    begin();
    for (int round = 0; round < 2; round++)
        for (int64_t columns = 1; columns <= MOST; columns++)
            run(columns, 2);
    const int made = prepared[2];
    ox_session_memory(m.session, &first);
    for (int round = 0; round < ROUNDS; round++)
        for (int64_t columns = 1; columns <= MOST; columns++)
            run(columns, 3);
    ox_session_memory(m.session, &last);
    ck_assert_int_eq(prepared[2], made);
    ck_assert_uint_eq(last.plan_bytes, first.plan_bytes);
    own_end(&m);
}
END_TEST

/* Behind a number of columns that grew, two that come in turns are planned once each, though plans that are kept for
 * numbers of long ago might be worth more. */
START_TEST(turns_after_growth) {
    begin();
    for (int64_t columns = 1; columns <= MOST - 2; columns++)
        run(columns, 2);
    for (int turn = 0; turn < 2; turn++) {
        run(MOST - 1, 3);
        run(MOST, 3);
    }
    const int before = inferred[0];
    for (int turn = 0; turn < FIRST; turn++) {
        run(MOST - 1, 4);
        run(MOST, 4);
    }
    ck_assert_int_eq(inferred[0], before);
    own_end(&m);
}
END_TEST

/* Planning sees no data of nodes, neither of those that stay nor of those that change: it is that of the run before. */
START_TEST(data_is_hidden) {
    begin();
    for (int64_t columns = 1; columns <= MOST; columns++)
        run(columns, 3);
    ck_assert_int_eq(shown, 0);
    own_end(&m);
}
END_TEST

/* Numbers of columns that come back, also none: a buffer without bytes is no smaller buffer. */
START_TEST(shapes_that_return) {
    static const int64_t columns[] = {7, 3, 0, 7, 20, 1, 5, 0, 0, 40, 2, 3, 20, 0, 6, 40, 7};
    begin();
    for (int64_t first = 8; first < 8 + FIRST; first++)
        run(first, 1);
    for (int turn = 0; turn < 3; turn++)
        for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
            run(columns[i], (float)(turn + 1));
    ck_assert_int_eq(shown, 0);
    own_end(&m);
}
END_TEST

/* Scalars have empty lists of dims, which may begin where the list of a node that reads them does. */
START_TEST(scalars_beside_lists) {
    float x[MOST];
    ox_bytes attrs = {0};
    memset(&m, 0, sizeof m);
    own_begin(&m, "", 13);
    ox_put_input(&m.graph, "x", OX_FLOAT, -1, NULL);
    ox_put_attr_int(&attrs, "keepdims", 0);
    own_node(&m, "ReduceSum", "x", "sum", &attrs);
    own_node(&m, "Max", "sum,x", "y", NULL);
    ox_put_output(&m.graph, "y", OX_UNDEFINED, -1, NULL);
    ck_assert_msg(own_load(&m) == OX_OK, "%s", m.error.text);
    for (int64_t count = 1; count <= MOST; count++) {
        x[count - 1] = 1;
        ck_assert_int_eq(own_run(&m, 1, &(ox_tensor){OX_FLOAT, 1, &count, NULL, x}), OX_OK);
        ck_assert_int_eq(m.output.dims[0], count);
        for (int64_t i = 0; i < count; i++)
            ck_assert_float_eq(((const float *)m.output.data)[i], (float)count);
    }
    own_end(&m);
}
END_TEST

Suite *ox_suite_update(void);

Suite *ox_suite_update(void) {
    Suite *suite = suite_create("update");
    TCase *tcase = tcase_create("update");
    tcase_add_test(tcase, nodes_that_stay);
    tcase_add_test(tcase, nodes_that_repeat);
    tcase_add_test(tcase, steps_without_end);
    tcase_add_test(tcase, turns_after_growth);
    tcase_add_test(tcase, data_is_hidden);
    tcase_add_test(tcase, shapes_that_return);
    tcase_add_test(tcase, scalars_beside_lists);
    suite_add_tcase(suite, tcase);
    return suite;
}
