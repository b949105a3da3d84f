/* info.c: "ox info", what a model is and needs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inputs.h"
#include "model.h"
#include "nodes.h"
#include "options.h"
#include "plugin.h"
#include "source.h"
#include "text.h"
#include "tool.h"

/* The report on a model. */
typedef struct report {
    const char *path;
    const ox_model *model;
    ox_model_info info;
    size_t unsupported; /* operators that the library lacks */
    bool has_memory;
    ox_memory_info memory;
    bool has_nodes; /* they were asked for: */
    ox_text nodes;  /* as text or JSON */
    bool json;
    ox_text obstacle; /* why there is no arena size */
    const ox_inputs *inputs;
    ox_text out;
} report;

static void count_unsupported(report *r) {
    for (size_t i = 0; i < ox_model_op_use_count(r->model); i++) {
        ox_op_use use;
        if (!ox_model_op_use(r->model, i, &use) && !use.supported)
            r->unsupported++;
    }
}

/* ---- The arena: what a session on zeros of the given size needs ------------------------------------------------ */

static ox_status give_zeros(ox_inputs *inputs, ox_error *error) {
    for (size_t i = 0; i < inputs->count; i++)
        if (!inputs->infos[i].optional)
            inputs->sources[i] = "@zeros";
    return ox_inputs_load(inputs, error);
}

/* The nodes, with what the session knows of shapes; session may be NULL. */
static void list_nodes(report *r, const ox_session *session) {
    if (!r->has_nodes)
        return;
    r->nodes.size = 0;
    (r->json ? ox_nodes_json : ox_nodes_text)(&r->nodes, r->model, session);
}

static ox_status measure_session(report *r, const ox_inputs *inputs, ox_error *error) {
    ox_session *session = NULL;
    ox_status status = ox_session_create(r->model, NULL, &session, error);
    if (!status)
        status = ox_inputs_set(inputs, session, error);
    if (!status)
        status = ox_session_prepare(session, error);
    if (!status) {
        ox_session_memory(session, &r->memory);
        r->has_memory = true;
        list_nodes(r, session);
    }
    ox_session_free(session);
    return status;
}

static void measure(report *r, ox_inputs *inputs) {
    ox_error error = {OX_OK, ""};
    list_nodes(r, NULL);
    if (r->unsupported)
        ox_text_put(&r->obstacle, "unknown: operators are missing");
    else if (ox_inputs_open_rank(inputs))
        ox_text_put(&r->obstacle, "unknown: an input's shape is open");
    else if (give_zeros(inputs, &error) || measure_session(r, inputs, &error))
        ox_text_format(&r->obstacle, "unknown: %s", error.text);
}

/* ---- As text --------------------------------------------------------------------------------------------------- */

static void put_safe(report *r, const char *text) {
    ox_text_escape(&r->out, text, strlen(text), NULL);
}

static void put_field(report *r, const char *name, const char *text) {
    ox_text_format(&r->out, "%-12s", name);
    put_safe(r, *text ? text : "-");
    ox_text_put(&r->out, "\n");
}

/* "batch=1: give -d batch=N for other sizes": the dimensions that were not given. */
static void put_ones(report *r) {
    ox_text line = {0};
    if (!r->inputs->taken.size)
        return;
    ox_text_format(&line, "%s: give %s for other sizes", r->inputs->taken.data, r->inputs->options.data);
    put_field(r, "  with", line.data);
    ox_text_free(&line);
}

static const char *domain_name(const char *domain) {
    return *domain ? domain : "ai.onnx";
}

static void put_opsets(report *r) {
    ox_text text = {0};
    for (size_t i = 0; i < r->info.opset_count; i++)
        ox_text_format(&text, "%s%s %" PRId64, i ? ", " : "", domain_name(r->info.opsets[i].domain),
                       r->info.opsets[i].version);
    put_field(r, "opsets", ox_text_get(&text));
    ox_text_free(&text);
}

/* Before IR version 4, initializers had to be inputs too: weights are no inputs that a reader looks for. */
static bool is_weight(const report *r, const ox_value_info *info) {
    return r->info.ir_version < 4 && info->optional;
}

