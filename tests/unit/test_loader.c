/* test_loader.c: from bytes to a graph: values, nodes, attributes, subgraphs, functions, errors. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/clock.h"
#include "tests/unit/loading.h"

/* The value of the outer graph that a value of a subgraph stands for. */
static int outer_value(const ox_graph *graph, const char *name) {
    const int v = find_value(graph, name);
    for (int i = 0; i < graph->ncaptures; i++)
        if (graph->captures[i].value == v)
            return graph->captures[i].outer;
    return -1;
}

/* ---- Graphs ------------------------------------------------------------------------------------------------- */

START_TEST(a_small_model) {
    ox_bytes graph = {0}, bytes = {0};
    const float w[16] = {[15] = 3};
    ox_put_input(&graph, "x", OX_FLOAT, 2, (const int64_t[]){-1, 16});
    ox_put_initializer(&graph, "w", OX_FLOAT, 1, (const int64_t[]){16}, w);
    ox_put_node(&graph, "Add", "x,w", "h", NULL);
    ox_put_node(&graph, "Relu", "h", "y", NULL);
    ox_put_output(&graph, "y", OX_FLOAT, 2, (const int64_t[]){-1, 16});
    ox_put_model(&bytes, &graph, 13);
    load(&bytes);
    const ox_graph *g = model->graph;
    ck_assert_int_eq(g->nnodes, 2);
    ck_assert_int_eq(g->nvalues, 4);
    ck_assert_str_eq(g->nodes[0].op->name, "Add");
    ck_assert_int_eq(g->nodes[0].version, 13);
    ck_assert_ptr_nonnull(g->nodes[0].op);
    ck_assert_int_eq(g->nodes[0].in[1], find_value(g, "w"));
    float last; /* weights stay where the file has them, at any address */
    memcpy(&last, (const char *)weight("w") + 15 * sizeof last, sizeof last);
    ck_assert_int_eq(last, 3);
    ox_value_info info;
    ck_assert_int_eq(ox_model_input(model, 0, &info), OX_OK);
    ck_assert_int_eq(info.rank, 2);
    ck_assert_int_eq(info.dims[0], -1);
    ck_assert_str_eq(info.dim_names[0], "n");
    ck_assert_int_eq(info.dims[1], 16);
    ck_assert_int_eq(ox_model_input(model, 1, &info), OX_ERROR_ARGUMENT);
    ox_model_info facts;
    ox_model_get_info(model, &facts);
    ck_assert_int_eq(facts.parameter_count, 16);
    ck_assert_int_eq(facts.weight_bytes, 64);
    ck_assert_uint_eq(facts.node_count, 2);
    ck_assert_str_eq(facts.graph_name, "graph");
    ox_model_free(model);
}
END_TEST

START_TEST(metadata_and_description) {
    ox_bytes bytes = {0}, graph = {0}, entry = {0}, empty = {0};
    ox_put_model(&bytes, &graph, 17);
    ox_put_text(&bytes, 6, "a model without nodes");
    ox_put_text(&entry, 1, "classes");
    ox_put_text(&entry, 2, "cat,dog");
    ox_put_message(&bytes, 14, &entry);
    ox_put_message(&bytes, 14, &empty);
    load(&bytes);
    ox_model_info facts;
    ox_model_get_info(model, &facts);
    ck_assert_str_eq(facts.description, "a model without nodes");
    ck_assert_uint_eq(facts.metadata_count, 2);
    ck_assert_str_eq(facts.metadata[0].key, "classes");
    ck_assert_str_eq(facts.metadata[0].value, "cat,dog");
    ck_assert_str_eq(facts.metadata[1].key, "");
    ck_assert_str_eq(facts.metadata[1].value, "");
    ox_model_free(model);
}
END_TEST

/* Weights are used where they lie if the machine can, whatever their address. */
START_TEST(weights_stay_in_place) {
    const float w[3] = {1, 2, 3};
    int in_place = 0;
    for (int shift = 0; shift < 4; shift++) {
        ox_bytes graph = {0}, bytes = {0};
        ox_put_text(&graph, 10, &"abc"[shift]);
        ox_put_initializer(&graph, "w", OX_FLOAT, 1, (const int64_t[]){3}, w);
        ox_put_model(&bytes, &graph, 13);
        load(&bytes);
        const unsigned char *data = weight("w");
        in_place += data > bytes.data && data < bytes.data + bytes.size;
        ck_assert(!memcmp(data, w, sizeof w));
        ox_model_free(model);
    }
    ck_assert_int_eq(in_place, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 0 : OX_UNALIGNED ? 4 : 1);
}
END_TEST

