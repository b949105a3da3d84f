/* attr.c: attributes, with their types checked and references to a function's attributes resolved. */
#include "loader.h"

#include <string.h>

typedef Onnx__AttributeProto attribute;

/* Whether the attribute holds a value of that kind. */
static bool holds(const attribute *p, unsigned kind) {
    const void *const message = kind == OX_ATTR_TENSOR          ? (const void *)p->t
                                : kind == OX_ATTR_GRAPH         ? (const void *)p->g
                                : kind == OX_ATTR_SPARSE_TENSOR ? (const void *)p->sparse_tensor
                                                                : (const void *)p->tp;
    switch (kind) {
    case OX_ATTR_FLOAT:
        return p->has_f;
    case OX_ATTR_INT:
        return p->has_i;
    case OX_ATTR_STRING:
        return p->has_s;
    case OX_ATTR_FLOATS:
        return p->n_floats;
    case OX_ATTR_INTS:
        return p->n_ints;
    case OX_ATTR_STRINGS:
        return p->n_strings;
    case OX_ATTR_TENSORS:
        return p->n_tensors;
    case OX_ATTR_GRAPHS:
        return p->n_graphs;
    case OX_ATTR_SPARSE_TENSORS:
        return p->n_sparse_tensors;
    case OX_ATTR_TYPES:
        return p->n_type_protos;
    default:
        return message;
    }
}

/* The kinds of which the attribute holds a value. */
static unsigned held_kinds(const attribute *p) {
    unsigned held = 0;
    for (unsigned kind = 1; kind <= OX_ATTR_TYPES; kind++)
        held |= (unsigned)holds(p, kind) << kind;
    return held;
}

static ox_attr_kind first_kind(unsigned held) {
    unsigned kind = OX_ATTR_NONE;
    while (kind < OX_ATTR_TYPES && !(held >> kind & 1))
        kind++;
    return (ox_attr_kind)kind;
}

/* The kinds that may be absent: zero values are not written by every writer, empty lists by none. */
static bool may_be_empty(ox_attr_kind kind) {
    return kind != OX_ATTR_TENSOR && kind != OX_ATTR_GRAPH && kind != OX_ATTR_SPARSE_TENSOR && kind != OX_ATTR_TYPE;
}

/* The first version of the format had no type: then the field that is there tells. */
static ox_status attr_kind(ox_loader *l, const attribute *p, ox_attr_kind *kind) {
    unsigned held = held_kinds(p);
    *kind = (ox_attr_kind)p->type;
    if (!p->has_type || p->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED) {
        if (OX_WITH_CHECKS && l->b.model->info.ir_version > 1)
            return ox_fail(l->b.error, OX_ERROR_MODEL, "it has no type, which all have from IR version 2 on");
        *kind = OX_ATTR_NONE;
        for (unsigned k = 1; k <= OX_ATTR_TYPES; k++)
            if (held == 1u << k)
                *kind = (ox_attr_kind)k;
        return *kind ? OX_OK
                     : ox_fail(l->b.error, OX_ERROR_MODEL,
                               held ? "it has no type and values of several" : "it has no type and no value");
    }
    if (p->type < 0 || p->type > (int)OX_ATTR_TYPES)
        return ox_fail(l->b.error, OX_ERROR_UNSUPPORTED, "attribute type %d is not known (1 to %d are)", (int)p->type,
                       (int)OX_ATTR_TYPES);
    if (!(held >> *kind & 1) && (held || !may_be_empty(*kind)))
        return ox_fail(l->b.error, OX_ERROR_MODEL, "it says that it is of type %s, but holds %s",
                       ox_attr_kind_name(*kind), held ? ox_attr_kind_name(first_kind(held)) : "nothing");
    return OX_OK;
}

static ox_status make_string(ox_loader *l, const ProtobufCBinaryData *from, ox_string *to) {
    char *text;
    OX_TRY(ox_build_get(&l->b, l->b.pile, from->len + 1, 1, &text));
    if (from->len)
        memcpy(text, from->data, from->len);
    *to = (ox_string){text, from->len};
    return OX_OK;
}

