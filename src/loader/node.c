/* node.c: one node: its operator, its values, its attributes; or the function that it calls. */
#include "build.h"

/* How many there are but for omitted ones at the end. */
static size_t count_names(char *const *names, size_t count) {
    while (count && !*names[count - 1])
        count--;
    return count;
}

/* count: how many there are but for omitted ones at the end; those are too many, too, where an operator has fewer. */
static ox_status check_arity(ox_builder *b, const ox_node *node, const char *what, int count, int min, int max,
                             size_t given) {
    const size_t most = OX_WITH_CHECKS ? given : (size_t)count;
    if (count >= min && (max == OX_ANY || most <= (size_t)max))
        return OX_OK;
    const bool few = count < min;
    const char *bound = max == min ? "exactly" : few ? "at least" : "at most";
    const size_t counted = few ? (size_t)count : given;
    return ox_fail(b->error, OX_ERROR_MODEL, "%zu %s%s given, but %.*s-%d takes %s %d", counted, what,
                   counted == 1 ? "" : "s", 40, node->op->name, ox_op_version(node->op, node->version), bound,
                   few ? min : max);
}

static ox_status check_node(ox_builder *b, const ox_node *node, const Onnx__NodeProto *proto) {
    const ox_op *op = node->op;
    if (!ox_op_is_known(op))
        return OX_OK;
    const bool gaps = ox_op_has(op, OX_OP_GAPS);
    const int nin = gaps ? (int)proto->n_input : node->nin;
    OX_TRY(check_arity(b, node, "input", nin, op->min_in, op->max_in, proto->n_input));
    OX_TRY(check_arity(b, node, "output", (int)count_names(proto->output, proto->n_output), op->min_out, op->max_out,
                       proto->n_output));
    for (int i = 0; i < op->min_in && !gaps; i++)
        if (node->in[i] == OX_NONE)
            return ox_fail(b->error, OX_ERROR_MODEL, "input %d is omitted, but must be given", i);
    return OX_OK;
}

/* A type that a reduced build leaves out, where the model states it; others come to light when a session plans. */
static ox_status check_types(ox_builder *b, const ox_scope *scope, const ox_node *node) {
    for (int i = 0; i < node->nin && ox_op_is_known(node->op); i++) {
        const ox_dtype dtype = node->in[i] < 0 ? OX_UNDEFINED : scope->values[node->in[i]].dtype;
        if (dtype != OX_UNDEFINED && !ox_op_builds(node->op, dtype))
            return (ox_fail)(b->error, OX_ERROR_UNSUPPORTED,
                             "input %d of %.*s-%d is of type %s, which this build of the library leaves out", i, 40,
                             node->op->name, ox_op_version(node->op, node->version), ox_dtype_name(dtype));
    }
    return OX_OK;
}

static ox_status build_values(ox_builder *b, ox_env *env, char *const *names, size_t count, ox_index *indices) {
    for (size_t i = 0; i < count; i++) {
        int32_t index = OX_NONE;
        if (*names[i])
            OX_TRY(ox_env_read(b, env, names[i], &index));
        indices[i] = (ox_index)index;
    }
    return OX_OK;
}

/* Inputs, and outputs behind them. */
static ox_status build_ends(ox_builder *b, ox_env *env, const Onnx__NodeProto *proto, ox_node *node) {
    const bool listed = node->op->max_out == OX_ANY; /* how many outputs there are says what to compute */
    const size_t nin = count_names(proto->input, proto->n_input),
                 nout = listed ? proto->n_output : count_names(proto->output, proto->n_output);
    ox_index *ends;
    if (nin > OX_MOST_VALUES || nout > OX_MOST_VALUES)
        return ox_fail(b->error, OX_ERROR_LIMIT, "it has more than %d inputs or outputs", (int)OX_MOST_VALUES);
    OX_TRY(ox_build_get(b, b->pile, nin + nout, sizeof *ends, &ends));
    OX_TRY(build_values(b, env, proto->input, nin, ends));
    OX_TRY(build_values(b, env, proto->output, nout, ends + nin));
    node->nin = (ox_index)nin;
    node->nout = (ox_index)nout;
    node->in = ends;
    node->out = ends + nin;
    return OX_OK;
}

