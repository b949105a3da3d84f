/* call.c: model-local functions are expanded where they are called. */
#include "build.h"

#include <string.h>

typedef Onnx__FunctionProto function_proto;

/* ---- Finding functions -------------------------------------------------------------------------------------- */

static ox_status function_id(ox_builder *b, const char *domain, const char *name, const char *overload, int32_t *id) {
    const char *part;
    int32_t domain_id, name_id, pair_id, overload_id;
    OX_TRY(ox_build_domain(b, domain, &part));
    OX_TRY(ox_build_id(b, part, &domain_id));
    OX_TRY(ox_build_intern(b, name, &part));
    OX_TRY(ox_build_id(b, part, &name_id));
    OX_TRY(ox_build_intern(b, overload, &part));
    OX_TRY(ox_build_id(b, part, &overload_id));
    OX_TRY(ox_build_pair(b, domain_id, name_id, &pair_id));
    return ox_build_pair(b, pair_id, overload_id, id);
}

ox_status ox_build_functions(ox_builder *b) {
    size_t count = b->proto->n_functions;
    if (!count)
        return OX_OK;
    if (!OX_WITH_FUNCTIONS)
        return ox_fail(b->error, OX_ERROR_UNSUPPORTED, "it has functions, which this build of the library leaves out");
    OX_TRY(ox_build_get(b, &b->scratch, count, sizeof *b->function_opsets, &b->function_opsets));
    OX_TRY(ox_build_get(b, &b->scratch, count, sizeof *b->function_sizes, &b->function_sizes));
    for (size_t i = 0; i < count; i++) {
        const function_proto *f = b->proto->functions[i];
        int32_t id;
        OX_TRY(function_id(b, f->domain, f->name, f->overload, &id));
        if (ox_map_get(&b->functions, (uintptr_t)id, OX_MISSING) != OX_MISSING)
            return ox_fail(b->error, OX_ERROR_MODEL, "function '%.*s' is defined twice", 80, f->name ? f->name : "");
        OX_TRY(ox_build_set(b, &b->functions, &b->scratch, (uintptr_t)id, (int32_t)i));
    }
    return OX_OK;
}

ox_status ox_build_callee(ox_builder *b, const Onnx__NodeProto *proto, const function_proto **function) {
    int32_t id;
    *function = NULL;
    if (!OX_WITH_FUNCTIONS || !b->functions.count)
        return OX_OK;
    OX_TRY(function_id(b, proto->domain, proto->op_type, proto->overload, &id));
    int32_t at = ox_map_get(&b->functions, (uintptr_t)id, OX_MISSING);
    if (at != OX_MISSING)
        *function = b->proto->functions[at];
    return OX_OK;
}

/* ---- Sizes -------------------------------------------------------------------------------------------------- */

enum {
    SIZE_UNKNOWN = 0,
    SIZE_ASKED = 1, /* one that is being counted, or was left out: more is known when it is expanded */
    MOST_NESTED = 100
};

static ox_status count_nodes(ox_builder *b, Onnx__NodeProto *const *nodes, size_t count, int depth, size_t *sum);

static void add_size(size_t *sum, size_t size) {
    *sum = size > SIZE_MAX - *sum ? SIZE_MAX : *sum + size;
}

/* The nodes that a function has at the least once it is expanded, each function counted once. */
static ox_status function_size(ox_builder *b, const function_proto *f, int depth, size_t *size) {
    int32_t id;
    OX_TRY(function_id(b, f->domain, f->name, f->overload, &id));
    size_t *known = &b->function_sizes[ox_map_get(&b->functions, (uintptr_t)id, 0)];
    if (*known == SIZE_UNKNOWN) {
        size_t sum = SIZE_ASKED;
        *known = SIZE_ASKED;
        OX_TRY(count_nodes(b, f->node, f->n_node, depth + 1, &sum));
        *known = sum;
    }
    *size = *known - SIZE_ASKED;
    return OX_OK;
}

static ox_status count_subgraphs(ox_builder *b, const Onnx__NodeProto *node, int depth, size_t *sum) {
    for (size_t i = 0; i < node->n_attribute; i++) {
        const Onnx__AttributeProto *attribute = node->attribute[i];
        if (attribute->g)
            OX_TRY(count_nodes(b, attribute->g->node, attribute->g->n_node, depth + 1, sum));
        for (size_t k = 0; k < attribute->n_graphs; k++)
            OX_TRY(count_nodes(b, attribute->graphs[k]->node, attribute->graphs[k]->n_node, depth + 1, sum));
    }
    return OX_OK;
}