static size_t count_weights(const report *r) {
    ox_value_info info;
    size_t count = 0;
    for (size_t i = 0; !ox_model_input(r->model, i, &info); i++)
        count += is_weight(r, &info);
    return count;
}

static void put_values(report *r, const char *title, bool outputs) {
    size_t count = outputs ? ox_model_output_count(r->model) : ox_model_input_count(r->model);
    ox_text_format(&r->out, "%s\n", title);
    for (size_t i = 0; i < count; i++) {
        ox_value_info info;
        ox_text value = {0};
        if (outputs ? ox_model_output(r->model, i, &info) : ox_model_input(r->model, i, &info) || is_weight(r, &info))
            continue;
        ox_text_put(&r->out, "  ");
        put_safe(r, info.name);
        ox_text_put(&r->out, "  ");
        ox_text_value(&value, &info);
        put_safe(r, value.data);
        ox_text_put(&r->out, info.optional ? "  (has a default)\n" : "\n");
        ox_text_free(&value);
    }
    if (!outputs && count_weights(r))
        ox_text_format(&r->out, "  and %zu initializers, which are inputs too in this IR version\n", count_weights(r));
}

static void put_op(report *r, const ox_op_use *use) {
    if (*use->domain) {
        put_safe(r, use->domain);
        ox_text_put(&r->out, ".");
    }
    put_safe(r, use->name);
    ox_text_format(&r->out, "-%" PRId64, use->version);
}

static void put_ops(report *r) {
    ox_text_format(&r->out, "%-12s%zu", "nodes", r->info.node_count);
    if (r->info.function_count)
        ox_text_format(&r->out, ", with %zu functions of the model expanded", r->info.function_count);
    ox_text_put(&r->out, "\n");
    for (size_t i = 0; i < ox_model_op_use_count(r->model); i++) {
        ox_op_use use;
        if (ox_model_op_use(r->model, i, &use) || !use.count)
            continue;
        ox_text_format(&r->out, "%6zu  ", use.count);
        put_op(r, &use);
        ox_text_put(&r->out, use.supported ? "\n" : "  (unsupported)\n");
    }
}

static void put_text(report *r) {
    ox_text line = {0};
    put_field(r, "model", r->path);
    ox_text_format(&line, "%s %s", r->info.producer_name, r->info.producer_version);
    put_field(r, "producer", r->info.producer_name[0] ? line.data : "");
    put_field(r, "graph", r->info.graph_name);
    ox_text_format(&r->out, "%-12s%" PRId64 "\n", "IR version", r->info.ir_version);
    put_opsets(r);
    put_values(r, "inputs", false);
    put_values(r, "outputs", true);
    put_ops(r);
    ox_text_format(&r->out, "%-12s%" PRId64 " in %" PRId64 " bytes\n", "parameters", r->info.parameter_count,
                   r->info.weight_bytes);
    ox_text_format(&r->out, r->unsupported ? "%-12s%zu of the operators, marked above\n" : "%-12snone\n", "unsupported",
                   r->unsupported);
    if (r->has_memory)
        ox_text_format(&r->out, "%-12s%zu bytes, %zu for the plan, and %zu for weights laid out for products\n",
                       "arena", r->memory.arena_bytes, r->memory.plan_bytes, r->memory.weight_bytes);
    else
        put_field(r, "arena", ox_text_get(&r->obstacle));
    put_ones(r);
    ox_text_put(&r->out, ox_text_get(&r->nodes));
    ox_text_free(&line);
}

/* ---- As JSON --------------------------------------------------------------------------------------------------- */

static void json_text(report *r, const char *key, const char *value) {
    ox_text_format(&r->out, "  \"%s\": ", key);
    ox_text_json(&r->out, value);
    ox_text_put(&r->out, ",\n");
}

static void json_number(report *r, const char *key, int64_t value) {
    ox_text_format(&r->out, "  \"%s\": %" PRId64 ",\n", key, value);
}

