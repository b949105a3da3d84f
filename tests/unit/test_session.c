/* test_session.c: what a session promises about memory: none is asked for when nothing changes, none is lost when there
 * is no more, and after any error the session still works. */
#include "samples.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

typedef struct result {
    size_t size;
    unsigned char bytes[16384];
} result;

/* A model and a session on it. */
typedef struct fixture {
    ox_bytes bytes;
    ox_counter counter;
    ox_options options;
    ox_model *model;
    ox_session *session;
    ox_error error;
} fixture;

static ox_status start(fixture *f) {
    f->model = NULL;
    f->session = NULL;
    ox_status status = ox_model_load_memory(f->bytes.data, f->bytes.size, &f->options, &f->model, &f->error);
    return status ? status : ox_session_create(f->model, &f->options, &f->session, &f->error);
}

static void stop(fixture *f) {
    ox_session_free(f->session);
    ox_model_free(f->model);
    ck_assert_uint_eq(f->counter.live, 0);
}

static void init(fixture *f, const ox_sample *sample) {
    memset(f, 0, sizeof *f);
    sample->build(&f->bytes);
    ox_counter_init(&f->counter);
    f->options.allocator = &f->counter.allocator;
}

static ox_status set_inputs(fixture *f, const ox_feed *feed) {
    for (int i = 0; i < feed->count; i++) {
        ox_status status = ox_session_set_input(f->session, (size_t)i, &feed->tensor[i], &f->error);
        if (status)
            return status;
    }
    return OX_OK;
}

static ox_status set_and_run(fixture *f, const ox_feed *feed) {
    ox_status status = set_inputs(f, feed);
    return status ? status : ox_session_run(f->session, &f->error);
}

static void must(fixture *f, ox_status status, const char *what) {
    ck_assert_msg(status == OX_OK, "%s: %s", what, f->error.text);
}

static void read_output(fixture *f, result *out) {
    ox_tensor tensor;
    must(f, ox_session_output(f->session, 0, &tensor, &f->error), "output");
    ck_assert(ox_tensor_is_packed(&tensor));
    out->size = (size_t)ox_tensor_count(&tensor) * ox_dtype_size(tensor.dtype);
    ck_assert_uint_le(out->size, sizeof out->bytes);
    memcpy(out->bytes, tensor.data, out->size);
}

static void check_output(fixture *f, const result *wanted) {
    static result got;
    read_output(f, &got);
    ck_assert_uint_eq(got.size, wanted->size);
    ck_assert_mem_eq(got.bytes, wanted->bytes, got.size);
}

/* Runs once, allocating or not, and once more, which must not allocate. */
static void run_twice(fixture *f, const ox_feed *feed, result *out, const char *what) {
    must(f, set_and_run(f, feed), what);
    read_output(f, out);
    size_t calls = f->counter.calls;
    must(f, ox_session_run(f->session, &f->error), what);
    check_output(f, out);
    ck_assert_msg(f->counter.calls == calls, "%s: a second run allocates", what);
    must(f, set_and_run(f, feed), what);
    check_output(f, out);
    ck_assert_msg(f->counter.calls == calls, "%s: a run with the same inputs set again allocates", what);
}

static fixture fix;
static ox_feed small, large, moved;
static result small_out, large_out, again;

START_TEST(test_no_allocation) {
    const ox_sample *sample = &ox_samples[_i];
    init(&fix, sample);
    sample->feed(&small, 3);
    sample->feed(&moved, 3);
    sample->feed(&large, 21);
    must(&fix, start(&fix), sample->name);
    run_twice(&fix, &small, &small_out, sample->name);
    size_t calls = fix.counter.calls;
    must(&fix, set_and_run(&fix, &moved), sample->name);
    ck_assert_msg(fix.counter.calls == calls, "%s: a run with inputs elsewhere allocates", sample->name);
    run_twice(&fix, &large, &large_out, sample->name);
    run_twice(&fix, &small, &again, sample->name);
    check_output(&fix, &small_out);
    run_twice(&fix, &large, &again, sample->name);
    check_output(&fix, &large_out);
    stop(&fix);
}
END_TEST

START_TEST(test_prepare_is_enough) {
    const ox_sample *sample = &ox_samples[0];
    init(&fix, sample);
    sample->feed(&small, 3);
    must(&fix, start(&fix), sample->name);
    must(&fix, set_inputs(&fix, &small), sample->name);
    must(&fix, ox_session_prepare(fix.session, &fix.error), sample->name);
    size_t calls = fix.counter.calls;
    must(&fix, ox_session_run(fix.session, &fix.error), sample->name);
    ck_assert_uint_eq(fix.counter.calls, calls);
    ox_memory_info memory;
    ox_session_memory(fix.session, &memory);
    ck_assert_uint_le(memory.arena_bytes + memory.plan_bytes, fix.counter.live);
    stop(&fix);
}
END_TEST

