/* widened.c: ox_options.float16_sums: values of float16 and bfloat16 become floats. Initializers are widened; inputs,
 * and results that are 16-bit floats by a node's attributes, are cast to float; outputs are cast to the type that the
 * model states. All nodes between then compute in floats, by the types of their inputs. */
#include "emit.h"
#include "rewrite.h"

#include <string.h>

enum {
    ELEMENT = (1 << OX_TYPE_BITS) - 1 /* of a type: that of its elements (type.h) */
};

static bool is_short(ox_dtype type) {
    const unsigned element = (unsigned)type & ELEMENT;
    return element == OX_FLOAT16 || element == OX_BFLOAT16;
}

static ox_dtype widened(ox_dtype type) {
    return is_short(type) ? (ox_dtype)(((unsigned)type & ~(unsigned)ELEMENT) | OX_FLOAT) : type;
}

/* ---- What has no floats in its place -------------------------------------------------------------------------- */

/* The type of 16 bits that an attribute says the result has, such as `to` of Cast; OX_UNDEFINED if none does. */
static ox_dtype short_type(const ox_attr *attr) {
    static const char *const names[] = {"to", "dtype", "output_dtype", "output_datatype"};
    if (attr->kind == OX_ATTR_TYPE)
        return is_short(attr->u.type) ? attr->u.type : OX_UNDEFINED;
    for (size_t k = 0; attr->kind == OX_ATTR_INT && k < sizeof names / sizeof *names; k++)
        if (!ox_text_order(attr->name, names[k]) && (attr->u.i == OX_FLOAT16 || attr->u.i == OX_BFLOAT16))
            return (ox_dtype)attr->u.i;
    return OX_UNDEFINED;
}

static ox_dtype short_result(const ox_node *node) {
    ox_dtype type = OX_UNDEFINED;
    for (int i = 0; i < node->nattrs && type == OX_UNDEFINED; i++)
        type = short_type(&node->attrs[i]);
    return type;
}

static ox_status fail_node(const ox_builder *b, const ox_scope *scope, int32_t n, const char *why) {
    const ox_node *node = &scope->nodes[n];
    return ox_fail(b->error, OX_ERROR_UNSUPPORTED, "float16_sums: node '%.*s' (%.*s) %s", 60,
                   OX_KEEP_NAMES ? scope->node_names[n] : "", 40, node->op->name, why);
}

/* A node that reads bits, or makes a sequence or an optional of 16 bits by its attributes. */
static ox_status check_node(const ox_builder *b, const ox_scope *scope, int32_t n) {
    const ox_node *node = &scope->nodes[n];
    const int64_t to = ox_emit_int(node, "to", 0);
    if (ox_build_is_op(node, "BitCast") && (to == OX_INT16 || to == OX_UINT16))
        return fail_node(b, scope, n, "reads bits that may be those of a float of 16 bits");
    if (ox_build_is_op(node, "SequenceEmpty") || ox_build_is_op(node, "Optional"))
        if (short_result(node) != OX_UNDEFINED)
            return fail_node(b, scope, n, "has an output of 16-bit floats that is not a tensor");
    return OX_OK;
}

/* An input or output of the model: its type has to be known, and that of a tensor. */
static ox_status check_end(const ox_builder *b, const ox_declared *value, const char *what) {
    if (value->kind == OX_KIND_UNKNOWN || value->dtype == OX_UNDEFINED)
        return ox_fail(b->error, OX_ERROR_UNSUPPORTED,
                       "float16_sums: the model does not state the type of its %s '%.*s'", what, 80, value->name);
    if (is_short(value->dtype) && ox_type_kind(value->dtype) != OX_KIND_TENSOR)
        return ox_fail(b->error, OX_ERROR_UNSUPPORTED,
                       "float16_sums: %s '%.*s' is of type %s: 16-bit floats in values other than tensors are not "
                       "supported",
                       what, 80, value->name, OX_TYPE(value->dtype));
    return OX_OK;
}

