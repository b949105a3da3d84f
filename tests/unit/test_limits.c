/* test_limits.c: what a model may take is limited, what it asks for beyond that is refused before anything is
 * allocated, and a run that is cancelled ends soon. The session works afterwards. */
#include "own_model.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static own_model m;
static ox_feed feed;
static int64_t any[] = {-1, -1, -1, -1};

/* ---- Memory and files --------------------------------------------------------------------------------------- */

static ox_status load_and_run(void) {
    ox_status status = ox_model_load_memory(m.bytes.data, m.bytes.size, &m.options, &m.model, &m.error);
    if (status == OX_OK)
        status = ox_session_create(m.model, &m.options, &m.session, &m.error);
    return status ? status : own_run(&m, feed.count, feed.tensor);
}

static void begin_sample(const ox_sample *sample, int64_t n) {
    m = (own_model){0};
    own_begin(&m, "", 21);
    sample->build(&m.bytes);
    memset(&feed, 0, sizeof feed);
    sample->feed(&feed, n);
}

/* Whatever the limit is, model and session together never hold more, and meeting it has its own status. */
START_TEST(bytes_of_everything) {
    const ox_sample *sample = &ox_samples[_i];
    begin_sample(sample, 9);
    ck_assert_int_eq(load_and_run(), OX_OK);
    size_t enough = m.counter.peak;
    own_end(&m);
    bool worked = false;
    for (size_t limit = 1; limit < enough + enough / 8; limit += limit / 8 + 1) {
        begin_sample(sample, 9);
        m.options.limits.bytes = limit;
        ox_status status = load_and_run();
        ck_assert_msg(status == OX_OK || (status == OX_ERROR_LIMIT && m.error.status == status),
                      "%s: limit of %zu bytes: status %d, %s", sample->name, limit, status, m.error.text);
        ck_assert(status == OX_OK || strstr(m.error.text, "beyond the limit of ") != NULL);
        ck_assert_msg(!worked || status == OX_OK, "%s: worked with less than %zu bytes", sample->name, limit);
        /* The structs of model and session are there first. */
        ck_assert_uint_le(m.counter.peak, limit > 4096 ? limit : 4096);
        worked = status == OX_OK;
        own_end(&m);
    }
    ck_assert_msg(worked, "%s takes %zu bytes, and more than that with a limit", sample->name, enough);
}
END_TEST

START_TEST(a_session_works_after_its_limit) {
    const ox_sample *sample = &ox_samples[2];
    ck_assert_str_eq(sample->name, "expand");
    begin_sample(sample, 3);
    m.options.limits.bytes = 1 << 20;
    feed.data[1].i[2] = 1 << 16; /* 1.5 MB of results */
    ck_assert_int_eq(load_and_run(), OX_ERROR_LIMIT);
    ck_assert_ptr_nonnull(strstr(m.error.text, "the arena"));
    feed.data[1].i[2] = 1 << 10;
    ck_assert_int_eq(own_run(&m, feed.count, feed.tensor), OX_OK);
    own_end(&m);
}
END_TEST

START_TEST(bytes_of_a_file) {
    begin_sample(&ox_samples[0], 2);
    m.options.limits.file_bytes = m.bytes.size - 1;
    ck_assert_int_eq(load_and_run(), OX_ERROR_LIMIT);
    ck_assert_ptr_nonnull(strstr(m.error.text, "the limit is"));
    own_end(&m);
    begin_sample(&ox_samples[0], 2);
    m.options.limits.file_bytes = m.bytes.size;
    ck_assert_int_eq(load_and_run(), OX_OK);
    own_end(&m);
}
END_TEST

