/* graph.c: a graph: its inputs, initializers and nodes, in an order that can run. */
#include "build.h"

#include <string.h>

static const char *const no_names[OX_MAX_RANK] = {NULL};

/* ---- Declaring values --------------------------------------------------------------------------------------- */

static ox_status declare(ox_builder *b, ox_frame *frame, const char *text, ox_origin origin, int32_t *index) {
    const char *name;
    OX_TRY(ox_build_intern(b, text, &name));
    if (!*name)
        return ox_fail(b->error, OX_ERROR_MODEL, "an input or initializer has no name");
    OX_TRY(ox_scope_add(b, frame->scope, name, origin, index));
    return ox_frame_bind(b, frame, name, *index);
}

static ox_status declare_inputs(ox_builder *b, ox_frame *frame, const Onnx__GraphProto *proto) {
    int32_t *inputs, index;
    ox_graph *graph = frame->scope->graph;
    OX_TRY(ox_build_get(b, b->pile, proto->n_input, sizeof *inputs, &inputs));
    for (size_t i = 0; i < proto->n_input; i++) {
        OX_TRY(declare(b, frame, proto->input[i]->name, OX_FROM_INPUT, &index));
        if (proto->input[i]->type)
            OX_TRY(ox_build_type(b, proto->input[i]->type, &frame->scope->values[index].value));
        inputs[i] = index;
    }
    graph->inputs = inputs;
    graph->ninputs = (int)proto->n_input;
    return OX_OK;
}

static ox_status string_bytes(ox_builder *b, const ox_tensor *tensor, int64_t count, int64_t *bytes) {
    const ox_string *strings = tensor->data;
    OX_TRY(ox_build_work(b, (uint64_t)count));
    for (int64_t i = *bytes = 0; i < count; i++)
        *bytes += (int64_t)strings[i].size;
    return OX_OK;
}

static ox_status count_weights(ox_builder *b, const ox_tensor *tensor) {
    ox_model_info *info = &b->model->info;
    int64_t count = ox_tensor_count(tensor), bits = ox_dtype_bits(tensor->dtype);
    int64_t bytes = count / 8 * bits + (count % 8 * bits + 7) / 8;
    if (tensor->dtype == OX_STRING)
        OX_TRY(string_bytes(b, tensor, count, &bytes));
    if (!ox_add_i64(info->parameter_count, count, &info->parameter_count))
        info->parameter_count = INT64_MAX;
    if (!ox_add_i64(info->weight_bytes, bytes, &info->weight_bytes))
        info->weight_bytes = INT64_MAX;
    return OX_OK;
}

static ox_status check_default(ox_builder *b, const ox_value *input, const ox_tensor *tensor) {
    if (input->initializer)
        return ox_fail(b->error, OX_ERROR_MODEL, "value '%.*s' has two initializers", 80, input->name);
    if (input->kind != OX_KIND_TENSOR || input->dtype == OX_UNDEFINED || input->dtype == tensor->dtype)
        return OX_OK;
    return ox_fail(b->error, OX_ERROR_MODEL, "input '%.*s' is of type %s, but its initializer is of type %s", 80,
                   input->name, ox_dtype_name(input->dtype), ox_dtype_name(tensor->dtype));
}

/* An initializer with the name of an input is that input's default. */
static ox_status declare_initializer(ox_builder *b, ox_frame *frame, const Onnx__TensorProto *proto) {
    const char *name;
    const ox_tensor *tensor;
    OX_TRY(ox_build_tensor(b, proto, &tensor));
    OX_TRY(ox_build_intern(b, proto->name, &name));
    int32_t index = ox_map_get(&frame->names, OX_KEY(name), OX_MISSING);
    OX_TRY(count_weights(b, tensor));
    if (index == OX_MISSING) {
        OX_TRY(declare(b, frame, proto->name, OX_FROM_INITIALIZER, &index));
        ox_value *value = &frame->scope->values[index].value;
        *value = (ox_value){.name = value->name, .kind = OX_KIND_TENSOR, .dtype = tensor->dtype, .rank = tensor->rank};
        value->dims = tensor->dims;
        value->dim_names = no_names;
        value->outer = -1;
    }
    ox_value *value = &frame->scope->values[index].value;
    OX_TRY(check_default(b, value, tensor));
    value->initializer = tensor;
    return OX_OK;
}

static ox_status declare_sparse(ox_builder *b, ox_frame *frame, const Onnx__SparseTensorProto *proto) {
    int32_t index;
    if (!proto->values)
        return ox_fail(b->error, OX_ERROR_MODEL, "a sparse initializer has no values");
    OX_TRY(declare(b, frame, proto->values->name, OX_FROM_INITIALIZER, &index));
    frame->scope->values[index].value.kind = OX_KIND_SPARSE;
    return OX_OK;
}

static ox_status declare_outputs(ox_builder *b, ox_frame *frame, const Onnx__NodeProto *node, size_t index) {
    int32_t value;
    ox_status status = OX_OK;
    for (size_t i = 0; i < node->n_output && !status; i++)
        if (*node->output[i])
            status = declare(b, frame, node->output[i], OX_FROM_NODE, &value);
    if (status)
        ox_build_name_node(b, node, index);
    return status;
}

