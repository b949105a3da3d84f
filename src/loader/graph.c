/* graph.c: a graph: its inputs, initializers and nodes, in an order that can run. */
#include "rewrite/rewrite.h"
#include "loader.h"

#include <string.h>

/* Fields of GraphProto and NodeProto. */
enum {
    GRAPH_NODE = 1,
    GRAPH_NAME = 2,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    GRAPH_VALUE_INFO = 13,
    GRAPH_SPARSE = 15,
    NODE_OUTPUT = 2
};

/* ---- Declaring values --------------------------------------------------------------------------------------- */

static ox_status declare(ox_loader *l, ox_env *env, const char *name, ox_origin origin, int32_t *index) {
    if (!*name)
        return ox_fail(l->b.error, OX_ERROR_MODEL, "an input or initializer has no name");
    OX_TRY(ox_scope_add(&l->b, env->scope, name, origin, index));
    return ox_env_bind(l, env, name, *index);
}

static ox_status declare_input(ox_loader *l, ox_env *env, const void *message, size_t i) {
    const Onnx__ValueInfoProto *proto = message;
    const char *name;
    int32_t *index = &env->scope->ends[i];
    OX_TRY(ox_build_intern(&l->b, proto->name, &name));
    OX_TRY(declare(l, env, name, OX_FROM_INPUT, index));
    return proto->type ? ox_load_type(l, proto->type, &env->scope->values[*index]) : OX_OK;
}

static ox_status string_bytes(ox_loader *l, const ox_tensor *tensor, int64_t count, int64_t *bytes) {
    const ox_string *strings = tensor->data;
    OX_TRY(ox_build_work(&l->b, (uint64_t)count));
    for (int64_t i = *bytes = 0; i < count; i++)
        *bytes += (int64_t)strings[i].size;
    return OX_OK;
}

ox_status ox_load_count_weights(ox_loader *l, const ox_tensor *tensor) {
    ox_model_info *info = &l->b.model->info;
    int64_t count = ox_tensor_count(tensor), bits = ox_dtype_bits(tensor->dtype);
    int64_t bytes = count / 8 * bits + (count % 8 * bits + 7) / 8;
    if (tensor->dtype == OX_STRING)
        OX_TRY(string_bytes(l, tensor, count, &bytes));
    if (!ox_add_i64(info->parameter_count, count, &info->parameter_count))
        info->parameter_count = INT64_MAX;
    if (!ox_add_i64(info->weight_bytes, bytes, &info->weight_bytes))
        info->weight_bytes = INT64_MAX;
    return OX_OK;
}

static ox_status check_default(ox_loader *l, const ox_declared *input, const ox_tensor *tensor) {
    if (input->initializer)
        return ox_fail(l->b.error, OX_ERROR_MODEL, "value '%.*s' has two initializers", 80, input->name);
    if (!ox_type_fits(input->dtype, tensor->dtype))
        return ox_fail(l->b.error, OX_ERROR_MODEL, "input '%.*s' is of type %s, but its initializer is of type %s", 80,
                       input->name, OX_TYPE(input->dtype), ox_dtype_name(tensor->dtype));
    if (OX_WITH_CHECKS && !ox_fits_shape(input->shape, tensor))
        return ox_fail(l->b.error, OX_ERROR_MODEL, "input '%.*s' is of shape %s, but its initializer is of shape %s",
                       80, input->name, ox_shape_text(&(ox_dims_buffer){{0}}, input->shape),
                       OX_DIMS(tensor->rank, tensor->dims));
    return OX_OK;
}

/* An initializer with the name of an input is that input's default. */
static ox_status keep_initializer(ox_loader *l, ox_env *env, const char *text, const ox_tensor *tensor, int32_t *kept) {
    const char *name;
    OX_TRY(ox_build_intern(&l->b, text, &name));
    int32_t index = ox_map_get(&env->names, OX_KEY(name), OX_MISSING);
    if (!OX_SMALL)
        OX_TRY(ox_load_count_weights(l, tensor));
    if (index == OX_MISSING) {
        OX_TRY(declare(l, env, name, OX_FROM_INITIALIZER, &index));
        ox_declared *value = &env->scope->values[index];
        value->kind = OX_KIND_TENSOR;
        value->dtype = tensor->dtype;
    }
    ox_declared *value = &env->scope->values[index];
    OX_TRY(check_default(l, value, tensor));
    value->initializer = tensor;
    *kept = index;
    return OX_OK;
}