START_TEST(nodes) {
    begin_sample(&ox_samples[5], 2); /* three nodes of which two are in subgraphs, and one */
    m.options.limits.nodes = 3;
    ck_assert_int_eq(load_and_run(), OX_ERROR_LIMIT);
    ck_assert_ptr_nonnull(strstr(m.error.text, "more than 3 nodes"));
    own_end(&m);
    begin_sample(&ox_samples[5], 2);
    m.options.limits.nodes = 4;
    ck_assert_int_eq(load_and_run(), OX_OK);
    own_end(&m);
}
END_TEST

/* A graph of If nodes, `depth` of them in each other. */
static void nest(ox_bytes *graph, int depth) {
    ox_bytes branch = {0}, attrs = {0};
    if (depth > 1)
        nest(&branch, depth - 1);
    else
        ox_put_node(&branch, "Not", "c", "y", NULL);
    ox_put_output(&branch, "y", OX_BOOL, 0, NULL);
    ox_put_attr_graph(&attrs, "then_branch", &branch);
    ox_put_attr_graph(&attrs, "else_branch", &branch);
    ox_put_node(graph, "If", "c", "y", &attrs);
}

START_TEST(nesting) {
    for (int limit = 1; limit <= 4; limit++) {
        m = (own_model){0};
        own_begin(&m, "", 21);
        nest(&m.graph, 3);
        ox_put_input(&m.graph, "c", OX_BOOL, 0, NULL);
        ox_put_output(&m.graph, "y", OX_BOOL, 0, NULL);
        m.options.limits.depth = limit;
        ox_status status = own_load(&m);
        ck_assert_msg(status == (limit < 3 ? OX_ERROR_LIMIT : OX_OK), "depth %d: %s", limit, m.error.text);
        ck_assert(status == OX_OK || strstr(m.error.text, "nest deeper than") != NULL);
        own_end(&m);
    }
}
END_TEST

/* A session takes from the model what its own options leave open. */
START_TEST(limits_of_the_model) {
    static const int64_t shape[] = {100, 100};
    static float data[1];
    for (int own = 0; own < 2; own++) {
        m = (own_model){0};
        own_begin(&m, "", 21);
        m.options.limits.tensor_bytes = 1000;
        ox_put_input(&m.graph, "x", OX_FLOAT, 1, any);
        ox_put_initializer(&m.graph, "shape", OX_INT64, 1, (int64_t[]){2}, shape);
        own_node(&m, "Expand", "x,shape", "y", NULL);
        ox_put_output(&m.graph, "y", OX_FLOAT, -1, NULL);
        ck_assert_int_eq(own_load(&m), OX_OK);
        ox_session_free(m.session);
        const ox_options options = {.limits = {.tensor_bytes = own ? 50000 : 0}};
        ck_assert_int_eq(ox_session_create(m.model, &options, &m.session, &m.error), OX_OK);
        const ox_tensor x = {OX_FLOAT, 1, (int64_t[]){1}, NULL, data};
        ck_assert_int_eq(own_run(&m, 1, &x), own ? OX_OK : OX_ERROR_LIMIT);
        own_end(&m);
    }
}
END_TEST

/* ---- Hostile shapes ----------------------------------------------------------------------------------------- */

#define HUGE_DIM ((int64_t)1 << 40)
#define MOST_DIM INT64_MAX

/* A node on x (float, of shape `dims`) and a list of integers. */
typedef struct hostile {
    const char *op;
    bool takes_x; /* the integers are the second input, otherwise the only one */
    int rank;
    int64_t dims[2];
    int count;
    int64_t list[4];
    ox_status status;
} hostile;

