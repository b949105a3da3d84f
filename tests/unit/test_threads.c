/* test_threads.c: the pool runs every part once, and a session gives the same bits with any number of threads. */
#include "own_model.h"

#include "src/host.h"
#include "src/meter.h"
#include "src/ops/window/band.h"
#include "src/pool.h"
#include "src/tensor.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- The pool ----------------------------------------------------------------------------------------------- */

enum {
    MOST_THREADS = 8,
    ROUNDS = 2000
};

/* How often each part ran: plain integers, so that a thread sanitizer sees what is not ordered. */
typedef struct tally {
    int parts;
    int runs[MOST_THREADS];
} tally;

static void count_part(void *context, int part, int parts) {
    tally *t = context;
    if (part == 0)
        t->parts = parts;
    t->runs[part]++;
}

START_TEST(every_part_runs_once) {
    const int threads = _i;
    ox_counter counter;
    ox_error error;
    ox_pool *pool;
    ox_counter_init(&counter);
    ck_assert_int_eq(ox_pool_create(&counter.allocator, threads, &ox_limits_default, &pool, &error), OX_OK);
    ck_assert_int_eq(ox_pool_parts(pool), threads);
    tally t = {0};
    for (int round = 1; round <= ROUNDS; round++) {
        ox_pool_run(pool, count_part, &t);
        ck_assert_int_eq(t.parts, threads);
        for (int part = 0; part < threads; part++)
            ck_assert_int_eq(t.runs[part], round);
    }
    ox_pool_free(pool);
    ck_assert_uint_eq(counter.live, 0);
}
END_TEST

enum {
    MOST_UNITS = 200000
};

typedef struct shares {
    int64_t count;
    int threads;
    unsigned char had[MOST_UNITS]; /* plain, as above */
    atomic_int rooms[MOST_THREADS], wrong;
    atomic_int slow; /* the room that waits until all other units are done, -1 for none */
    atomic_int left;
} shares;

static void count_units(shares *s, int room, int64_t first, int64_t end) {
    if (room < 0 || room >= s->threads || first >= end || end > s->count || atomic_fetch_add(&s->rooms[room], 1)) {
        atomic_store(&s->wrong, 1);
        return;
    }
    for (int64_t i = first; i < end; i++)
        s->had[i]++;
    if (room == atomic_load(&s->slow))
        while (atomic_load(&s->left) > end - first)
            sched_yield();
    atomic_fetch_sub(&s->left, (int)(end - first));
    atomic_fetch_sub(&s->rooms[room], 1);
}

static void count_share(void *context, ox_share *share) {
    int64_t first, end;
    while (ox_share_next(share, &first, &end))
        count_units(context, share->room, first, end);
}

static void share(ox_pool *pool, shares *s, int64_t count, int64_t step) {
    memset(s->had, 0, sizeof s->had);
    s->count = count;
    atomic_store(&s->left, (int)count);
    ox_pool_share(pool, count, step, count_share, s);
    bool once = true;
    for (int64_t i = 0; i < count; i++)
        once = once && s->had[i] == 1;
    ck_assert_int_eq(atomic_load(&s->wrong), 0);
    ck_assert_msg(once, "%lld units in steps of %lld", (long long)count, (long long)step);
}

/* And one thread at a time works in a room. */
START_TEST(every_unit_is_done_once) {
    static const int64_t counts[] = {1, 2, 3, 7, 16, 100, 65535, 65536, 199999}, steps[] = {1, 2, 5, 64, 300000};
    static shares s;
    ox_error error;
    ox_pool *pool;
    s = (shares){.threads = _i, .slow = -1};
    ck_assert_int_eq(ox_pool_create(ox_default_allocator(), _i, &ox_limits_default, &pool, &error), OX_OK);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (size_t j = 0; j < sizeof steps / sizeof *steps; j++)
            for (int round = 0; round < (counts[i] < 1000 ? 20 : 2); round++)
                share(pool, &s, counts[i], steps[j]);
    ox_pool_free(pool);
}
END_TEST

