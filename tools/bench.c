/* bench.c: "ox bench", how long a run of a model takes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "copies.h"
#include "memory.h"
#include "options.h"
#include "request.h"

enum {
    LEAST_SAMPLES = 10,
    MOST_PROFILED = 100
};

static const double LEAST_NS = 1e9, WARM_NS = 1e8, BATCH_NS = 2e4, PROFILED_NS = 1e8;

/* Runs that take longer say which node they are at; that costs some nanoseconds a node. */
static const double WATCHED_NS = 1e8;

typedef struct samples {
    double *ns; /* of a run */
    size_t count, room;
} samples;

/* A benchmark while it runs. */
typedef struct bench {
    ox_request *request;
    bool json;
    const ox_inputs *inputs;
    ox_session *session;
    ox_recorder recorder;
    samples runs, copies;
    size_t batch; /* runs between two looks at the clock */
    uint64_t bytes;
} bench;

/* ---- Measuring -------------------------------------------------------------------------------------------------- */

static void add_sample(samples *s, double ns) {
    if (s->count == s->room) {
        s->room = s->room ? 2 * s->room : 256;
        s->ns = ox_tool_resize(s->ns, s->room * sizeof *s->ns);
    }
    s->ns[s->count++] = ns;
}

static int compare_numbers(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value that a share of the sorted samples lies below. */
static double quantile(const samples *s, double share) {
    double at = share * (double)(s->count - 1);
    size_t below = (size_t)at;
    size_t above = below + 1 < s->count ? below + 1 : below;
    return s->ns[below] + (at - (double)below) * (s->ns[above] - s->ns[below]);
}

static ox_status measure_copies(bench *b, ox_error *error) {
    double ns[OX_COPIES];
    ox_watch_say(&b->request->watch, "measuring memcpy");
    if (!ox_copies_measure(ns))
        return ox_tool_fail(error, OX_ERROR_MEMORY, "out of memory: 2 x %d bytes to copy", OX_COPY_BYTES);
    for (int i = 0; i < OX_COPIES; i++)
        add_sample(&b->copies, ns[i]);
    return OX_OK;
}

static ox_status run_batch(ox_session *session, size_t count, double *ns, ox_error *error) {
    ox_status status = OX_OK;
    uint64_t start = ox_tool_now();
    for (size_t i = 0; i < count && !status; i++)
        status = ox_session_run(session, error);
    *ns = (double)(ox_tool_now() - start) / (double)count;
    return status;
}

/* Runs until caches and clock are warm, and finds how many runs are worth a look at the clock. */
static ox_status warm_up(bench *b, ox_error *error) {
    double total = 0, ns = 0;
    size_t count = 1;
    ox_watch_say(&b->request->watch, "warming up");
    ox_watch_session(&b->request->watch, b->session, true);
    for (int i = 0; i < 3 || total < WARM_NS; i++) {
        ox_status status = run_batch(b->session, count, &ns, error);
        if (status)
            return status;
        total += ns * (double)count;
        count = ns * (double)count < BATCH_NS ? 2 * count : count;
    }
    ox_watch_session(&b->request->watch, b->session, ns > WATCHED_NS);
    b->batch = ns > 0 && ns < BATCH_NS ? (size_t)(BATCH_NS / ns) + 1 : 1;
    return OX_OK;
}

static ox_status measure_runs(bench *b, ox_error *error) {
    uint64_t start = ox_tool_now();
    ox_watch_say(&b->request->watch, "measuring");
    while (b->runs.count < LEAST_SAMPLES || (double)(ox_tool_now() - start) < LEAST_NS) {
        double ns;
        if (b->runs.count <= LEAST_SAMPLES) { /* then it goes by time */
            const bool counts = b->runs.count < LEAST_SAMPLES;
            ox_watch_turn(&b->request->watch, counts ? b->runs.count + 1 : 0, counts ? LEAST_SAMPLES : 0);
        }
        ox_status status = run_batch(b->session, b->batch, &ns, error);
        if (status)
            return status;
        add_sample(&b->runs, ns);
    }
    return OX_OK;
}

/* Profiled runs are extra ones: asking the clock at each step costs time. */
static ox_status profile_runs(bench *b, ox_error *error) {
    bool asked = b->request->profile || b->request->trace;
    ox_watch_say(&b->request->watch, asked ? "profiling" : "counting bytes");
    uint64_t start = ox_tool_now();
    b->recorder.keeps_spans = b->request->trace != NULL;
    for (int i = 0; i < 1 || (asked && i < MOST_PROFILED && (double)(ox_tool_now() - start) < PROFILED_NS); i++) {
        ox_status status = ox_recorder_run(&b->recorder, b->session, error);
        if (status)
            return status;
    }
    b->bytes = ox_recorder_bytes(&b->recorder) / b->recorder.runs;
    return OX_OK;
}

static ox_status measure(bench *b, ox_error *error) {
    static ox_status (*const parts[])(bench *, ox_error *) = {warm_up, measure_copies, measure_runs, measure_copies,
                                                              profile_runs};
    ox_status status = OX_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !status; i++)
        status = parts[i](b, error);
    if (!status) {
        qsort(b->runs.ns, b->runs.count, sizeof *b->runs.ns, compare_numbers);
        qsort(b->copies.ns, b->copies.count, sizeof *b->copies.ns, compare_numbers);
    }
    return status;
}

