/* nodes.c: the nodes of a model, one by one. */
#include "nodes.h"

#include <inttypes.h>
#include <string.h>

typedef ox_status value_fn(const ox_node_info *node, size_t index, ox_value_info *info);

/* ---- As text ----------------------------------------------------------------------------------------------------- */

/* "x float [2,3]", "x" if nothing is known of it, "-" if it is omitted. */
static void put_value(ox_text *text, const ox_value_info *info) {
    ox_text value = {0};
    ox_text_escape(text, *info->name ? info->name : "-", *info->name ? strlen(info->name) : 1, NULL);
    if (info->dtype == OX_UNDEFINED)
        return;
    ox_text_value(&value, info);
    ox_text_put(text, " ");
    ox_text_escape(text, value.data, value.size, NULL);
    ox_text_free(&value);
}

static void put_values(ox_text *text, const ox_node_info *node, size_t count, value_fn *get) {
    ox_value_info info;
    for (size_t i = 0; i < count && !get(node, i, &info); i++) {
        ox_text_put(text, i ? ", " : "");
        put_value(text, &info);
    }
}

static void put_line(void *context, const ox_node_info *node) {
    ox_text *text = context;
    ox_text_repeat(text, ' ', 2 + 2 * node->depth);
    if (*node->domain) {
        ox_text_escape(text, node->domain, strlen(node->domain), NULL);
        ox_text_put(text, ".");
    }
    ox_text_escape(text, node->op, strlen(node->op), NULL);
    ox_text_format(text, "-%" PRId64, node->version);
    if (*node->name) {
        ox_text_put(text, " '");
        ox_text_escape(text, node->name, strlen(node->name), NULL);
        ox_text_put(text, "'");
    }
    ox_text_put(text, ": ");
    put_values(text, node, node->input_count, ox_node_input);
    ox_text_put(text, node->input_count ? " -> " : "-> ");
    put_values(text, node, node->output_count, ox_node_output);
    if (*node->algorithm)
        ox_text_format(text, "  [%s]", node->algorithm);
    ox_text_put(text, node->supported ? "\n" : "  (unsupported)\n");
}

void ox_nodes_text(ox_text *text, const ox_model *model, const ox_session *session) {
    ox_text_put(text, "nodes, in the order of a run\n");
    ox_model_visit(model, session, put_line, text);
}

/* ---- As JSON ----------------------------------------------------------------------------------------------------- */

static void json_value(ox_text *text, const ox_value_info *info) {
    ox_text_put(text, "{\"name\": ");
    ox_text_json(text, info->name);
    ox_text_format(text, info->dtype == OX_UNDEFINED ? ", \"type\": null" : ", \"type\": \"%s\"",
                   ox_dtype_name(info->dtype));
    ox_text_put(text, info->rank < 0 ? ", \"shape\": null}" : ", \"shape\": [");
    for (int d = 0; d < info->rank; d++) {
        ox_text_put(text, d ? ", " : "");
        if (info->dims[d] >= 0)
            ox_text_format(text, "%" PRId64, info->dims[d]);
        else if (info->dim_names && info->dim_names[d])
            ox_text_json(text, info->dim_names[d]);
        else
            ox_text_put(text, "null");
    }
    ox_text_put(text, info->rank < 0 ? "" : "]}");
}

static void json_list(ox_text *text, const char *key, const ox_node_info *node, size_t count, value_fn *get) {
    ox_value_info info;
    ox_text_format(text, ", \"%s\": [", key);
    for (size_t i = 0; i < count && !get(node, i, &info); i++) {
        ox_text_put(text, i ? ", " : "");
        json_value(text, &info);
    }
    ox_text_put(text, "]");
}

static void json_text(ox_text *text, const char *key, const char *value) {
    ox_text_format(text, "\"%s\": ", key);
    ox_text_json(text, value);
    ox_text_put(text, ", ");
}

static void json_node(void *context, const ox_node_info *node) {
    ox_text *text = context;
    ox_text_put(text, text->data[text->size - 1] == '}' ? ",\n    {" : "\n    {");
    json_text(text, "name", node->name);
    json_text(text, "domain", node->domain);
    json_text(text, "op", node->op);
    ox_text_format(text, "\"version\": %" PRId64 ", \"supported\": %s, \"depth\": %d", node->version,
                   node->supported ? "true" : "false", node->depth);
    if (*node->algorithm)
        ox_text_format(text, ", \"algorithm\": \"%s\"", node->algorithm);
    json_list(text, "inputs", node, node->input_count, ox_node_input);
    json_list(text, "outputs", node, node->output_count, ox_node_output);
    ox_text_put(text, "}");
}

void ox_nodes_json(ox_text *text, const ox_model *model, const ox_session *session) {
    ox_text_put(text, "[");
    ox_model_visit(model, session, json_node, text);
    ox_text_put(text, "]");
}