/* The caller is held up in its first piece, half of its share, until the others have done all the rest. */
START_TEST(others_take_what_a_slow_thread_has_left) {
    static shares s;
    ox_error error;
    ox_pool *pool;
    s = (shares){.threads = 3, .slow = 0};
    for (int round = 0; round < 20; round++) { /* a pool each: one that waited for others may work alone next time */
        ck_assert_int_eq(ox_pool_create(ox_default_allocator(), 3, &ox_limits_default, &pool, &error), OX_OK);
        share(pool, &s, 90, 1);
        ox_pool_free(pool);
    }
}
END_TEST

/* Which threads ran parts; those that are not the caller take LATE_NS, as where they wait for a processor. */
typedef struct lateness {
    pthread_t caller;
    atomic_int elsewhere;
} lateness;

enum {
    LATE_NS = 200000000
};

static void run_late(void *context, int part, int parts) {
    lateness *l = context;
    (void)part, (void)parts;
    if (pthread_equal(pthread_self(), l->caller))
        return;
    atomic_fetch_add(&l->elsewhere, 1);
    nanosleep(&(struct timespec){.tv_nsec = LATE_NS}, NULL);
}

/* A worker that kept the caller waiting gets no part for as long as that took, and parts again later. */
START_TEST(late_workers_are_left_out) {
    lateness l = {.caller = pthread_self()};
    ox_error error;
    ox_pool *pool;
    ck_assert_int_eq(ox_pool_create(ox_default_allocator(), 2, &ox_limits_default, &pool, &error), OX_OK);
    for (int turn = 0; turn < 2; turn++) {
        const int before = atomic_load(&l.elsewhere);
        while (atomic_load(&l.elsewhere) == before)
            ox_pool_run(pool, run_late, &l);
        const uint64_t end = ox_host_now() + LATE_NS / 2;
        do
            ox_pool_run(pool, run_late, &l);
        while (ox_host_now() < end);
        ck_assert_int_eq(atomic_load(&l.elsewhere), before + 1);
    }
    ox_pool_free(pool);
}
END_TEST

START_TEST(ranges_cover_everything_once) {
    for (int parts = 1; parts <= MOST_THREADS; parts++)
        for (int64_t count = 0; count < 40; count++) {
            int64_t at = 0;
            for (int part = 0; part < parts; part++) {
                int64_t first, end;
                ox_pool_range(count, part, parts, &first, &end);
                ck_assert_int_eq(first, at);
                ck_assert_int_ge(end, first);
                ck_assert_int_le(end - first, count / parts + 1);
                at = end;
            }
            ck_assert_int_eq(at, count);
        }
}
END_TEST

/* Bands of blocks, of which parts have all that lie side by side in memory. */
START_TEST(bands_are_shared_evenly) {
    for (int64_t blocks = 1; blocks < 12; blocks++)
        for (int64_t count = 1; count < 8; count++)
            for (int parts = 1; parts < 6; parts++) {
                const ox_band band = {.count = count};
                int64_t had[8] = {0}; /* blocks of each band that parts before have */
                for (int part = 0; part < parts; part++) {
                    int64_t all = 0, start, behind;
                    ox_pool_range(blocks * count, part, parts, &start, &behind);
                    for (int64_t number = 0; number < count; number++) {
                        int64_t end, first = ox_band_share(&band, number, start, behind, &end);
                        ck_assert_int_eq(first, had[number]);
                        ck_assert_int_ge(end, first);
                        all += end - first;
                        had[number] = end;
                    }
                    ck_assert_int_ge(all, blocks * count / parts);
                    ck_assert_int_le(all, (blocks * count + parts - 1) / parts);
                }
                for (int64_t number = 0; number < count; number++)
                    ck_assert_int_eq(had[number], blocks);
            }
}
END_TEST

START_TEST(memory_of_parts_lies_apart) {
    ck_assert_int_eq(ox_pool_room(1, 100), 100);
    ck_assert_int_eq(ox_pool_room(3, 0), 0);
    ck_assert_int_ge(ox_pool_room(2, 100), 100 + OX_APART_BYTES);
    ck_assert_int_eq(ox_pool_room(2, 100) % OX_ALIGN, 0);
}
END_TEST

START_TEST(too_many_threads_are_refused) {
    ox_pool *pool;
    ox_error error;
    ck_assert_int_eq(ox_pool_create(ox_default_allocator(), 1000000, &ox_limits_default, &pool, &error),
                     OX_ERROR_ARGUMENT);
    ck_assert_ptr_null(pool);
}
END_TEST

