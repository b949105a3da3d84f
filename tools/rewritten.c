/* rewritten.c: writes the nodes of a model anew, as they are once it is loaded. */
#include "rewritten.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "message.h"
#include "write_model.h"

/* Numbers of fields. */
enum {
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    MODEL_FUNCTION = 25,
    GRAPH_NODE = 1,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    GRAPH_VALUE_INFO = 13,
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_OP = 4,
    NODE_ATTRIBUTE = 5,
    NODE_DOMAIN = 7,
    OPSET_DOMAIN = 1,
    OPSET_VERSION = 2,
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_FLOAT = 2,
    ATTRIBUTE_INT = 3,
    ATTRIBUTE_STRING = 4,
    ATTRIBUTE_TENSOR = 5,
    ATTRIBUTE_FLOATS = 7,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_STRINGS = 9,
    ATTRIBUTE_TYPE = 20,
    TENSOR_DIMS = 1,
    TENSOR_TYPE = 2,
    TENSOR_NAME = 8,
    TENSOR_RAW = 9,
    INFO_NAME = 1
};

/* Names, sorted once all are there. */
typedef struct names {
    const char **at;
    size_t count, room;
} names;

/* A node as it is written. */
typedef struct made_node {
    ox_text bytes;
    names inputs, outputs;
    bool is_table; /* input 1 is the table of a function of one byte, */
    bool makes;    /* which this node computes, or helps to compute, */
    bool is_read;  /* and which is not all that it is for */
} made_node;

typedef struct rewriter {
    ox_message graph, model; /* of the file */
    bool has_functions, has_own;
    bool has_copies; /* attributes of some node are as in the file: subgraphs */
    bool failed;     /* a node cannot be written */
    made_node *nodes;
    size_t count;
    names read;      /* initializers that are read */
    names given;     /* outputs of the graph */
    names tables;    /* values that become initializers: */
    ox_text tensors; /* these */
    int64_t opset;
} rewriter;

static void add_name(names *list, const char *name) {
    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 4;
        list->at = ox_tool_resize(list->at, list->room * sizeof *list->at);
    }
    list->at[list->count++] = name;
}

static bool has_name(const names *list, const char *name) {
    for (size_t i = 0; i < list->count; i++)
        if (!strcmp(list->at[i], name))
            return true;
    return false;
}

/* ---- Fields ------------------------------------------------------------------------------------------------- */

static void put_number(ox_text *out, uint64_t number, uint64_t value) {
    ox_message_put_varint(out, number << 3 | OX_MESSAGE_VARINT);
    ox_message_put_varint(out, value);
}

static void put_bytes(ox_text *out, uint64_t number, const void *bytes, size_t size) {
    const unsigned char *at = bytes;
    ox_message_put_field(out, number, (ox_message){at, at + size});
}

static void put_string(ox_text *out, uint64_t number, const char *text) {
    put_bytes(out, number, text, strlen(text));
}

static void put_text(ox_text *out, uint64_t number, ox_text *content) {
    put_bytes(out, number, ox_text_get(content), content->size);
    ox_text_free(content);
}

static void put_float(ox_text *out, uint64_t number, float value) {
    uint32_t bits;
    char bytes[sizeof bits];
    memcpy(&bits, &value, sizeof bits);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(bits >> 8 * i);
    ox_message_put_varint(out, number << 3 | OX_MESSAGE_FIXED32);
    ox_text_add(out, bytes, sizeof bytes);
}

static bool is_text(ox_message m, const char *text) {
    return (size_t)(m.end - m.at) == strlen(text) && !memcmp(m.at, text, strlen(text));
}

/* The first field of that number. */
static ox_message find(ox_message message, uint64_t number) {
    ox_field field;
    while (ox_message_next(&message, &field))
        if (field.number == number && field.kind == OX_MESSAGE_LENGTH)
            return field.body;
    return (ox_message){NULL, NULL};
}

static bool is_onnx(ox_message domain) {
    return domain.at == domain.end || is_text(domain, "ai.onnx");
}

/* ---- Nodes -------------------------------------------------------------------------------------------------- */