/* Elements that are left packed, as they lie in the file. */
static ox_status keep_packed(ox_loader *l, const ox_scope *scope, int32_t value, const void *packed) {
#if OX_WITH_OWN_OPERATORS
    scope->values[value].packed = packed;
#else
    (void)packed;
#endif
    return scope->notes[value].origin == OX_FROM_INITIALIZER ? OX_OK : ox_load_unpack(l, scope, value);
}

static ox_status declare_initializer(ox_loader *l, ox_env *env, const void *message, size_t i) {
    const Onnx__TensorProto *proto = message;
    const void *packed = NULL;
    ox_tensor *tensor;
    int32_t value;
    (void)i;
    OX_TRY(ox_build_get(&l->b, &env->scope->pile, 1, sizeof *tensor, &tensor));
    l->source.packed = ox_load_packs(l) ? &packed : NULL;
    ox_status status = ox_load_elements(l, env->parsed, proto, tensor);
    l->source.packed = NULL;
    OX_TRY(status);
    OX_TRY(keep_initializer(l, env, proto->name, tensor, &value));
    return packed ? keep_packed(l, env->scope, value, packed) : OX_OK;
}

/* Its name is that of its values. */
static ox_status declare_sparse(ox_loader *l, ox_env *env, const void *message, size_t i) {
    (void)i;
#if OX_WITH_SPARSE
    const Onnx__SparseTensorProto *proto = message;
    ox_tensor *tensor;
    int32_t value;
    OX_TRY(ox_build_get(&l->b, &env->scope->pile, 1, sizeof *tensor, &tensor));
    OX_TRY(ox_load_sparse(l, env->parsed, proto, tensor));
    return keep_initializer(l, env, proto->values->name, tensor, &value);
#else
    (void)env, (void)message;
    return (ox_fail)(l->b.error, OX_ERROR_UNSUPPORTED, "this build of the library has no sparse tensors");
#endif
}

/* The outputs of a node, which is not unpacked for that. */
static ox_status declare_outputs(ox_loader *l, ox_env *env, ox_span node) {
    ox_span text;
    const char *name;
    int32_t value;
    while (ox_wire_next(&node, NODE_OUTPUT, &text)) {
        if (!text.size)
            continue;
        OX_TRY(ox_build_intern_size(&l->b, (const char *)text.bytes, text.size, &name));
        OX_TRY(declare(l, env, name, OX_FROM_NODE, &value));
    }
    return OX_OK;
}

static ox_status declare_results(ox_loader *l, ox_env *env, ox_span graph) {
    ox_status status = OX_OK;
    ox_span node;
    ox_parsed parsed;
    for (size_t i = 0; !status && ox_wire_next(&graph, GRAPH_NODE, &node); i++) {
        status = declare_outputs(l, env, node);
        if (!status || ox_parse_part(&onnx__node_proto__descriptor, node, &l->b.temporary, &parsed, NULL))
            continue;
        ox_load_name_node(l, (const void *)parsed.message, i);
        ox_parsed_free(&parsed, &l->b.temporary);
    }
    return status;
}

/* What the model says of values between inputs and outputs; a statement about the outputs counts more. */
static ox_status declare_type(ox_loader *l, ox_env *env, const void *message, size_t i) {
    const Onnx__ValueInfoProto *proto = message;
    const char *name;
    (void)i;
    OX_TRY(ox_build_intern(&l->b, proto->name, &name));
    int32_t index = ox_map_get(&env->names, OX_KEY(name), OX_MISSING);
    if (index < 0 || !proto->type || env->scope->notes[index].origin != OX_FROM_NODE)
        return OX_OK;
    return ox_load_type(l, proto->type, &env->scope->values[index]);
}

/* ---- The graph ---------------------------------------------------------------------------------------------- */