/* What the model says of values between inputs and outputs; a statement about the outputs counts more. */
static ox_status declare_type(ox_builder *b, ox_frame *frame, const Onnx__ValueInfoProto *proto) {
    const char *name;
    OX_TRY(ox_build_intern(b, proto->name, &name));
    int32_t index = ox_map_get(&frame->names, OX_KEY(name), OX_MISSING);
    if (index < 0 || !proto->type || frame->scope->values[index].origin != OX_FROM_NODE)
        return OX_OK;
    return ox_build_type(b, proto->type, &frame->scope->values[index].value);
}

static ox_status declare_all(ox_builder *b, ox_frame *frame, const Onnx__GraphProto *proto) {
    OX_TRY(declare_inputs(b, frame, proto));
    for (size_t i = 0; i < proto->n_initializer; i++)
        OX_TRY(declare_initializer(b, frame, proto->initializer[i]));
    for (size_t i = 0; i < proto->n_sparse_initializer; i++)
        OX_TRY(declare_sparse(b, frame, proto->sparse_initializer[i]));
    for (size_t i = 0; i < proto->n_node; i++)
        OX_TRY(declare_outputs(b, frame, proto->node[i], i));
    for (size_t i = 0; i < proto->n_value_info; i++)
        OX_TRY(declare_type(b, frame, proto->value_info[i]));
    for (size_t i = 0; i < proto->n_output; i++)
        OX_TRY(declare_type(b, frame, proto->output[i]));
    return OX_OK;
}

/* ---- The graph ---------------------------------------------------------------------------------------------- */

static ox_status build_outputs(ox_builder *b, ox_frame *frame, const Onnx__GraphProto *proto) {
    int32_t *outputs;
    ox_graph *graph = frame->scope->graph;
    OX_TRY(ox_build_get(b, b->pile, proto->n_output, sizeof *outputs, &outputs));
    for (size_t i = 0; i < proto->n_output; i++) {
        ox_status status = ox_frame_read(b, frame, proto->output[i]->name, &outputs[i]);
        if (!status && outputs[i] == OX_NONE)
            status = ox_fail(b->error, OX_ERROR_MODEL, "it reads an input that the call omits");
        if (status) {
            ox_error_prefix(b->error, "output %zu of the graph: ", i);
            return status;
        }
    }
    graph->outputs = outputs;
    graph->noutputs = (int)proto->n_output;
    return OX_OK;
}

/* Copies what has grown into arrays of the right size. */
static ox_status finish(ox_builder *b, ox_scope *scope) {
    ox_value *values;
    ox_node *nodes;
    OX_TRY(ox_build_get(b, b->pile, (size_t)scope->nvalues, sizeof *values, &values));
    OX_TRY(ox_build_get(b, b->pile, (size_t)scope->nnodes, sizeof *nodes, &nodes));
    for (int32_t i = 0; i < scope->nvalues; i++)
        values[i] = scope->values[i].value;
    for (int32_t i = 0; i < scope->nnodes; i++)
        nodes[i] = scope->nodes[i];
    scope->graph->values = values;
    scope->graph->nvalues = scope->nvalues;
    scope->graph->nodes = nodes;
    scope->graph->nnodes = scope->nnodes;
    b->model->info.node_count += (size_t)scope->nnodes;
    return OX_OK;
}

static ox_status fill(ox_builder *b, ox_frame *frame, const Onnx__GraphProto *proto) {
    OX_TRY(declare_all(b, frame, proto));
    for (size_t i = 0; i < proto->n_node; i++)
        OX_TRY(ox_build_node(b, frame, proto->node[i], i));
    OX_TRY(build_outputs(b, frame, proto));
    OX_TRY(ox_scope_sort(b, frame->scope));
    return finish(b, frame->scope);
}

/* A subgraph sees what the text around it sees. */
static ox_frame make_frame(const ox_builder *b, ox_frame *lexical, ox_scope *scope, int depth) {
    ox_frame frame = {.prefix = "", .opsets = &b->opsets};
    if (lexical) {
        frame = *lexical;
        frame.outer = lexical;
    }
    frame.names = (ox_map){0};
    frame.scope = scope;
    frame.depth = depth;
    return frame;
}

ox_status ox_build_graph(ox_builder *b, const Onnx__GraphProto *proto, ox_frame *lexical, ox_scope *outer, int depth,
                         ox_graph **graph) {
    if (depth > b->limits->depth)
        return ox_fail(b->error, OX_ERROR_LIMIT, "functions and subgraphs nest deeper than %d", b->limits->depth);
    ox_graph *made;
    OX_TRY(ox_build_get(b, b->pile, 1, sizeof *made, &made));
    OX_TRY(ox_build_intern(b, proto->name, &made->name));
    made->outer = outer ? outer->graph : NULL;
    ox_scope scope = {.outer = outer, .graph = made};
    ox_pile_init(&scope.pile, b->pile->allocator, SIZE_MAX);
    ox_frame frame = make_frame(b, lexical, &scope, depth);
    ox_pile_mark mark = ox_pile_save(&b->frames);
    ox_status status = fill(b, &frame, proto);
    if (!status)
        ox_pile_restore(&b->frames, mark);
    ox_pile_free(&scope.pile);
    *graph = made;
    return status;
}
