/* node.c: one node: its operator, its values, its attributes; or the function that it calls. */
#include "loader.h"
#include "ops/product/matmul_integer.h"
#include "rewrite/emit.h"
#include "rewrite/rewrite.h"

#include <string.h>

/* How many there are but for omitted ones at the end. */
static size_t count_names(char *const *names, size_t count) {
    while (count && !*names[count - 1])
        count--;
    return count;
}

/* count: how many there are but for omitted ones at the end; those are too many, too, where an operator has fewer. */
static ox_status check_arity(ox_loader *l, const ox_node *node, const char *what, int count, int min, int max,
                             size_t given) {
    const size_t most = OX_WITH_CHECKS ? given : (size_t)count;
    if (count >= min && (max == OX_ANY || most <= (size_t)max))
        return OX_OK;
    const bool few = count < min;
    const char *bound = max == min ? "exactly" : few ? "at least" : "at most";
    const size_t counted = few ? (size_t)count : given;
    return ox_fail(l->b.error, OX_ERROR_MODEL, "%zu %s%s given, but %.*s-%d takes %s %d", counted, what,
                   counted == 1 ? "" : "s", 40, node->op->name, ox_op_version(node->op, node->version), bound,
                   few ? min : max);
}

static ox_status check_node(ox_loader *l, const ox_node *node, const Onnx__NodeProto *proto) {
    const ox_op *op = node->op;
    if (!ox_op_is_known(op))
        return OX_OK;
    const bool gaps = ox_op_has(op, OX_OP_GAPS);
    const int nin = gaps ? (int)proto->n_input : node->nin;
    OX_TRY(check_arity(l, node, "input", nin, op->min_in, op->max_in, proto->n_input));
    OX_TRY(check_arity(l, node, "output", (int)count_names(proto->output, proto->n_output), op->min_out, op->max_out,
                       proto->n_output));
    for (int i = 0; i < op->min_in && !gaps; i++)
        if (node->in[i] == OX_NONE)
            return ox_fail(l->b.error, OX_ERROR_MODEL, "input %d is omitted, but must be given", i);
    return OX_OK;
}

/* A type that a reduced build leaves out, where the model states it; others come to light when a session plans. */
static ox_status check_types(ox_loader *l, const ox_scope *scope, const ox_node *node) {
    for (int i = 0; i < node->nin && ox_op_is_known(node->op); i++) {
        const ox_dtype dtype = node->in[i] < 0 ? OX_UNDEFINED : scope->values[node->in[i]].dtype;
        if (dtype != OX_UNDEFINED && !ox_op_builds(node->op, dtype))
            return (ox_fail)(l->b.error, OX_ERROR_UNSUPPORTED,
                             "input %d of %.*s-%d is of type %s, which this build of the library leaves out", i, 40,
                             node->op->name, ox_op_version(node->op, node->version), ox_dtype_name(dtype));
    }
    return OX_OK;
}

static ox_status build_values(ox_loader *l, ox_env *env, char *const *names, size_t count, ox_index *indices) {
    for (size_t i = 0; i < count; i++) {
        int32_t index = OX_NONE;
        if (*names[i])
            OX_TRY(ox_env_read(l, env, names[i], &index));
        indices[i] = (ox_index)index;
    }
    return OX_OK;
}

/* Inputs, then outputs. */
static ox_status build_ends(ox_loader *l, ox_env *env, const Onnx__NodeProto *proto, ox_node *node) {
    const bool listed = node->op->max_out == OX_ANY; /* how many outputs there are says what to compute */
    const size_t nin = count_names(proto->input, proto->n_input),
                 nout = listed ? proto->n_output : count_names(proto->output, proto->n_output);
    ox_index *ends;
    if (nin > OX_MOST_VALUES || nout > OX_MOST_VALUES)
        return ox_fail(l->b.error, OX_ERROR_LIMIT, "it has more than %d inputs or outputs", (int)OX_MOST_VALUES);
    OX_TRY(ox_build_get(&l->b, l->b.pile, nin + nout, sizeof *ends, &ends));
    OX_TRY(build_values(l, env, proto->input, nin, ends));
    OX_TRY(build_values(l, env, proto->output, nout, ends + nin));
    node->nin = (ox_index)nin;
    node->nout = (ox_index)nout;
    node->in = ends;
    node->out = ends + nin;
    return OX_OK;
}

#if OX_WITH_SUBGRAPHS
static ox_status build_captures(ox_loader *l, ox_scope *scope, ox_node *node) {
    ox_index *captures;
    if (!scope->ncaptures)
        return OX_OK;
    OX_TRY(ox_build_get(&l->b, l->b.pile, (size_t)scope->ncaptures, sizeof *captures, &captures));
    for (int32_t i = 0; i < scope->ncaptures; i++)
        captures[i] = scope->captures[i];
    node->captures = captures;
    node->ncaptures = (ox_index)scope->ncaptures;
    scope->ncaptures = 0;
    return OX_OK;
}
#endif