static ox_status make_strings(ox_loader *l, const attribute *p, ox_attr *attr) {
    ox_string *strings;
    OX_TRY(ox_build_get(&l->b, l->b.pile, p->n_strings, sizeof *strings, &strings));
    for (size_t i = 0; i < p->n_strings; i++)
        OX_TRY(make_string(l, &p->strings[i], &strings[i]));
    attr->u.strings = strings;
    attr->count = p->n_strings;
    return OX_OK;
}

static ox_status make_numbers(ox_loader *l, const attribute *p, ox_attr *attr) {
    bool ints = attr->kind == OX_ATTR_INTS;
    size_t width = ints ? sizeof *p->ints : sizeof *p->floats;
    void *numbers;
    attr->count = ints ? p->n_ints : p->n_floats;
    OX_TRY(ox_build_get(&l->b, l->b.pile, attr->count, width, &numbers));
    if (attr->count)
        memcpy(numbers, ints ? (const void *)p->ints : (const void *)p->floats, attr->count * width);
    if (ints)
        attr->u.ints = numbers;
    else
        attr->u.floats = numbers;
    return OX_OK;
}

static ox_status make_tensors(ox_loader *l, const ox_parsed *parsed, const attribute *p, ox_attr *attr) {
    const ox_tensor **tensors;
    OX_TRY(ox_build_get(&l->b, l->b.pile, p->n_tensors, sizeof *tensors, &tensors));
    for (size_t i = 0; i < p->n_tensors; i++)
        OX_TRY(ox_load_tensor(l, parsed, p->tensors[i], &tensors[i]));
    attr->u.tensors = tensors;
    attr->count = p->n_tensors;
    return OX_OK;
}

/* A sparse tensor is kept as a dense one, under the kind that it has. */
static ox_status make_sparse(ox_loader *l, const ox_parsed *parsed, const attribute *p, ox_attr *attr) {
#if OX_WITH_SPARSE
    ox_tensor *tensor;
    OX_TRY(ox_build_get(&l->b, l->b.pile, 1, sizeof *tensor, &tensor));
    attr->u.tensor = tensor;
    return ox_load_sparse(l, parsed, p->sparse_tensor, tensor);
#else
    (void)parsed, (void)p, (void)attr;
    return (ox_fail)(l->b.error, OX_ERROR_UNSUPPORTED, "this build of the library has no sparse tensors");
#endif
}

static ox_status make_graphs(ox_loader *l, ox_env *user, const ox_argument *meant, ox_attr *attr) {
    const attribute *p = meant->proto;
    ox_graph **graphs;
    if (!OX_WITH_SUBGRAPHS)
        return ox_fail(l->b.error, OX_ERROR_UNSUPPORTED,
                       "it is a graph, and this build of the library has no operator "
                       "with one");
    if (attr->kind == OX_ATTR_GRAPH)
        return ox_load_graph(l, meant->env->parsed, p->g, meant->env, user->scope, user->depth + 1, &attr->u.graph);
    OX_TRY(ox_build_get(&l->b, l->b.pile, p->n_graphs, sizeof *graphs, &graphs));
    for (size_t i = 0; i < p->n_graphs; i++)
        OX_TRY(
            ox_load_graph(l, meant->env->parsed, p->graphs[i], meant->env, user->scope, user->depth + 1, &graphs[i]));
    attr->u.graphs = graphs;
    attr->count = p->n_graphs;
    return OX_OK;
}