/* ---- Models, each large enough to be split ------------------------------------------------------------------- */

typedef struct shape {
    ox_dtype dtype;
    int rank;
    int64_t dims[4];
} shape;

typedef struct task {
    const char *name;
    const char *nodes; /* "Op inputs outputs", with ; between */
    const char *ints;  /* a list attribute of the first node, or NULL */
    int64_t values[4];
    int count;
    const char *number; /* an integer attribute of the first node, or NULL */
    int64_t value;
    shape in[3];
} task;

#define FLOATS(...)                                                                                                    \
    {                                                                                                                  \
        OX_FLOAT, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), {                                                \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }
#define HALVES(...)                                                                                                    \
    {                                                                                                                  \
        OX_FLOAT16, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), {                                              \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }
#define LONGS(...)                                                                                                     \
    {                                                                                                                  \
        OX_INT64, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), {                                                \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }
#define INTS(name, ...)                                                                                                \
    .ints = name, .values = {__VA_ARGS__}, .count = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)
#define INT(name, n) .number = name, .value = n

static const task tasks[] = {
    {"Gemm by columns", "Gemm a,b,c y", .in = {FLOATS(30, 130), FLOATS(130, 500), FLOATS(500)}},
    {"Gemm by rows", "Gemm a,b,c y", .in = {FLOATS(301, 300), FLOATS(300, 13), FLOATS(301, 1)}, INT("transB", 0)},
    {"Gemm with a vector", "Gemm a,b,c y", .in = {FLOATS(1501, 200), FLOATS(200, 1), FLOATS(1501, 1)}},
    {"Gemm transposed", "Gemm a,b,c y", .in = {FLOATS(200, 77), FLOATS(200, 91), FLOATS(91)}, INT("transA", 1)},
    {"Gemm of float16", "Gemm a,b y", .in = {HALVES(90, 130), HALVES(130, 70)}},
    {"MatMul with many products", "MatMul a,b y", .in = {FLOATS(40, 31, 33), FLOATS(1, 33, 29)}},
    {"MatMul with many repeated products", "MatMul a,b y", .in = {FLOATS(5, 7, 31, 33), FLOATS(5, 1, 33, 29)}},
    {"MatMul with few products", "MatMul a,b y", .in = {FLOATS(3, 70, 120), FLOATS(3, 120, 90)}},
    {"Conv", "Conv a,b,c y", .in = {FLOATS(1, 16, 40, 37), FLOATS(24, 16, 3, 3), FLOATS(24)}, INTS("pads", 1, 1, 1, 1)},
    {"Conv with few pixels", "Conv a,b,c y", .in = {FLOATS(1, 64, 4, 3), FLOATS(100, 64, 3, 3), FLOATS(100)},
     INTS("pads", 1, 1, 1, 1)},
    {"Conv by channel", "Conv a,b,c y", .in = {FLOATS(2, 32, 40, 40), FLOATS(32, 1, 3, 3), FLOATS(32)},
     INT("group", 32)},
    {"Conv without bias", "Conv a,b y", .in = {FLOATS(1, 32, 40, 40), FLOATS(32, 2, 3, 3)}, INT("group", 16)},
    {"Conv of single pixels", "Conv a,b,c y", .in = {FLOATS(2, 32, 40, 41), FLOATS(16, 32, 1, 1), FLOATS(16)}},
    {"ReduceMean over the first axis", "ReduceMean a y", .in = {FLOATS(100, 27, 31)}, INTS("axes", 0)},
    {"ReduceMean over the middle axis", "ReduceMean a y", .in = {FLOATS(30, 100, 31)}, INTS("axes", 1)},
    {"ReduceMean over the last axis", "ReduceMean a y", .in = {FLOATS(30, 27, 101)}, INTS("axes", 2)},
    {"ReduceMax over two axes", "ReduceMax a y", .in = {FLOATS(30, 27, 101)}, INTS("axes", 0, 2)},
    {"ReduceMean to few results", "ReduceMean a y", .in = {FLOATS(3, 50000)}, INTS("axes", 1)},
    {"ReduceMax of float16", "ReduceMax a y", .in = {HALVES(300, 301)}, INTS("axes", 0)},
    {"Softmax over the last axis", "Softmax a y", .in = {FLOATS(301, 97)}, INT("axis", 1)},
    {"Softmax over the first axis", "Softmax a y", .in = {FLOATS(97, 301)}, INT("axis", 0)},
    {"Softmax over a middle axis", "Softmax a y", .in = {FLOATS(17, 20, 150)}, INT("axis", 1)},
    {"Transpose", "Transpose a y", .in = {FLOATS(203, 307)}},
    {"Expand", "Shape b s;Expand a,s y", .in = {FLOATS(301, 1), FLOATS(301, 257)}},
    {"Gather of rows", "Gather a,i y", .in = {FLOATS(300, 120), LONGS(41, 13)}, INT("axis", 0)},
    {"Gather of elements", "Gather a,i y", .in = {FLOATS(11, 300), LONGS(4001)}, INT("axis", 1)},
    {"GatherElements", "GatherElements a,i y", .in = {FLOATS(300, 40), LONGS(2001, 40)}, INT("axis", 0)},
    {"LRN", "LRN a y", .in = {FLOATS(3, 30, 20, 21)}, INT("size", 5)},
    {"Det", "Det a y", .in = {FLOATS(301, 17, 17)}},
    {"Concat", "Concat a,b y", .in = {FLOATS(300, 120), FLOATS(300, 95)}, INT("axis", 1)},
    {"a chain", "Mul a,b t;Add t,c u;Sigmoid u v;Sub v,a y", .in = {FLOATS(301, 257), FLOATS(257), FLOATS(301, 1)}},
    {"a chain of float16", "Mul a,b t;Tanh t y", .in = {HALVES(501, 257), HALVES(257)}},
};

