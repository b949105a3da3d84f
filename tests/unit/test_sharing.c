/* test_sharing.c: many threads on one model, with sessions of the same and of different shapes, and models that are
 * loaded and freed at the same time. The results are those of one thread alone; `make tsan` watches the memory. */
#include "samples.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    THREADS = 8,
    RUNS = 1000,
    LOADS = 100,
    SIZES = 4 /* of inputs: 1, 4, 7 and 10 rows */
};

/* What a sample gives for inputs of each size. */
typedef struct expectation {
    ox_feed feed;
    size_t bytes;
    unsigned char output[4 * OX_SAMPLE_FLOATS];
} expectation;

typedef struct user {
    const ox_model *model; /* NULL: each load makes one of its own */
    int size;              /* of its inputs, or -1 for one after the other */
    int runs;
    bool right;
    pthread_t thread;
} user;

static ox_bytes bytes;
static expectation expectations[SIZES];

static bool run_once(ox_session *session, const ox_feed *feed, ox_tensor *output) {
    ox_error error;
    for (int i = 0; i < feed->count; i++)
        if (ox_session_set_input(session, (size_t)i, &feed->tensor[i], &error))
            return false;
    return !ox_session_run(session, &error) && !ox_session_output(session, 0, output, &error);
}

static bool is_right(ox_session *session, const expectation *wanted) {
    ox_tensor output;
    return run_once(session, &wanted->feed, &output) &&
           (size_t)ox_tensor_count(&output) * ox_dtype_size(output.dtype) == wanted->bytes &&
           !memcmp(output.data, wanted->output, wanted->bytes);
}

/* An input of another type, which is refused; the session can be used as before. */
static bool is_refused(ox_session *session, const expectation *wanted) {
    ox_error error;
    ox_tensor wrong = wanted->feed.tensor[0];
    wrong.dtype = OX_COMPLEX64;
    return ox_session_set_input(session, 0, &wrong, &error) == OX_ERROR_SHAPE && strstr(error.text, "is complex64");
}

static bool use_model(const ox_model *model, const user *u) {
    ox_session *session;
    ox_error error;
    if (ox_session_create(model, NULL, &session, &error))
        return false;
    bool right = true;
    for (int run = 0; run < u->runs && right; run++) {
        const expectation *wanted = &expectations[u->size < 0 ? run % SIZES : u->size];
        right = is_right(session, wanted) && (run % 100 || is_refused(session, wanted));
    }
    ox_session_free(session);
    return right;
}

/* These run in threads of their own: no assertions of the test library. */
static void *share_model(void *argument) {
    user *u = argument;
    u->right = use_model(u->model, u);
    return NULL;
}

static void *load_and_free(void *argument) {
    user *u = argument;
    ox_error error;
    u->right = true;
    for (int turn = 0; turn < LOADS && u->right; turn++) {
        ox_model *model;
        u->right = !ox_model_load_memory(bytes.data, bytes.size, NULL, &model, &error);
        if (!u->right)
            return NULL;
        u->right = use_model(model, u);
        ox_model_free(model);
    }
    return NULL;
}

/* Loads a sample, and finds out in this one thread what it gives. */
static ox_model *begin(const ox_sample *sample) {
    ox_model *model;
    ox_session *session;
    ox_error error;
    bytes.size = 0;
    sample->build(&bytes);
    ck_assert_msg(!ox_model_load_memory(bytes.data, bytes.size, NULL, &model, &error), "%s", error.text);
    ck_assert_msg(!ox_session_create(model, NULL, &session, &error), "%s", error.text);
    for (int i = 0; i < SIZES; i++) {
        expectation *e = &expectations[i];
        ox_tensor output;
        memset(e, 0, sizeof *e);
        sample->feed(&e->feed, 1 + 3 * i);
        ck_assert_msg(run_once(session, &e->feed, &output), "%s", sample->name);
        e->bytes = (size_t)ox_tensor_count(&output) * ox_dtype_size(output.dtype);
        ck_assert_uint_le(e->bytes, sizeof e->output);
        memcpy(e->output, output.data, e->bytes);
    }
    ox_session_free(session);
    return model;
}

/* Starts threads, some with one size of inputs for all runs and some with all sizes in turn, and waits for them. */
static void run_threads(const ox_model *model, int runs, void *function(void *)) {
    user users[THREADS];
    for (int i = 0; i < THREADS; i++) {
        users[i] = (user){.model = model, .size = i % (SIZES + 1) - 1, .runs = runs};
        ck_assert_int_eq(pthread_create(&users[i].thread, NULL, function, &users[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(users[i].thread, NULL);
        ck_assert_msg(users[i].right, "thread %d", i);
    }
}

START_TEST(sessions_share_a_model) {
    ox_model *model = begin(&ox_samples[_i]);
    run_threads(model, RUNS, share_model);
    ox_model_free(model);
}
END_TEST

START_TEST(models_come_and_go) {
    ox_model *model = begin(&ox_samples[_i]);
    run_threads(NULL, SIZES, load_and_free);
    ox_model_free(model);
}
END_TEST

static const ox_sample *sample_of(const char *name) {
    const ox_sample *sample = ox_samples;
    while (strcmp(sample->name, name))
        ck_assert_int_lt(++sample - ox_samples, ox_sample_count);
    return sample;
}

/* Bytes of the weights of a model as its sessions have laid them out. */
static size_t weight_bytes(const ox_model *model) {
    ox_session *session;
    ox_memory_info info;
    ox_error error;
    ck_assert_msg(!ox_session_create(model, NULL, &session, &error), "%s", error.text);
    ox_session_memory(session, &info);
    ox_session_free(session);
    return info.weight_bytes;
}

/* A dense layer, whose two products have the same weights. */
START_TEST(weights_are_laid_out_once) {
    ox_error error;
    ox_model *alone = begin(sample_of("dense")), *shared;
    const size_t once = weight_bytes(alone);
    ck_assert_uint_ge(once, 16 * sizeof(float));
    ck_assert_msg(!ox_model_load_memory(bytes.data, bytes.size, NULL, &shared, &error), "%s", error.text);
    ck_assert_uint_eq(weight_bytes(shared), 0);
    run_threads(shared, SIZES, share_model);
    ck_assert_uint_eq(weight_bytes(shared), once);
    ox_model_free(shared);
    ox_model_free(alone);
}
END_TEST

Suite *ox_suite_sharing(void);
Suite *ox_suite_sharing(void) {
    Suite *suite = suite_create("sharing");
    TCase *tests = tcase_create("sharing");
    tcase_add_loop_test(tests, sessions_share_a_model, 0, ox_sample_count);
    tcase_add_loop_test(tests, models_come_and_go, 0, ox_sample_count);
    tcase_add_test(tests, weights_are_laid_out_once);
    suite_add_tcase(suite, tests);
    return suite;
}
