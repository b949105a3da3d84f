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

/* What a branch hands on of the values around it stays, though no other node reads it: Neg gets its own memory. */
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

/* ---- Loop --------------------------------------------------------------------------------------------------- */

static int64_t trips[1];
static const ox_tensor loop_inputs[] = {{OX_FLOAT, 1, dims, NULL, x}, {OX_INT64, 0, NULL, NULL, trips}};

/* A body of a round, a condition and values a and b; what its nodes give is in `ends`. */
static void begin_body(ox_bytes *body) {
    begin();
    ox_put_input(&m.graph, "x", OX_FLOAT, 1, dims);
    ox_put_input(&m.graph, "m", OX_INT64, 0, NULL);
    ox_put_input(body, "i", OX_INT64, 0, NULL);
    ox_put_input(body, "c", OX_BOOL, 0, NULL);
    ox_put_input(body, "a", OX_FLOAT, -1, NULL);
}

static void load_loop(const ox_bytes *body, const char *inputs, const char *outputs) {
    ox_bytes attrs = {0};
    ox_put_attr_graph(&attrs, "body", body);
    own_node(&m, "Loop", inputs, outputs, &attrs);
    ox_put_output(&m.graph, "y", OX_FLOAT, -1, NULL);
    ck_assert_msg(own_load(&m) == OX_OK, "%s", m.error.text);
}

/* A value and a stack: the body is planned once, and memory is asked for by the first rounds alone, or for a stack of
 * twice as many; a second run asks for none. */
START_TEST(test_planned_once) {
    static const int64_t shape[] = {64};
    ox_bytes body = {0};
    float wanted[64];
    size_t calls[3];
    begin_body(&body);
    ox_put_node(&body, "Add", "a,x", "s", NULL);
    ox_put_node(&body, "Neg", "s", "n", NULL);
    ox_put_output(&body, "c", OX_BOOL, 0, NULL);
    ox_put_output(&body, "s", OX_FLOAT, 1, shape);
    ox_put_output(&body, "n", OX_FLOAT, 1, shape);
    ox_put_output(&m.graph, "stack", OX_FLOAT, -1, NULL);
    load_loop(&body, "m,,x", "y,stack");
    for (int turn = 0; turn < 3; turn++) {
        static const int64_t counts[] = {4, 1000, 900};
        const size_t before = m.counter.calls;
        trips[0] = counts[turn];
        ck_assert_msg(own_run(&m, 2, loop_inputs) == OX_OK, "%s", m.error.text);
        calls[turn] = m.counter.calls - before;
        const float *stack = m.output.data;
        ck_assert_int_eq(m.output.dims[0], counts[turn]);
        for (int64_t t = 0; t < counts[turn]; t++)
            for (int i = 0; i < 64; i++)
                ck_assert(stack[64 * t + i] == -x[i] * (float)(t + 2));
        ck_assert_int_eq(ox_session_output(m.session, 1, &m.output, &m.error), OX_OK);
        for (int i = 0; i < 64; i++)
            wanted[i] = x[i] * (float)(counts[turn] + 1);
        own_check(&m, 1, dims, wanted);
    }
    ck_assert_uint_lt(calls[1], 20); /* the stack doubles */
    const size_t before = m.counter.calls;
    ck_assert_int_eq(own_run(&m, 2, loop_inputs), OX_OK);
    ck_assert_uint_eq(m.counter.calls, before);
    own_end(&m);
}
END_TEST

/* Two values trade places, also without a node between; one grows. */
START_TEST(test_traded) {
    ox_bytes body = {0}, attrs = {0};
    float wanted[64];
    begin_body(&body);
    ox_put_attr_int(&attrs, "axis", 0);
    ox_put_input(&body, "b", OX_FLOAT, -1, NULL);
    ox_put_input(&body, "g", OX_FLOAT, -1, NULL);
    ox_put_node(&body, "Concat", "g,x", "h", &attrs);
    ox_put_output(&body, "c", OX_BOOL, 0, NULL);
    ox_put_output(&body, "b", OX_FLOAT, -1, NULL);
    ox_put_output(&body, "a", OX_FLOAT, -1, NULL);
    ox_put_output(&body, "h", OX_FLOAT, -1, NULL);
    own_node(&m, "Neg", "x", "n", NULL);
    ox_put_output(&m.graph, "grown", OX_FLOAT, -1, NULL);
    load_loop(&body, "m,,x,n,x", "y,z,grown");
    for (trips[0] = 0; trips[0] < 6; trips[0]++) {
        ck_assert_msg(own_run(&m, 2, loop_inputs) == OX_OK, "%s", m.error.text);
        ck_assert_int_eq(m.output.dims[0], 64 * (trips[0] + 1));
        for (int i = 0; i < 64 * (trips[0] + 1); i++)
            ck_assert(((const float *)m.output.data)[i] == x[i % 64]);
        ck_assert_int_eq(ox_session_output(m.session, 1, &m.output, &m.error), OX_OK);
        for (int i = 0; i < 64; i++)
            wanted[i] = trips[0] % 2 ? -x[i] : x[i];
        own_check(&m, 1, dims, wanted);
    }
    own_end(&m);
}
END_TEST