/* A shape that changes with the data of an input while all input shapes stay. */
START_TEST(test_shape_from_data) {
    const ox_sample *sample = &ox_samples[2];
    ck_assert_str_eq(sample->name, "expand");
    init(&fix, sample);
    sample->feed(&small, 3);
    sample->feed(&large, 3);
    large.data[1].i[2] = 9;
    must(&fix, start(&fix), sample->name);
    run_twice(&fix, &small, &small_out, "expand");
    run_twice(&fix, &large, &large_out, "expand");
    ck_assert_uint_eq(large_out.size, sizeof(float) * 2 * 3 * 9);
    run_twice(&fix, &small, &again, "expand");
    check_output(&fix, &small_out);
    stop(&fix);
}
END_TEST

/* Fails the n-th allocation of a whole life; false when there are fewer than n. */
static bool fail_nth(const ox_sample *sample, size_t n, bool and_later, bool checked) {
    init(&fix, sample);
    fix.options.check = checked;
    fix.counter.fail_at = n;
    fix.counter.fail_on = and_later;
    ox_status status = start(&fix);
    bool started = status == OX_OK;
    if (started)
        status = set_and_run(&fix, &small);
    bool failed = fix.counter.calls >= n;
    /* Where more is asked for than needed, less will do. */
    bool asked_again = failed && !and_later && status == OX_OK && fix.counter.calls > n;
    ck_assert_msg(asked_again || status == (failed ? OX_ERROR_MEMORY : OX_OK),
                  "%s: allocation %zu fails: status %d, %s", sample->name, n, (int)status, fix.error.text);
    ck_assert_int_eq(fix.error.status, status);
    ck_assert(!status || fix.error.text[0]);
    fix.counter.fail_at = 0;
    if (started && checked) {
        must(&fix, set_and_run(&fix, &small), sample->name); /* which allocates */
        check_output(&fix, &small_out);
    } else if (started) {
        run_twice(&fix, &small, &again, sample->name);
        check_output(&fix, &small_out);
    }
    stop(&fix);
    return failed;
}

START_TEST(test_out_of_memory) {
    const ox_sample *sample = &ox_samples[_i];
    memset(&small, 0, sizeof small);
    sample->feed(&small, 3);
    init(&fix, sample);
    must(&fix, start(&fix), sample->name);
    must(&fix, set_and_run(&fix, &small), sample->name);
    read_output(&fix, &small_out);
    stop(&fix);
    for (int checked = 0; checked < 2; checked++) {
        for (size_t n = 1; fail_nth(sample, n, false, checked); n++)
            ck_assert_uint_lt(n, 5000);
        for (size_t n = 1; fail_nth(sample, n, true, checked); n++)
            ck_assert_uint_lt(n, 5000);
    }
}
END_TEST

/* Loads, creates and runs in the first `size` bytes of the buffer; *peak is what it took. */
static ox_status run_in_buffer(const ox_sample *sample, unsigned char *buffer, size_t size, size_t *peak) {
    ox_fixed fixed;
    ox_allocator allocator = ox_fixed_allocator(&fixed, buffer, size);
    init(&fix, sample);
    fix.options.allocator = &allocator;
    ox_status status = start(&fix);
    if (status == OX_OK)
        status = set_and_run(&fix, &small);
    ck_assert_msg(status == OX_OK || status == OX_ERROR_MEMORY, "%zu bytes: %s", size, fix.error.text);
    ck_assert_uint_le(fixed.peak, size);
    *peak = fixed.peak;
    stop(&fix);
    return status;
}

/* Everything inside one buffer: too small is an error, large enough works, and exactly what it took is enough. */
START_TEST(test_fixed_buffer) {
    static _Alignas(64) unsigned char buffer[1 << 20];
    const ox_sample *sample = &ox_samples[_i];
    bool worked = false;
    size_t peak, second;
    sample->feed(&small, 3);
    for (size_t size = 256; size <= sizeof buffer; size += size / 4) {
        bool works = run_in_buffer(sample, buffer, size, &peak) == OX_OK;
        ck_assert(works || !worked);
        worked = works;
    }
    ck_assert(worked);
    ck_assert_int_eq(run_in_buffer(sample, buffer, sizeof buffer - 64, &peak), OX_OK);
    for (size_t at = 0; at < 64; at++) { /* wherever the buffer begins */
        ck_assert_int_eq(run_in_buffer(sample, buffer + at, peak, &second), OX_OK);
        ck_assert_uint_eq(second, peak);
        ck_assert_int_eq(run_in_buffer(sample, buffer + at, peak - 1, &second), OX_ERROR_MEMORY);
    }
}
END_TEST