/* ---- Saying ----------------------------------------------------------------------------------------------------- */

static double copy_speed(const bench *b) {
    return 2.0 * OX_COPY_BYTES / quantile(&b->copies, 0.5);
}

static int threads_of(const bench *b) {
    return b->request->plugins.options.threads ? b->request->plugins.options.threads : 1;
}

static void print_json(bench *b, const ox_model *loaded) {
    double median = quantile(&b->runs, 0.5), speed = (double)b->bytes / median;
    ox_text model = {0};
    ox_recorder_count(&b->recorder, loaded, b->session);
    ox_text_json(&model, b->request->model);
    printf("{\n  \"model\": %s,\n  \"threads\": %d,\n  \"runs\": %zu,\n", model.data, threads_of(b),
           b->runs.count * b->batch);
    printf("  \"median_ns\": %.1f,\n  \"p10_ns\": %.1f,\n  \"p90_ns\": %.1f,\n", median, quantile(&b->runs, 0.1),
           quantile(&b->runs, 0.9));
    printf("  \"bytes\": %" PRIu64 ",\n  \"GBps\": %.3f,\n  \"memcpy_GBps\": %.3f,\n  \"memcpy_share\": %.4f", b->bytes,
           speed, copy_speed(b), speed / copy_speed(b));
    if (b->inputs->taken.size) {
        model.size = 0;
        ox_text_json(&model, b->inputs->taken.data);
        printf(",\n  \"sizes_taken\": %s", model.data);
    }
    if (b->request->profile) {
        model.size = 0;
        ox_recorder_json(&b->recorder, &model);
        printf(",\n  \"profile\": %s", model.data);
    }
    fputs("\n}\n", stdout);
    ox_text_free(&model);
}

/* "12.3 us" */
static void add_time(ox_text *text, double ns) {
    static const char *const units[] = {"ns", "us", "ms", "s"};
    size_t unit = 0;
    for (; ns >= 999.5 && unit < 3; unit++)
        ns /= 1000;
    ox_text_format(text, "%.*f %s", ns < 9.995 ? 2 : ns < 99.95 ? 1 : 0, ns, units[unit]);
}

