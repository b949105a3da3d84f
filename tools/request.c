/* request.c: what the command line asks of a model. */
#include "request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "memory.h"
#include "options.h"
#include "save.h"
#include "source.h"
#include "system.h"
#include "trace.h"

static void add_input(ox_request *request, const char *text) {
    request->inputs = ox_tool_resize(request->inputs, (request->input_count + 1) * sizeof *request->inputs);
    request->inputs[request->input_count++] = (char *)(uintptr_t)text;
}

static int take_positional(ox_args *args, ox_request *request) {
    const char *value;
    if (!ox_args_positional(args, &value))
        return args->failed ? OX_EXIT_USAGE : OX_EXIT_OK;
    if (request->model)
        return ox_tool_usage(args->command, "one model at a time: '%s' and '%s'; an input is given with -i: -i %s",
                             request->model, value, value);
    if (!*value)
        return ox_tool_usage(args->command, "the model's name is empty");
    request->model = value;
    return OX_EXIT_OK;
}

int ox_request_take(ox_args *args, ox_request *request) {
    const char *value;
    int status = OX_EXIT_OK;
    if (ox_args_option(args, "-i", &value) || ox_args_option(args, "--input", &value))
        add_input(request, value);
    else if (ox_args_option(args, "--save-inputs", &value))
        request->save = value;
    else if (ox_args_option(args, "--trace", &value))
        request->trace = value;
    else if (ox_args_flag(args, "--profile"))
        request->profile = true;
    else if (ox_args_option(args, "-d", &value) || ox_args_option(args, "--dim", &value))
        return ox_bindings_add(&request->bindings, value)
                   ? OX_EXIT_OK
                   : ox_tool_usage(args->command, "-d wants DIM=N, such as -d batch=4, not '%s'", value);
    else if (!ox_plugins_argument(&request->plugins, args) &&
             !ox_options_take(args, &request->plugins.options, &status))
        return take_positional(args, request);
    return status;
}

static void print_warning(void *context, const char *text) {
    ox_watch *watch = context;
    ox_watch_hold(watch);
    ox_tool_error("warning: %s", text);
    ox_watch_go_on(watch);
}

static bool is_stdin_input(const char *text) {
    bool reads = ox_source_is_stdin(text);
    for (const char *equals = strchr(text, '='); equals && !reads; equals = strchr(equals + 1, '='))
        reads = ox_source_is_stdin(equals + 1);
    return reads;
}

static bool reads_stdin(const ox_request *request) {
    bool reads = strcmp(request->model, "-") == 0;
    for (size_t i = 0; i < request->input_count && !reads; i++)
        reads = is_stdin_input(request->inputs[i]);
    return reads;
}

/* Standard input can be read once. */
static ox_status check_stdin(const ox_request *request, ox_error *error) {
    for (size_t i = 0; i < request->input_count; i++)
        if (strcmp(request->model, "-") == 0 && is_stdin_input(request->inputs[i]))
            return ox_tool_fail(
                error, OX_ERROR_ARGUMENT,
                "standard input is the model, so '-i %s' has nothing to read: put one of them into a file",
                request->inputs[i]);
    return OX_OK;
}

/* Again with the plug-ins that belong to ox, if the model lacks operators. Standard input can be read once. */
static ox_status open_model(ox_request *request, ox_error *error) {
    const ox_options *options = &request->plugins.options;
    if (ox_source_is_stdin(request->model))
        ox_plugins_add_own(&request->plugins);
    ox_status status = ox_loaded_open(&request->loaded, request->model, options, false, error);
    if (status == OX_ERROR_UNSUPPORTED && ox_plugins_add_own(&request->plugins)) {
        ox_loaded_free(&request->loaded);
        status = ox_loaded_open(&request->loaded, request->model, options, false, error);
    }
    if (status)
        ox_plugins_remedy(error);
    return status;
}

ox_status ox_request_load(ox_request *request, const ox_model **model, ox_error *error) {
    ox_file_protect(request->model);
    request->plugins.options.warn = print_warning;
    request->plugins.options.warn_context = &request->watch;
    /* Who types is not shown that something is loading. */
    if (!request->silent && !(ox_system_is_terminal(stdin) && reads_stdin(request)))
        ox_watch_start(&request->watch, "loading");
    ox_status status = check_stdin(request, error);
    if (!status)
        status = ox_plugins_load(&request->plugins, error);
    if (!status)
        status = open_model(request, error);
    *model = request->loaded.model;
    return status;
}

void ox_request_free(ox_request *request) {
    ox_loaded_free(&request->loaded);
    ox_plugins_free(&request->plugins);
    ox_bindings_free(&request->bindings);
    free(request->inputs);
}

ox_status ox_request_save(const ox_request *request, const ox_inputs *inputs, ox_error *error) {
    ox_status status = OX_OK;
    for (size_t i = 0; request->save && i < inputs->count && !status; i++) {
        char file[48];
        if (!inputs->sources[i])
            continue;
        snprintf(file, sizeof file, "input_%zu", i);
        const ox_datum datum = {inputs->arrays[i].tensor, inputs->values[i]};
        status = ox_save_in(request->save, file, inputs->infos[i].name, &datum, error);
        if (!status && !request->silent && !datum.value)
            ox_save_note_raw("input", inputs->infos[i].name, inputs->arrays[i].tensor.dtype);
    }
    return status;
}

ox_status ox_request_report(const ox_request *request, const ox_session *session, ox_recorder *recorder,
                            ox_error *error) {
    if (request->profile) {
        ox_text table = {0};
        ox_recorder_count(recorder, request->loaded.model, session);
        ox_recorder_table(recorder, &table);
        fflush(stdout);
        fputs(ox_text_get(&table), stderr);
        ox_text_free(&table);
    }
    return request->trace ? ox_trace_write(recorder, request->trace, error) : OX_OK;
}