enum {
    TASKS = sizeof tasks / sizeof *tasks
};

/* The names of inputs in the order in which nodes use them: the third, or the second of Gather, may be another. */
static const char *input_name(const task *t, int i) {
    return t->in[i].dtype == OX_INT64 ? "i" : i == 0 ? "a" : i == 1 ? "b" : "c";
}

static void put_nodes(own_model *m, const task *t) {
    char text[128], *next = text;
    ck_assert_uint_lt(strlen(t->nodes), sizeof text);
    strcpy(text, t->nodes);
    for (bool first = true; next; first = false) {
        char *node = next, *inputs = strchr(node, ' ');
        *inputs++ = 0;
        char *outputs = strchr(inputs, ' ');
        *outputs++ = 0;
        next = strchr(outputs, ';');
        if (next)
            *next++ = 0;
        ox_bytes attrs = {0};
        if (first && t->ints)
            own_ints(&attrs, t->ints, (size_t)t->count, t->values);
        if (first && t->number)
            ox_put_attr_int(&attrs, t->number, t->value);
        own_node(m, node, inputs, outputs, &attrs);
    }
}

static void build(own_model *m, const task *t) {
    own_begin(m, "", 13);
    put_nodes(m, t);
    for (int i = 0; i < 3 && t->in[i].rank; i++)
        ox_put_input(&m->graph, input_name(t, i), t->in[i].dtype, t->in[i].rank, t->in[i].dims);
    ox_put_output(&m->graph, "y", t->in[0].dtype, -1, NULL);
}

/* Values that are rounded in every sum, and indices of both signs. */
static void fill(ox_tensor *tensor, const shape *s) {
    static const uint16_t halves[] = {0x3c01, 0xb855, 0x4033, 0x2e66, 0xc111};
    int64_t count = ox_count(s->rank, s->dims);
    *tensor = (ox_tensor){s->dtype, s->rank, s->dims, NULL, malloc((size_t)count * ox_dtype_size(s->dtype))};
    ck_assert_ptr_nonnull(tensor->data);
    uint32_t random = 12345;
    for (int64_t i = 0; i < count; i++) {
        random = random * 1664525 + 1013904223;
        if (s->dtype == OX_FLOAT)
            ((float *)tensor->data)[i] = (float)(random >> 8) * 0x1p-23F - 0.9F;
        else if (s->dtype == OX_FLOAT16)
            ((uint16_t *)tensor->data)[i] = halves[(random >> 16) % 5];
        else
            ((int64_t *)tensor->data)[i] = (int64_t)(random >> 16) % 440 - 220;
    }
}