static const hostile shapes[] = {
    {"Expand", true, 1, {1}, 1, {HUGE_DIM}, OX_ERROR_LIMIT},
    {"Expand", true, 1, {1}, 2, {HUGE_DIM, HUGE_DIM}, OX_ERROR_LIMIT},
    {"Expand", true, 1, {1}, 2, {(int64_t)1 << 32, (int64_t)1 << 32}, OX_ERROR_LIMIT},
    {"Expand", true, 1, {1}, 1, {-5}, OX_ERROR_SHAPE},
    {"Expand", true, 1, {1}, 1, {INT64_MIN}, OX_ERROR_SHAPE},
    {"ConstantOfShape", false, 0, {0}, 1, {HUGE_DIM}, OX_ERROR_LIMIT},
    {"ConstantOfShape", false, 0, {0}, 2, {HUGE_DIM, HUGE_DIM}, OX_ERROR_LIMIT},
    {"ConstantOfShape", false, 0, {0}, 2, {(int64_t)1 << 33, (int64_t)1 << 31}, OX_ERROR_LIMIT},
    {"ConstantOfShape", false, 0, {0}, 1, {-1}, OX_ERROR_SHAPE},
    {"Reshape", true, 1, {4}, 2, {-2, -2}, OX_ERROR_SHAPE},
    {"Reshape", true, 1, {4}, 2, {-1, -1}, OX_ERROR_SHAPE},
    {"Reshape", true, 1, {4}, 2, {INT64_MIN, 1}, OX_ERROR_SHAPE},
    {"Reshape", true, 1, {4}, 3, {(int64_t)1 << 32, (int64_t)1 << 32, 4}, OX_ERROR_SHAPE},
    {"Reshape", true, 1, {4}, 3, {MOST_DIM, MOST_DIM, -1}, OX_ERROR_SHAPE},
    {"Unsqueeze", true, 1, {4}, 1, {MOST_DIM}, OX_ERROR_SHAPE},
    {"Slice", true, 1, {4}, 1, {INT64_MIN}, OX_ERROR_MODEL},
};

/* The node, with its integers in the model or given when it runs. */
static void hostile_model(const hostile *h, bool constant) {
    m = (own_model){0};
    own_begin(&m, "", 21);
    const int64_t count = h->count;
    if (h->takes_x)
        ox_put_input(&m.graph, "x", OX_FLOAT, h->rank, any);
    if (constant)
        ox_put_initializer(&m.graph, "list", OX_INT64, 1, &count, h->list);
    else
        ox_put_input(&m.graph, "list", OX_INT64, 1, any);
    own_node(&m, h->op, h->takes_x ? "x,list" : "list", "t", NULL);
    own_node(&m, "Neg", "t", "y", NULL);
    ox_put_output(&m.graph, "y", OX_FLOAT, -1, NULL);
}

START_TEST(hostile_shapes) {
    const hostile *h = &shapes[_i / 2];
    const bool constant = _i % 2 != 0;
    static float x[4];
    int64_t list[4], count = h->count;
    memcpy(list, h->list, sizeof list);
    hostile_model(h, constant);
    ox_status status = own_load(&m);
    const ox_tensor tensors[] = {{OX_FLOAT, h->rank, h->dims, NULL, x}, {OX_INT64, 1, &count, NULL, list}};
    if (status == OX_OK)
        status = own_run(&m, h->takes_x + !constant, &tensors[!h->takes_x]);
    ck_assert_msg(status == h->status, "%s %d: status %d, %s", h->op, _i, status, m.error.text);
    ck_assert_ptr_nonnull(strstr(m.error.text, h->op));
    ck_assert_msg(m.counter.peak < 65536, "%s takes %zu bytes before it fails", h->op, m.counter.peak);
    own_end(&m);
}
END_TEST