static void print_result(const bench *b) {
    double median = quantile(&b->runs, 0.5), speed = (double)b->bytes / median;
    ox_text text = {0};
    ox_text_put(&text, "median ");
    add_time(&text, median);
    ox_text_put(&text, ", p10 ");
    add_time(&text, quantile(&b->runs, 0.1));
    ox_text_put(&text, ", p90 ");
    add_time(&text, quantile(&b->runs, 0.9));
    ox_text_format(&text, " (%zu runs, %d thread%s)\n", b->runs.count * b->batch, threads_of(b),
                   threads_of(b) > 1 ? "s" : "");
    ox_text_bytes(&text, (double)b->bytes);
    ox_text_format(&text, " moved in a run: %.2f GB/s, %.0f %% of memcpy (%.2f GB/s)%s\n", speed,
                   100 * speed / copy_speed(b), copy_speed(b),
                   speed > copy_speed(b) ? ": what runs move stays in the caches, memcpy's 64 MiB do not" : "");
    fputs(text.data, stdout);
    ox_text_free(&text);
}

/* The inputs that were not given. */
static void note_filled(const ox_inputs *inputs, const bool *filled) {
    ox_text list = {0};
    for (size_t i = 0; i < inputs->count; i++)
        if (filled[i]) {
            ox_text_put(&list, list.size ? ", " : "");
            ox_text_escape(&list, inputs->infos[i].name, strlen(inputs->infos[i].name), NULL);
        }
    if (list.size)
        printf("@random input: %s\n", list.data);
    ox_text_free(&list);
}

/* ---- The command line -------------------------------------------------------------------------------------------- */

/* Gives inputs without a source one, unless the model has a default for them. */
static void fill_rest(ox_inputs *inputs, bool json) {
    bool *filled = ox_tool_alloc(inputs->count * sizeof *filled);
    for (size_t i = 0; i < inputs->count; i++) {
        filled[i] = !inputs->sources[i] && !inputs->infos[i].optional;
        if (filled[i])
            inputs->sources[i] = "@random";
    }
    if (!json)
        note_filled(inputs, filled);
    free(filled);
}

static ox_status bench_session(bench *b, const ox_model *model, const ox_inputs *inputs, ox_error *error) {
    ox_status status = ox_session_create(model, NULL, &b->session, error);
    if (!status)
        status = ox_inputs_set(inputs, b->session, error);
    if (!status)
        status = measure(b, error);
    ox_watch_stop(&b->request->watch);
    if (!status) {
        if (b->json)
            print_json(b, model);
        else
            print_result(b);
        status = ox_request_report(b->request, b->session, &b->recorder, error);
    }
    ox_session_free(b->session);
    ox_recorder_free(&b->recorder);
    free(b->runs.ns);
    free(b->copies.ns);
    return status;
}

static ox_status bench_model(const ox_model *model, ox_request *request, bool json, ox_error *error) {
    ox_inputs inputs;
    bench b = {.request = request, .json = json, .inputs = &inputs};
    ox_status status = ox_inputs_create(&inputs, model, &request->bindings, error);
    if (!status)
        status = ox_inputs_assign(&inputs, request->inputs, request->input_count, error);
    if (!status) {
        fill_rest(&inputs, json);
        status = ox_inputs_load(&inputs, error);
        ox_inputs_note(&inputs);
    }
    if (!status)
        status = ox_request_save(request, &inputs, error);
    if (!status)
        status = bench_session(&b, model, &inputs, error);
    ox_inputs_free(&inputs);
    return status;
}

static int parse(ox_args *args, ox_request *request, bool *json) {
    while (*args->at) {
        if (ox_args_flag(args, "--json")) {
            *json = true;
            continue;
        }
        int status = ox_request_take(args, request);
        if (status)
            return status;
    }
    if (request->plugins.options.check)
        return ox_tool_usage(args->command, "--check takes most of the time: ox run --check does that");
    return request->model ? OX_EXIT_OK
                          : ox_tool_usage(args->command, "which model? ox bench MODEL [-i [NAME=]SOURCE]...");
}

int ox_command_bench(ox_args *args) {
    ox_request request = {0};
    bool json = false;
    ox_error error = {OX_OK, ""};
    const ox_model *model;
    int status = parse(args, &request, &json);
    bool fails = !status && (ox_request_load(&request, &model, &error) || bench_model(model, &request, json, &error));
    ox_watch_stop(&request.watch);
    if (fails)
        status = ox_options_failed(&error);
    ox_request_free(&request);
    return status;
}