START_TEST(an_initializer_may_be_an_input) {
    ox_bytes graph = {0}, bytes = {0};
    ox_put_input(&graph, "x", OX_FLOAT, 0, NULL);
    ox_put_initializer(&graph, "x", OX_FLOAT, 0, NULL, &(float){3});
    ox_put_output(&graph, "x", OX_FLOAT, 0, NULL);
    ox_put_model(&bytes, &graph, 13);
    load(&bytes);
    ox_value_info info;
    ck_assert_int_eq(ox_model_input(model, 0, &info), OX_OK);
    ck_assert(info.optional);
    ck_assert_int_eq(model->graph->outputs[0].value, model->graph->inputs[0].value);
    ox_model_free(model);
    ox_put_initializer(&graph, "x", OX_FLOAT, 0, NULL, &(float){4});
    bytes.size = 0;
    ox_put_model(&bytes, &graph, 13);
    check_fails(&bytes, OX_ERROR_MODEL, "value 'x' has two initializers");
}
END_TEST

START_TEST(nodes_are_sorted) {
    ox_bytes graph = {0}, bytes = {0};
    ox_put_node(&graph, "Add", "b,c", "d", NULL);
    ox_put_node(&graph, "Abs", "x", "a", NULL);
    ox_put_node(&graph, "Relu", "b", "c", NULL);
    ox_put_node(&graph, "Neg", "a", "b", NULL);
    ox_put_input(&graph, "x", OX_FLOAT, -1, NULL);
    ox_put_model(&bytes, &graph, 13);
    load(&bytes);
    static const char *const order[] = {"Abs", "Neg", "Relu", "Add"};
    for (int i = 0; i < 4; i++)
        ck_assert_str_eq(model->graph->nodes[i].op->name, order[i]);
    ox_model_free(model);
}
END_TEST

START_TEST(broken_graphs_are_refused) {
    ox_bytes cycle = {0}, unknown = {0}, twice = {0}, arity = {0}, output = {0}, omitted = {0};
    ox_put_node(&cycle, "Add", "x,b", "a", NULL);
    ox_put_node(&cycle, "Abs", "a", "b", NULL);
    check_graph_fails(&cycle, OX_ERROR_MODEL, "depends on its own output");
    ox_put_node(&unknown, "Abs", "nowhere", "a", NULL);
    check_graph_fails(&unknown, OX_ERROR_MODEL, "model: node 0 (Abs): it reads 'nowhere', which nothing produces");
    ox_put_node(&twice, "Abs", "x", "a", NULL);
    ox_put_node(&twice, "Neg", "x", "a", NULL);
    check_graph_fails(&twice, OX_ERROR_MODEL, "value 'a' is defined twice");
    ox_put_node(&arity, "Add", "x", "a", NULL);
    check_graph_fails(&arity, OX_ERROR_MODEL, "1 input given, but Add-13 takes exactly 2");
    ox_put_output(&output, "y", OX_FLOAT, -1, NULL);
    check_graph_fails(&output, OX_ERROR_MODEL, "output 0 of the graph: it reads 'y', which nothing produces");
    ox_put_node(&omitted, "Add", ",x", "a", NULL);
    check_graph_fails(&omitted, OX_ERROR_MODEL, "input 0 is omitted");
}
END_TEST

START_TEST(versions_are_checked) {
    ox_bytes none = {0}, old = {0}, newer = {0}, graph = {0}, opset = {0}, foreign = {0};
    check_fails(&none, OX_ERROR_MODEL, "no ir_version");
    ox_put_int(&old, 1, 0);
    check_fails(&old, OX_ERROR_MODEL, "ir_version 0 is not between 1 and 14");
    ox_put_int(&newer, 1, 15);
    check_fails(&newer, OX_ERROR_UNSUPPORTED, "ir_version 15 is newer than 14");
    newer.size = 0;
    ox_put_int(&newer, 1, 14);
    check_fails(&newer, OX_ERROR_MODEL, "it has no graph");
    ox_put_model(&opset, &graph, 9999);
    check_fails(&opset, OX_ERROR_UNSUPPORTED, "opset 9999 of domain 'ai.onnx' is newer than");
    opset.size = 0;
    ox_put_model(&opset, &graph, 0);
    check_fails(&opset, OX_ERROR_MODEL, "0 is not a version of domain 'ai.onnx'");
    ox_put_text(&foreign, 4, "Foo");
    ox_put_text(&foreign, 7, "com.example");
    ox_put_message(&graph, 1, &foreign);
    opset.size = 0;
    ox_put_model(&opset, &graph, 13);
    check_fails(&opset, OX_ERROR_MODEL, "its domain 'com.example' is not in the opset_import of the model");
}
END_TEST