static void json_dims(report *r, const ox_value_info *info) {
    for (int d = 0; d < info->rank; d++) {
        ox_text_put(&r->out, d ? ", " : "");
        if (info->dims[d] >= 0)
            ox_text_format(&r->out, "%" PRId64, info->dims[d]);
        else if (info->dim_names[d])
            ox_text_json(&r->out, info->dim_names[d]);
        else
            ox_text_put(&r->out, "null");
    }
}

static void json_values(report *r, const char *key, bool outputs) {
    size_t count = outputs ? ox_model_output_count(r->model) : ox_model_input_count(r->model);
    size_t listed = 0;
    ox_text_format(&r->out, "  \"%s\": [", key);
    for (size_t i = 0; i < count; i++) {
        ox_value_info info;
        if (outputs ? ox_model_output(r->model, i, &info) : ox_model_input(r->model, i, &info) || is_weight(r, &info))
            continue;
        ox_text_put(&r->out, listed++ ? ",\n    {\"name\": " : "\n    {\"name\": ");
        ox_text_json(&r->out, info.name);
        ox_text_put(&r->out, ", \"type\": ");
        ox_text_json(&r->out, ox_dtype_name(info.dtype));
        ox_text_put(&r->out, info.rank < 0 ? ", \"shape\": null" : ", \"shape\": [");
        json_dims(r, &info);
        ox_text_put(&r->out, info.rank < 0 ? "" : "]");
        ox_text_put(&r->out, info.optional ? ", \"optional\": true}" : ", \"optional\": false}");
    }
    ox_text_put(&r->out, listed ? "\n  ],\n" : "],\n");
}

static void json_ops(report *r) {
    size_t count = ox_model_op_use_count(r->model), listed = 0;
    ox_text_put(&r->out, "  \"operators\": [");
    for (size_t i = 0; i < count; i++) {
        ox_op_use use;
        if (ox_model_op_use(r->model, i, &use) || !use.count)
            continue;
        ox_text_put(&r->out, listed++ ? ",\n    {\"domain\": " : "\n    {\"domain\": ");
        ox_text_json(&r->out, use.domain);
        ox_text_put(&r->out, ", \"name\": ");
        ox_text_json(&r->out, use.name);
        ox_text_format(&r->out, ", \"version\": %" PRId64 ", \"count\": %zu, \"supported\": %s}", use.version,
                       use.count, use.supported ? "true" : "false");
    }
    ox_text_put(&r->out, listed ? "\n  ],\n" : "],\n");
}

static void json_opsets(report *r) {
    ox_text_put(&r->out, "  \"opsets\": {");
    for (size_t i = 0; i < r->info.opset_count; i++) {
        ox_text_put(&r->out, i ? ", " : "");
        ox_text_json(&r->out, r->info.opsets[i].domain);
        ox_text_format(&r->out, ": %" PRId64, r->info.opsets[i].version);
    }
    ox_text_put(&r->out, "},\n");
}

static void put_json(report *r) {
    ox_text_put(&r->out, "{\n");
    json_text(r, "model", r->path);
    json_text(r, "producer_name", r->info.producer_name);
    json_text(r, "producer_version", r->info.producer_version);
    json_text(r, "domain", r->info.domain);
    json_text(r, "graph", r->info.graph_name);
    json_number(r, "ir_version", r->info.ir_version);
    json_number(r, "model_version", r->info.model_version);
    json_opsets(r);
    json_values(r, "inputs", false);
    if (count_weights(r))
        json_number(r, "initializer_inputs", (int64_t)count_weights(r));
    json_values(r, "outputs", true);
    json_number(r, "nodes", (int64_t)r->info.node_count);
    json_number(r, "functions", (int64_t)r->info.function_count);
    json_ops(r);
    if (r->has_nodes)
        ox_text_format(&r->out, "  \"node_list\": %s,\n", r->nodes.data);
    json_number(r, "unsupported", (int64_t)r->unsupported);
    json_number(r, "parameters", r->info.parameter_count);
    json_number(r, "weight_bytes", r->info.weight_bytes);
    if (r->inputs->taken.size)
        json_text(r, "sizes_taken", r->inputs->taken.data);
    if (r->has_memory) {
        json_number(r, "plan_bytes", (int64_t)r->memory.plan_bytes);
        json_number(r, "packed_bytes", (int64_t)r->memory.weight_bytes);
        ox_text_format(&r->out, "  \"arena_bytes\": %zu\n}\n", r->memory.arena_bytes);
        return;
    }
    json_text(r, "arena_unknown", ox_text_get(&r->obstacle));
    ox_text_put(&r->out, "  \"arena_bytes\": null\n}\n");
}

