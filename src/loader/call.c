/* call.c: model-local functions are expanded where they are called. */
#include "loader.h"

#include <string.h>

typedef Onnx__FunctionProto function_proto;

/* ---- Finding functions -------------------------------------------------------------------------------------- */

static ox_status function_id(ox_loader *l, const char *domain, const char *name, const char *overload, int32_t *id) {
    const char *part;
    int32_t domain_id, name_id, pair_id, overload_id;
    OX_TRY(ox_load_domain(l, domain, &part));
    OX_TRY(ox_load_id(l, part, &domain_id));
    OX_TRY(ox_build_intern(&l->b, name, &part));
    OX_TRY(ox_load_id(l, part, &name_id));
    OX_TRY(ox_build_intern(&l->b, overload, &part));
    OX_TRY(ox_load_id(l, part, &overload_id));
    OX_TRY(ox_load_pair(l, domain_id, name_id, &pair_id));
    return ox_load_pair(l, pair_id, overload_id, id);
}

ox_status ox_load_functions(ox_loader *l) {
    size_t count = l->proto->n_functions;
    if (!count)
        return OX_OK;
    if (!OX_WITH_FUNCTIONS)
        return ox_fail(l->b.error, OX_ERROR_UNSUPPORTED,
                       "it has functions, which this build of the library leaves out");
    OX_TRY(ox_build_get(&l->b, &l->b.scratch, count, sizeof *l->function_opsets, &l->function_opsets));
    OX_TRY(ox_build_get(&l->b, &l->b.scratch, count, sizeof *l->function_sizes, &l->function_sizes));
    for (size_t i = 0; i < count; i++) {
        const function_proto *f = l->proto->functions[i];
        int32_t id;
        OX_TRY(function_id(l, f->domain, f->name, f->overload, &id));
        if (ox_map_get(&l->functions, (uintptr_t)id, OX_MISSING) != OX_MISSING)
            return ox_fail(l->b.error, OX_ERROR_MODEL, "function '%.*s' is defined twice", 80, f->name ? f->name : "");
        OX_TRY(ox_build_set(&l->b, &l->functions, &l->b.scratch, (uintptr_t)id, (int32_t)i));
    }
    return OX_OK;
}

ox_status ox_load_callee(ox_loader *l, const Onnx__NodeProto *proto, const function_proto **function) {
    int32_t id;
    *function = NULL;
    if (!OX_WITH_FUNCTIONS || !l->functions.count)
        return OX_OK;
    OX_TRY(function_id(l, proto->domain, proto->op_type, proto->overload, &id));
    int32_t at = ox_map_get(&l->functions, (uintptr_t)id, OX_MISSING);
    if (at != OX_MISSING)
        *function = l->proto->functions[at];
    return OX_OK;
}

/* ---- Sizes -------------------------------------------------------------------------------------------------- */

enum {
    SIZE_UNKNOWN = 0,
    SIZE_ASKED = 1, /* one that is being counted, or was left out: more is known when it is expanded */
    MOST_NESTED = 100
};

static ox_status count_nodes(ox_loader *l, Onnx__NodeProto *const *nodes, size_t count, int depth, size_t *sum);

static void add_size(size_t *sum, size_t size) {
    *sum = size > SIZE_MAX - *sum ? SIZE_MAX : *sum + size;
}

/* The nodes that a function has at the least once it is expanded, each function counted once. */
static ox_status function_size(ox_loader *l, const function_proto *f, int depth, size_t *size) {
    int32_t id;
    OX_TRY(function_id(l, f->domain, f->name, f->overload, &id));
    size_t *known = &l->function_sizes[ox_map_get(&l->functions, (uintptr_t)id, 0)];
    if (*known == SIZE_UNKNOWN) {
        size_t sum = SIZE_ASKED;
        *known = SIZE_ASKED;
        OX_TRY(count_nodes(l, f->node, f->n_node, depth + 1, &sum));
        *known = sum;
    }
    *size = *known - SIZE_ASKED;
    return OX_OK;
}

static ox_status count_subgraphs(ox_loader *l, const Onnx__NodeProto *node, int depth, size_t *sum) {
    for (size_t i = 0; i < node->n_attribute; i++) {
        const Onnx__AttributeProto *attribute = node->attribute[i];
        if (attribute->g)
            OX_TRY(count_nodes(l, attribute->g->node, attribute->g->n_node, depth + 1, sum));
        for (size_t k = 0; k < attribute->n_graphs; k++)
            OX_TRY(count_nodes(l, attribute->graphs[k]->node, attribute->graphs[k]->n_node, depth + 1, sum));
    }
    return OX_OK;
}

static ox_status count_nodes(ox_loader *l, Onnx__NodeProto *const *nodes, size_t count, int depth, size_t *sum) {
    for (size_t i = 0; i < count && depth < MOST_NESTED; i++) {
        const function_proto *callee;
        size_t size = 1;
        OX_TRY(ox_load_callee(l, nodes[i], &callee));
        if (callee)
            OX_TRY(function_size(l, callee, depth, &size));
        add_size(sum, size);
        OX_TRY(count_subgraphs(l, nodes[i], depth, sum));
    }
    return OX_OK;
}