static ox_status build_captures(ox_builder *b, ox_scope *scope, ox_node *node) {
    ox_index *captures;
    if (!scope->ncaptures)
        return OX_OK;
    OX_TRY(ox_build_get(b, b->pile, (size_t)scope->ncaptures, sizeof *captures, &captures));
    for (int32_t i = 0; i < scope->ncaptures; i++)
        captures[i] = scope->captures[i];
    node->captures = captures;
    node->ncaptures = (ox_index)scope->ncaptures;
    scope->ncaptures = 0;
    return OX_OK;
}

static ox_status check_branch(ox_builder *b, const ox_node *node, const ox_attr *attr) {
    const ox_graph *graph = attr->u.graph;
    if (graph->ninputs)
        return ox_fail(b->error, OX_ERROR_MODEL, "attribute '%s' has %d input%s: a branch takes none", attr->name,
                       graph->ninputs, graph->ninputs == 1 ? "" : "s");
    if (graph->noutputs != node->nout)
        return ox_fail(b->error, OX_ERROR_MODEL, "attribute '%s' has %d output%s, the node has %d", attr->name,
                       graph->noutputs, graph->noutputs == 1 ? "" : "s", (int)node->nout);
    return OX_OK;
}

static ox_status check_same_types(ox_builder *b, const ox_attr *first, const ox_attr *other) {
    for (int k = 0; k < first->u.graph->noutputs; k++) {
        const ox_dtype one = first->u.graph->outputs[k].dtype, two = other->u.graph->outputs[k].dtype;
        if (one != two && one != OX_UNDEFINED && two != OX_UNDEFINED)
            return ox_fail(b->error, OX_ERROR_MODEL, "output %d of '%s' is of type %s, that of '%s' of type %s", k,
                           first->name, ox_dtype_name(one), other->name, ox_dtype_name(two));
    }
    return OX_OK;
}

/* Graphs that a node chooses from, as If does, take nothing and give what the node gives. One graph alone is a body,
 * whose operator knows what it takes. */
static ox_status check_branches(ox_builder *b, const ox_node *node) {
    const ox_attr *first = NULL;
    for (int i = 0; i < node->nattrs; i++) {
        const ox_attr *attr = &node->attrs[i];
        if (attr->kind != OX_ATTR_GRAPH)
            continue;
        if (!first) {
            first = attr;
            continue;
        }
        OX_TRY(check_branch(b, node, first));
        OX_TRY(check_branch(b, node, attr));
        OX_TRY(check_same_types(b, first, attr));
    }
    return OX_OK;
}

static ox_status append_name(ox_builder *b, ox_scope *scope, const char *name) {
    OX_TRY(ox_build_grow(b, &scope->pile, &scope->node_names, scope->nnodes, &scope->name_room,
                         sizeof *scope->node_names));
    scope->node_names[scope->nnodes] = name;
    return OX_OK;
}

size_t ox_build_most_nodes(const ox_limits *limits, uint64_t size) {
    const uint64_t most = OX_EXPAND_BASE + size * OX_EXPAND_FACTOR;
    return limits->nodes ? limits->nodes : most < OX_MAX_NODES ? (size_t)most : OX_MAX_NODES;
}

ox_status ox_build_too_many(const ox_builder *b) {
    if (b->limits->nodes || b->most_nodes == OX_MAX_NODES)
        return ox_fail(b->error, OX_ERROR_LIMIT, "the model has more than %zu nodes", b->most_nodes);
    return ox_fail(b->error, OX_ERROR_LIMIT,
                   "the model has more than %zu nodes when its functions are expanded, too many for %llu bytes",
                   b->most_nodes, (unsigned long long)b->parsed->whole_size);
}