START_TEST(the_first_format_needs_no_opset) {
    ox_bytes graph = {0}, bytes = {0}, attr = {0}, attrs = {0};
    ox_put_text(&attr, 1, "axis");
    ox_put_int(&attr, 3, 1); /* no type */
    ox_put_message(&attrs, 5, &attr);
    ox_put_input(&graph, "x", OX_FLOAT, -1, NULL);
    ox_put_node(&graph, "Softmax", "x", "y", &attrs);
    ox_put_int(&bytes, 1, 1);
    ox_put_message(&bytes, 7, &graph);
    load(&bytes);
    ck_assert_int_eq(model->graph->nodes[0].version, 1);
    ck_assert_int_eq(model->graph->nodes[0].attrs[0].kind, OX_ATTR_INT);
    ck_assert_int_eq(model->graph->nodes[0].attrs[0].u.i, 1);
    ox_model_free(model);
}
END_TEST

START_TEST(all_missing_operators_in_one_error) {
    ox_bytes graph = {0};
    ox_put_node(&graph, "Zork", "x", "a", NULL);
    ox_put_node(&graph, "Abs", "a", "b", NULL);
    ox_put_node(&graph, "Blub", "b", "c", NULL);
    ox_put_node(&graph, "Zork", "c", "d", NULL);
    check_graph_fails(&graph, OX_ERROR_UNSUPPORTED,
                      "model: 2 operators are not supported: Blub-13 (1 node), Zork-13 (2 nodes)");
    for (int i = 0; i < 60; i++) {
        char name[32], value[32];
        snprintf(name, sizeof name, "Missing%d", i);
        snprintf(value, sizeof value, "v%d", i);
        ox_put_node(&graph, name, "x", value, NULL);
    }
    check_graph_fails(&graph, OX_ERROR_UNSUPPORTED, "62 operators are not supported");
    check_text("...");
}
END_TEST

START_TEST(attributes_are_typed) {
    ox_bytes node = {0}, attr = {0}, attrs = {0}, graph = {0}, bytes = {0};
    ox_put_text(&attr, 1, "__zero");    /* no operator has to know names with two underscores */
    ox_put_int(&attr, 20, OX_ATTR_INT); /* a writer of proto3 leaves out the 0 */
    ox_put_message(&attrs, 5, &attr);
    attr.size = 0;
    ox_put_text(&attr, 1, "__names");
    ox_put_text(&attr, 9, "one");
    ox_put_text(&attr, 9, "two");
    ox_put_int(&attr, 20, OX_ATTR_STRINGS);
    ox_put_message(&attrs, 5, &attr);
    attr.size = 0;
    ox_put_text(&attr, 1, "__none");
    ox_put_int(&attr, 20, OX_ATTR_INTS);
    ox_put_message(&attrs, 5, &attr);
    ox_put_input(&graph, "x", OX_FLOAT, -1, NULL);
    ox_put_node(&graph, "Abs", "x", "y", &attrs);
    ox_put_model(&bytes, &graph, 13);
    load(&bytes);
    const ox_attr *a = model->graph->nodes[0].attrs;
    ck_assert_uint_eq(model->graph->nodes[0].nattrs, 3);
    ck_assert(a[0].kind == OX_ATTR_INT && a[0].u.i == 0);
    ck_assert(a[1].kind == OX_ATTR_STRINGS && a[1].count == 2);
    ck_assert(!memcmp(a[1].u.strings[1].data, "two", 3));
    ck_assert(a[2].kind == OX_ATTR_INTS && a[2].count == 0);
    ox_model_free(model);
    ox_bytes wrong = {0}, twice = {0};
    attr.size = 0;
    ox_put_text(&attr, 1, "axis");
    ox_put_int(&attr, 3, 1);
    ox_put_int(&attr, 20, OX_ATTR_FLOAT);
    ox_put_message(&node, 5, &attr);
    ox_put_node(&wrong, "Abs", "x", "y", &node);
    check_graph_fails(&wrong, OX_ERROR_MODEL, "attribute 'axis': it says that it is of type float, but holds int");
    node.size = 0;
    ox_put_attr_int(&node, "axis", 1);
    ox_put_attr_int(&node, "axis", 1);
    ox_put_node(&twice, "Abs", "x", "y", &node);
    check_graph_fails(&twice, OX_ERROR_MODEL, "attribute 'axis' is given twice");
}
END_TEST