/* Refuses a call that would expand to too much before it does so. */
static ox_status check_size(ox_loader *l, const function_proto *f) {
    size_t size;
    OX_TRY(function_size(l, f, 0, &size));
    if (size > l->b.most_nodes - l->b.nodes)
        return ox_build_too_many(&l->b);
    return OX_OK;
}

/* ---- Calls -------------------------------------------------------------------------------------------------- */

/* A function that is being expanded. */
typedef struct call {
    ox_env env;
    ox_env *caller;
    const Onnx__NodeProto *node;
    const function_proto *function;
    ox_map awaited;  /* outputs that the body has yet to produce -> value of the caller */
    int32_t *copies; /* pairs (value of the function, value of the caller) that no node of the body produces */
    size_t ncopies;
    char prefix[OX_NAME_ROOM / 2];
} call;

static ox_status check_call(ox_loader *l, const call *c) {
    const function_proto *f = c->function;
    if (c->node->n_input > f->n_input || c->node->n_output > f->n_output)
        return ox_fail(l->b.error, OX_ERROR_MODEL,
                       "the call has %zu inputs and %zu outputs, but the function takes %zu and gives %zu",
                       c->node->n_input, c->node->n_output, f->n_input, f->n_output);
    if (c->env.depth > l->b.limits->depth)
        return ox_fail(l->b.error, OX_ERROR_LIMIT, "functions and subgraphs nest deeper than %d", l->b.limits->depth);
    for (const ox_env *up = c->caller; up; up = up->caller)
        if (up->function == f)
            return ox_fail(l->b.error, OX_ERROR_MODEL, "the function calls itself");
    return OX_OK;
}

static ox_status add_argument(ox_loader *l, call *c, ox_argument *arguments, int32_t *count, const char *text,
                              const ox_argument *argument, bool again) {
    const char *name;
    OX_TRY(ox_build_work(&l->b, 1));
    OX_TRY(ox_build_intern(&l->b, text, &name));
    if (ox_map_get(&c->env.argument_index, OX_KEY(name), OX_MISSING) != OX_MISSING)
        return again ? OX_OK : ox_fail(l->b.error, OX_ERROR_MODEL, "attribute '%.*s' is given twice", 80, name);
    if (!argument->proto)
        return OX_OK;
    arguments[*count] = *argument;
    return ox_build_set(&l->b, &c->env.argument_index, &l->b.stack, OX_KEY(name), (*count)++);
}

/* The attributes of the call, then the function's defaults for those that it does not have. */
static ox_status bind_arguments(ox_loader *l, call *c) {
    const function_proto *f = c->function;
    ox_argument *arguments, argument;
    int32_t count = 0;
    OX_TRY(
        ox_build_get(&l->b, &l->b.stack, c->node->n_attribute + f->n_attribute_proto, sizeof *arguments, &arguments));
    for (size_t i = 0; i < c->node->n_attribute; i++) {
        OX_TRY(ox_load_argument(l, c->caller, c->node->attribute[i], &argument));
        OX_TRY(add_argument(l, c, arguments, &count, c->node->attribute[i]->name, &argument, false));
    }
    for (size_t i = 0; i < f->n_attribute_proto; i++) {
        argument = (ox_argument){f->attribute_proto[i], &c->env};
        OX_TRY(add_argument(l, c, arguments, &count, f->attribute_proto[i]->name, &argument, true));
    }
    c->env.arguments = arguments;
    return OX_OK;
}

/* The caller's value for an input or output of the node. */
static ox_status caller_value(ox_loader *l, const call *c, char *const *names, size_t count, size_t i, int32_t *index) {
    *index = OX_NONE;
    return i < count && *names[i] ? ox_env_read(l, c->caller, names[i], index) : OX_OK;
}

static ox_status bind_inputs(ox_loader *l, call *c) {
    for (size_t i = 0; i < c->function->n_input; i++) {
        const char *name;
        int32_t index;
        OX_TRY(caller_value(l, c, c->node->input, c->node->n_input, i, &index));
        OX_TRY(ox_build_intern(&l->b, c->function->input[i], &name));
        OX_TRY(ox_env_bind(l, &c->env, name, index));
    }
    return OX_OK;
}

/* An output that is an input, or listed before, is copied; the others are what the body's nodes write. */
static ox_status bind_outputs(ox_loader *l, call *c) {
    const function_proto *f = c->function;
    OX_TRY(ox_build_get(&l->b, &l->b.stack, f->n_output * 2, sizeof *c->copies, &c->copies));
    for (size_t i = 0; i < f->n_output; i++) {
        const char *name;
        int32_t index;
        OX_TRY(caller_value(l, c, c->node->output, c->node->n_output, i, &index));
        if (index == OX_NONE)
            continue;
        OX_TRY(ox_build_intern(&l->b, f->output[i], &name));
        int32_t known = ox_map_get(&c->env.names, OX_KEY(name), OX_MISSING);
        if (known == OX_MISSING) {
            OX_TRY(ox_env_bind(l, &c->env, name, index));
            OX_TRY(ox_build_set(&l->b, &c->awaited, &l->b.stack, OX_KEY(name), index));
        } else {
            c->copies[c->ncopies * 2] = known;
            c->copies[c->ncopies++ * 2 + 1] = index;
        }
    }
    return OX_OK;
}