/* Values that come back as they are, also through nodes, stay where they are: a weight, and a result that is an output
 * besides. */
START_TEST(test_given_back) {
    ox_bytes body = {0};
    float w[64], wanted[64];
    ox_tensor same;
    begin_body(&body);
    for (int i = 0; i < 64; i++)
        w[i] = (float)(2 * i);
    ox_put_input(&body, "b", OX_FLOAT, 1, dims);
    ox_put_input(&body, "g", OX_FLOAT, 1, dims);
    ox_put_node(&body, "Identity", "a", "p", NULL);
    ox_put_node(&body, "Identity", "p", "q", NULL);
    ox_put_node(&body, "Add", "g,a", "h", NULL);
    ox_put_node(&body, "Add", "h,b", "k", NULL);
    ox_put_output(&body, "c", OX_BOOL, 0, NULL);
    ox_put_output(&body, "q", OX_FLOAT, 1, dims);
    ox_put_output(&body, "b", OX_FLOAT, 1, dims);
    ox_put_output(&body, "k", OX_FLOAT, 1, dims);
    ox_put_initializer(&m.graph, "w", OX_FLOAT, 1, dims, w);
    own_node(&m, "Neg", "x", "n", NULL);
    for (const char *const *name = (const char *const[]){"v", "u", "n", NULL}; *name; name++)
        ox_put_output(&m.graph, *name, OX_FLOAT, -1, NULL);
    load_loop(&body, "m,,w,n,x", "v,u,y");
    for (trips[0] = 0; trips[0] < 5; trips[0]++) {
        ck_assert_msg(own_run(&m, 2, loop_inputs) == OX_OK, "%s", m.error.text);
        own_check(&m, 1, dims, w);
        ck_assert_int_eq(ox_session_output(m.session, 1, &m.output, &m.error), OX_OK);
        ck_assert_int_eq(ox_session_output(m.session, 2, &same, &m.error), OX_OK);
        ck_assert_ptr_eq(m.output.data, same.data);
        for (int i = 0; i < 64; i++)
            wanted[i] = -x[i];
        own_check(&m, 1, dims, wanted);
        ck_assert_int_eq(ox_session_output(m.session, 3, &m.output, &m.error), OX_OK);
        for (int i = 0; i < 64; i++)
            wanted[i] = x[i] + (float)trips[0] * (w[i] - x[i]);
        own_check(&m, 1, dims, wanted);
    }
    own_end(&m);
}
END_TEST

/* What comes back as it is may be a constant that is another one in the next run: a shape. */
START_TEST(test_given_back_shape) {
    ox_bytes body = {0}, attrs = {0};
    float wanted[64];
    begin();
    ox_put_attr_int(&attrs, "to", OX_FLOAT);
    ox_put_input(&m.graph, "x", OX_FLOAT, -1, NULL);
    ox_put_input(&m.graph, "m", OX_INT64, 0, NULL);
    ox_put_input(&body, "i", OX_INT64, 0, NULL);
    ox_put_input(&body, "c", OX_BOOL, 0, NULL);
    ox_put_input(&body, "a", OX_FLOAT, -1, NULL);
    ox_put_input(&body, "s", OX_INT64, -1, NULL);
    ox_put_node(&body, "Cast", "s", "f", &attrs);
    ox_put_node(&body, "Add", "a,f", "t", NULL);
    ox_put_output(&body, "c", OX_BOOL, 0, NULL);
    ox_put_output(&body, "t", OX_FLOAT, -1, NULL);
    ox_put_output(&body, "s", OX_INT64, -1, NULL);
    own_node(&m, "Shape", "x", "s", NULL);
    load_loop(&body, "m,,x,s", "y,z");
    trips[0] = 3;
    for (int turn = 0; turn < 4; turn++) {
        const int64_t shape[] = {64 >> turn % 2};
        const ox_tensor inputs[] = {{OX_FLOAT, 1, shape, NULL, x}, loop_inputs[1]};
        ck_assert_msg(own_run(&m, 2, inputs) == OX_OK, "%s", m.error.text);
        for (int i = 0; i < shape[0]; i++)
            wanted[i] = x[i] + 3 * (float)shape[0];
        own_check(&m, 1, shape, wanted);
    }
    own_end(&m);
}
END_TEST

