/* test_profile.c: what a session reports of its steps. */
#include "samples.h"

#include <check.h>
#include <string.h>

enum {
    MOST_EVENTS = 16
};

/* Events of one run. */
typedef struct event_log {
    size_t count;
    ox_profile_event events[MOST_EVENTS];
    ox_profile_node first[MOST_EVENTS], last[MOST_EVENTS];
} event_log;

static ox_bytes bytes;
static ox_counter counter;
static ox_options options;
static ox_model *model;
static ox_session *session;
static ox_error error;
static ox_feed feed;
static event_log seen;

static void note(void *context, const ox_profile_event *event) {
    event_log *to = context;
    ox_profile_node none;
    ck_assert_uint_lt(to->count, MOST_EVENTS);
    ck_assert_uint_ge(event->node_count, 1);
    ck_assert_int_eq(ox_profile_event_node(event, 0, &to->first[to->count]), OX_OK);
    ck_assert_int_eq(ox_profile_event_node(event, event->node_count - 1, &to->last[to->count]), OX_OK);
    ck_assert_int_eq(ox_profile_event_node(event, event->node_count, &none), OX_ERROR_ARGUMENT);
    to->events[to->count++] = *event;
}

static void start(const char *name) {
    const ox_sample *sample = ox_samples;
    while (strcmp(sample->name, name))
        ck_assert_int_lt(++sample - ox_samples, ox_sample_count);
    bytes.size = 0;
    feed = (ox_feed){0};
    seen = (event_log){0};
    sample->build(&bytes);
    sample->feed(&feed, 3);
    ck_assert_int_eq(ox_model_load_memory(bytes.data, bytes.size, &options, &model, &error), OX_OK);
    ck_assert_int_eq(ox_session_create(model, NULL, &session, &error), OX_OK);
    for (int i = 0; i < feed.count; i++)
        ck_assert_int_eq(ox_session_set_input(session, (size_t)i, &feed.tensor[i], &error), OX_OK);
}

static void run(void) {
    seen = (event_log){0};
    ck_assert_msg(ox_session_run(session, &error) == OX_OK, "%s", error.text);
}

static void check_event(size_t i, ox_step_kind kind, const char *op, const char *output, uint64_t read,
                        uint64_t written) {
    const ox_profile_event *event = &seen.events[i];
    ck_assert_uint_lt(i, seen.count);
    ck_assert_str_eq(ox_step_kind_name(event->kind), ox_step_kind_name(kind));
    ck_assert_str_eq(seen.last[i].op, op);
    ck_assert_str_eq(seen.last[i].output, output);
    ck_assert_str_eq(seen.last[i].domain, "");
    ck_assert_uint_eq(event->bytes_read, read);
    ck_assert_uint_eq(event->bytes_written, written);
}

static void stop(void) {
    ox_session_free(session);
    ox_model_free(model);
    ck_assert_uint_eq(counter.live, 0);
}

static void setup(void) {
    ox_counter_init(&counter);
    options = (ox_options){.allocator = &counter.allocator};
}

/* Add, Mul, Max and Relu over [3,4], with operands [4] and [3,1]; the results of Mul and Relu are outputs. */
START_TEST(test_pass) {
    start("chain");
    ox_session_set_profile(session, note, &seen);
    run();
    ck_assert_uint_eq(seen.count, 1);
    ck_assert_uint_eq(seen.events[0].node_count, 4);
    ck_assert_str_eq(seen.first[0].op, "Add");
    check_event(0, OX_STEP_PASS, "Relu", "y", 4 * (12 + 4 + 3), 4 * 2 * 12);
    ck_assert_int_eq(seen.events[0].depth, 0);
    stop();
}
END_TEST

/* Two sums of rows and what is done with them: x is read once, and nothing between is stored. */
START_TEST(test_rows) {
    start("rows");
    ox_session_set_profile(session, note, &seen);
    run();
    ck_assert_uint_eq(seen.count, 1);
    ck_assert_uint_eq(seen.events[0].node_count, 6);
    ck_assert_str_eq(seen.first[0].op, "ReduceSum");
    check_event(0, OX_STEP_PASS, "Mul", "y", 4 * 12, 4 * 12);
    stop();
}
END_TEST