static ox_status check_branch(ox_loader *l, const ox_node *node, const ox_attr *attr) {
    const ox_graph *graph = attr->u.graph;
    if (graph->ninputs)
        return ox_fail(l->b.error, OX_ERROR_MODEL, "attribute '%s' has %d input%s: a branch takes none", attr->name,
                       graph->ninputs, graph->ninputs == 1 ? "" : "s");
    if (graph->noutputs != node->nout)
        return ox_fail(l->b.error, OX_ERROR_MODEL, "attribute '%s' has %d output%s, the node has %d", attr->name,
                       graph->noutputs, graph->noutputs == 1 ? "" : "s", (int)node->nout);
    return OX_OK;
}

static ox_status check_same_types(ox_loader *l, const ox_attr *first, const ox_attr *other) {
    for (int k = 0; k < first->u.graph->noutputs; k++) {
        const ox_dtype one = first->u.graph->outputs[k].dtype, two = other->u.graph->outputs[k].dtype;
        if (one != two && one != OX_UNDEFINED && two != OX_UNDEFINED)
            return ox_fail(l->b.error, OX_ERROR_MODEL, "output %d of '%s' is of type %s, that of '%s' of type %s", k,
                           first->name, ox_dtype_name(one), other->name, ox_dtype_name(two));
    }
    return OX_OK;
}

/* If a node has several graphs and runs one of them, like If, its graphs have no inputs, and have the outputs of the
 * node. A single graph is a body, and its operator defines the inputs. */
static ox_status check_branches(ox_loader *l, const ox_node *node) {
    const ox_attr *first = NULL;
    for (int i = 0; i < node->nattrs; i++) {
        const ox_attr *attr = &node->attrs[i];
        if (attr->kind != OX_ATTR_GRAPH)
            continue;
        if (!first) {
            first = attr;
            continue;
        }
        OX_TRY(check_branch(l, node, first));
        OX_TRY(check_branch(l, node, attr));
        OX_TRY(check_same_types(l, first, attr));
    }
    return OX_OK;
}

/* What the operator does not take of its attributes, before anything runs: another one of its name may take it. */
static ox_status check_choice(ox_loader *l, const ox_node *node) {
    ox_call call = {.op = node->op, .version = node->version, .nattrs = (size_t)node->nattrs, .attrs = node->attrs};
    call.error = l->b.error;
    OX_TRY(node->op->prepare(&call));
    return call.attr_status;
}

static ox_status node_name(ox_loader *l, const ox_env *env, const char *text, const char **name) {
    char full[OX_NAME_ROOM];
    if (!text || !*text || !*env->prefix)
        return ox_build_intern(&l->b, text, name);
    ox_format(full, sizeof full, "%s%.*s", env->prefix, OX_NAME_ROOM / 2 - 1, text);
    return ox_build_intern(&l->b, full, name);
}

/* ---- Gradient ----------------------------------------------------------------------------------------------- */

static ox_status read_names(ox_loader *l, ox_env *env, const ox_attr *names, int32_t *values) {
    for (size_t i = 0; names && i < names->count; i++) {
        OX_TRY(ox_env_read(l, env, names->u.strings[i].data, &values[i]));
        if (values[i] == OX_NONE)
            return ox_fail(l->b.error, OX_ERROR_MODEL, "it names '%.*s', which the call omits",
                           OX_SHORT(names->u.strings[i]));
    }
    return OX_OK;
}

/* Finds the values that a node of Gradient names. */
static ox_status build_gradient(ox_loader *l, ox_env *env, const ox_node *node, const char *name) {
    const ox_attr *xs = ox_emit_attr(node, "xs", OX_ATTR_STRINGS), *zs = ox_emit_attr(node, "zs", OX_ATTR_STRINGS),
                  *y = ox_emit_attr(node, "y", OX_ATTR_STRING);
    const size_t nxs = xs ? xs->count : 0, nzs = zs ? zs->count : 0;
    ox_gradient g = {.node = *node, .name = name, .nxs = (int)nxs, .nnamed = (int)(nxs + nzs)};
    int32_t *named;
    if (!xs || !y)
        return ox_fail(l->b.error, OX_ERROR_MODEL, "attributes 'xs' and 'y' must be given");
    if (nxs + nzs != (size_t)node->nin || (size_t)node->nout > nxs)
        return ox_fail(l->b.error, OX_ERROR_MODEL,
                       "xs and zs name %zu and %zu tensors, but the node has %d inputs and %d outputs", nxs, nzs,
                       (int)node->nin, (int)node->nout);
    for (int i = 0; i < node->nin; i++)
        if (node->in[i] < 0)
            return ox_fail(l->b.error, OX_ERROR_MODEL, "input %d is omitted, but must be given", i);
    OX_TRY(ox_build_get(&l->b, &env->scope->pile, nxs + nzs, sizeof *named, &named));
    OX_TRY(read_names(l, env, xs, named));
    OX_TRY(read_names(l, env, zs, named + nxs));
    OX_TRY(ox_env_read(l, env, y->u.s.data, &g.y));
    g.named = named;
    return g.y == OX_NONE ? ox_fail(l->b.error, OX_ERROR_MODEL, "y is an input that the call omits")
                          : ox_rewrite_gradient(&l->b, env->scope, &g);
}

