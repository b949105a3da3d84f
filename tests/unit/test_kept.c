/* test_kept.c: sessions whose inputs have one shape after the other, and keep the plans of the last ones. */
#include "samples.h"
#include "src/config.h"

#include <check.h>
#include <string.h>

enum {
    OUTPUTS = 8,
    SIZES = 6,
    ROOM = 1 << 16, /* bytes for an output */
    TURNS = 60,
    ROOM_OF_A_PLAN = 9 << 10 /* bytes of what a plan is put into, besides what is in it */
};

static ox_counter counter;
static ox_options options;
static ox_model *model;
static ox_session *session;
static ox_error error;
static ox_bytes bytes;
static ox_feed feed;
static const ox_sample *sample;

/* What a session of its own gives for each size. */
static struct result {
    int rank;
    int64_t dims[8];
    size_t size;
    unsigned char elements[ROOM];
} wanted[SIZES][OUTPUTS];

static void setup(void) {
    ox_counter_init(&counter);
    options = (ox_options){.allocator = &counter.allocator};
    session = NULL;
    model = NULL;
}

static void teardown(void) {
    ox_session_free(session);
    ox_model_free(model);
    session = NULL;
    model = NULL;
    ck_assert_uint_eq(counter.live, 0);
}

static ox_status run_size(int size) {
    feed = (ox_feed){0};
    sample->feed(&feed, size + 1);
    ox_status status = OX_OK;
    for (int i = 0; i < feed.count && !status; i++)
        status = ox_session_set_input(session, (size_t)i, &feed.tensor[i], &error);
    return status ? status : ox_session_run(session, &error);
}

static size_t read_output(size_t k, ox_tensor *tensor) {
    ck_assert_int_eq(ox_session_output(session, k, tensor, &error), OX_OK);
    ck_assert(ox_tensor_is_packed(tensor) && tensor->rank <= 8);
    const size_t size = (size_t)ox_tensor_count(tensor) * ox_dtype_size(tensor->dtype);
    ck_assert_uint_le(size, ROOM);
    return size;
}

static void open_session(void) {
    ox_session_free(session);
    session = NULL;
    ck_assert_msg(ox_session_create(model, &options, &session, &error) == OX_OK, "%s", error.text);
}

/* Loads a sample, and finds out what it gives. */
static void begin(int number) {
    sample = &ox_samples[number];
    bytes.size = 0;
    sample->build(&bytes);
    ck_assert_msg(ox_model_load_memory(bytes.data, bytes.size, &options, &model, &error) == OX_OK, "%s", error.text);
    ck_assert_uint_le(ox_model_output_count(model), OUTPUTS);
    for (int size = 0; size < SIZES; size++) {
        open_session();
        ck_assert_msg(run_size(size) == OX_OK, "%s", error.text);
        for (size_t k = 0; k < ox_model_output_count(model); k++) {
            ox_tensor tensor;
            struct result *result = &wanted[size][k];
            result->size = read_output(k, &tensor);
            result->rank = tensor.rank;
            if (tensor.rank)
                memcpy(result->dims, tensor.dims, (size_t)tensor.rank * sizeof *tensor.dims);
            memcpy(result->elements, tensor.data, result->size);
        }
    }
    open_session();
}

static void check_size(int size) {
    for (size_t k = 0; k < ox_model_output_count(model); k++) {
        ox_tensor tensor;
        const struct result *result = &wanted[size][k];
        ck_assert_uint_eq(read_output(k, &tensor), result->size);
        ck_assert_int_eq(tensor.rank, result->rank);
        ck_assert(!tensor.rank || !memcmp(tensor.dims, result->dims, (size_t)tensor.rank * sizeof *tensor.dims));
        ck_assert(!result->size || !memcmp(tensor.data, result->elements, result->size));
    }
}

static void find_depth(void *context, const ox_node_info *node) {
    *(int *)context += node->depth;
}

static bool has_subgraphs(void) {
    int depth = 0;
    ox_model_visit(model, NULL, find_depth, &depth);
    return depth;
}

/* The sizes come in an order without a period that matters. */
static int next_size(uint32_t *state) {
    *state = *state * 1664525 + 1013904223;
    return (int)(*state >> 16) % SIZES;
}

static void *give(void *context, size_t index, const ox_tensor *output, size_t size) {
    static _Alignas(64) unsigned char memory[OUTPUTS][ROOM];
    (void)context, (void)output;
    ck_assert_uint_le(size, ROOM);
    return index % 2 ? NULL : memory[index];
}