/* ---------------------------------------------------------------------------------------------------------------- */

/* What is to be told. */
typedef struct told {
    bool json, nodes;
} told;

static bool lacks_operators(const ox_model *model) {
    ox_op_use use;
    for (size_t i = 0; i < ox_model_op_use_count(model); i++)
        if (!ox_model_op_use(model, i, &use) && !use.supported)
            return true;
    return false;
}

/* Again with the plug-ins that belong to ox, if the model lacks operators. Standard input can be read once. */
static ox_status open_model(ox_loaded *loaded, const char *path, ox_plugins *plugins, ox_error *error) {
    if (ox_source_is_stdin(path))
        ox_plugins_add_own(plugins);
    ox_status status = ox_loaded_open(loaded, path, &plugins->options, true, error);
    if (status || !lacks_operators(loaded->model) || !ox_plugins_add_own(plugins))
        return status;
    ox_loaded_free(loaded);
    return ox_loaded_open(loaded, path, &plugins->options, true, error);
}

static ox_status tell(const char *path, ox_plugins *plugins, const ox_bindings *bindings, told wish, ox_error *error) {
    report r = {.path = path, .has_nodes = wish.nodes, .json = wish.json};
    ox_loaded loaded;
    ox_status status = open_model(&loaded, path, plugins, error);
    if (status) {
        ox_loaded_free(&loaded);
        return status;
    }
    ox_inputs inputs;
    r.model = loaded.model;
    r.inputs = &inputs;
    ox_model_get_info(loaded.model, &r.info);
    count_unsupported(&r);
    status = ox_inputs_create(&inputs, loaded.model, bindings, error);
    if (!status) {
        measure(&r, &inputs);
        (wish.json ? put_json : put_text)(&r);
        fwrite(r.out.data, 1, r.out.size, stdout);
    }
    ox_inputs_free(&inputs);
    ox_loaded_free(&loaded);
    ox_text_free(&r.obstacle);
    ox_text_free(&r.nodes);
    ox_text_free(&r.out);
    return status;
}

int ox_command_info(ox_args *args) {
    const char *path = NULL;
    const char *value;
    ox_bindings bindings = {0};
    ox_plugins plugins = {0};
    ox_error error = {OX_OK, ""};
    told wish = {0};
    int status = OX_EXIT_OK;
    while (*args->at && !status) {
        if (ox_args_flag(args, "--json"))
            wish.json = true;
        else if (ox_args_flag(args, "--nodes"))
            wish.nodes = true;
        else if (ox_plugins_argument(&plugins, args))
            continue;
        else if (ox_options_take_limits(args, &plugins.options.limits, &status))
            continue;
        else if (ox_args_option(args, "-d", &value) || ox_args_option(args, "--dim", &value))
            status = ox_bindings_add(&bindings, value)
                         ? OX_EXIT_OK
                         : ox_tool_usage(args->command, "-d wants DIM=N, not '%s'", value);
        else if (!ox_args_positional(args, &value))
            status = args->failed ? OX_EXIT_USAGE : OX_EXIT_OK;
        else if (!*value)
            status = ox_tool_usage(args->command, "the model's name is empty");
        else if (path)
            status = ox_tool_usage(args->command, "one model at a time: '%s' and '%s'", path, value);
        else
            path = value;
    }
    if (!status && !path)
        status = ox_tool_usage(args->command, "which model? ox info MODEL [-d DIM=N]... [--json]");
    if (!status && (ox_plugins_load(&plugins, &error) || tell(path, &plugins, &bindings, wish, &error)))
        status = ox_options_failed(&error);
    ox_bindings_free(&bindings);
    ox_plugins_free(&plugins);
    return status;
}