/* Each operand is small in memory, and their sizes add up to more than there are numbers. */
START_TEST(concat_overflows) {
    static uint8_t x;
    const int64_t dims[] = {MOST_DIM / 2}, step[] = {0}, one[] = {1};
    m = (own_model){0};
    own_begin(&m, "", 21);
    ox_bytes attrs = {0};
    ox_put_attr_int(&attrs, "axis", 0);
    ox_put_input(&m.graph, "x", OX_UINT8, 1, any);
    own_node(&m, "Concat", "x,x,x", "y", &attrs);
    ox_put_output(&m.graph, "y", OX_UINT8, -1, NULL);
    ck_assert_int_eq(own_load(&m), OX_OK);
    const ox_tensor repeated = {OX_UINT8, 1, dims, step, &x}, plain = {OX_UINT8, 1, one, NULL, &x};
    ck_assert_int_eq(own_run(&m, 1, &repeated), OX_ERROR_LIMIT);
    /* A machine of 32 bits refuses the operand already. */
    ck_assert_msg(strstr(m.error.text, SIZE_MAX > UINT32_MAX ? "overflow" : "too large"), "%s", m.error.text);
    ck_assert_uint_lt(m.counter.peak, 65536);
    ck_assert_int_eq(own_run(&m, 1, &plain), OX_OK);
    own_end(&m);
}
END_TEST

/* ---- Cancelling --------------------------------------------------------------------------------------------- */

typedef struct asker {
    long asked, cancel_at; /* 0: never */
} asker;

static pthread_t caller;
static bool asked_elsewhere;

static bool ask(void *context) {
    asker *a = context;
    asked_elsewhere |= !pthread_equal(pthread_self(), caller);
    a->asked++;
    return a->cancel_at && a->asked >= a->cancel_at;
}

static asker a;

static void begin_asking(int threads) {
    a = (asker){0};
    caller = pthread_self();
    asked_elsewhere = false;
    m.options.limits.cancel = ask;
    m.options.limits.cancel_context = &a;
    m.options.threads = threads;
}

/* Cancelled at every question once; each time the next run is right. */
START_TEST(cancelled_anywhere) {
    const ox_sample *sample = &ox_samples[_i];
    static float wanted[OX_SAMPLE_FLOATS];
    begin_sample(sample, 5);
    begin_asking(1);
    ck_assert_int_eq(load_and_run(), OX_OK);
    const long questions = a.asked;
    const size_t size = (size_t)ox_tensor_count(&m.output) * ox_dtype_size(m.output.dtype);
    memcpy(wanted, m.output.data, size);
    own_end(&m);
    ck_assert_int_ge(questions, 2);
    for (long at = 1; at <= questions; at++) {
        begin_sample(sample, 5);
        begin_asking(1);
        a.cancel_at = at;
        ck_assert_int_eq(load_and_run(), OX_ERROR_CANCELLED);
        ck_assert_msg(strstr(m.error.text, "cancelled") != NULL, "%s", m.error.text);
        ck_assert_int_eq(a.asked, at);
        a.cancel_at = 0;
        ck_assert_int_eq(own_run(&m, feed.count, feed.tensor), OX_OK);
        ck_assert_mem_eq(m.output.data, wanted, size);
        own_end(&m);
    }
}
END_TEST

/* Unique sorts while its shapes are inferred, and again when it is prepared: what it then counts is no reason. */
START_TEST(cancelled_while_planning) {
    float x[OX_SAMPLE_FLOATS];
    const int64_t dims[] = {OX_SAMPLE_FLOATS}, half = OX_SAMPLE_FLOATS / 2;
    const ox_tensor tensor = {OX_FLOAT, 1, dims, NULL, x};
    long at = 0;
    for (int64_t i = 0; i < 2 * half; i++)
        x[i] = (float)(i * 3 % half);
    m = (own_model){0};
    own_begin(&m, "", 21);
    begin_asking(1);
    ox_put_input(&m.graph, "x", OX_FLOAT, 1, any);
    own_node(&m, "Unique", "x", "y", NULL);
    ox_put_output(&m.graph, "y", OX_FLOAT, -1, NULL);
    ck_assert_int_eq(own_load(&m), OX_OK);
    for (ox_status status = OX_ERROR_CANCELLED; status != OX_OK;) {
        x[0] = (float)(++at % 2); /* so that it is planned anew */
        a = (asker){0, at};
        status = own_run(&m, 1, &tensor);
        ck_assert_msg(status == OX_OK || status == OX_ERROR_CANCELLED, "%s", m.error.text);
        a = (asker){0};
        ck_assert_int_eq(own_run(&m, 1, &tensor), OX_OK);
        ck_assert_int_eq(m.output.dims[0], half);
    }
    ck_assert_int_ge(at, 8);
    own_end(&m);
}
END_TEST

