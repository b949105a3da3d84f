/* test_bound.c: outputs in the caller's memory. */
#include "samples.h"

#include <check.h>
#include <string.h>

enum {
    OUTPUTS = 8,
    ROOM = 1 << 16 /* bytes for an output */
};

static ox_counter counter;
static ox_options options;
static ox_model *model;
static ox_session *session;
static ox_error error;

/* What the callback gives: NULL for none, else memory that begins `shift` bytes behind an aligned address. */
static struct giving {
    bool gives[OUTPUTS];
    size_t shift;
    int calls[OUTPUTS];
    size_t bytes[OUTPUTS];
} giving;

static _Alignas(64) unsigned char memory[OUTPUTS][ROOM + 64];

static void *give(void *context, size_t index, const ox_tensor *output, size_t bytes) {
    struct giving *g = context;
    ck_assert_uint_lt(index, OUTPUTS);
    ck_assert_uint_eq(bytes, (size_t)ox_tensor_count(output) * ox_dtype_size(output->dtype));
    ck_assert_uint_le(bytes, ROOM);
    ck_assert_ptr_null(output->strides);
    g->calls[index]++;
    g->bytes[index] = bytes;
    return g->gives[index] ? memory[index] + g->shift : NULL;
}

static void bind_all(size_t shift) {
    giving = (struct giving){.shift = shift};
    for (int k = 0; k < OUTPUTS; k++)
        giving.gives[k] = true;
    ck_assert_int_eq(ox_session_set_outputs(session, give, &giving, &error), OX_OK);
}

static void load(const ox_bytes *bytes) {
    ck_assert_msg(ox_model_load_memory(bytes->data, bytes->size, &options, &model, &error) == OX_OK, "%s", error.text);
    ck_assert_msg(ox_session_create(model, NULL, &session, &error) == OX_OK, "%s", error.text);
}

static void run(const ox_feed *feed) {
    for (int i = 0; i < feed->count; i++)
        ck_assert_int_eq(ox_session_set_input(session, (size_t)i, &feed->tensor[i], &error), OX_OK);
    ck_assert_msg(ox_session_run(session, &error) == OX_OK, "%s", error.text);
}

static ox_tensor output(size_t index) {
    ox_tensor tensor;
    ck_assert_msg(ox_session_output(session, index, &tensor, &error) == OX_OK, "%s", error.text);
    return tensor;
}

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

/* What came of an output, and what lies in the memory that was given for it. */
static void check_output(size_t k, const ox_tensor *wanted, const void *elements) {
    const ox_tensor got = output(k);
    const size_t bytes = (size_t)ox_tensor_count(wanted) * ox_dtype_size(wanted->dtype);
    ck_assert_int_eq(got.rank, wanted->rank);
    ck_assert_int_eq(ox_tensor_count(&got), ox_tensor_count(wanted));
    ck_assert_int_eq(giving.calls[k], 1);
    giving.calls[k] = 0;
    ck_assert_uint_eq(giving.bytes[k], bytes);
    if (giving.gives[k])
        ck_assert_ptr_eq(got.data, memory[k] + giving.shift);
    ck_assert(!bytes || !memcmp(got.data, elements, bytes));
}

/* Every sample in three sizes, in memory of three kinds, and in that of the session for some outputs. */
START_TEST(every_sample) {
    static unsigned char elements[OUTPUTS][ROOM];
    static const size_t shifts[] = {0, 4, 1};
    static ox_bytes bytes;
    static ox_feed feed;
    const ox_sample *sample = &ox_samples[_i];
    bytes.size = 0;
    sample->build(&bytes);
    load(&bytes);
    const size_t count = ox_model_output_count(model);
    ck_assert_uint_le(count, OUTPUTS);
    for (int64_t n = 1; n <= 3; n++) {
        ox_tensor wanted[OUTPUTS];
        int64_t dims[OUTPUTS][8];
        feed = (ox_feed){0};
        sample->feed(&feed, n);
        ck_assert_int_eq(ox_session_set_outputs(session, NULL, NULL, &error), OX_OK);
        run(&feed);
        for (size_t k = 0; k < count; k++) {
            wanted[k] = output(k);
            ck_assert(ox_tensor_is_packed(&wanted[k]) && wanted[k].rank <= 8);
            memcpy(dims[k], wanted[k].dims, (size_t)wanted[k].rank * sizeof *dims[k]);
            wanted[k].dims = dims[k];
            memcpy(elements[k], wanted[k].data, (size_t)ox_tensor_count(&wanted[k]) * ox_dtype_size(wanted[k].dtype));
        }
        for (int way = 0; way < 5; way++) {
            bind_all(way < 3 ? shifts[way] : 0);
            for (size_t k = 0; k < count; k++)
                giving.gives[k] = way < 3 || (way == 3 && k % 2);
            for (int turn = 0; turn < 2; turn++) {
                run(&feed);
                for (size_t k = 0; k < count; k++)
                    check_output(k, &wanted[k], elements[k]);
            }
        }
    }
}
END_TEST