/* ---- Subgraphs ---------------------------------------------------------------------------------------------- */

/* If(cond) with the same graph for both branches. */
static void put_if(ox_bytes *graph, const char *cond, const char *output, const ox_bytes *branch) {
    ox_bytes attrs = {0};
    ox_put_attr_graph(&attrs, "then_branch", branch);
    ox_put_attr_graph(&attrs, "else_branch", branch);
    ox_put_node(graph, "If", cond, output, &attrs);
}

START_TEST(subgraphs_see_outer_values) {
    ox_bytes inner = {0}, middle = {0}, graph = {0}, bytes = {0};
    ox_put_node(&inner, "Add", "x,m", "i", NULL);
    ox_put_output(&inner, "i", OX_FLOAT, -1, NULL);
    ox_put_node(&middle, "Abs", "x", "m", NULL);
    put_if(&middle, "c", "o", &inner);
    ox_put_output(&middle, "o", OX_FLOAT, -1, NULL);
    ox_put_input(&graph, "x", OX_FLOAT, -1, NULL);
    ox_put_input(&graph, "c", OX_BOOL, 0, NULL);
    put_if(&graph, "c", "y", &middle);
    ox_put_model(&bytes, &graph, 13);
    load(&bytes);
    const ox_graph *g = model->graph;
    ck_assert_int_eq(g->nodes[0].ncaptures, 2); /* x and c, each once */
    const ox_graph *m = g->nodes[0].attrs[1].u.graph;
    ck_assert_ptr_eq(m->outer, g);
    ck_assert_int_eq(outer_value(m, "x"), find_value(g, "x"));
    ck_assert_int_eq(m->nodes[1].ncaptures, 2); /* x and m */
    const ox_graph *i = m->nodes[1].attrs[0].u.graph;
    ck_assert_int_eq(outer_value(i, "x"), find_value(m, "x"));
    ck_assert_int_eq(outer_value(i, "m"), find_value(m, "m"));
    ck_assert_int_eq(i->nodes[0].in[0], find_value(i, "x"));
    ck_assert_uint_eq(model->info.node_count, 1 + 2 * (2 + 2));
    ox_model_free(model);
}
END_TEST

START_TEST(subgraphs_count_for_the_order) {
    ox_bytes branch = {0}, graph = {0}, bytes = {0};
    ox_put_node(&branch, "Abs", "late", "i", NULL);
    ox_put_output(&branch, "i", OX_FLOAT, -1, NULL);
    ox_put_input(&graph, "x", OX_FLOAT, -1, NULL);
    ox_put_input(&graph, "c", OX_BOOL, 0, NULL);
    put_if(&graph, "c", "y", &branch);
    ox_put_node(&graph, "Neg", "x", "late", NULL);
    ox_put_model(&bytes, &graph, 13);
    load(&bytes);
    ck_assert_str_eq(model->graph->nodes[0].op->name, "Neg");
    ox_model_free(model);
}
END_TEST

/* ---- Functions ---------------------------------------------------------------------------------------------- */

static void put_function(ox_bytes *bytes, const char *name, const char *input, const char *output,
                         const ox_bytes *nodes, const ox_bytes *attributes) {
    ox_bytes function = {0}, opset = {0};
    size_t start = 0;
    ox_put_text(&function, 1, name);
    ox_put_text(&function, 10, "my");
    for (size_t end = 0; *input && end <= strlen(input); end++)
        if (input[end] == ',' || !input[end]) {
            ox_put_bytes(&function, 4, input + start, end - start);
            start = end + 1;
        }
    ox_put_text(&function, 5, output);
    ox_put_int(&opset, 2, 13);
    ox_put_message(&function, 9, &opset);
    opset.size = 0;
    ox_put_text(&opset, 1, "my");
    ox_put_int(&opset, 2, 1);
    ox_put_message(&function, 9, &opset);
    memcpy(function.data + function.size, nodes->data, nodes->size);
    function.size += nodes->size;
    if (attributes)
        ox_put_message(&function, 11, attributes);
    ox_put_message(bytes, 25, &function);
}