/* Gather's axis has 300 elements: -220 to 219 are all in range. */
static int fill_inputs(const task *t, ox_tensor *inputs) {
    int count = 0;
    for (; count < 3 && t->in[count].rank; count++)
        fill(&inputs[count], &t->in[count]);
    return count;
}

static size_t bytes_of(const ox_tensor *tensor) {
    return (size_t)ox_tensor_count(tensor) * ox_dtype_size(tensor->dtype);
}

static void must(const task *t, ox_status status, const ox_error *error) {
    ck_assert_msg(status == OX_OK, "%s: %s", t->name, error->text);
}

START_TEST(threads_change_no_bit) {
    const task *t = &tasks[_i];
    static own_model one, many;
    ox_tensor inputs[3];
    int count = fill_inputs(t, inputs);
    memset(&one, 0, sizeof one);
    build(&one, t);
    must(t, own_load(&one), &one.error);
    must(t, own_run(&one, count, inputs), &one.error);
    for (int threads = 2; threads <= 5; threads++) {
        memset(&many, 0, sizeof many);
        build(&many, t);
        many.options.threads = threads;
        must(t, own_load(&many), &many.error);
        for (int run = 0; run < 3; run++) {
            size_t calls = many.counter.calls;
            must(t, own_run(&many, count, inputs), &many.error);
            ck_assert_uint_eq(bytes_of(&many.output), bytes_of(&one.output));
            ck_assert_msg(!memcmp(many.output.data, one.output.data, bytes_of(&one.output)), "%s: %d threads differ",
                          t->name, threads);
            ck_assert_msg(run == 0 || many.counter.calls == calls, "%s: a run allocates", t->name);
        }
        own_end(&many);
    }
    own_end(&one);
    for (int i = 0; i < count; i++)
        free(inputs[i].data);
}
END_TEST

/* The error is the one of the first wrong index, whichever thread finds one first. */
START_TEST(the_first_wrong_index_is_named) {
    static const task gathers[] = {{"Gather", "Gather a,i y", .in = {FLOATS(300, 2), LONGS(40000)}},
                                   {"GatherElements", "GatherElements a,i y", .in = {FLOATS(300, 8), LONGS(5000, 8)}}};
    const task *gather = &gathers[_i];
    static own_model m;
    ox_tensor inputs[2];
    fill_inputs(gather, inputs);
    ((int64_t *)inputs[1].data)[13001] = 300;
    ((int64_t *)inputs[1].data)[13007] = 301;
    ((int64_t *)inputs[1].data)[39999] = -302;
    memset(&m, 0, sizeof m);
    build(&m, gather);
    m.options.threads = 3;
    must(gather, own_load(&m), &m.error);
    for (int round = 0; round < 20; round++) {
        ck_assert_int_eq(own_run(&m, 2, inputs), OX_ERROR_VALUE);
        ck_assert_ptr_nonnull(strstr(m.error.text, "index 300 is out of range for axis 0 of size 300"));
    }
    own_end(&m);
    free(inputs[0].data);
    free(inputs[1].data);
}
END_TEST

/* Two nodes of a pass divide by zero: the error is that of the first tile, whichever thread finds one first. */
START_TEST(the_first_division_by_zero_is_named) {
    enum {
        COUNT = 400000
    };
    static const task divisions = {"divisions", "Div a,b t;Mod t,c y",
                                   .in = {LONGS(COUNT), LONGS(COUNT), LONGS(COUNT)}};
    static const char *const names[] = {"a", "b", "c"};
    static own_model m;
    ox_tensor inputs[3];
    memset(&m, 0, sizeof m);
    own_begin(&m, "", 13);
    put_nodes(&m, &divisions);
    for (int i = 0; i < 3; i++) {
        fill(&inputs[i], &divisions.in[i]);
        ox_put_input(&m.graph, names[i], OX_INT64, 1, divisions.in[i].dims);
        for (int64_t j = 0; j < COUNT; j++)
            ((int64_t *)inputs[i].data)[j] |= 1;
    }
    ox_put_output(&m.graph, "y", OX_INT64, -1, NULL);
    for (int64_t j = COUNT / 2 - 40000; j < COUNT; j += 40000)
        ((int64_t *)inputs[1].data)[j] = 0;
    ((int64_t *)inputs[2].data)[COUNT / 2 - 50000] = 0;
    m.options.threads = _i;
    must(&divisions, own_load(&m), &m.error);
    for (int round = 0; round < 20; round++) {
        ck_assert_int_eq(own_run(&m, 3, inputs), OX_ERROR_VALUE);
        ck_assert_msg(strstr(m.error.text, "Mod"), "%s", m.error.text);
    }
    own_end(&m);
    for (int i = 0; i < 3; i++)
        free(inputs[i].data);
}
END_TEST

