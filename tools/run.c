/* run.c: "ox run", a model on the inputs of the command line. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "options.h"
#include "outputs.h"
#include "request.h"
#include "terminal.h"

enum {
    USUAL_TOP = 5 /* of --labels without --top */
};

typedef struct options {
    ox_request request;
    const char **outputs, **expected; /* of -o and --expect */
    size_t output_count, expected_count;
    ox_tolerance tolerance;
    const char *save, *save_all;
    const char *labels; /* of --labels, or NULL */
    long top;           /* of --top, 0 without it */
    long repeat;
    bool quiet, json, stats;
    bool uses_stdout;        /* -o NAME=-: nothing else is printed there */
    double run_ns, least_ns; /* of a run, with --repeat */
    size_t differ;           /* results that are not as expected */
} options;

static void add_text(const char ***list, size_t *count, const char *text) {
    *list = ox_tool_resize((void *)*list, (*count + 1) * sizeof **list);
    (*list)[(*count)++] = text;
}

static int parse_count(ox_args *args, const char *option, const char *text, long *count) {
    char *end;
    errno = 0;
    *count = strtol(text, &end, 10);
    if (!errno && !*end && *count > 0 && *count <= INT_MAX)
        return OX_EXIT_OK;
    return ox_tool_usage(args->command, "%s wants a number of 1 and more, not '%s'", option, text);
}

/* Takes one argument. */
static int parse_argument(ox_args *args, options *o) {
    const char *value;
    int status = OX_EXIT_OK;
    if (ox_args_option(args, "-o", &value) || ox_args_option(args, "--output", &value))
        add_text(&o->outputs, &o->output_count, value);
    else if (ox_args_option(args, "--expect", &value))
        add_text(&o->expected, &o->expected_count, value);
    else if (ox_options_take_tolerance(args, &o->tolerance, &status))
        return status;
    else if (ox_args_option(args, "--save", &value))
        o->save = value;
    else if (ox_args_option(args, "--save-all", &value))
        o->save_all = value;
    else if (ox_args_flag(args, "--json"))
        o->json = true;
    else if (ox_args_flag(args, "--stats"))
        o->stats = true;
    else if (ox_args_option(args, "--repeat", &value))
        return parse_count(args, "--repeat", value, &o->repeat);
    else if (ox_args_option(args, "--top", &value))
        return parse_count(args, "--top", value, &o->top);
    else if (ox_args_option(args, "--labels", &value))
        o->labels = value;
    else if (ox_args_flag(args, "--quiet") || ox_args_flag(args, "-q"))
        o->quiet = true;
    else
        return ox_request_take(args, &o->request);
    return OX_EXIT_OK;
}

static int parse(ox_args *args, options *o) {
    while (*args->at) {
        int status = parse_argument(args, o);
        if (status)
            return status;
    }
    if (o->stats && (o->top || o->labels))
        return ox_tool_usage(args->command, "--stats and %s both say what is printed: give one of them",
                             o->top ? "--top" : "--labels");
    return o->request.model ? OX_EXIT_OK
                            : ox_tool_usage(args->command, "which model? ox run MODEL [-i [NAME=]SOURCE]...");
}

static ox_status run_once(ox_session *session, const options *o, ox_recorder *recorder, ox_error *error) {
    bool records = o->request.profile || o->request.trace;
    return records ? ox_recorder_run(recorder, session, error) : ox_session_run(session, error);
}

/* What --json says beside the outputs. */
static void put_times(ox_text *text, const options *o, const ox_recorder *recorder) {
    if (o->repeat > 1)
        ox_text_format(text, ",\n  \"runs\": %ld, \"mean_ns\": %.1f, \"least_ns\": %.1f", o->repeat, o->run_ns,
                       o->least_ns);
    if (o->request.profile) {
        ox_text_put(text, ",\n  \"profile\": ");
        ox_recorder_json(recorder, text);
    }
}

static ox_status run_repeatedly(ox_session *session, options *o, ox_recorder *recorder, ox_error *error) {
    ox_watch *watch = &o->request.watch;
    uint64_t start = ox_tool_now(), least = UINT64_MAX;
    ox_status status = OX_OK;
    ox_watch_session(watch, session, true);
    for (long i = 0; i < o->repeat && !status; i++) {
        uint64_t before = ox_tool_now();
        ox_watch_turn(watch, (uint64_t)i + 1, (uint64_t)o->repeat);
        status = run_once(session, o, recorder, error);
        uint64_t taken = ox_tool_now() - before;
        least = least < taken ? least : taken;
    }
    ox_watch_stop(watch);
    if (status)
        return status;
    o->run_ns = (double)(ox_tool_now() - start) / (double)o->repeat;
    o->least_ns = (double)least;
    if (o->repeat > 1)
        fprintf(stderr, "%ld runs: %.4g ms each, the fastest %.4g ms\n", o->repeat, o->run_ns / 1e6, o->least_ns / 1e6);
    return OX_OK;
}