static void put_attribute(ox_text *out, const ox_written_attr *attr) {
    const bool is_list = attr->kind >= 6;
    ox_text made = {0}, tensor = {0};
    put_string(&made, ATTRIBUTE_NAME, attr->name);
    for (size_t i = 0; attr->ints && i < attr->count; i++)
        put_number(&made, is_list ? ATTRIBUTE_INTS : ATTRIBUTE_INT, (uint64_t)attr->ints[i]);
    for (size_t i = 0; attr->floats && i < attr->count; i++)
        put_float(&made, is_list ? ATTRIBUTE_FLOATS : ATTRIBUTE_FLOAT, attr->floats[i]);
    for (size_t i = 0; attr->strings && i < attr->count; i++)
        put_bytes(&made, is_list ? ATTRIBUTE_STRINGS : ATTRIBUTE_STRING, attr->strings[i].data, attr->strings[i].size);
    if (attr->tensor) {
        const ox_tensor *t = attr->tensor;
        for (int d = 0; d < t->rank; d++)
            put_number(&tensor, TENSOR_DIMS, (uint64_t)t->dims[d]);
        put_number(&tensor, TENSOR_TYPE, (uint64_t)t->dtype);
        put_bytes(&tensor, TENSOR_RAW, t->data, (size_t)ox_tensor_count(t) * ox_dtype_size(t->dtype));
        put_text(&made, ATTRIBUTE_TENSOR, &tensor);
    }
    put_number(&made, ATTRIBUTE_TYPE, (uint64_t)attr->kind);
    put_text(out, NODE_ATTRIBUTE, &made);
}

/* Whether a node of the file is that one: an operator with its first result. */
static bool is_same(ox_message node, const ox_written_node *written) {
    const ox_message domain = find(node, NODE_DOMAIN);
    return written->output_count && is_text(find(node, NODE_OP), written->op) &&
           is_text(find(node, NODE_OUTPUT), written->outputs[0]) &&
           (*written->domain ? is_text(domain, written->domain) : is_onnx(domain));
}

/* The attributes that the node has in the file. */
static void copy_attributes(rewriter *r, ox_text *out, const ox_written_node *written) {
    ox_message graph = r->graph;
    ox_field field, inner;
    while (!r->has_functions && ox_message_next(&graph, &field)) {
        if (field.number != GRAPH_NODE || !is_same(field.body, written))
            continue;
        while (ox_message_next(&field.body, &inner))
            if (inner.number == NODE_ATTRIBUTE)
                ox_message_put(out, inner.whole);
        return;
    }
    r->failed = true;
}

static void take_node(void *context, const ox_written_node *node) {
    rewriter *r = context;
    made_node made = {.is_table = !strcmp(node->domain, OX_OWN_DOMAIN) && !strcmp(node->op, "ByteTable")};
    for (size_t i = 0; i < node->input_count; i++) {
        put_string(&made.bytes, NODE_INPUT, node->inputs[i]);
        add_name(&made.inputs, node->inputs[i]);
    }
    for (size_t i = 0; i < node->output_count; i++) {
        put_string(&made.bytes, NODE_OUTPUT, node->outputs[i]);
        add_name(&made.outputs, node->outputs[i]);
    }
    put_string(&made.bytes, NODE_OP, node->op);
    if (*node->domain)
        put_string(&made.bytes, NODE_DOMAIN, node->domain);
    r->has_own |= !strcmp(node->domain, OX_OWN_DOMAIN);
    r->has_copies |= !node->attrs;
    for (size_t i = 0; node->attrs && i < node->attr_count; i++)
        put_attribute(&made.bytes, &node->attrs[i]);
    if (!node->attrs)
        copy_attributes(r, &made.bytes, node);
    r->nodes = ox_tool_resize(r->nodes, (r->count + 1) * sizeof *r->nodes);
    r->nodes[r->count++] = made;
}

/* ---- Initializers ------------------------------------------------------------------------------------------- */

static void take_weight(void *context, const char *name) {
    add_name(&((rewriter *)context)->read, name);
}

