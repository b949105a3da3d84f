/* flat.c: lays trees out. A node is loaded as a model of its own for that. */
#include "flat.h"

#include <string.h>

#include "message.h"
#include "write_trees.h"

/* Numbers of fields. */
enum {
    MODEL_IR = 1,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    GRAPH_NODE = 1,
    GRAPH_NAME = 2,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_OP = 4,
    NODE_ATTRIBUTE = 5,
    NODE_DOMAIN = 7,
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_TENSOR = 5,
    ATTRIBUTE_TYPE = 20,
    TENSOR_DIMS = 1,
    TENSOR_TYPE = 2,
    TENSOR_RAW = 9,
    INFO_NAME = 1
};

static void put_number(ox_text *out, uint64_t number, uint64_t value) {
    ox_message_put_varint(out, number << 3 | OX_MESSAGE_VARINT);
    ox_message_put_varint(out, value);
}

static void put_bytes(ox_text *out, uint64_t number, const void *bytes, size_t size) {
    const unsigned char *at = bytes;
    ox_message_put_field(out, number, (ox_message){at, at + size});
}

static void put_text(ox_text *out, uint64_t number, ox_text *content) {
    put_bytes(out, number, ox_text_get(content), content->size);
    ox_text_free(content);
}

static bool is_text(ox_message m, const char *text) {
    return (size_t)(m.end - m.at) == strlen(text) && !memcmp(m.at, text, strlen(text));
}

static bool starts_with(ox_message m, const char *text) {
    return (size_t)(m.end - m.at) >= strlen(text) && !memcmp(m.at, text, strlen(text));
}

/* The last field of that number. */
static ox_message find(ox_message message, uint64_t number) {
    ox_field field;
    ox_message found = {NULL, NULL};
    while (ox_message_next(&message, &field))
        if (field.number == number && field.kind == OX_MESSAGE_LENGTH)
            found = field.body;
    return found;
}

static bool has_trees(ox_message node) {
    const ox_message op = find(node, NODE_OP);
    return is_text(find(node, NODE_DOMAIN), "ai.onnx.ml") &&
           (is_text(op, "TreeEnsembleClassifier") || is_text(op, "TreeEnsembleRegressor"));
}

/* Whether an attribute describes nodes and votes, which the tensor does in its place. */
static bool is_replaced(ox_message attribute) {
    const ox_message name = find(attribute, ATTRIBUTE_NAME);
    return starts_with(name, "nodes_") || starts_with(name, "target_") || starts_with(name, "class_");
}

static void put_named(ox_text *out, uint64_t number, ox_message name) {
    ox_text made = {0};
    ox_message_put_field(&made, INFO_NAME, name);
    put_text(out, number, &made);
}

/* A model of that node alone, with the operator sets of `model`. */
static void put_model(ox_text *out, ox_message model, ox_message node) {
    ox_text graph = {0};
    ox_field field;
    ox_message rest = node;
    while (ox_message_next(&model, &field))
        if (field.number == MODEL_IR || field.number == MODEL_OPSET)
            ox_message_put(out, field.whole);
    ox_message_put_field(&graph, GRAPH_NODE, node);
    put_bytes(&graph, GRAPH_NAME, "trees", 5);
    while (ox_message_next(&rest, &field))
        if (field.number == NODE_INPUT)
            put_named(&graph, GRAPH_INPUT, field.body);
        else if (field.number == NODE_OUTPUT && field.body.at != field.body.end)
            put_named(&graph, GRAPH_OUTPUT, field.body);
    put_text(out, MODEL_GRAPH, &graph);
}

/* The attribute that holds the trees. */
static void put_words(void *context, const int64_t *words, size_t count) {
    ox_text *out = context, tensor = {0}, made = {0};
    put_number(&tensor, TENSOR_DIMS, count);
    put_number(&tensor, TENSOR_TYPE, OX_INT64);
    put_bytes(&tensor, TENSOR_RAW, words, count * sizeof *words);
    put_bytes(&made, ATTRIBUTE_NAME, "__trees", 7);
    put_text(&made, ATTRIBUTE_TENSOR, &tensor);
    put_number(&made, ATTRIBUTE_TYPE, 4);
    put_text(out, NODE_ATTRIBUTE, &made);
}

static bool lay_out(ox_text *out, ox_message model, ox_message node) {
    ox_text alone = {0};
    ox_model *loaded = NULL;
    ox_error error;
    put_model(&alone, model, node);
    ox_status status = ox_model_load_memory(ox_text_get(&alone), alone.size, NULL, &loaded, &error);
    if (!status)
        status = ox_model_write_trees(loaded, put_words, out, &error);
    ox_model_free(loaded);
    ox_text_free(&alone);
    return !status;
}

static bool put_node(ox_text *out, ox_message model, ox_message node, size_t *count) {
    ox_text made = {0};
    ox_field field;
    const bool flat = has_trees(node) && lay_out(&made, model, node);
    *count += flat;
    while (ox_message_next(&node, &field))
        if (!flat || field.number != NODE_ATTRIBUTE || !is_replaced(field.body))
            ox_message_put(&made, field.whole);
    put_text(out, GRAPH_NODE, &made);
    return node.at == node.end;
}

bool ox_flatten_model(ox_text *out, const unsigned char *bytes, size_t size, size_t *count) {
    const ox_message model = {bytes, bytes + size};
    ox_message rest = model;
    ox_field field, inner;
    bool whole = true;
    *count = 0;
    while (ox_message_next(&rest, &field)) {
        ox_text graph = {0};
        ox_message nodes = field.body;
        if (field.number != MODEL_GRAPH) {
            ox_message_put(out, field.whole);
            continue;
        }
        while (ox_message_next(&nodes, &inner))
            if (inner.number == GRAPH_NODE)
                whole &= put_node(&graph, model, inner.body, count);
            else
                ox_message_put(&graph, inner.whole);
        whole &= nodes.at == nodes.end;
        put_text(out, MODEL_GRAPH, &graph);
    }
    return whole && rest.at == rest.end;
}