static ox_status create_session(const ox_model *model, const ox_outputs *outputs, const options *o,
                                ox_session **session, ox_error *error) {
    ox_options with = o->request.plugins.options;
    const char **extra = ox_outputs_extra(outputs);
    with.extra_outputs = extra;
    with.extra_output_count = outputs->count - outputs->own;
    ox_status status = ox_session_create(model, &with, session, error);
    free((void *)extra);
    return status;
}

static ox_status run_session(const ox_model *model, const ox_inputs *inputs, const ox_outputs *outputs, options *o,
                             ox_error *error) {
    ox_session *session = NULL;
    ox_recorder recorder = {.keeps_spans = o->request.trace};
    ox_watch_say(&o->request.watch, "running");
    ox_status status = create_session(model, outputs, o, &session, error);
    if (!status)
        status = ox_inputs_set(inputs, session, error);
    if (!status)
        status = run_repeatedly(session, o, &recorder, error);
    if (!status) {
        ox_text more = {0};
        ox_recorder_count(&recorder, model, session);
        put_times(&more, o, &recorder);
        status = ox_outputs_write(outputs, session, ox_text_get(&more), error);
        ox_text_free(&more);
    }
    if (!status)
        status = ox_outputs_compare(outputs, session, &o->differ, error);
    if (!status)
        status = ox_request_report(&o->request, session, &recorder, error);
    ox_session_free(session);
    ox_recorder_free(&recorder);
    return status;
}

static ox_status assign_outputs(ox_outputs *outputs, const options *o, ox_error *error) {
    ox_status status = OX_OK;
    outputs->save = o->save;
    outputs->save_all = o->save_all;
    outputs->quiet = o->quiet;
    outputs->json = o->json;
    outputs->stats = o->stats;
    outputs->tolerance = o->tolerance;
    outputs->top.count = o->top ? (int)o->top : o->labels ? USUAL_TOP : 0;
    outputs->top.path = o->labels;
    status = ox_top_load(&outputs->top, error);
    for (size_t i = 0; i < o->output_count && !status; i++)
        status = ox_outputs_assign(outputs, o->outputs[i], error);
    for (size_t i = 0; i < o->expected_count && !status; i++)
        status = ox_outputs_expect(outputs, o->expected[i], error);
    if (!status && o->save_all)
        ox_outputs_add_all(outputs);
    return status;
}

static ox_status run_model(const ox_model *model, options *o, ox_error *error) {
    ox_inputs inputs;
    ox_outputs outputs = ox_outputs_create(model);
    ox_status status = ox_inputs_create(&inputs, model, &o->request.bindings, error);
    if (!status)
        status = assign_outputs(&outputs, o, error);
    if (!status)
        status = ox_inputs_assign(&inputs, o->request.inputs, o->request.input_count, error);
    if (!status)
        status = ox_inputs_load(&inputs, error);
    if (!o->quiet)
        ox_inputs_note(&inputs);
    if (!status)
        status = ox_request_save(&o->request, &inputs, error);
    if (!status)
        status = run_session(model, &inputs, &outputs, o, error);
    ox_inputs_free(&inputs);
    ox_outputs_free(&outputs);
    return status;
}

int ox_command_run(ox_args *args) {
    options o = {.repeat = 1, .tolerance = OX_USUAL_TOLERANCE};
    ox_error error = {OX_OK, ""};
    const ox_model *model;
    int status = parse(args, &o);
    o.request.silent = o.quiet;
    bool fails = !status && (ox_terminal_check(o.outputs, &o.output_count, &error) ||
                             ox_request_load(&o.request, &model, &error) || run_model(model, &o, &error));
    ox_watch_stop(&o.request.watch);
    if (fails)
        status = ox_options_failed(&error);
    else if (o.differ)
        status = OX_EXIT_FAILED;
    ox_request_free(&o.request);
    free((void *)o.outputs);
    free((void *)o.expected);
    return status;
}