static ox_status declare_output(ox_loader *l, call *c, const char *text) {
    const char *name, *made;
    char full[OX_NAME_ROOM];
    int32_t index;
    if (!*text)
        return OX_OK;
    OX_TRY(ox_build_intern(&l->b, text, &name));
    if (ox_map_get(&c->awaited, OX_KEY(name), OX_NONE) != OX_NONE)
        return ox_build_set(&l->b, &c->awaited, &l->b.stack, OX_KEY(name), OX_NONE);
    ox_format(full, sizeof full, "%s%.*s", c->env.prefix, OX_NAME_ROOM / 2 - 1, name);
    OX_TRY(ox_build_intern(&l->b, full, &made));
    OX_TRY(ox_scope_unique(&l->b, c->env.scope, made, &made));
    OX_TRY(ox_scope_add(&l->b, c->env.scope, made, OX_FROM_NODE, &index));
    return ox_env_bind(l, &c->env, name, index);
}

static ox_status declare_body(ox_loader *l, call *c) {
    const function_proto *f = c->function;
    for (size_t n = 0; n < f->n_node; n++)
        for (size_t i = 0; i < f->node[n]->n_output; i++)
            OX_TRY(declare_output(l, c, f->node[n]->output[i]));
    for (size_t i = 0; i < f->n_output; i++) {
        const char *name;
        OX_TRY(ox_build_intern(&l->b, f->output[i], &name));
        if (ox_map_get(&c->awaited, OX_KEY(name), OX_NONE) != OX_NONE)
            return ox_fail(l->b.error, OX_ERROR_MODEL, "the function never produces its output '%.*s'", 80, name);
    }
    return OX_OK;
}

static ox_status append_copy(ox_loader *l, call *c, int32_t from, int32_t to) {
    static const ox_node identity = {.nin = 1, .nout = 1};
    ox_node node = identity;
    ox_index *ends;
    if (from < 0)
        return ox_fail(l->b.error, OX_ERROR_MODEL, "the function hands on an input that the call omits");
    node.version = (ox_index)ox_newest_opset("");
    node.op = ox_op_find("", "Identity", node.version, NULL);
    if (!node.op)
        return ox_fail(l->b.error, OX_ERROR_UNSUPPORTED, "the function hands on an input, but Identity is not there");
    OX_TRY(ox_build_get(&l->b, l->b.pile, 2, sizeof *ends, &ends));
    ends[0] = (ox_index)from;
    ends[1] = (ox_index)to;
    node.in = &ends[0];
    node.out = &ends[1];
    return ox_build_append(&l->b, c->env.scope, &node, "");
}

static ox_status expand(ox_loader *l, call *c) {
    const function_proto *f = c->function;
    OX_TRY(check_call(l, c));
    OX_TRY(check_size(l, f));
    OX_TRY(bind_arguments(l, c));
    OX_TRY(bind_inputs(l, c));
    OX_TRY(bind_outputs(l, c));
    OX_TRY(declare_body(l, c));
    for (size_t i = 0; i < f->n_node; i++)
        OX_TRY(ox_load_node(l, &c->env, f->node[i], i));
    for (size_t i = 0; i < c->ncopies; i++)
        OX_TRY(append_copy(l, c, c->copies[2 * i], c->copies[2 * i + 1]));
    return OX_OK;
}

static ox_status function_opsets(ox_loader *l, const function_proto *f, const ox_opset_table **opsets) {
    int32_t id;
    OX_TRY(function_id(l, f->domain, f->name, f->overload, &id));
    ox_opset_table *table = &l->function_opsets[ox_map_get(&l->functions, (uintptr_t)id, 0)];
    *opsets = table;
    return ox_load_opsets(l, f->opset_import, f->n_opset_import, table);
}

ox_status ox_load_call(ox_loader *l, ox_env *env, const Onnx__NodeProto *proto, const function_proto *function) {
    call c = {.caller = env, .node = proto, .function = function};
    c.env = (ox_env){
        .caller = env, .scope = env->scope, .function = function, .parsed = l->parsed, .depth = env->depth + 1};
    const char *name = proto->name && *proto->name ? proto->name : proto->op_type;
    ox_format(c.prefix, sizeof c.prefix, "%.*s%.*s/", (int)sizeof c.prefix / 2, env->prefix,
              (int)sizeof c.prefix / 2 - 2, name);
    c.env.prefix = c.prefix;
    l->b.calls++;
    ox_pile_mark mark = ox_pile_save(&l->b.stack);
    ox_status status = function_opsets(l, function, &c.env.opsets);
    if (!status)
        status = expand(l, &c);
    if (!status)
        ox_pile_restore(&l->b.stack, mark);
    l->b.calls--;
    return status;
}
