/* request.c: what the command line asks of a model. */
#include "request.h"

#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "options.h"
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
        return ox_tool_usage(args->command, "one model at a time: '%s' and '%s'", request->model, value);
    request->model = value;
    return OX_EXIT_OK;
}

int ox_request_take(ox_args *args, ox_request *request) {
    const char *value;
    int status = OX_EXIT_OK;
    if (ox_args_option(args, "-i", &value) || ox_args_option(args, "--input", &value))
        add_input(request, value);
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

ox_status ox_request_load(ox_request *request, ox_model **model, ox_error *error) {
    ox_status status = ox_plugins_load(&request->plugins, error);
    return status ? status : ox_model_load_file(request->model, &request->plugins.options, model, error);
}

void ox_request_free(ox_request *request) {
    ox_plugins_free(&request->plugins);
    ox_bindings_free(&request->bindings);
    free(request->inputs);
}

ox_status ox_request_report(const ox_request *request, const ox_recorder *recorder, ox_error *error) {
    if (request->profile) {
        ox_text table = {0};
        ox_recorder_table(recorder, &table);
        fflush(stdout);
        fputs(ox_text_get(&table), stderr);
        ox_text_free(&table);
    }
    return request->trace ? ox_trace_write(recorder, request->trace, error) : OX_OK;
}