/* ---- QLinearGemm -------------------------------------------------------------------------------------------- */

#if OX_WITH_OWN_OPERATORS
/* Transposes the weights of QLinearGemm in front of it, as the rewriter does: devices alone read them as they lie. */
static ox_status transpose_weights(ox_loader *l, ox_env *env, const char *name, ox_node *node) {
    ox_node transpose = {.version = (ox_index)ox_newest_opset(""), .nin = 1, .nout = 1};
    const bool is_by_rows = ox_emit_int(node, "transB", 0) != 0;
    const char *made;
    ox_index *in;
    int32_t out;
    node->nattrs = 0;
    if (!is_by_rows)
        return OX_OK;
    OX_TRY(ox_build_get(&l->b, l->b.pile, (size_t)node->nin + 1, sizeof *in, &in));
    memcpy(in, node->in, (size_t)node->nin * sizeof *in);
    OX_TRY(ox_scope_unique(&l->b, env->scope, env->scope->values[in[3]].name, &made));
    OX_TRY(ox_scope_add(&l->b, env->scope, made, OX_FROM_NODE, &out));
    in[node->nin] = (ox_index)out;
    transpose.op = ox_op_find("", "Transpose", transpose.version, NULL);
    transpose.in = node->in + 3;
    transpose.out = &in[node->nin];
    in[3] = (ox_index)out;
    node->in = in;
    return ox_build_append(&l->b, env->scope, &transpose, name);
}
#endif

/* ---- Nodes -------------------------------------------------------------------------------------------------- */

static bool has_graphs(const ox_node *node) {
    for (int i = 0; i < node->nattrs; i++)
        if (node->attrs[i].kind == OX_ATTR_GRAPH)
            return true;
    return false;
}

static ox_status build_operator(ox_loader *l, ox_env *env, const Onnx__NodeProto *proto) {
    ox_node node = {0};
    const char *name;
    OX_TRY(node_name(l, env, proto->name, &name));
    OX_TRY(ox_load_op(l, env, proto, name, &node));
    OX_TRY(build_ends(l, env, proto, &node));
    OX_TRY(check_node(l, &node, proto));
    OX_TRY(check_types(l, env->scope, &node));
    OX_TRY(ox_load_attrs(l, env, proto, &node));
    if (OX_WITH_CHECKS)
        OX_TRY(ox_load_check_attrs(l, proto, &node));
    if (OX_WITH_CHECKS && ox_op_has(node.op, OX_OP_CONTROL))
        OX_TRY(check_branches(l, &node));
    if (OX_WITH_CHECKS && ox_op_has(node.op, OX_OP_CHOOSES) && !l->b.for_info)
        OX_TRY(check_choice(l, &node));
#if OX_WITH_SUBGRAPHS
    OX_TRY(build_captures(l, env->scope, &node));
#endif
    if (ox_op_has(node.op, OX_OP_BODIES) && has_graphs(&node))
        node.op = node.op->detail;
    if (ox_op_has(node.op, OX_OP_DERIVED) && !l->b.for_info)
        return build_gradient(l, env, &node, name);
#if OX_WITH_OWN_OPERATORS
    if (node.op == &ox_op_qlinear_gemm)
        OX_TRY(transpose_weights(l, env, name, &node));
#endif
    if (ox_op_has(node.op, OX_OP_FUNCTION) && !ox_op_has(node.op, OX_OP_BLOCKS))
        return ox_rewrite_function(&l->b, env->scope, &node, name);
    return ox_build_append(&l->b, env->scope, &node, name);
}

static ox_status build(ox_loader *l, ox_env *env, const Onnx__NodeProto *proto) {
    const Onnx__FunctionProto *function;
    OX_TRY(ox_build_work(&l->b, 1));
    OX_TRY(ox_load_callee(l, proto, &function));
    return OX_WITH_FUNCTIONS && function ? ox_load_call(l, env, proto, function) : build_operator(l, env, proto);
}

void ox_load_name_node(ox_loader *l, const Onnx__NodeProto *proto, size_t index) {
    const char *domain = proto->domain ? proto->domain : "", *type = proto->op_type ? proto->op_type : "no op_type";
    char op[OX_NAME_ROOM];
    ox_format(op, sizeof op, "%.*s%s%.*s", 40, domain, *domain ? "." : "", 40, type);
    if (proto->name && *proto->name)
        ox_error_prefix(l->b.error, "node '%.*s' (%s): ", 60, proto->name, op);
    else
        ox_error_prefix(l->b.error, "node %zu (%s): ", index, op);
}

ox_status ox_load_node(ox_loader *l, ox_env *env, const Onnx__NodeProto *proto, size_t index) {
    ox_status status = build(l, env, proto);
    if (status && ox_load_locate(l, env))
        ox_load_name_node(l, proto, index);
    return status;
}