static ox_status build_node(ox_loader *l, ox_env *env, const void *message, size_t i) {
    return ox_load_node(l, env, message, i);
}

/* What is stated of an output that no node of the graph gives; for the others that is known from their declaration. */
static ox_status check_output(ox_loader *l, const ox_scope *scope, const Onnx__TypeProto *type, int32_t index) {
    ox_declared *value = &scope->values[index], stated = {.name = value->name};
    if (!OX_WITH_CHECKS || !type || scope->notes[index].origin == OX_FROM_NODE)
        return OX_OK;
    if (value->kind == OX_KIND_UNKNOWN)
        return ox_load_type(l, type, value);
    OX_TRY(ox_load_type(l, type, &stated));
    if (ox_type_fits(stated.dtype, value->dtype))
        return OX_OK;
    return ox_fail(l->b.error, OX_ERROR_MODEL, "'%.*s' is stated to be of type %s, but is of type %s", 80, value->name,
                   OX_TYPE(stated.dtype), OX_TYPE(value->dtype));
}

static ox_status build_output(ox_loader *l, ox_env *env, const void *message, size_t i) {
    const Onnx__ValueInfoProto *proto = message;
    int32_t *index = &env->scope->ends[i];
    ox_status status = ox_env_read(l, env, proto->name, index);
    if (!status && *index == OX_NONE)
        status = ox_fail(l->b.error, OX_ERROR_MODEL, "it reads an input that the call omits");
    if (!status)
        status = check_output(l, env->scope, proto->type, *index);
    if (status)
        ox_error_prefix(l->b.error, "output %zu of the graph: ", i);
    return status;
}

/* Initializers as slots: first the defaults of inputs, then the initializers that are values of their own. */
static ox_status keep_initializers(ox_loader *l, const ox_scope *scope) {
    ox_graph *graph = scope->graph;
    ox_slot *slot;
    size_t count = 0;
    for (int32_t v = 0; v < scope->nvalues; v++)
        count += scope->values[v].initializer != NULL;
    OX_TRY(ox_build_get(&l->b, l->b.pile, count, sizeof *slot, &slot));
    for (int32_t v = 0; v < scope->nvalues; v++) {
        ox_declared *value = &scope->values[v];
        if (!value->initializer)
            continue;
        *slot = (ox_slot){.tensor = *value->initializer, .constant = true, .fixed = true, .weight = true};
        value->initializer = &slot->tensor;
        if (scope->notes[v].origin == OX_FROM_INITIALIZER && !graph->nweights++) {
            graph->first_weight = v;
            graph->weights = slot;
        }
        slot++;
    }
    return OX_OK;
}

/* Finds the results of Identity on inputs of a subgraph, and replaces them by the inputs, so that an operator sees
 * which inputs its body returns unchanged. */
static ox_status find_same(ox_loader *l, ox_scope *scope) {
    int32_t *same;
    OX_TRY(ox_build_get(&l->b, &scope->pile, (size_t)scope->nvalues, sizeof *same, &same));
    for (int32_t v = 0; v < scope->nvalues; v++)
        same[v] = v;
    for (int32_t n = 0; n < scope->nnodes; n++) {
        const ox_node *node = &scope->nodes[n];
        if (!ox_build_is_op(node, "Identity"))
            continue;
        const int32_t from = same[node->in[0]];
        if (scope->notes[from].origin == OX_FROM_INPUT)
            same[node->out[0]] = from;
    }
    scope->same = same;
    return OX_OK;
}

/* What the model says of inputs or outputs. */
static ox_status keep_ports(ox_loader *l, const ox_scope *scope, const int32_t *ends, int count,
                            const ox_port **ports) {
    ox_port *made;
    OX_TRY(ox_build_get(&l->b, l->b.pile, (size_t)count, sizeof *made, &made));
    *ports = made;
    for (int i = 0; i < count; i++, made++) {
        const ox_declared *value = &scope->values[ends[i]];
        *made = (ox_port){.kind = value->kind,
                          .dtype = value->dtype,
                          .value = (ox_index)(scope->same ? scope->same[ends[i]] : ends[i]),
                          .shape = value->shape,
                          .initial = value->initializer};
        OX_TRY(ox_build_text(&l->b, value->name, &made->name));
    }
    return OX_OK;
}