ox_status ox_build_append(ox_builder *b, ox_scope *scope, const ox_node *node, const char *name) {
    if (b->nodes >= b->most_nodes)
        return ox_build_too_many(b);
    b->nodes++;
    OX_TRY(ox_build_grow(b, &scope->pile, &scope->nodes, scope->nnodes, &scope->node_room, sizeof *scope->nodes));
    if (OX_KEEP_NAMES)
        OX_TRY(append_name(b, scope, name));
    for (int i = 0; i < node->nout; i++)
        if (node->out[i] != OX_NONE)
            scope->notes[node->out[i]].producer = scope->nnodes;
    scope->nodes[scope->nnodes++] = *node;
    return OX_OK;
}

static ox_status node_name(ox_builder *b, const ox_env *env, const char *text, const char **name) {
    char full[OX_NAME_ROOM];
    if (!text || !*text || !*env->prefix)
        return ox_build_intern(b, text, name);
    ox_format(full, sizeof full, "%s%.*s", env->prefix, OX_NAME_ROOM / 2 - 1, text);
    return ox_build_intern(b, full, name);
}

static bool has_graphs(const ox_node *node) {
    for (int i = 0; i < node->nattrs; i++)
        if (node->attrs[i].kind == OX_ATTR_GRAPH)
            return true;
    return false;
}

static ox_status build_operator(ox_builder *b, ox_env *env, const Onnx__NodeProto *proto) {
    ox_node node = {0};
    const char *name;
    OX_TRY(node_name(b, env, proto->name, &name));
    OX_TRY(ox_build_op(b, env, proto, name, &node));
    OX_TRY(build_ends(b, env, proto, &node));
    OX_TRY(check_node(b, &node, proto));
    OX_TRY(check_types(b, env->scope, &node));
    OX_TRY(ox_build_attrs(b, env, proto, &node));
    if (OX_WITH_CHECKS)
        OX_TRY(ox_build_check_attrs(b, proto, &node));
    if (OX_WITH_CHECKS && ox_op_has(node.op, OX_OP_CONTROL))
        OX_TRY(check_branches(b, &node));
    OX_TRY(build_captures(b, env->scope, &node));
    if (ox_op_has(node.op, OX_OP_BODIES) && has_graphs(&node))
        node.op = node.op->detail;
    if (ox_op_has(node.op, OX_OP_DERIVED) && !b->for_info)
        return ox_build_gradient(b, env, &node, name);
    if (ox_op_has(node.op, OX_OP_FUNCTION))
        return ox_build_function(b, env->scope, &node, name);
    return ox_build_append(b, env->scope, &node, name);
}

static ox_status build(ox_builder *b, ox_env *env, const Onnx__NodeProto *proto) {
    const Onnx__FunctionProto *function;
    OX_TRY(ox_build_work(b, 1));
    OX_TRY(ox_build_callee(b, proto, &function));
    return OX_WITH_FUNCTIONS && function ? ox_build_call(b, env, proto, function) : build_operator(b, env, proto);
}

void ox_build_name_node(ox_builder *b, const Onnx__NodeProto *proto, size_t index) {
    const char *domain = proto->domain ? proto->domain : "", *type = proto->op_type ? proto->op_type : "no op_type";
    char op[OX_NAME_ROOM];
    ox_format(op, sizeof op, "%.*s%s%.*s", 40, domain, *domain ? "." : "", 40, type);
    if (proto->name && *proto->name)
        ox_error_prefix(b->error, "node '%.*s' (%s): ", 60, proto->name, op);
    else
        ox_error_prefix(b->error, "node %zu (%s): ", index, op);
}

ox_status ox_build_node(ox_builder *b, ox_env *env, const Onnx__NodeProto *proto, size_t index) {
    ox_status status = build(b, env, proto);
    if (status && ox_build_locate(b, env))
        ox_build_name_node(b, proto, index);
    return status;
}