static ox_status count_nodes(ox_builder *b, Onnx__NodeProto *const *nodes, size_t count, int depth, size_t *sum) {
    for (size_t i = 0; i < count && depth < MOST_NESTED; i++) {
        const function_proto *callee;
        size_t size = 1;
        OX_TRY(ox_build_callee(b, nodes[i], &callee));
        if (callee)
            OX_TRY(function_size(b, callee, depth, &size));
        add_size(sum, size);
        OX_TRY(count_subgraphs(b, nodes[i], depth, sum));
    }
    return OX_OK;
}

/* Refuses a call that would expand to too much before it does so. */
static ox_status check_size(ox_builder *b, const function_proto *f) {
    size_t size;
    OX_TRY(function_size(b, f, 0, &size));
    if (size > b->most_nodes - b->nodes)
        return ox_build_too_many(b);
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

static ox_status check_call(ox_builder *b, const call *c) {
    const function_proto *f = c->function;
    if (c->node->n_input > f->n_input || c->node->n_output > f->n_output)
        return ox_fail(b->error, OX_ERROR_MODEL,
                       "the call has %zu inputs and %zu outputs, but the function takes %zu and gives %zu",
                       c->node->n_input, c->node->n_output, f->n_input, f->n_output);
    if (c->env.depth > b->limits->depth)
        return ox_fail(b->error, OX_ERROR_LIMIT, "functions and subgraphs nest deeper than %d", b->limits->depth);
    for (const ox_env *up = c->caller; up; up = up->caller)
        if (up->function == f)
            return ox_fail(b->error, OX_ERROR_MODEL, "the function calls itself");
    return OX_OK;
}

static ox_status add_argument(ox_builder *b, call *c, ox_argument *arguments, int32_t *count, const char *text,
                              const ox_argument *argument, bool again) {
    const char *name;
    OX_TRY(ox_build_work(b, 1));
    OX_TRY(ox_build_intern(b, text, &name));
    if (ox_map_get(&c->env.argument_index, OX_KEY(name), OX_MISSING) != OX_MISSING)
        return again ? OX_OK : ox_fail(b->error, OX_ERROR_MODEL, "attribute '%.*s' is given twice", 80, name);
    if (!argument->proto)
        return OX_OK;
    arguments[*count] = *argument;
    return ox_build_set(b, &c->env.argument_index, &b->envs, OX_KEY(name), (*count)++);
}

/* The attributes of the call, then the function's defaults for those that it does not have. */
static ox_status bind_arguments(ox_builder *b, call *c) {
    const function_proto *f = c->function;
    ox_argument *arguments, argument;
    int32_t count = 0;
    OX_TRY(ox_build_get(b, &b->envs, c->node->n_attribute + f->n_attribute_proto, sizeof *arguments, &arguments));
    for (size_t i = 0; i < c->node->n_attribute; i++) {
        OX_TRY(ox_build_argument(b, c->caller, c->node->attribute[i], &argument));
        OX_TRY(add_argument(b, c, arguments, &count, c->node->attribute[i]->name, &argument, false));
    }
    for (size_t i = 0; i < f->n_attribute_proto; i++) {
        argument = (ox_argument){f->attribute_proto[i], &c->env};
        OX_TRY(add_argument(b, c, arguments, &count, f->attribute_proto[i]->name, &argument, true));
    }
    c->env.arguments = arguments;
    return OX_OK;
}

/* The caller's value for an input or output of the node. */
static ox_status caller_value(ox_builder *b, const call *c, char *const *names, size_t count, size_t i,
                              int32_t *index) {
    *index = OX_NONE;
    return i < count && *names[i] ? ox_env_read(b, c->caller, names[i], index) : OX_OK;
}

static ox_status bind_inputs(ox_builder *b, call *c) {
    for (size_t i = 0; i < c->function->n_input; i++) {
        const char *name;
        int32_t index;
        OX_TRY(caller_value(b, c, c->node->input, c->node->n_input, i, &index));
        OX_TRY(ox_build_intern(b, c->function->input[i], &name));
        OX_TRY(ox_env_bind(b, &c->env, name, index));
    }
    return OX_OK;
}

/* An output that is an input, or listed before, is copied; the others are what the body's nodes write. */
static ox_status bind_outputs(ox_builder *b, call *c) {
    const function_proto *f = c->function;
    OX_TRY(ox_build_get(b, &b->envs, f->n_output * 2, sizeof *c->copies, &c->copies));
    for (size_t i = 0; i < f->n_output; i++) {
        const char *name;
        int32_t index;
        OX_TRY(caller_value(b, c, c->node->output, c->node->n_output, i, &index));
        if (index == OX_NONE)
            continue;
        OX_TRY(ox_build_intern(b, f->output[i], &name));
        int32_t known = ox_map_get(&c->env.names, OX_KEY(name), OX_MISSING);
        if (known == OX_MISSING) {
            OX_TRY(ox_env_bind(b, &c->env, name, index));
            OX_TRY(ox_build_set(b, &c->awaited, &b->envs, OX_KEY(name), index));
        } else {
            c->copies[c->ncopies * 2] = known;
            c->copies[c->ncopies++ * 2 + 1] = index;
        }
    }
    return OX_OK;
}

static ox_status declare_output(ox_builder *b, call *c, const char *text) {
    const char *name, *made;
    char full[OX_NAME_ROOM];
    int32_t index;
    if (!*text)
        return OX_OK;
    OX_TRY(ox_build_intern(b, text, &name));
    if (ox_map_get(&c->awaited, OX_KEY(name), OX_NONE) != OX_NONE)
        return ox_build_set(b, &c->awaited, &b->envs, OX_KEY(name), OX_NONE);
    ox_format(full, sizeof full, "%s%.*s", c->env.prefix, OX_NAME_ROOM / 2 - 1, name);
    OX_TRY(ox_build_intern(b, full, &made));
    OX_TRY(ox_scope_unique(b, c->env.scope, made, &made));
    OX_TRY(ox_scope_add(b, c->env.scope, made, OX_FROM_NODE, &index));
    return ox_env_bind(b, &c->env, name, index);
}

static ox_status declare_body(ox_builder *b, call *c) {
    const function_proto *f = c->function;
    for (size_t n = 0; n < f->n_node; n++)
        for (size_t i = 0; i < f->node[n]->n_output; i++)
            OX_TRY(declare_output(b, c, f->node[n]->output[i]));
    for (size_t i = 0; i < f->n_output; i++) {
        const char *name;
        OX_TRY(ox_build_intern(b, f->output[i], &name));
        if (ox_map_get(&c->awaited, OX_KEY(name), OX_NONE) != OX_NONE)
            return ox_fail(b->error, OX_ERROR_MODEL, "the function never produces its output '%.*s'", 80, name);
    }
    return OX_OK;
}

static ox_status append_copy(ox_builder *b, call *c, int32_t from, int32_t to) {
    static const ox_node identity = {.nin = 1, .nout = 1};
    ox_node node = identity;
    ox_index *ends;
    if (from < 0)
        return ox_fail(b->error, OX_ERROR_MODEL, "the function hands on an input that the call omits");
    node.version = (ox_index)ox_newest_opset("");
    node.op = ox_op_find("", "Identity", node.version, NULL);
    if (!node.op)
        return ox_fail(b->error, OX_ERROR_UNSUPPORTED, "the function hands on an input, but Identity is not there");
    OX_TRY(ox_build_get(b, b->pile, 2, sizeof *ends, &ends));
    ends[0] = (ox_index)from;
    ends[1] = (ox_index)to;
    node.in = &ends[0];
    node.out = &ends[1];
    return ox_build_append(b, c->env.scope, &node, "");
}

static ox_status expand(ox_builder *b, call *c) {
    const function_proto *f = c->function;
    OX_TRY(check_call(b, c));
    OX_TRY(check_size(b, f));
    OX_TRY(bind_arguments(b, c));
    OX_TRY(bind_inputs(b, c));
    OX_TRY(bind_outputs(b, c));
    OX_TRY(declare_body(b, c));
    for (size_t i = 0; i < f->n_node; i++)
        OX_TRY(ox_build_node(b, &c->env, f->node[i], i));
    for (size_t i = 0; i < c->ncopies; i++)
        OX_TRY(append_copy(b, c, c->copies[2 * i], c->copies[2 * i + 1]));
    return OX_OK;
}

static ox_status function_opsets(ox_builder *b, const function_proto *f, const ox_opset_table **opsets) {
    int32_t id;
    OX_TRY(function_id(b, f->domain, f->name, f->overload, &id));
    ox_opset_table *table = &b->function_opsets[ox_map_get(&b->functions, (uintptr_t)id, 0)];
    *opsets = table;
    return ox_build_opsets(b, f->opset_import, f->n_opset_import, table);
}

ox_status ox_build_call(ox_builder *b, ox_env *env, const Onnx__NodeProto *proto, const function_proto *function) {
    call c = {.caller = env, .node = proto, .function = function};
    c.env = (ox_env){
        .caller = env, .scope = env->scope, .function = function, .parsed = b->parsed, .depth = env->depth + 1};
    const char *name = proto->name && *proto->name ? proto->name : proto->op_type;
    ox_format(c.prefix, sizeof c.prefix, "%.*s%.*s/", (int)sizeof c.prefix / 2, env->prefix,
              (int)sizeof c.prefix / 2 - 2, name);
    c.env.prefix = c.prefix;
    b->calls++;
    ox_pile_mark mark = ox_pile_save(&b->envs);
    ox_status status = function_opsets(b, function, &c.env.opsets);
    if (!status)
        status = expand(b, &c);
    if (!status)
        ox_pile_restore(&b->envs, mark);
    b->calls--;
    return status;
}