static ox_status keep_captures(ox_loader *l, const ox_scope *scope) {
    ox_graph *graph = scope->graph;
    ox_capture *captures;
    OX_TRY(ox_build_get(&l->b, l->b.pile, (size_t)scope->imports.count, sizeof *captures, &captures));
    for (int32_t v = 0; v < scope->nvalues; v++)
        if (scope->values[v].outer >= 0)
            captures[graph->ncaptures++] = (ox_capture){(ox_index)v, scope->values[v].outer};
    graph->captures = captures;
    return OX_OK;
}

static ox_status keep_names(ox_loader *l, const ox_scope *scope) {
    const char **names, **node_names;
    OX_TRY(ox_build_get(&l->b, l->b.pile, (size_t)scope->nvalues, sizeof *names, &names));
    OX_TRY(ox_build_get(&l->b, l->b.pile, (size_t)scope->nnodes, sizeof *node_names, &node_names));
    for (int32_t v = 0; v < scope->nvalues; v++)
        names[v] = scope->values[v].name;
    if (scope->nnodes)
        memcpy(node_names, scope->node_names, (size_t)scope->nnodes * sizeof *node_names);
    scope->graph->names = names;
    scope->graph->node_names = node_names;
    return OX_OK;
}

static ox_status keep_dtypes(ox_loader *l, const ox_scope *scope) {
    ox_dtype *dtypes;
    OX_TRY(ox_build_get(&l->b, l->b.pile, (size_t)scope->nvalues, sizeof *dtypes, &dtypes));
    for (int32_t v = 0; v < scope->nvalues; v++)
        if (scope->values[v].kind != OX_KIND_SPARSE)
            dtypes[v] = scope->values[v].dtype;
    scope->graph->dtypes = dtypes;
    return OX_OK;
}

#if OX_WITH_WIDENING
static ox_status keep_written_types(ox_loader *l, const ox_scope *scope) {
    ox_dtype *types;
    OX_TRY(ox_build_get(&l->b, l->b.pile, (size_t)scope->nvalues, sizeof *types, &types));
    for (int32_t v = 0; v < scope->nvalues; v++)
        types[v] = scope->values[v].written;
    scope->graph->types_written = types;
    return OX_OK;
}
#endif

static ox_status keep_nodes(ox_loader *l, const ox_scope *scope) {
    ox_node *nodes = scope->nodes;
    if (!nodes || nodes != scope->placed_nodes) {
        OX_TRY(ox_build_get(&l->b, l->b.pile, (size_t)scope->nnodes, sizeof *nodes, &nodes));
        if (scope->nnodes)
            memcpy(nodes, scope->nodes, (size_t)scope->nnodes * sizeof *nodes);
    }
    scope->graph->nodes = nodes;
    return OX_OK;
}

#if OX_KEEP_WRITTEN
/* The same graph with the nodes as the model has them. */
static void keep_written(const ox_scope *scope) {
    ox_graph *written = &scope->written->graph;
    const ox_graph nodes = *written;
    *written = *scope->graph;
    written->nodes = nodes.nodes;
    written->nnodes = nodes.nnodes;
    written->nvalues = nodes.nvalues;
    written->node_names = nodes.node_names;
    scope->graph->written = scope->written;
}
#endif

/* Leaves in the model what the runtime asks for; the rest goes with the memory of loading. */
static ox_status finish(ox_loader *l, ox_scope *scope) {
    ox_graph *graph = scope->graph;
    graph->nvalues = scope->nvalues;
    graph->nnodes = scope->nnodes;
    OX_TRY(keep_initializers(l, scope));
    if (OX_WITH_SUBGRAPHS && scope->outer && graph->ninputs)
        OX_TRY(find_same(l, scope));
    OX_TRY(keep_ports(l, scope, scope->inputs, graph->ninputs, &graph->inputs));
    OX_TRY(keep_ports(l, scope, scope->outputs, graph->noutputs, &graph->outputs));
    if (OX_WITH_SUBGRAPHS && scope->imports.count)
        OX_TRY(keep_captures(l, scope));
    if (OX_KEEP_NAMES)
        OX_TRY(keep_names(l, scope));
    if (OX_WITH_CHECKS)
        OX_TRY(keep_dtypes(l, scope));
#if OX_WITH_WIDENING
    if (l->b.model->options.float16_sums)
        OX_TRY(keep_written_types(l, scope));
#endif
    OX_TRY(keep_nodes(l, scope));
#if OX_KEEP_WRITTEN
    if (scope->written)
        keep_written(scope);
#endif
    const ox_written *written = ox_graph_written(graph);
    const ox_graph *model = written ? &written->graph : graph;
    l->b.model->info.node_count += (size_t)(model->nnodes - ox_load_made(model->nodes, model->nnodes));
    return OX_OK;
}