START_TEST(sizes_in_turns) {
    uint32_t state = 1;
    begin(_i);
    for (int turn = 0; turn < TURNS; turn++) {
        const int size = next_size(&state);
        if (turn % 7 == 6)
            ck_assert_int_eq(ox_session_set_outputs(session, turn % 2 ? give : NULL, NULL, &error), OX_OK);
        ck_assert_msg(run_size(size) == OX_OK, "%s", error.text);
        check_size(size);
    }
}
END_TEST

/* The last OX_MAX_PLANS sizes, in any order, need no memory; another one does. Bodies have one plan. */
START_TEST(plans_that_are_kept) {
    begin(_i);
    if (has_subgraphs())
        return;
    for (int size = 0; size < OX_MAX_PLANS; size++)
        ck_assert_int_eq(run_size(size), OX_OK);
    const size_t calls = counter.calls;
    for (int turn = 0; turn < 3 * OX_MAX_PLANS; turn++) {
        const int size = turn * 3 % OX_MAX_PLANS;
        ck_assert_int_eq(run_size(size), OX_OK);
        check_size(size);
    }
    ck_assert_uint_eq(counter.calls, calls);
    ck_assert_int_eq(run_size(OX_MAX_PLANS), OX_OK);
    ck_assert_uint_gt(counter.calls, calls);
}
END_TEST

/* The bytes that a session takes at most, for all sizes. */
static size_t most_bytes(void) {
    open_session();
    counter.peak = counter.live;
    for (int size = 0; size < SIZES; size++)
        ck_assert_int_eq(run_size(size), OX_OK);
    return counter.peak;
}

/* What is kept goes where a limit would be met, and who sets a limit of bytes has one plan if he says nothing else. */
START_TEST(plans_within_a_limit) {
    ox_memory_info one, counted, several;
    begin(_i);
    options.limits.plans = 1;
    options.limits.bytes = most_bytes();
    ox_session_memory(session, &one);
    options.limits.plans = 0;
    ck_assert_uint_eq(most_bytes(), options.limits.bytes);
    ox_session_memory(session, &counted);
    ck_assert_uint_eq(one.plan_bytes, counted.plan_bytes);
    options.limits.plans = 3;
    options.limits.bytes += ROOM_OF_A_PLAN;
    open_session();
    for (int turn = 0; turn < 3; turn++)
        for (int size = SIZES; size-- > 0;) {
            ck_assert_msg(run_size(size) == OX_OK, "%s", error.text);
            check_size(size);
        }
    const size_t limit = options.limits.bytes;
    options.limits.bytes = 0;
    ck_assert_uint_gt(most_bytes(), limit);
    ox_session_memory(session, &several);
    ck_assert_uint_gt(several.plan_bytes, one.plan_bytes);
}
END_TEST

/* Where there are more sizes than plans, plans become those of other sizes. */
START_TEST(plans_that_become_others) {
    options.limits.plans = _i < ox_sample_count ? OX_MAX_PLANS : 2;
    begin(_i % ox_sample_count);
    for (int turn = 0; turn < TURNS; turn++) {
        ck_assert_msg(run_size(turn % SIZES) == OX_OK, "%s", error.text);
        check_size(turn % SIZES);
    }
}
END_TEST

/* Each allocation fails once, whichever plan is in force: that run fails, or does without, and all others are right. */
START_TEST(allocations_that_fail) {
    static const int order[] = {0, 1, 2, 0, 3, 1, 5, 4, 0};
    bool failed = true;
    options.limits.plans = _i < ox_sample_count ? OX_MAX_PLANS : 2;
    begin(_i % ox_sample_count);
    for (size_t n = 1; failed; n++) {
        open_session();
        counter.fail_at = counter.calls + n;
        for (size_t turn = 0; turn < sizeof order / sizeof *order; turn++) {
            ox_status status = run_size(order[turn]);
            ck_assert(status == OX_OK || status == OX_ERROR_MEMORY);
            if (status)
                status = run_size(order[turn]);
            ck_assert_msg(status == OX_OK, "%s", error.text);
            check_size(order[turn]);
        }
        failed = counter.calls >= counter.fail_at;
    }
    counter.fail_at = 0;
}
END_TEST

Suite *ox_suite_kept(void);

Suite *ox_suite_kept(void) {
    Suite *suite = suite_create("kept");
    TCase *tcase = tcase_create("kept");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, sizes_in_turns, 0, ox_sample_count);
    tcase_add_loop_test(tcase, plans_that_are_kept, 0, ox_sample_count);
    tcase_add_loop_test(tcase, plans_within_a_limit, 0, ox_sample_count);
    tcase_add_loop_test(tcase, plans_that_become_others, 0, 2 * ox_sample_count);
    tcase_add_loop_test(tcase, allocations_that_fail, 0, 2 * ox_sample_count);
    suite_add_tcase(suite, tcase);
    return suite;
}