START_TEST(test_limits) {
    const ox_sample *sample = &ox_samples[2];
    init(&fix, sample);
    fix.options.limits.tensor_bytes = 4096;
    sample->feed(&small, 3);
    sample->feed(&large, 3);
    large.data[1].i[2] = 1 << 20;
    must(&fix, start(&fix), "expand");
    run_twice(&fix, &small, &small_out, "expand");
    ck_assert_int_eq(set_and_run(&fix, &large), OX_ERROR_LIMIT);
    ck_assert_ptr_nonnull(strstr(fix.error.text, "4096"));
    large.data[1].i[2] = (int64_t)1 << 40; /* too large for any limit where pointers have 32 bits */
    ck_assert_int_eq(set_and_run(&fix, &large), OX_ERROR_LIMIT);
    run_twice(&fix, &small, &again, "expand");
    check_output(&fix, &small_out);
    stop(&fix);
}
END_TEST

START_TEST(test_wrong_inputs) {
    const ox_sample *sample = &ox_samples[0];
    init(&fix, sample);
    sample->feed(&small, 3);
    must(&fix, start(&fix), sample->name);
    ck_assert_int_ne(ox_session_run(fix.session, &fix.error), OX_OK);
    ck_assert_ptr_nonnull(strstr(fix.error.text, "a"));
    ck_assert_int_ne(ox_session_set_input(fix.session, 3, &small.tensor[0], &fix.error), OX_OK);
    ox_tensor wrong = small.tensor[1];
    wrong.dtype = OX_DOUBLE;
    ck_assert_int_eq(ox_session_set_input(fix.session, 1, &wrong, &fix.error), OX_ERROR_SHAPE);
    ck_assert_ptr_nonnull(strstr(fix.error.text, "double"));
    wrong = small.tensor[1];
    wrong.rank = 2;
    ck_assert_int_eq(ox_session_set_input(fix.session, 1, &wrong, &fix.error), OX_ERROR_SHAPE);
    wrong = small.tensor[1];
    wrong.dims = (const int64_t[]){5};
    ck_assert_int_eq(ox_session_set_input(fix.session, 1, &wrong, &fix.error), OX_ERROR_SHAPE);
    run_twice(&fix, &small, &again, sample->name);
    ox_tensor out;
    ck_assert_int_ne(ox_session_output(fix.session, 2, &out, &fix.error), OX_OK);
    stop(&fix);
}
END_TEST

/* Tensors that do not fit together: found by the run, which names the node, and gone with the next inputs. */
START_TEST(test_error_is_not_for_good) {
    const ox_sample *sample = &ox_samples[0];
    init(&fix, sample);
    sample->feed(&small, 3);
    must(&fix, start(&fix), sample->name);
    run_twice(&fix, &small, &small_out, sample->name);
    ox_tensor wrong = small.tensor[2];
    wrong.dims = (const int64_t[]){2, 1};
    must(&fix, ox_session_set_input(fix.session, 2, &wrong, &fix.error), sample->name);
    ck_assert_int_eq(ox_session_run(fix.session, &fix.error), OX_ERROR_SHAPE);
    ck_assert_ptr_nonnull(strstr(fix.error.text, "Mul"));
    run_twice(&fix, &small, &again, sample->name);
    check_output(&fix, &small_out);
    stop(&fix);
}
END_TEST

static void clear(void) {
    small = large = moved = (ox_feed){0};
}

Suite *ox_suite_session(void) {
    Suite *suite = suite_create("session");
    TCase *memory = tcase_create("memory");
    tcase_add_checked_fixture(memory, clear, NULL);
    tcase_add_loop_test(memory, test_no_allocation, 0, ox_sample_count);
    tcase_add_test(memory, test_prepare_is_enough);
    tcase_add_test(memory, test_shape_from_data);
    tcase_add_loop_test(memory, test_out_of_memory, 0, ox_sample_count);
    tcase_add_loop_test(memory, test_fixed_buffer, 0, ox_sample_count);
    tcase_add_test(memory, test_limits);
    suite_add_tcase(suite, memory);
    TCase *inputs = tcase_create("inputs");
    tcase_add_checked_fixture(inputs, clear, NULL);
    tcase_add_test(inputs, test_wrong_inputs);
    tcase_add_test(inputs, test_error_is_not_for_good);
    suite_add_tcase(suite, inputs);
    return suite;
}