typedef struct count_down {
    int left;
} count_down;

static bool ask(void *context) {
    count_down *count = context;
    return count->left-- <= 0;
}

/* A loop without an end and without a node can be cancelled, and takes no memory for the rounds to come. */
START_TEST(test_endless) {
    count_down count = {100};
    ox_bytes body = {0};
    begin_body(&body);
    m.options.limits.cancel = ask;
    m.options.limits.cancel_context = &count;
    ox_put_output(&body, "c", OX_BOOL, 0, NULL);
    ox_put_output(&body, "a", OX_FLOAT, 1, dims);
    ox_put_output(&body, "a", OX_FLOAT, 1, dims);
    ox_put_output(&m.graph, "stack", OX_FLOAT, -1, NULL);
    load_loop(&body, _i ? "m,,x" : ",,x", "y,stack");
    trips[0] = INT64_MAX / 2;
    ck_assert_int_eq(own_run(&m, 2, loop_inputs), OX_ERROR_CANCELLED);
    ck_assert_uint_lt(m.counter.peak, 400000);
    count.left = 1000;
    trips[0] = 3;
    ck_assert_int_eq(own_run(&m, 2, loop_inputs), _i ? OX_OK : OX_ERROR_CANCELLED);
    own_end(&m);
}
END_TEST

/* The memory that a stack takes is limited, too. */
START_TEST(test_limited) {
    ox_bytes body = {0};
    begin_body(&body);
    m.options.limits.bytes = 1 << 20;
    ox_put_output(&body, "c", OX_BOOL, 0, NULL);
    ox_put_output(&body, "a", OX_FLOAT, 1, dims);
    ox_put_output(&body, "a", OX_FLOAT, 1, dims);
    ox_put_output(&m.graph, "stack", OX_FLOAT, -1, NULL);
    load_loop(&body, "m,,x", "y,stack");
    trips[0] = INT64_MAX;
    ck_assert_int_eq(own_run(&m, 2, loop_inputs), OX_ERROR_LIMIT);
    ck_assert_uint_le(m.counter.peak, 1 << 20);
    trips[0] = 3;
    ck_assert_int_eq(own_run(&m, 2, loop_inputs), OX_OK);
    own_end(&m);
}
END_TEST

/* What a round makes and no other reads is given back: an optional of a copy takes the memory of one round. The
 * condition lies in a sequence of the round before. */
START_TEST(test_forgotten) {
    ox_bytes body = {0};
    float wanted[64];
    begin_body(&body);
    m.options.limits.bytes = 1 << 20;
    ox_put_node(&body, "SequenceConstruct", "c", "conditions", NULL);
    ox_put_node(&body, "SequenceAt", "conditions,i0", "goes_on", NULL);
    ox_put_node(&body, "Sub", "i,i", "i0", NULL);
    ox_put_node(&body, "Optional", "a", "o", NULL);
    ox_put_node(&body, "OptionalGetElement", "o", "e", NULL);
    ox_put_node(&body, "Neg", "e", "b", NULL);
    ox_put_output(&body, "goes_on", OX_BOOL, 0, NULL);
    ox_put_output(&body, "b", OX_FLOAT, 1, dims);
    load_loop(&body, "m,,x", "y");
    for (trips[0] = 4999; trips[0] < 5002; trips[0]++) {
        for (int i = 0; i < 64; i++)
            wanted[i] = trips[0] % 2 ? -x[i] : x[i];
        ck_assert_msg(own_run(&m, 2, loop_inputs) == OX_OK, "%s", m.error.text);
        own_check(&m, 1, dims, wanted);
    }
    own_end(&m);
}
END_TEST

/* What no round gives has the shape that is known before a run, whatever an earlier run gave. */
START_TEST(test_no_round_again) {
    static const int64_t none[] = {0}, two[] = {2, 64};
    ox_bytes body = {0};
    float wanted[2 * 64];
    begin_body(&body);
    memcpy(wanted, x, sizeof x);
    memcpy(wanted + 64, x, sizeof x);
    ox_put_node(&body, "SequenceConstruct", "a", "values", NULL);
    ox_put_node(&body, "Sub", "i,i", "i0", NULL);
    ox_put_node(&body, "SequenceAt", "values,i0", "b", NULL);
    ox_put_output(&body, "c", OX_BOOL, 0, NULL);
    ox_put_output(&body, "a", OX_FLOAT, 1, dims);
    ox_put_output(&body, "b", OX_FLOAT, -1, NULL);
    load_loop(&body, "m,,x", "last,y");
    for (int run = 0; run < 5; run++) {
        trips[0] = run & 1 ? 2 : 0;
        ck_assert_msg(own_run(&m, 2, loop_inputs) == OX_OK, "%s", m.error.text);
        own_check(&m, run & 1 ? 2 : 1, run & 1 ? two : none, wanted);
    }
    own_end(&m);
}
END_TEST