static ox_status check(const ox_builder *b, const ox_scope *scope) {
    for (int i = 0; i < scope->graph->ninputs && !scope->outer; i++)
        OX_TRY(check_end(b, &scope->values[scope->inputs[i]], "input"));
    for (int i = 0; i < scope->graph->noutputs && !scope->outer; i++)
        OX_TRY(check_end(b, &scope->values[scope->outputs[i]], "output"));
    for (int32_t n = 0; n < scope->nnodes; n++)
        OX_TRY(check_node(b, scope, n));
    return OX_OK;
}

/* ---- Casts ---------------------------------------------------------------------------------------------------- */

/* A new value that has the name and the declaration of value v, which gets another name and becomes one of floats. */
static ox_status split(ox_builder *b, ox_scope *scope, int32_t v, ox_origin origin, int32_t *made) {
    const char *name;
    OX_TRY(ox_scope_unique(b, scope, scope->values[v].name, &name));
    OX_TRY(ox_scope_add(b, scope, name, origin, made));
    scope->values[*made] = scope->values[v];
    scope->values[v].name = name;
    scope->values[v].written = scope->values[v].dtype;
    scope->values[v].dtype = OX_FLOAT;
    return OX_OK;
}

/* The attribute of a node that gives another type than in the model: see plan/written.c. */
static ox_attr widened_attr(ox_dtype written) {
    return (ox_attr){.name = OX_ATTR_WIDENED, .kind = OX_ATTR_INT, .u.i = written};
}

/* Appends a Cast to a type; the nodes are sorted again afterwards. */
static ox_status add_cast(ox_builder *b, ox_scope *scope, int32_t from, int32_t to, ox_dtype dtype, ox_dtype written) {
    const ox_attr attrs[] = {{.name = "to", .kind = OX_ATTR_INT, .u.i = dtype}, widened_attr(written)};
    ox_emitter e = {.b = b, .scope = scope, .name = scope->values[to].name};
    ox_emit_to(&e, "Cast", dtype == OX_FLOAT ? 2 : 1, attrs, 1, &from, 1, &to);
    return e.status;
}

/* What a caller gives is a value of its own, so that nodes, in subgraphs too, read the floats under the old number. */
static ox_status widen_inputs(ox_builder *b, ox_scope *scope) {
    for (int i = 0; i < scope->graph->ninputs; i++) {
        const int32_t v = scope->inputs[i];
        int32_t given;
        if (!is_short(scope->values[v].dtype))
            continue;
        OX_TRY(split(b, scope, v, OX_FROM_INPUT, &given));
        scope->notes[v].origin = OX_FROM_NODE;
        scope->values[v].initializer = NULL;
        scope->values[v].shape = NULL;
        OX_TRY(add_cast(b, scope, given, v, OX_FLOAT, scope->values[v].written));
        for (int k = 0; k < scope->graph->noutputs; k++)
            if (scope->outputs[k] == v)
                scope->outputs[k] = given;
        scope->inputs[i] = given;
    }
    return OX_OK;
}

static ox_status narrow_outputs(ox_builder *b, ox_scope *scope) {
    for (int i = 0; i < scope->graph->noutputs; i++) {
        const int32_t v = scope->outputs[i];
        const ox_dtype dtype = scope->values[v].dtype;
        int32_t made;
        if (!is_short(dtype) || scope->notes[v].origin == OX_FROM_INPUT)
            continue;
        OX_TRY(split(b, scope, v, OX_FROM_NODE, &made));
        scope->values[made].initializer = NULL;
        OX_TRY(add_cast(b, scope, v, made, dtype, dtype));
        for (int k = i; k < scope->graph->noutputs; k++)
            if (scope->outputs[k] == v)
                scope->outputs[k] = made;
    }
    return OX_OK;
}

/* A node whose attributes say so goes on to give 16 bits, to a Cast. */
static ox_status widen_result(ox_builder *b, ox_scope *scope, int32_t n) {
    ox_node *node = &scope->nodes[n];
    const char *name;
    ox_index *out;
    int32_t made;
    const ox_dtype written = short_result(node);
    if (written == OX_UNDEFINED || !node->nout || node->out[0] < 0)
        return OX_OK;
    const int32_t v = node->out[0];
    OX_TRY(ox_build_get(b, b->pile, (size_t)node->nout, sizeof *out, &out));
    OX_TRY(ox_scope_unique(b, scope, scope->values[v].name, &name));
    OX_TRY(ox_scope_add(b, scope, name, OX_FROM_NODE, &made));
    memcpy(out, node->out, (size_t)node->nout * sizeof *out);
    out[0] = (ox_index)made;
    node->out = out;
    return add_cast(b, scope, made, v, OX_FLOAT, written);
}

