/* run.c: "ox run", a model on the inputs of the command line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "inputs.h"
#include "outputs.h"
#include "tool.h"

typedef struct options {
    const char *model;
    char **inputs;
    size_t input_count;
    char **outputs;
    size_t output_count;
    ox_bindings bindings;
    const char *save;
    long repeat;
    bool quiet;
} options;

static void append(char ***list, size_t *count, const char *text) {
    *list = ox_tool_resize(*list, (*count + 1) * sizeof **list);
    (*list)[(*count)++] = (char *)(uintptr_t)text;
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
    if (ox_args_option(args, "-i", &value) || ox_args_option(args, "--input", &value))
        append(&o->inputs, &o->input_count, value);
    else if (ox_args_option(args, "-o", &value) || ox_args_option(args, "--output", &value))
        append(&o->outputs, &o->output_count, value);
    else if (ox_args_option(args, "--save", &value))
        o->save = value;
    else if (ox_args_option(args, "--repeat", &value))
        return parse_repeat(args, value, &o->repeat);
    else if (ox_args_flag(args, "--quiet") || ox_args_flag(args, "-q"))
        o->quiet = true;
    else if (ox_args_option(args, "-d", &value) || ox_args_option(args, "--dim", &value))
        return ox_bindings_add(&o->bindings, value)
                   ? OX_EXIT_OK
                   : ox_tool_usage(args->command, "-d wants DIM=N, such as -d batch=4, not '%s'", value);
    else if (!ox_args_positional(args, &value))
        return args->failed ? OX_EXIT_USAGE : OX_EXIT_OK;
    else if (o->model)
        return ox_tool_usage(args->command, "one model at a time: '%s' and '%s'", o->model, value);
    else
        o->model = value;
    return OX_EXIT_OK;
}

static int parse(ox_args *args, options *o) {
    while (*args->at) {
        int status = parse_argument(args, o);
        if (status)
            return status;
    }
    return o->model ? OX_EXIT_OK : ox_tool_usage(args->command, "which model? ox run MODEL [-i [NAME=]SOURCE]...");
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static ox_status run_repeatedly(ox_session *session, const options *o, ox_error *error) {
    double least = 0;
    double start = now();
    for (long i = 0; i < o->repeat; i++) {
        double before = now();
        ox_status status = ox_session_run(session, error);
        if (status)
            return status;
        double taken = now() - before;
        least = i && least < taken ? least : taken;
    }
    if (o->repeat > 1 && !o->quiet)
        fprintf(stderr, "%ld runs: %.4g ms each, the fastest %.4g ms\n", o->repeat, (now() - start) / (double)o->repeat,
                least);
    return OX_OK;
}

static ox_status run_session(const ox_model *model, const ox_inputs *inputs, const ox_outputs *outputs,
                             const options *o, ox_error *error) {
    ox_session *session = NULL;
    ox_status status = ox_session_create(model, NULL, &session, error);
    if (!status)
        status = ox_inputs_set(inputs, session, error);
    if (!status)
        status = run_repeatedly(session, o, error);
    if (!status)
        status = ox_outputs_write(outputs, session, error);
    ox_session_free(session);
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
    ox_status status = ox_inputs_create(&inputs, model, &o->bindings, error);
    if (!status)
        status = assign_outputs(&outputs, o, error);
    if (!status)
        status = ox_inputs_assign(&inputs, o->inputs, o->input_count, error);
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
    if (!status && (ox_model_load_file(o.model, NULL, &model, &error) || run_model(model, &o, &error)))
        status = ox_tool_error("%s", error.text);
    ox_model_free(model);
    ox_bindings_free(&o.bindings);
    free(o.inputs);
    free(o.outputs);
    return status;
}