/* An output that is listed twice, one that is an input, one that is an initializer, one that views another. */
START_TEST(outputs_that_share) {
    static ox_bytes graph, bytes;
    static const int64_t dims[] = {2, 3};
    static float x[6] = {-1, 2, -3, 4, -5, 6};
    static const float w[6] = {1, 2, 3, 4, 5, 6};
    graph.size = bytes.size = 0;
    ox_put_node(&graph, "Relu", "x", "r", NULL);
    ox_put_node(&graph, "Transpose", "r", "t", NULL);
    ox_put_input(&graph, "x", OX_FLOAT, 2, dims);
    ox_put_initializer(&graph, "w", OX_FLOAT, 2, dims, w);
    for (const char *c = "rrxwt"; *c; c++)
        ox_put_output(&graph, (const char[]){*c, 0}, OX_FLOAT, -1, NULL);
    ox_put_model(&bytes, &graph, 17);
    load(&bytes);
    const ox_tensor in = {.dtype = OX_FLOAT, .rank = 2, .dims = dims, .data = x};
    for (size_t shift = 0; shift < 3; shift++) {
        bind_all(shift);
        ck_assert_int_eq(ox_session_set_input(session, 0, &in, &error), OX_OK);
        ck_assert_msg(ox_session_run(session, &error) == OX_OK, "%s", error.text);
        for (size_t k = 0; k < 5; k++)
            ck_assert_ptr_eq(output(k).data, memory[k] + shift);
        for (int i = 0; i < 6; i++) {
            const float wanted[] = {x[i] > 0 ? x[i] : 0, x[i] > 0 ? x[i] : 0, x[i], w[i],
                                    x[i % 2 * 3 + i / 2] > 0 ? x[i % 2 * 3 + i / 2] : 0};
            for (int k = 0; k < 5; k++)
                ck_assert_mem_eq(memory[k] + shift + 4 * i, &wanted[k], 4);
        }
    }
}
END_TEST

/* Strings stay in the session: no memory is asked for, not even where a node computes the output alone. */
START_TEST(strings_are_not_asked_for) {
    static ox_bytes graph, bytes;
    static const int64_t dims[] = {2};
    static const ox_string x[] = {{"ox", 2}, {"", 0}};
    graph.size = bytes.size = 0;
    ox_bytes attrs = {0};
    ox_put_attr_int(&attrs, "axis", 0);
    ox_put_node(&graph, "Concat", "x,x", "y", &attrs);
    ox_put_input(&graph, "x", OX_STRING, 1, dims);
    ox_put_output(&graph, "y", OX_STRING, -1, NULL);
    ox_put_model(&bytes, &graph, 17);
    load(&bytes);
    const ox_tensor in = {.dtype = OX_STRING, .rank = 1, .dims = dims, .data = (void *)(uintptr_t)x};
    bind_all(0);
    for (int turn = 0; turn < 2; turn++) {
        ck_assert_int_eq(ox_session_set_input(session, 0, &in, &error), OX_OK);
        ck_assert_msg(ox_session_run(session, &error) == OX_OK, "%s", error.text);
        const ox_tensor got = output(0);
        const ox_string *texts = got.data;
        ck_assert_int_eq(giving.calls[0], 0);
        ck_assert(got.rank == 1 && got.dims[0] == 4);
        for (int i = 0; i < 4; i++)
            ck_assert(texts[i].size == x[i % 2].size && !memcmp(texts[i].data, x[i % 2].data, x[i % 2].size));
    }
}
END_TEST

/* Once it is planned, a run allocates nothing; and each allocation fails once. */
START_TEST(memory_of_runs) {
    static ox_bytes bytes;
    static ox_feed feed;
    bytes.size = 0;
    ox_samples[0].build(&bytes);
    feed = (ox_feed){0};
    ox_samples[0].feed(&feed, 3);
    load(&bytes);
    bind_all(1);
    run(&feed);
    const size_t calls = counter.calls;
    run(&feed);
    ck_assert_uint_eq(counter.calls, calls);
    ox_session_free(session);
    session = NULL;
    ox_status status = OX_ERROR_MEMORY;
    for (size_t n = 1; status; n++) {
        ox_session_free(session);
        session = NULL;
        counter.fail_at = counter.calls + n;
        status = ox_session_create(model, NULL, &session, &error);
        if (!status)
            status = ox_session_set_outputs(session, give, &giving, &error);
        for (int i = 0; !status && i < feed.count; i++)
            status = ox_session_set_input(session, (size_t)i, &feed.tensor[i], &error);
        if (!status)
            status = ox_session_run(session, &error);
        ck_assert(status == OX_OK || status == OX_ERROR_MEMORY);
    }
    counter.fail_at = 0;
}
END_TEST

Suite *ox_suite_bound(void);

Suite *ox_suite_bound(void) {
    Suite *suite = suite_create("bound");
    TCase *tcase = tcase_create("bound");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, every_sample, 0, ox_sample_count);
    tcase_add_test(tcase, outputs_that_share);
    tcase_add_test(tcase, strings_are_not_asked_for);
    tcase_add_test(tcase, memory_of_runs);
    suite_add_tcase(suite, tcase);
    return suite;
}
