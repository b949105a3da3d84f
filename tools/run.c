/* run.c: "ox run", a model on the inputs of the command line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "options.h"
#include "outputs.h"
#include "request.h"

typedef struct options {
    ox_request request;
    char **outputs;
    size_t output_count;
    const char *save;
    long repeat;
    bool quiet;
} options;

static void add_output(options *o, const char *text) {
    o->outputs = ox_tool_resize(o->outputs, (o->output_count + 1) * sizeof *o->outputs);
    o->outputs[o->output_count++] = (char *)(uintptr_t)text;
}

static int parse_repeat(ox_args *args, const char *text, long *repeat) {
    char *end;
    errno = 0;
    *repeat = strtol(text, &end, 10);
    if (!errno && !*end && *repeat > 0)
        return OX_EXIT_OK;
    return ox_tool_usage(args->command, "--repeat wants a number of 1 and more, not '%s'", text);
}

/* Takes one argument. */
static int parse_argument(ox_args *args, options *o) {
    const char *value;
    if (ox_args_option(args, "-o", &value) || ox_args_option(args, "--output", &value))
        add_output(o, value);
    else if (ox_args_option(args, "--save", &value))
        o->save = value;
    else if (ox_args_option(args, "--repeat", &value))
        return parse_repeat(args, value, &o->repeat);
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
    return o->request.model ? OX_EXIT_OK
                            : ox_tool_usage(args->command, "which model? ox run MODEL [-i [NAME=]SOURCE]...");
}

static ox_status run_repeatedly(ox_session *session, const options *o, ox_recorder *recorder, ox_error *error) {
    bool records = o->request.profile || o->request.trace;
    uint64_t start = ox_tool_now(), least = UINT64_MAX;
    for (long i = 0; i < o->repeat; i++) {
        uint64_t before = ox_tool_now();
        ox_status status = records ? ox_recorder_run(recorder, session, error) : ox_session_run(session, error);
        if (status)
            return status;
        uint64_t taken = ox_tool_now() - before;
        least = least < taken ? least : taken;
    }
    if (o->repeat > 1 && !o->quiet)
        fprintf(stderr, "%ld runs: %.4g ms each, the fastest %.4g ms\n", o->repeat,
                (double)(ox_tool_now() - start) / 1e6 / (double)o->repeat, (double)least / 1e6);
    return OX_OK;
}

static ox_status run_session(const ox_model *model, const ox_inputs *inputs, const ox_outputs *outputs,
                             const options *o, ox_error *error) {
    ox_session *session = NULL;
    ox_recorder recorder = {.keeps_spans = o->request.trace};
    ox_status status = ox_session_create(model, NULL, &session, error);
    if (!status)
        status = ox_inputs_set(inputs, session, error);
    if (!status)
        status = run_repeatedly(session, o, &recorder, error);
    if (!status)
        status = ox_outputs_write(outputs, session, error);
    if (!status)
        status = ox_request_report(&o->request, &recorder, error);
    ox_session_free(session);
    ox_recorder_free(&recorder);
    return status;
}

static ox_status assign_outputs(ox_outputs *outputs, const options *o, ox_error *error) {
    outputs->save = o->save;
    outputs->quiet = o->quiet;
    for (size_t i = 0; i < o->output_count; i++) {
        ox_status status = ox_outputs_assign(outputs, o->outputs[i], error);
        if (status)
            return status;
    }
    return OX_OK;
}

static ox_status run_model(const ox_model *model, const options *o, ox_error *error) {
    ox_inputs inputs;
    ox_outputs outputs = ox_outputs_create(model);
    ox_status status = ox_inputs_create(&inputs, model, &o->request.bindings, error);
    if (!status)
        status = assign_outputs(&outputs, o, error);
    if (!status)
        status = ox_inputs_assign(&inputs, o->request.inputs, o->request.input_count, error);
    if (!status)
        status = ox_inputs_load(&inputs, error);
    if (!status)
        status = run_session(model, &inputs, &outputs, o, error);
    ox_inputs_free(&inputs);
    ox_outputs_free(&outputs);
    return status;
}

int ox_command_run(ox_args *args) {
    options o = {.repeat = 1};
    ox_error error = {OX_OK, ""};
    ox_model *model = NULL;
    int status = parse(args, &o);
    if (!status && (ox_request_load(&o.request, &model, &error) || run_model(model, &o, &error)))
        status = ox_options_failed(&error);
    ox_model_free(model);
    ox_request_free(&o.request);
    free(o.outputs);
    return status;
}