/* The main graph of a model without functions has as many nodes as the file, and at most as many values as the file
 * names: its arrays are allocated at once. */
static ox_status reserve(ox_loader *l, ox_env *env, ox_span graph) {
    ox_scope *scope = env->scope;
    ox_span rest = graph, node;
    size_t values = ox_wire_count(graph, GRAPH_INPUT) + ox_wire_count(graph, GRAPH_INITIALIZER) +
                    ox_wire_count(graph, GRAPH_SPARSE),
           nodes = 0;
    for (; ox_wire_next(&rest, GRAPH_NODE, &node); nodes++)
        values += ox_wire_count(node, NODE_OUTPUT);
    if (!ox_map_reserve(&env->names, &l->b.stack, values))
        return ox_fail_memory(l->b.error, "a table of names", values * sizeof(uintptr_t));
    if (l->functions.count || scope->outer || values > OX_MOST_VALUES || nodes > OX_MOST_VALUES)
        return OX_OK;
    OX_TRY(ox_build_get(&l->b, &scope->pile, values, sizeof *scope->values, &scope->values));
    OX_TRY(ox_build_get(&l->b, l->b.pile, nodes, sizeof *scope->nodes, &scope->nodes));
    OX_TRY(ox_build_get(&l->b, &scope->pile, values, sizeof *scope->notes, &scope->notes));
    scope->value_room = scope->note_room = (int32_t)values;
    scope->node_room = (int32_t)nodes;
    scope->placed_nodes = scope->nodes;
    return OX_OK;
}

typedef ox_status part_fn(ox_loader *l, ox_env *env, const void *message, size_t index);

/* Unpacks the fields of that number one at a time. */
static ox_status build_each(ox_loader *l, ox_env *env, ox_span graph, uint32_t number,
                            const ProtobufCMessageDescriptor *type, part_fn *build) {
    ox_status status = OX_OK;
    ox_span part;
    ox_parsed parsed;
    for (size_t i = 0; !status && ox_wire_next(&graph, number, &part); i++) {
        OX_TRY(ox_parse_part(type, part, &l->b.temporary, &parsed, l->b.error));
        env->parsed = &parsed;
        status = ox_build_work(&l->b, parsed.block_size / OX_WORK_BYTES);
        if (!status)
            status = build(l, env, parsed.message, i);
        env->parsed = NULL;
        ox_parsed_free(&parsed, &l->b.temporary);
    }
    return status;
}

/* The same for inputs or outputs: lists the values that they are. */
static ox_status build_ends(ox_loader *l, ox_env *env, ox_span graph, uint32_t number, part_fn *build, int32_t **ends,
                            int *count) {
    ox_scope *scope = env->scope;
    const size_t given = ox_wire_count(graph, number);
    OX_TRY(ox_build_get(&l->b, &scope->pile, given, sizeof **ends, ends));
    scope->ends = *ends;
    *count = (int)given;
    return build_each(l, env, graph, number, &onnx__value_info_proto__descriptor, build);
}