/* ---- Values ---------------------------------------------------------------------------------------------------- */

static ox_status widen_tensor(ox_builder *b, const ox_tensor *old, const ox_tensor **result) {
    const int64_t count = ox_tensor_count(old);
    ox_tensor *made;
    float *data;
    OX_TRY(ox_build_get(b, b->pile, 1, sizeof *made, &made));
    OX_TRY(ox_build_get(b, b->pile, (size_t)count, sizeof *data, &data));
    ox_widen(old->dtype, count, old->data, data);
    *made = *old;
    made->dtype = OX_FLOAT;
    made->strides = NULL;
    made->data = data;
    *result = made;
    return OX_OK;
}

/* Whether it names a type of 16 bits for what a node computes in between, which graphs that are attributes see
 * (FlexAttention). */
static bool is_short_inside(const ox_attr *attr) {
    return attr->kind == OX_ATTR_INT && !ox_text_order(attr->name, "softmax_precision") &&
           is_short((ox_dtype)attr->u.i);
}

static bool is_short_tensor(const ox_attr *attr) {
    return attr->kind == OX_ATTR_TENSOR && is_short(attr->u.tensor->dtype);
}

/* Attributes of 16 bits. Tensors, such as those of Constant and TreeEnsemble, give the result its type. */
static ox_status widen_attrs(ox_builder *b, ox_node *node) {
    const int count = node->nattrs;
    ox_attr *attrs = NULL;
    for (int i = 0; i < count; i++) {
        const bool is_tensor = is_short_tensor(&node->attrs[i]);
        if (!is_tensor && !is_short_inside(&node->attrs[i]))
            continue;
        if (!attrs) {
            OX_TRY(ox_build_get(b, b->pile, (size_t)count + 1, sizeof *attrs, &attrs));
            memcpy(attrs, node->attrs, (size_t)count * sizeof *attrs);
            node->attrs = attrs;
        }
        if (!is_tensor) {
            attrs[i].u.i = OX_FLOAT;
            continue;
        }
        attrs[count] = widened_attr(attrs[i].u.tensor->dtype);
        node->nattrs = (ox_index)(count + 1);
        OX_TRY(widen_tensor(b, attrs[i].u.tensor, &attrs[i].u.tensor));
    }
    return OX_OK;
}

/* The first `count` values; those after them are the caller's inputs and outputs. */
static ox_status widen_values(ox_builder *b, ox_scope *scope, int32_t count) {
    for (int32_t v = 0; v < count; v++) {
        ox_declared *value = &scope->values[v];
        if (value->written == OX_UNDEFINED)
            value->written = value->initializer ? value->initializer->dtype : value->dtype;
        if (value->initializer && is_short(value->initializer->dtype))
            OX_TRY(widen_tensor(b, value->initializer, &value->initializer));
        value->dtype = widened(value->dtype);
    }
    return OX_OK;
}

static void note_producers(ox_scope *scope) {
    for (int32_t n = 0; n < scope->nnodes; n++)
        for (int k = 0; k < scope->nodes[n].nout; k++)
            if (scope->nodes[n].out[k] >= 0)
                scope->notes[scope->nodes[n].out[k]].producer = n;
}

ox_status ox_rewrite_widened(ox_builder *b, ox_scope *scope) {
    const int32_t values = scope->nvalues, nodes = scope->nnodes;
    OX_TRY(check(b, scope));
    for (int32_t n = 0; n < nodes; n++) {
        OX_TRY(widen_attrs(b, &scope->nodes[n]));
        OX_TRY(widen_result(b, scope, n));
    }
    if (!scope->outer) {
        OX_TRY(widen_inputs(b, scope));
        OX_TRY(narrow_outputs(b, scope));
    }
    OX_TRY(widen_values(b, scope, values));
    note_producers(scope);
    return ox_scope_sort(b, scope);
}