/* A pass, a copy, results that threads share, a product. */
typedef struct long_step {
    const char *op;
    int inputs;
    int64_t side; /* of the square tensors */
} long_step;

static const long_step long_steps[] = {
    {"Add", 2, 2048}, {"Transpose", 1, 2048}, {"Softmax", 1, 2048}, {"MatMul", 2, 640}};

/* Runs until the function was asked `wanted` times in one run: only the caller's thread asks, and now and then another
 * one takes most of the pieces. */
static ox_status run_until_asked(long wanted, long cancel_at) {
    ox_status status;
    int turns = 100;
    do {
        a = (asker){0, cancel_at};
        status = ox_session_run(m.session, &m.error);
    } while (a.asked < wanted && --turns);
    ck_assert_msg(turns, "asked only %ld times in a run", a.asked);
    return status;
}

START_TEST(cancelled_inside) {
    const long_step *step = &long_steps[_i / 2];
    const int64_t side = step->side, dims[] = {side, side};
    float *x = calloc((size_t)(side * side), sizeof *x);
    const ox_tensor tensors[] = {{OX_FLOAT, 2, dims, NULL, x}, {OX_FLOAT, 2, dims, NULL, x}};
    ck_assert_ptr_nonnull(x);
    m = (own_model){0};
    own_begin(&m, "", 21);
    begin_asking(1 + _i % 2);
    ox_put_input(&m.graph, "x", OX_FLOAT, 2, any);
    if (step->inputs > 1)
        ox_put_input(&m.graph, "z", OX_FLOAT, 2, any);
    own_node(&m, step->op, step->inputs > 1 ? "x,z" : "x", "y", NULL);
    ox_put_output(&m.graph, "y", OX_FLOAT, -1, NULL);
    ck_assert_int_eq(own_load(&m), OX_OK);
    ck_assert_int_eq(own_run(&m, step->inputs, tensors), OX_OK);
    ck_assert_int_eq(run_until_asked(6, 0), OX_OK);
    ck_assert_int_eq(run_until_asked(4, 4), OX_ERROR_CANCELLED);
    ck_assert_msg(strstr(m.error.text, step->op) != NULL, "%s", m.error.text);
    ck_assert_int_eq(a.asked, 4);
    a = (asker){0};
    ck_assert_int_eq(own_run(&m, step->inputs, tensors), OX_OK);
    ck_assert(!asked_elsewhere);
    own_end(&m);
    free(x);
}
END_TEST

Suite *ox_suite_limits(void);
Suite *ox_suite_limits(void) {
    Suite *suite = suite_create("limits");
    TCase *tests = tcase_create("limits");
    tcase_add_loop_test(tests, bytes_of_everything, 0, ox_sample_count);
    tcase_add_test(tests, a_session_works_after_its_limit);
    tcase_add_test(tests, bytes_of_a_file);
    tcase_add_test(tests, nodes);
    tcase_add_test(tests, nesting);
    tcase_add_test(tests, limits_of_the_model);
    tcase_add_loop_test(tests, hostile_shapes, 0, 2 * (int)(sizeof shapes / sizeof *shapes));
    tcase_add_test(tests, concat_overflows);
    tcase_add_loop_test(tests, cancelled_anywhere, 0, ox_sample_count);
    tcase_add_test(tests, cancelled_while_planning);
    tcase_add_loop_test(tests, cancelled_inside, 0, 2 * (int)(sizeof long_steps / sizeof *long_steps));
    suite_add_tcase(suite, tests);
    return suite;
}