/* A node of a function (field 7) or of a graph (field 1), in domain "my". */
static void put_call(ox_bytes *out, int field, const char *op, const char *input, const char *output,
                     const ox_bytes *attrs) {
    ox_bytes node = {0};
    if (*input)
        ox_put_text(&node, 1, input);
    ox_put_text(&node, 2, output);
    ox_put_text(&node, 3, "call");
    ox_put_text(&node, 4, op);
    ox_put_text(&node, 7, "my");
    if (attrs) {
        memcpy(node.data + node.size, attrs->data, attrs->size);
        node.size += attrs->size;
    }
    ox_put_message(out, field, &node);
}

/* A node of a function in ONNX's domain, from one value to another. */
static void put_body(ox_bytes *out, const char *op, const char *input, const char *output, const ox_bytes *attrs) {
    ox_bytes graph = {0};
    ox_put_node(&graph, op, input, output, attrs);
    graph.data[0] = 7 << 3 | 2;
    memcpy(out->data + out->size, graph.data, graph.size);
    out->size += graph.size;
}

static void put_reference(ox_bytes *attrs, const char *name, const char *to, ox_attr_kind kind) {
    ox_bytes attr = {0};
    ox_put_text(&attr, 1, name);
    ox_put_text(&attr, 21, to);
    ox_put_int(&attr, 20, kind);
    ox_put_message(attrs, 5, &attr);
}

static ox_bytes model_of(ox_bytes *graph) {
    ox_bytes bytes = {0}, opset = {0};
    ox_put_input(graph, "x", OX_FLOAT, -1, NULL);
    ox_put_model(&bytes, graph, 13);
    ox_put_text(&opset, 1, "my");
    ox_put_int(&opset, 2, 1);
    ox_put_message(&bytes, 8, &opset);
    return bytes;
}

START_TEST(functions_are_expanded) {
    ox_bytes graph = {0}, body = {0}, outer = {0}, attrs = {0}, given = {0}, fallback = {0};
    put_reference(&attrs, "axis", "ax", OX_ATTR_INT);
    put_body(&body, "Softmax", "p", "q", &attrs);
    put_body(&body, "Abs", "q", "r", NULL);
    attrs.size = 0;
    put_reference(&attrs, "ax", "outer_ax", OX_ATTR_INT);
    put_call(&outer, 7, "Inner", "p", "q", &attrs);
    put_call(&outer, 7, "Inner", "q", "r", NULL);
    ox_put_text(&fallback, 1, "ax");
    ox_put_int(&fallback, 3, -3);
    ox_put_int(&fallback, 20, OX_ATTR_INT);
    ox_put_attr_int(&given, "outer_ax", 5);
    put_call(&graph, 1, "Outer", "x", "q", &given);
    put_call(&graph, 1, "Outer", "q", "y", NULL);
    ox_put_output(&graph, "y", OX_FLOAT, -1, NULL);
    ox_bytes bytes = model_of(&graph);
    put_function(&bytes, "Inner", "p", "r", &body, &fallback);
    put_function(&bytes, "Outer", "p", "r", &outer, NULL);
    load(&bytes);
    const ox_graph *g = model->graph;
    static const int64_t axes[] = {5, -3, -3, -3};
    ck_assert_int_eq(g->nnodes, 8);
    for (int i = 0; i < 4; i++) {
        ck_assert_str_eq(g->nodes[2 * i].op->name, "Softmax");
        ck_assert_uint_eq(g->nodes[2 * i].nattrs, 1);
        ck_assert_int_eq(g->nodes[2 * i].attrs[0].u.i, axes[i]);
        ck_assert_int_eq(g->nodes[2 * i + 1].in[0], g->nodes[2 * i].out[0]);
    }
    for (int i = 0; i < g->nvalues; i++)
        ck_assert_int_eq(find_value(g, g->names[i]), i); /* each name once */
    ck_assert_int_eq(g->outputs[0].value, g->nodes[7].out[0]);
    ck_assert_uint_eq(model->info.function_count, 2);
    ox_model_free(model);
}
END_TEST

START_TEST(functions_that_pass_on_their_input) {
    ox_bytes graph = {0}, body = {0};
    put_call(&graph, 1, "Same", "x", "y", NULL);
    ox_bytes bytes = model_of(&graph);
    put_function(&bytes, "Same", "p", "p", &body, NULL);
    load(&bytes);
    ck_assert_int_eq(model->graph->nnodes, 1);
    ck_assert_str_eq(model->graph->nodes[0].op->name, "Identity");
    ox_model_free(model);
}
END_TEST