static int compare_texts(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_read(const names *list, ox_message name) {
    ox_text text = {0};
    ox_text_add(&text, (const char *)name.at, (size_t)(name.end - name.at));
    const char *wanted = ox_text_get(&text);
    const bool found = list->count && bsearch(&wanted, list->at, list->count, sizeof *list->at, compare_texts);
    ox_text_free(&text);
    return found;
}

/* ---- The model ---------------------------------------------------------------------------------------------- */

static void put_opset(ox_text *out, const char *domain, int64_t version) {
    ox_text made = {0};
    put_string(&made, OPSET_DOMAIN, domain);
    put_number(&made, OPSET_VERSION, (uint64_t)version);
    put_text(out, MODEL_OPSET, &made);
}

/* Whether a field of the model is written anew: domains of nodes, and functions, in whose place nodes are. */
static bool is_replaced(const rewriter *r, const ox_field *field) {
    const ox_message domain = field->number == MODEL_OPSET ? find(field->body, OPSET_DOMAIN) : (ox_message){NULL, NULL};
    return field->number == MODEL_FUNCTION ||
           (field->number == MODEL_OPSET && (is_onnx(domain) || (r->has_own && is_text(domain, OX_OWN_DOMAIN))));
}

/* Adds the model of the file with another graph. */
static void put_model(const rewriter *r, ox_text *out, ox_text *graph) {
    ox_message model = r->model;
    ox_field field;
    while (ox_message_next(&model, &field))
        if (field.number == MODEL_GRAPH)
            put_text(out, MODEL_GRAPH, graph);
        else if (!is_replaced(r, &field))
            ox_message_put(out, field.whole);
    put_opset(out, "", r->opset);
    if (r->has_own)
        put_opset(out, OX_OWN_DOMAIN, 1);
}

static void put_node(ox_text *out, const made_node *node) {
    const ox_text *bytes = &node->bytes;
    put_bytes(out, GRAPH_NODE, bytes->data, bytes->size);
}

/* A sparse tensor or the default of an input stays, read or not. */
static void put_graph(const rewriter *r, ox_text *out) {
    ox_text made = {0};
    ox_message graph = r->graph;
    ox_field field;
    for (size_t n = 0; n < r->count; n++)
        if (r->nodes[n].is_read)
            put_node(&made, &r->nodes[n]);
    while (ox_message_next(&graph, &field)) {
        if (field.number == GRAPH_NODE || field.number == GRAPH_VALUE_INFO ||
            (field.number == GRAPH_INITIALIZER && !is_read(&r->read, find(field.body, TENSOR_NAME))))
            continue;
        ox_message_put(&made, field.whole);
    }
    if (r->tensors.size)
        ox_text_add(&made, r->tensors.data, r->tensors.size);
    put_model(r, out, &made);
}

/* Adds copies of the names of the graph's inputs or outputs. */
static void add_ends(const rewriter *r, uint64_t number, names *to) {
    ox_message graph = r->graph;
    ox_field field;
    while (ox_message_next(&graph, &field))
        if (field.number == number) {
            const ox_message name = find(field.body, INFO_NAME);
            const size_t size = (size_t)(name.end - name.at);
            char *copy = ox_tool_alloc(size + 1);
            if (size)
                memcpy(copy, name.at, size);
            copy[size] = 0;
            add_name(to, copy);
        }
}

/* Keeps initializers that are defaults of inputs, which sessions may replace. */
static void keep_defaults(rewriter *r, names *inputs) {
    add_ends(r, GRAPH_INPUT, inputs);
    for (size_t i = 0; i < inputs->count; i++)
        take_weight(r, inputs->at[i]);
}

static bool can_load(const ox_text *text, ox_model **model) {
    ox_error error;
    return !ox_model_load_memory(text->data, text->size, &(ox_options){.no_fuse = true, .isa = "base"}, model, &error);
}

/* ---- Tables ------------------------------------------------------------------------------------------------- */

/* Leaves out the weights that are read by nodes that are left out, and by no other node. */
static void leave_out_weights(rewriter *r, const names *needed) {
    for (size_t i = 0; i < r->read.count && !r->has_copies;) {
        bool is_left = false;
        for (size_t n = 0; n < r->count; n++)
            is_left |= !r->nodes[n].is_read && has_name(&r->nodes[n].inputs, r->read.at[i]);
        if (is_left && !has_name(needed, r->read.at[i]))
            r->read.at[i] = r->read.at[--r->read.count];
        else
            i++;
    }
}

/* Whether a node gives that value. */
static bool is_made(const rewriter *r, const char *name) {
    for (size_t n = 0; n < r->count; n++)
        if (has_name(&r->nodes[n].outputs, name))
            return true;
    return false;
}

/* Finds the nodes that compute tables, and those that something else reads, too. Tables that no node computes are those
 * of the file. */
static void find_makers(rewriter *r) {
    names wanted = {0}, needed = {0};
    bool any = false;
    for (size_t n = 0; n < r->count; n++) {
        r->nodes[n].is_read = true;
        any |= r->nodes[n].is_table;
    }
    for (size_t i = 0; i < r->given.count; i++)
        add_name(&needed, r->given.at[i]);
    for (size_t n = r->count; any && n-- > 0;) {
        made_node *node = &r->nodes[n];
        node->is_read = false;
        for (size_t k = 0; k < node->outputs.count; k++) {
            node->makes |= has_name(&wanted, node->outputs.at[k]);
            node->is_read |= has_name(&needed, node->outputs.at[k]);
        }
        node->is_read |= !node->makes;
        for (size_t i = 0; i < node->inputs.count; i++) {
            const char *name = node->inputs.at[i];
            const bool is_table = node->is_table && i == 1 && is_made(r, name);
            if (is_table && !has_name(&r->tables, name))
                add_name(&r->tables, name);
            if (is_table || node->makes)
                add_name(&wanted, name);
            if (node->is_read && !is_table)
                add_name(&needed, name);
        }
    }
    leave_out_weights(r, &needed);
    free(wanted.at);
    free(needed.at);
}

/* A model of the nodes that compute tables alone. */
static void put_makers(const rewriter *r, ox_text *out) {
    ox_text made = {0};
    ox_message graph = r->graph;
    ox_field field;
    for (size_t n = 0; n < r->count; n++)
        if (r->nodes[n].makes)
            put_node(&made, &r->nodes[n]);
    while (ox_message_next(&graph, &field))
        if (field.number == GRAPH_INITIALIZER)
            ox_message_put(&made, field.whole);
    for (size_t i = 0; i < r->tables.count; i++) {
        ox_text info = {0};
        put_string(&info, INFO_NAME, r->tables.at[i]);
        put_text(&made, GRAPH_OUTPUT, &info);
    }
    put_model(r, out, &made);
}

static bool run_makers(const ox_text *bytes, ox_model **model, ox_session **session) {
    ox_error error;
    return can_load(bytes, model) && !ox_session_create(*model, NULL, session, &error) &&
           !ox_session_run(*session, &error);
}

/* Computes the tables: false if something hinders it. */
static bool compute_tables(rewriter *r) {
    ox_text bytes = {0};
    ox_model *model = NULL;
    ox_session *session = NULL;
    put_makers(r, &bytes);
    bool done = run_makers(&bytes, &model, &session);
    for (size_t i = 0; i < r->tables.count && done; i++) {
        ox_tensor table;
        ox_error error;
        ox_text made = {0};
        done = !ox_session_output(session, i, &table, &error) && !table.strides && ox_dtype_bits(table.dtype) == 8;
        if (!done)
            break;
        put_number(&made, TENSOR_DIMS, (uint64_t)ox_tensor_count(&table));
        put_number(&made, TENSOR_TYPE, (uint64_t)table.dtype);
        put_string(&made, TENSOR_NAME, r->tables.at[i]);
        put_bytes(&made, TENSOR_RAW, table.data, (size_t)ox_tensor_count(&table));
        put_text(&r->tensors, GRAPH_INITIALIZER, &made);
    }
    ox_session_free(session);
    ox_model_free(model);
    ox_text_free(&bytes);
    return done;
}

/* ---- All of it ---------------------------------------------------------------------------------------------- */

/* Whether a field of that number is there once: parts of a message that is there several times are one message. */
static bool is_single(ox_message message, uint64_t number) {
    int count = 0;
    ox_field field;
    while (ox_message_next(&message, &field))
        count += field.number == number;
    return count == 1;
}

/* Names that add_ends copied. */
static void free_ends(names *ends) {
    for (size_t i = 0; i < ends->count; i++)
        free((char *)(uintptr_t)ends->at[i]);
    free(ends->at);
}

static void free_rewriter(rewriter *r, names *inputs) {
    free_ends(inputs);
    free_ends(&r->given);
    for (size_t n = 0; n < r->count; n++) {
        ox_text_free(&r->nodes[n].bytes);
        free(r->nodes[n].inputs.at);
        free(r->nodes[n].outputs.at);
    }
    free(r->nodes);
    free(r->read.at);
    free(r->tables.at);
    ox_text_free(&r->tensors);
}

static bool rewrite(const ox_model *loaded, ox_text *out, ox_message model) {
    rewriter r = {
        .graph = find(model, MODEL_GRAPH), .model = model, .has_functions = find(model, MODEL_FUNCTION).at != NULL};
    ox_model_writer writer = {.context = &r, .node = take_node, .weight = take_weight};
    ox_model *again = NULL;
    names inputs = {0};
    ox_error error;
    bool done = !ox_model_write(loaded, &writer, &error) && !r.failed;
    r.opset = writer.opset;
    if (done) {
        add_ends(&r, GRAPH_OUTPUT, &r.given);
        find_makers(&r);
        done = !r.tables.count || compute_tables(&r);
    }
    if (done) {
        keep_defaults(&r, &inputs);
        if (r.read.count)
            qsort(r.read.at, r.read.count, sizeof *r.read.at, compare_texts);
        put_graph(&r, out);
        done = can_load(out, &again);
    }
    ox_model_free(again);
    if (!done)
        ox_text_free(out);
    free_rewriter(&r, &inputs);
    return done;
}

bool ox_rewrite_model(ox_text *out, const unsigned char *bytes, size_t size) {
    const ox_text given = {.data = (char *)(uintptr_t)bytes, .size = size};
    const ox_message model = {bytes, bytes + size};
    ox_model *loaded = NULL;
    ox_error error;
    bool done = false;
    if (!is_single(model, MODEL_GRAPH))
        return false;
    if (!ox_model_load_to_write(bytes, size, &loaded, &error) && ox_model_is_rewritten(loaded))
        done = rewrite(loaded, out, model);
    ox_model_free(loaded);
    loaded = NULL;
    if (!done && can_load(&given, &loaded) && ox_model_is_rewritten(loaded)) /* perhaps without tables */
        done = rewrite(loaded, out, model);
    ox_model_free(loaded);
    return done;
}