static ox_status declare_all(ox_loader *l, ox_env *env, ox_span graph) {
    ox_graph *made = env->scope->graph;
    const ProtobufCMessageDescriptor *info = &onnx__value_info_proto__descriptor;
    OX_TRY(build_ends(l, env, graph, GRAPH_INPUT, declare_input, &env->scope->inputs, &made->ninputs));
    OX_TRY(build_each(l, env, graph, GRAPH_INITIALIZER, &onnx__tensor_proto__descriptor, declare_initializer));
    OX_TRY(build_each(l, env, graph, GRAPH_SPARSE, &onnx__sparse_tensor_proto__descriptor, declare_sparse));
    OX_TRY(declare_results(l, env, graph));
    if (!OX_SMALL) /* that of the outputs is enough there */
        OX_TRY(build_each(l, env, graph, GRAPH_VALUE_INFO, info, declare_type));
    return build_each(l, env, graph, GRAPH_OUTPUT, info, declare_type);
}

static ox_status fill(ox_loader *l, ox_env *env, ox_span graph) {
    ox_graph *made = env->scope->graph;
    OX_TRY(reserve(l, env, graph));
    OX_TRY(declare_all(l, env, graph));
    OX_TRY(build_each(l, env, graph, GRAPH_NODE, &onnx__node_proto__descriptor, build_node));
    if (ox_ops_have(OX_OP_DERIVED) && env->scope->waiting)
        OX_TRY(ox_rewrite_waiting(&l->b, env->scope));
    OX_TRY(build_ends(l, env, graph, GRAPH_OUTPUT, build_output, &env->scope->outputs, &made->noutputs));
    OX_TRY(ox_load_settle(l, env->scope));
    OX_TRY(ox_scope_sort(&l->b, env->scope));
    if (OX_WITH_WIDENING && l->b.model->options.float16_sums && !l->b.for_info)
        OX_TRY(ox_rewrite_widened(&l->b, env->scope));
    if (ox_ops_have(OX_OP_BLOCKS))
        OX_TRY(ox_rewrite_blocks(&l->b, env->scope));
    if (ox_ops_have(OX_OP_PLACES))
        OX_TRY(ox_rewrite_unpools(&l->b, env->scope));
    if (OX_WITH_QUANTIZED && !l->b.model->options.no_integer)
        OX_TRY(ox_rewrite_quantized(&l->b, env->scope));
    return finish(l, env->scope);
}

/* A subgraph sees what the text around it sees. */
static ox_env make_env(const ox_loader *l, ox_env *lexical, ox_scope *scope, int depth) {
    ox_env env = {.prefix = "", .opsets = &l->opsets};
    if (lexical) {
        env = *lexical;
        env.outer = lexical;
    }
    env.names = (ox_map){0};
    env.scope = scope;
    env.depth = depth;
    return env;
}

/* The last one counts. */
static ox_status graph_name(ox_loader *l, ox_span graph, const char **name) {
    ox_span text = {(const unsigned char *)"", 0}, next;
    while (ox_wire_next(&graph, GRAPH_NAME, &next))
        text = next;
    return ox_build_intern_size(&l->b, (const char *)text.bytes, text.size, name);
}

ox_status ox_load_graph(ox_loader *l, const ox_parsed *parsed, const Onnx__GraphProto *proto, ox_env *lexical,
                        ox_scope *outer, int depth, ox_graph **graph) {
    const ox_payload *left = ox_parsed_payload(parsed, proto->ox_payload);
    const ox_span span = left ? (ox_span){parsed->bytes + left->offset, left->size} : (ox_span){0};
    if (depth > l->b.limits->depth)
        return ox_fail(l->b.error, OX_ERROR_LIMIT, "functions and subgraphs nest deeper than %d", l->b.limits->depth);
    ox_graph *made;
    OX_TRY(ox_build_get(&l->b, l->b.pile, 1, sizeof *made, &made));
    OX_TRY(graph_name(l, span, &made->name));
    OX_TRY(ox_build_text(&l->b, made->name, &made->name));
    made->outer = outer ? outer->graph : NULL;
    ox_scope scope = {.outer = outer, .graph = made};
    ox_pile_init(&scope.pile, &l->b.temporary);
    ox_env env = make_env(l, lexical, &scope, depth);
    ox_pile_mark mark = ox_pile_save(&l->b.stack);
    ox_status status = fill(l, &env, span);
    if (!status)
        ox_pile_restore(&l->b.stack, mark);
    ox_pile_free(&scope.pile);
    *graph = made;
    return status;
}