START_TEST(graphs_given_to_functions) {
    ox_bytes graph = {0}, body = {0}, branch = {0}, attrs = {0}, given = {0};
    put_reference(&attrs, "then_branch", "what", OX_ATTR_GRAPH);
    put_reference(&attrs, "else_branch", "what", OX_ATTR_GRAPH);
    put_body(&body, "If", "p", "r", &attrs);
    ox_put_node(&branch, "Abs", "x", "i", NULL); /* x of the caller */
    ox_put_output(&branch, "i", OX_FLOAT, -1, NULL);
    ox_put_attr_graph(&given, "what", &branch);
    ox_put_input(&graph, "c", OX_BOOL, 0, NULL);
    put_call(&graph, 1, "Choose", "c", "y", &given);
    ox_bytes bytes = model_of(&graph);
    put_function(&bytes, "Choose", "p", "r", &body, NULL);
    load(&bytes);
    const ox_node *node = &model->graph->nodes[0];
    ck_assert_str_eq(node->op->name, "If");
    ck_assert_int_eq(node->ncaptures, 1);
    ck_assert_int_eq(node->captures[0], find_value(model->graph, "x"));
    ox_model_free(model);
}
END_TEST

START_TEST(broken_functions_are_refused) {
    ox_bytes graph = {0}, body = {0}, nothing = {0}, loop = {0};
    put_call(&graph, 1, "F", "x", "y", NULL);
    ox_bytes bytes = model_of(&graph), start = bytes;
    put_call(&loop, 7, "F", "p", "r", NULL);
    put_function(&bytes, "F", "p", "r", &loop, NULL);
    check_fails(&bytes, OX_ERROR_MODEL, "node 'call' (my.F): node 'call' (my.F): the function calls itself");
    bytes = start;
    put_function(&bytes, "F", "p", "r", &nothing, NULL);
    check_fails(&bytes, OX_ERROR_MODEL, "the function never produces its output 'r'");
    put_function(&bytes, "F", "p", "r", &nothing, NULL);
    check_fails(&bytes, OX_ERROR_MODEL, "function 'F' is defined twice");
    bytes = start;
    put_body(&body, "Abs", "x", "r", NULL); /* no value of the function */
    put_function(&bytes, "F", "p", "r", &body, NULL);
    check_fails(&bytes, OX_ERROR_MODEL, "it reads 'x', which nothing produces");
    bytes = start;
    put_function(&bytes, "F", "", "r", &body, NULL);
    check_fails(&bytes, OX_ERROR_MODEL, "the call has 1 inputs and 1 outputs, but the function takes 0 and gives 1");
}
END_TEST

/* Each function calls the next one so often, once or twice: calls^levels leaves. */
static ox_bytes nested_calls(int levels, int calls, const ox_bytes *leaf) {
    ox_bytes graph = {0};
    put_call(&graph, 1, "F0", "x", "y", NULL);
    ox_bytes bytes = model_of(&graph);
    for (int i = 0; i < levels; i++) {
        ox_bytes body = {0};
        char name[16], next[16];
        snprintf(name, sizeof name, "F%d", i);
        snprintf(next, sizeof next, "F%d", i + 1);
        if (calls > 1)
            put_call(&body, 7, next, "p", "q", NULL);
        put_call(&body, 7, next, calls > 1 ? "q" : "p", "r", NULL);
        put_function(&bytes, name, "p", "r", &body, NULL);
    }
    char last[16];
    snprintf(last, sizeof last, "F%d", levels);
    put_function(&bytes, last, "p", leaf ? "r" : "p", leaf ? leaf : &(ox_bytes){0}, NULL);
    return bytes;
}

START_TEST(expansion_is_bounded) {
    ox_bytes leaf = {0};
    put_body(&leaf, "Abs", "p", "r", NULL);
    ox_bytes bytes = nested_calls(25, 2, &leaf);
    const ox_options few = {.limits = {.nodes = 10000}};
    clock_t start = clock();
    ck_assert_int_eq(load_with(&bytes, &few), OX_ERROR_LIMIT);
    check_text("10000 nodes");
    bytes = nested_calls(25, 2, NULL);
    ck_assert_int_eq(load_with(&bytes, &few), OX_ERROR_LIMIT);
    ck_assert(clock() - start < seconds(1));
    bytes = nested_calls(10, 2, &leaf);
    const ox_options enough = {.limits = {.nodes = 1024}}, one_less = {.limits = {.nodes = 1023}};
    ck_assert_int_eq(load_with(&bytes, &one_less), OX_ERROR_LIMIT);
    check_text("the model has more than 1023 nodes");
    ck_assert_int_eq(load_with(&bytes, &enough), OX_OK);
    ck_assert_int_eq(model->graph->nnodes, 1024);
    ox_model_free(model);
}
END_TEST