/* SequenceMap of no items by a body. */
static void map_nothing(const ox_bytes *body) {
    ox_bytes attrs = {0};
    ox_put_attr_graph(&attrs, "body", body);
    own_node(&m, "SequenceEmpty", "", "none", NULL);
    own_node(&m, "SequenceMap", "none", "mapped", &attrs);
    own_node(&m, "SequenceLength", "mapped", "y", NULL);
    ox_put_output(&m.graph, "y", OX_INT64, 0, NULL);
    ck_assert_msg(own_load(&m) == OX_OK, "%s", m.error.text);
    ck_assert_msg(own_run(&m, 0, NULL) == OX_OK, "%s", m.error.text);
    ck_assert_int_eq(*(const int64_t *)m.output.data, 0);
    own_end(&m);
}

/* The body gives back what it is given: the type is what the model states. */
START_TEST(test_mapped_nothing) {
    ox_bytes body = {0};
    begin();
    ox_put_input(&body, "item", OX_FLOAT, 1, dims);
    ox_put_output(&body, "item", OX_FLOAT, 1, dims);
    map_nothing(&body);
}
END_TEST

/* The model states no types: they are those of the sequence. */
START_TEST(test_mapped_untyped) {
    ox_bytes body = {0};
    begin();
    ox_put_input(&body, "item", OX_UNDEFINED, -1, NULL);
    ox_put_node(&body, "Neg", "item", "negative", NULL);
    ox_put_output(&body, "negative", OX_UNDEFINED, -1, NULL);
    map_nothing(&body);
}
END_TEST

/* The item of a sequence that a position picks is a shape: another position is another shape, with all else as it was.
 */
START_TEST(test_another_item) {
    static const int64_t wide[] = {4, 16}, high[] = {16, 4}, two[] = {2};
    int64_t position[1];
    const ox_tensor inputs[] = {{OX_FLOAT, 1, dims, NULL, x},
                                {OX_INT64, 1, two, NULL, (void *)(uintptr_t)wide},
                                {OX_INT64, 1, two, NULL, (void *)(uintptr_t)high},
                                {OX_INT64, 0, NULL, NULL, position}};
    begin();
    ox_put_input(&m.graph, "x", OX_FLOAT, 1, dims);
    ox_put_input(&m.graph, "wide", OX_INT64, 1, two);
    ox_put_input(&m.graph, "high", OX_INT64, 1, two);
    ox_put_input(&m.graph, "position", OX_INT64, 0, NULL);
    own_node(&m, "SequenceConstruct", "wide,high", "shapes", NULL);
    own_node(&m, "SequenceAt", "shapes,position", "shape", NULL);
    own_node(&m, "Reshape", "x,shape", "y", NULL);
    ox_put_output(&m.graph, "y", OX_FLOAT, -1, NULL);
    ck_assert_msg(own_load(&m) == OX_OK, "%s", m.error.text);
    for (int run = 0; run < 5; run++) {
        position[0] = run & 1;
        ck_assert_msg(own_run(&m, 4, inputs) == OX_OK, "%s", m.error.text);
        own_check(&m, 2, run & 1 ? high : wide, x);
    }
    own_end(&m);
}
END_TEST

Suite *ox_suite_control(void);
Suite *ox_suite_control(void) {
    Suite *suite = suite_create("control");
    TCase *test = tcase_create("control");
    tcase_add_test(test, test_handed_on);
    tcase_add_test(test, test_planned_once);
    tcase_add_test(test, test_traded);
    tcase_add_test(test, test_given_back);
    tcase_add_test(test, test_given_back_shape);
    tcase_add_loop_test(test, test_endless, 0, 2);
    tcase_add_test(test, test_limited);
    tcase_add_test(test, test_forgotten);
    tcase_add_test(test, test_no_round_again);
    tcase_add_test(test, test_mapped_nothing);
    tcase_add_test(test, test_mapped_untyped);
    tcase_add_test(test, test_another_item);
    suite_add_tcase(suite, test);
    return suite;
}