/* ---- One model, many threads --------------------------------------------------------------------------------- */

typedef struct user {
    const ox_model *model;
    const ox_tensor *inputs;
    const void *wanted;
    size_t size;
    int threads; /* of the session */
    bool right;
    pthread_t thread;
} user;

/* Runs in a thread of its own: no assertions of the test library. */
static void *use_model(void *argument) {
    user *u = argument;
    ox_options options = {.threads = u->threads};
    ox_session *session;
    ox_error error;
    ox_tensor output;
    u->right = false;
    if (ox_session_create(u->model, &options, &session, &error))
        return NULL;
    bool right = true;
    for (size_t i = 0; i < 3; i++)
        right = right && !ox_session_set_input(session, i, &u->inputs[i], &error);
    for (int run = 0; right && run < 20; run++)
        right = !ox_session_run(session, &error) && !ox_session_output(session, 0, &output, &error) &&
                bytes_of(&output) == u->size && !memcmp(output.data, u->wanted, u->size);
    ox_session_free(session);
    u->right = right;
    return NULL;
}

START_TEST(threads_share_a_model) {
    static const task shared = {"shared", "Gemm a,b,c t;Softmax t u;Add u,c y",
                                .in = {FLOATS(60, 100), FLOATS(100, 90), FLOATS(90)}};
    static own_model m;
    ox_tensor inputs[3];
    user users[MOST_THREADS];
    fill_inputs(&shared, inputs);
    memset(&m, 0, sizeof m);
    build(&m, &shared);
    m.options.allocator = NULL;
    must(&shared, own_load(&m), &m.error);
    must(&shared, own_run(&m, 3, inputs), &m.error);
    for (int i = 0; i < MOST_THREADS; i++) {
        users[i] = (user){m.model, inputs, m.output.data, bytes_of(&m.output), 1 + i % 2, false, 0};
        ck_assert_int_eq(pthread_create(&users[i].thread, NULL, use_model, &users[i]), 0);
    }
    for (int i = 0; i < MOST_THREADS; i++) {
        pthread_join(users[i].thread, NULL);
        ck_assert_msg(users[i].right, "session %d", i);
    }
    own_end(&m);
    for (int i = 0; i < 3; i++)
        free(inputs[i].data);
}
END_TEST

Suite *ox_suite_threads(void);
Suite *ox_suite_threads(void) {
    Suite *suite = suite_create("threads");
    TCase *tests = tcase_create("threads");
    tcase_set_tags(tests, "long");
    tcase_add_loop_test(tests, every_part_runs_once, 1, MOST_THREADS + 1);
    tcase_add_loop_test(tests, every_unit_is_done_once, 1, MOST_THREADS + 1);
    tcase_add_test(tests, others_take_what_a_slow_thread_has_left);
    tcase_add_test(tests, late_workers_are_left_out);
    tcase_add_test(tests, ranges_cover_everything_once);
    tcase_add_test(tests, bands_are_shared_evenly);
    tcase_add_test(tests, memory_of_parts_lies_apart);
    tcase_add_test(tests, too_many_threads_are_refused);
    tcase_add_loop_test(tests, threads_change_no_bit, 0, TASKS);
    tcase_add_loop_test(tests, the_first_wrong_index_is_named, 0, 2);
    tcase_add_loop_test(tests, the_first_division_by_zero_is_named, 1, 5);
    tcase_add_test(tests, threads_share_a_model);
    suite_add_tcase(suite, tests);
    return suite;
}