/* What functions expand to is bounded by the size of the file, where no limit is set. */
START_TEST(expansion_is_bounded_by_size) {
    ox_bytes leaf = {0};
    put_body(&leaf, "Abs", "p", "r", NULL);
    for (int levels = 17; levels <= 60; levels += levels == 19 ? 41 : 1) {
        ox_bytes bytes = nested_calls(levels, 2, &leaf);
        check_fails(&bytes, OX_ERROR_LIMIT, "nodes when its functions are expanded, too many for");
    }
    ox_bytes bytes = nested_calls(16, 2, &leaf);
    ck_assert_int_eq(load_with(&bytes, NULL), OX_OK);
    ck_assert_int_eq(model->graph->nnodes, 1 << 16);
    ox_model_free(model);
    bytes = nested_calls(17, 2, &leaf);
    const ox_options more = {.limits = {.nodes = 1 << 17}};
    ck_assert_int_eq(load_with(&bytes, &more), OX_OK);
    ox_model_free(model);
}
END_TEST

START_TEST(depth_of_calls_is_a_limit) {
    ox_bytes leaf = {0};
    put_body(&leaf, "Abs", "p", "r", NULL);
    const ox_options few = {.limits = {.depth = 40}}, many = {.limits = {.depth = 500}},
                     any = {.limits = {.nodes = SIZE_MAX}};
    ox_bytes bytes = nested_calls(OX_MAX_CALLS - 1, 1, &leaf);
    ck_assert_int_eq(load_with(&bytes, NULL), OX_OK);
    ox_model_free(model);
    ck_assert_int_eq(load_with(&bytes, &few), OX_ERROR_LIMIT);
    check_text("functions and subgraphs nest deeper than 40");
    bytes = nested_calls(OX_MAX_CALLS, 1, &leaf);
    check_fails(&bytes, OX_ERROR_LIMIT, "functions and subgraphs nest deeper than 128");
    ck_assert_int_eq(load_with(&bytes, &many), OX_OK);
    ox_model_free(model);
    bytes = nested_calls(140, 2, &leaf);
    ck_assert_int_eq(load_with(&bytes, &any), OX_ERROR_LIMIT);
    check_text("functions and subgraphs nest deeper than 128");
}
END_TEST

/* ---- Hostile circumstances ---------------------------------------------------------------------------------- */

typedef struct counter {
    long left, blocks;
} counter;

static void *count_resize(void *context, void *block, size_t old_size, size_t new_size) {
    counter *c = context;
    (void)old_size;
    if (!new_size) {
        c->blocks--;
        free(block);
        return NULL;
    }
    if (c->left-- <= 0)
        return NULL;
    c->blocks += !block;
    return realloc(block, new_size);
}

START_TEST(every_failing_allocation_is_an_error) {
    ox_bytes leaf = {0};
    put_body(&leaf, "Abs", "p", "r", NULL);
    ox_bytes bytes = nested_calls(8, 2, &leaf);
    ox_status status = OX_ERROR_MEMORY;
    for (long n = 0; status == OX_ERROR_MEMORY; n++) {
        counter c = {.left = n};
        const ox_allocator allocator = {count_resize, &c};
        const ox_options options = {.allocator = &allocator};
        status = load_with(&bytes, &options);
        ck_assert(status == OX_OK || status == OX_ERROR_MEMORY);
        if (!status)
            ox_model_free(model);
        ck_assert_int_eq(c.blocks, 0);
    }
}
END_TEST