/* Values that do not depend on where the attribute is used. */
static ox_status make_value(ox_loader *l, const ox_parsed *parsed, const attribute *p, ox_attr *attr) {
    switch (attr->kind) {
    case OX_ATTR_FLOAT:
        attr->u.f = p->f;
        return OX_OK;
    case OX_ATTR_INT:
        attr->u.i = p->i;
        return OX_OK;
    case OX_ATTR_STRING:
        return make_string(l, &p->s, &attr->u.s);
    case OX_ATTR_TENSOR:
        return ox_load_tensor(l, parsed, p->t, &attr->u.tensor);
    case OX_ATTR_FLOATS:
    case OX_ATTR_INTS:
        return make_numbers(l, p, attr);
    case OX_ATTR_STRINGS:
        return make_strings(l, p, attr);
    case OX_ATTR_TENSORS:
        return make_tensors(l, parsed, p, attr);
    case OX_ATTR_SPARSE_TENSOR:
        return make_sparse(l, parsed, p, attr);
    case OX_ATTR_TYPE:
        return OX_WITH_VALUES ? ox_load_type_attr(l, p->tp, &attr->u.type) : OX_OK;
    default:
        return OX_OK;
    }
}

static ox_status make_attr(ox_loader *l, ox_env *user, const ox_argument *meant, ox_attr *attr) {
    const ox_parsed *parsed = meant->env->parsed;
    const ox_attr *kept = ox_load_cached(l, parsed, meant->proto);
    if (kept) {
        const char *name = attr->name;
        *attr = *kept;
        attr->name = name;
        return OX_OK;
    }
    OX_TRY(attr_kind(l, meant->proto, &attr->kind));
    if (attr->kind == OX_ATTR_GRAPH || attr->kind == OX_ATTR_GRAPHS)
        return make_graphs(l, user, meant, attr);
    OX_TRY(make_value(l, parsed, meant->proto, attr));
    ox_attr *copy;
    if (!OX_WITH_FUNCTIONS || !l->b.calls || parsed != l->parsed)
        return OX_OK;
    OX_TRY(ox_build_get(&l->b, &l->b.scratch, 1, sizeof *copy, &copy));
    *copy = *attr;
    return ox_load_keep(l, parsed, meant->proto, copy);
}

ox_status ox_load_argument(ox_loader *l, ox_env *env, const attribute *proto, ox_argument *argument) {
    const char *name;
    *argument = (ox_argument){proto, env};
    if (!proto->ref_attr_name || !*proto->ref_attr_name)
        return OX_OK;
    if (!OX_WITH_FUNCTIONS || !env->function)
        return ox_fail(l->b.error, OX_ERROR_MODEL, "it refers to attribute '%.*s' of a function, but is in none", 80,
                       proto->ref_attr_name);
    OX_TRY(ox_build_intern(&l->b, proto->ref_attr_name, &name));
    int32_t at = ox_map_get(&env->argument_index, OX_KEY(name), OX_MISSING);
    *argument = at < 0 ? (ox_argument){NULL, NULL} : env->arguments[at];
    if (argument->proto && proto->has_type && argument->proto->has_type && proto->type != argument->proto->type)
        return ox_fail(l->b.error, OX_ERROR_MODEL, "it wants a value of type %s, but '%.*s' of the call is of type %s",
                       ox_attr_kind_name((ox_attr_kind)proto->type), 80, name,
                       ox_attr_kind_name((ox_attr_kind)argument->proto->type));
    return OX_OK;
}

static ox_status build_one(ox_loader *l, ox_env *env, const attribute *proto, ox_attr *attr, bool *given) {
    ox_argument meant;
    OX_TRY(ox_load_argument(l, env, proto, &meant));
    *given = meant.proto != NULL;
    return *given ? make_attr(l, env, &meant, attr) : OX_OK;
}

static ox_status name_attrs(ox_loader *l, const Onnx__NodeProto *proto, ox_attr *attrs) {
    ox_map seen = {0};
    for (size_t i = 0; i < proto->n_attribute; i++) {
        OX_TRY(ox_build_intern(&l->b, proto->attribute[i]->name, &attrs[i].name));
        if (OX_WITH_CHECKS && !*attrs[i].name)
            return ox_fail(l->b.error, OX_ERROR_MODEL, "attribute %zu has no name", i);
        if (ox_map_get(&seen, OX_KEY(attrs[i].name), OX_MISSING) != OX_MISSING)
            return ox_fail(l->b.error, OX_ERROR_MODEL, "attribute '%.*s' is given twice", 80, attrs[i].name);
        OX_TRY(ox_build_set(&l->b, &seen, &l->b.stack, OX_KEY(attrs[i].name), 0));
    }
    return OX_OK;
}