/* PRelu runs on the blocks of Gemm; Softmax wants whole rows, and does not run on those of MatMul. */
START_TEST(test_epilogue) {
    start("dense");
    ox_session_set_profile(session, note, &seen);
    run();
    ck_assert_uint_eq(seen.count, 3);
    ck_assert_uint_eq(seen.events[0].node_count, 2);
    ck_assert_str_eq(seen.first[0].op, "Gemm");
    check_event(0, OX_STEP_KERNEL, "PRelu", "p", 4 * (12 + 16 + 4), 4 * 12);
    ck_assert_uint_eq(seen.events[1].node_count, 1);
    check_event(1, OX_STEP_KERNEL, "MatMul", "m", 4 * (12 + 16), 4 * 12);
    check_event(2, OX_STEP_KERNEL, "Softmax", "y", 4 * 12, 4 * 12);
    stop();
}
END_TEST

START_TEST(test_one_by_one) {
    options.no_fuse = true;
    start("chain");
    ox_session_set_profile(session, note, &seen);
    run();
    ck_assert_uint_eq(seen.count, 4);
    check_event(0, OX_STEP_KERNEL, "Add", "s", 4 * (12 + 4), 4 * 12);
    check_event(3, OX_STEP_KERNEL, "Relu", "y", 4 * 12, 4 * 12);
    for (size_t i = 1; i < seen.count; i++)
        ck_assert_uint_ge(seen.events[i].start_ns, seen.events[i - 1].start_ns + seen.events[i - 1].duration_ns);
    stop();
}
END_TEST

/* The shape comes from data, so that Expand starts a stage; what it repeats counts once. */
START_TEST(test_view) {
    start("expand");
    ox_session_set_profile(session, note, &seen);
    run();
    ck_assert_uint_eq(seen.count, 2);
    check_event(0, OX_STEP_VIEW, "Expand", "e", 0, 0);
    check_event(1, OX_STEP_KERNEL, "Add", "y", 4 * (3 + 3), 4 * 24);
    stop();
}
END_TEST

START_TEST(test_copy) {
    start("reshape");
    ox_session_set_profile(session, note, &seen);
    run();
    ck_assert_uint_eq(seen.count, 3);
    check_event(0, OX_STEP_KERNEL, "Neg", "minus", 4 * 12, 4 * 12);
    check_event(1, OX_STEP_VIEW, "Reshape", "r", 0, 0);
    check_event(2, OX_STEP_COPY, "Transpose", "y", 4 * 12, 4 * 12);
    stop();
}
END_TEST

/* Steps of a subgraph come one level deeper, and before the node that ran it. */
START_TEST(test_subgraph) {
    start("if");
    ox_session_set_profile(session, note, &seen);
    for (int i = 0; i < 2; i++) {
        run();
        ck_assert_uint_eq(seen.count, 3);
        check_event(0, OX_STEP_KERNEL, "Add", "r", 4 * 12, 4 * 12);
        ck_assert_int_eq(seen.events[0].depth, 1);
        check_event(1, OX_STEP_CONTROL, "If", "b", 0, 0);
        ck_assert_uint_le(seen.events[1].start_ns, seen.events[0].start_ns);
        ck_assert_uint_ge(seen.events[1].duration_ns, seen.events[0].duration_ns);
        check_event(2, OX_STEP_KERNEL, "Sub", "y", 4 * (12 + 12), 4 * 12);
    }
    ox_session_set_profile(session, NULL, NULL);
    run();
    ck_assert_uint_eq(seen.count, 0);
    stop();
}
END_TEST

/* Reporting allocates nothing, and steps are known again in the next run. */
START_TEST(test_same_steps) {
    start(ox_samples[_i].name);
    ox_session_set_profile(session, note, &seen);
    run();
    event_log before = seen;
    size_t calls = counter.calls;
    run();
    ck_assert_uint_eq(counter.calls, calls);
    ck_assert_uint_eq(seen.count, before.count);
    for (size_t i = 0; i < seen.count; i++)
        ck_assert_ptr_eq(seen.events[i].step, before.events[i].step);
    stop();
}
END_TEST

Suite *ox_suite_profile(void) {
    Suite *suite = suite_create("profile");
    TCase *events = tcase_create("events");
    tcase_add_checked_fixture(events, setup, NULL);
    tcase_add_test(events, test_pass);
    tcase_add_test(events, test_rows);
    tcase_add_test(events, test_epilogue);
    tcase_add_test(events, test_one_by_one);
    tcase_add_test(events, test_view);
    tcase_add_test(events, test_copy);
    tcase_add_test(events, test_subgraph);
    tcase_add_loop_test(events, test_same_steps, 0, ox_sample_count);
    suite_add_tcase(suite, events);
    return suite;
}