START_TEST(every_truncation_and_flip_is_survived) {
    ox_bytes branch = {0}, graph = {0}, leaf = {0};
    put_body(&leaf, "Abs", "p", "r", NULL);
    ox_put_node(&branch, "Add", "x,x", "i", NULL);
    ox_put_output(&branch, "i", OX_FLOAT, -1, NULL);
    ox_put_input(&graph, "c", OX_BOOL, 0, NULL);
    ox_put_initializer(&graph, "w", OX_FLOAT, 1, (const int64_t[]){4}, (const float[]){1, 2, 3, 4});
    put_if(&graph, "c", "h", &branch);
    put_call(&graph, 1, "F", "h", "y", NULL);
    ox_bytes whole = model_of(&graph);
    put_function(&whole, "F", "p", "r", &leaf, NULL);
    load(&whole);
    ox_model_free(model);
    for (size_t size = 0; size < whole.size; size++) {
        unsigned char *copy = malloc(size + 1);
        memcpy(copy, whole.data, size);
        if (ox_model_load_memory(copy, size, NULL, &model, &error) == OX_OK)
            ox_model_free(model);
        else
            ck_assert(*error.text);
        free(copy);
    }
    for (size_t bit = 0; bit < whole.size * 8; bit++) {
        ox_bytes flipped = whole;
        flipped.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        if (load_with(&flipped, NULL) == OX_OK)
            ox_model_free(model);
    }
}
END_TEST

/* Text of a node that reads the value before it; returns its length. */
static size_t put_link(unsigned char *out, unsigned i) {
    return (size_t)sprintf((char *)out, "\x0a%c\x0a\x08v%07u\x12\x08v%07u\x22\x03%s", 25, i, i + 1, "Abs");
}

START_TEST(large_graphs_take_linear_time) {
    enum {
        NODES = 200000,
        LINK = 27
    };
    unsigned char *bytes = malloc((size_t)NODES * LINK + 100), *at = bytes;
    ox_bytes input = {0}, head = {0};
    ox_put_input(&input, "v0000000", OX_FLOAT, -1, NULL);
    ox_put_int(&head, 1, 8);
    ox_put_message(&head, 8, &(ox_bytes){2, {0x10, 13}});
    memcpy(at, head.data, head.size);
    at += head.size;
    head.size = 0;
    ox_put_int(&head, 7, (int64_t)NODES * LINK + (int64_t)input.size);
    head.data[0] |= 2;
    memcpy(at, head.data, head.size);
    at += head.size;
    memcpy(at, input.data, input.size);
    at += input.size;
    for (unsigned i = NODES; i-- > 0;) /* the last first: sorting is linear too */
        at += put_link(at, i);
    clock_t start = clock();
    ck_assert_msg(ox_model_load_memory(bytes, (size_t)(at - bytes), NULL, &model, &error) == OX_OK, "%s", error.text);
    ck_assert(clock() - start < seconds(4));
    ck_assert_int_eq(model->graph->nnodes, NODES);
    ck_assert_int_eq(model->graph->nodes[0].in[0], model->graph->inputs[0].value);
    ox_model_free(model);
    free(bytes);
}
END_TEST

Suite *ox_suite_loader(void);
Suite *ox_suite_loader(void) {
    Suite *suite = suite_create("loader");
    TCase *tests = tcase_create("loader");
    tcase_add_test(tests, a_small_model);
    tcase_add_test(tests, metadata_and_description);
    tcase_add_test(tests, weights_stay_in_place);
    tcase_add_test(tests, an_initializer_may_be_an_input);
    tcase_add_test(tests, nodes_are_sorted);
    tcase_add_test(tests, broken_graphs_are_refused);
    tcase_add_test(tests, versions_are_checked);
    tcase_add_test(tests, the_first_format_needs_no_opset);
    tcase_add_test(tests, all_missing_operators_in_one_error);
    tcase_add_test(tests, attributes_are_typed);
    tcase_add_test(tests, subgraphs_see_outer_values);
    tcase_add_test(tests, subgraphs_count_for_the_order);
    tcase_add_test(tests, functions_are_expanded);
    tcase_add_test(tests, functions_that_pass_on_their_input);
    tcase_add_test(tests, graphs_given_to_functions);
    tcase_add_test(tests, broken_functions_are_refused);
    tcase_add_test(tests, every_failing_allocation_is_an_error);
    tcase_add_test(tests, every_truncation_and_flip_is_survived);
    suite_add_tcase(suite, tests);
    TCase *timed = tcase_create("loader, against the clock");
    tcase_set_tags(timed, "long");
    tcase_add_test(timed, expansion_is_bounded);
    tcase_add_test(timed, expansion_is_bounded_by_size);
    tcase_add_test(timed, depth_of_calls_is_a_limit);
    tcase_add_test(timed, large_graphs_take_linear_time);
    suite_add_tcase(suite, timed);
    return suite;
}