#if !OX_SMALL
static ox_status count_list(ox_loader *l, ox_dtype dtype, size_t count, const void *data) {
    const int64_t dims[] = {(int64_t)count};
    return ox_load_count_weights(l, &(ox_tensor){dtype, 1, dims, NULL, (void *)(uintptr_t)data});
}

static ox_status count_attr(ox_loader *l, const ox_attr *attr, bool counts_numbers) {
    switch (attr->kind) {
    case OX_ATTR_TENSOR:
        return ox_load_count_weights(l, attr->u.tensor);
    case OX_ATTR_FLOATS:
        return count_list(l, OX_FLOAT, attr->count, attr->u.floats);
    case OX_ATTR_INTS:
        return count_list(l, OX_INT64, attr->count, attr->u.ints);
    case OX_ATTR_STRINGS:
        return count_list(l, OX_STRING, attr->count, attr->u.strings);
    case OX_ATTR_FLOAT:
        return counts_numbers ? count_list(l, OX_FLOAT, 1, NULL) : OX_OK;
    case OX_ATTR_INT:
        return counts_numbers ? count_list(l, OX_INT64, 1, NULL) : OX_OK;
    default:
        return OX_OK;
    }
}

/* Some attributes of nodes also count as parameters: the value of a Constant, the trees and coefficients of
 * ai.onnx.ml. */
static ox_status count_own(ox_loader *l, const Onnx__NodeProto *proto, const ox_node *node) {
    const bool is_constant = proto->op_type && strcmp(proto->op_type, "Constant") == 0;
    if (!is_constant && (!proto->domain || strcmp(proto->domain, "ai.onnx.ml") != 0))
        return OX_OK;
    for (int i = 0; i < node->nattrs; i++)
        OX_TRY(count_attr(l, &node->attrs[i], is_constant));
    return OX_OK;
}
#endif

ox_status ox_load_attrs(ox_loader *l, ox_env *env, const Onnx__NodeProto *proto, ox_node *node) {
    ox_attr *attrs;
    if (proto->n_attribute > OX_MOST_VALUES)
        return ox_fail(l->b.error, OX_ERROR_LIMIT, "it has more than %d attributes", (int)OX_MOST_VALUES);
    node->nattrs = 0;
    if (!OX_WITH_ATTRIBUTES || !proto->n_attribute)
        return OX_OK;
    OX_TRY(ox_build_work(&l->b, proto->n_attribute));
    OX_TRY(ox_build_get(&l->b, l->b.pile, proto->n_attribute, sizeof *attrs, &attrs));
    ox_pile_mark mark = ox_pile_save(&l->b.stack);
    OX_TRY(name_attrs(l, proto, attrs));
    ox_pile_restore(&l->b.stack, mark);
    for (size_t i = 0; i < proto->n_attribute; i++) {
        bool given;
        attrs[node->nattrs].name = attrs[i].name;
        ox_status status = build_one(l, env, proto->attribute[i], &attrs[node->nattrs], &given);
        if (status) {
            if (!l->located || !env->depth)
                ox_error_prefix(l->b.error, "attribute '%.*s': ", 60, attrs[i].name);
            return status;
        }
        OX_TRY(ox_build_text(&l->b, attrs[i].name, &attrs[node->nattrs].name));
        node->nattrs = (ox_index)(node->nattrs + given);
    }
    node->attrs = attrs;
#if !OX_SMALL
    OX_TRY(count_own(l, proto, node));
#endif
    return OX_OK;
}
