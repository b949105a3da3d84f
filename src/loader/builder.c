/* builder.c: small services for making a graph: names, arrays, tensors, types. */
#include "emit.h"

#include <string.h>

ox_status ox_build_work(ox_builder *b, uint64_t amount) {
    if (!OX_WITH_FUNCTIONS || !b->calls)
        return OX_OK;
    b->work += amount;
    const uint64_t paid = (uint64_t)b->nodes * OX_WORK_PER_NODE;
    if (b->work <= paid || (b->work - paid) / OX_WORK_AHEAD <= b->most_nodes)
        return OX_OK;
    return ox_fail(b->error, OX_ERROR_LIMIT, "the model-local functions expand to too much for the limit of %zu nodes",
                   b->most_nodes);
}

ox_status ox_build_intern_span(ox_builder *b, ox_span text, const char **name) {
    OX_TRY(ox_build_work(b, 1 + text.size / 32));
    *name =
        ox_intern(&b->names, OX_KEEP_NAMES ? b->pile : &b->scratch, &b->temporary, (const char *)text.bytes, text.size);
    return *name ? OX_OK : ox_fail_memory(b->error, "a name", text.size);
}

ox_status ox_build_intern(ox_builder *b, const char *text, const char **name) {
    const char *given = text ? text : "";
    return ox_build_intern_span(b, (ox_span){(const unsigned char *)given, ox_text_size(given, SIZE_MAX)}, name);
}

ox_status ox_build_text(ox_builder *b, const char *interned, const char **kept) {
    const size_t size = ox_text_size(interned, SIZE_MAX);
    char *copy;
    *kept = OX_KEEP_NAMES ? interned : "";
    if (OX_KEEP_NAMES || !size)
        return OX_OK;
    OX_TRY(ox_build_get(b, b->pile, size + 1, 1, &copy));
    *kept = memcpy(copy, interned, size);
    return OX_OK;
}

ox_status ox_build_domain(ox_builder *b, const char *text, const char **name) {
    return ox_build_intern(b, text && !ox_text_order(text, "ai.onnx") ? "" : text, name);
}

ox_status ox_build_get(ox_builder *b, ox_pile *pile, size_t count, size_t size, void *result) {
    OX_TRY(ox_build_work(b, 1 + (uint64_t)count * size / OX_WORK_BYTES));
    void *block = ox_pile_array(pile, count ? count : 1, size);
    memcpy(result, &block, sizeof block);
    return block ? OX_OK : ox_fail_memory(b->error, "the graph", count * size);
}

ox_status ox_build_grow(ox_builder *b, ox_pile *pile, void *array, int32_t count, int32_t *room, size_t size) {
    void *old, *grown;
    if (count < *room)
        return OX_OK;
    if (*room > INT32_MAX / 2)
        return ox_fail(b->error, OX_ERROR_LIMIT, "the model has more than %d values", (int)*room);
    memcpy(&old, array, sizeof old);
    int32_t larger = *room ? *room * 2 : 8;
    OX_TRY(ox_build_get(b, pile, (size_t)larger, size, &grown));
    if (count)
        memcpy(grown, old, (size_t)count * size);
    memcpy(array, &grown, sizeof grown);
    *room = larger;
    return OX_OK;
}

ox_status ox_build_set(ox_builder *b, ox_map *map, ox_pile *pile, uintptr_t key, int32_t value) {
    return ox_map_set(map, pile, key, value) ? OX_OK : ox_fail_memory(b->error, "a table of names", map->room * 16);
}

/* Two numbers make a key. */
enum {
    HALF_KEY = sizeof(uintptr_t) * 4
};

static ox_status number(ox_builder *b, ox_map *map, uintptr_t key, int32_t *id) {
    *id = ox_map_get(map, key, 0);
    if (*id)
        return OX_OK;
    if (b->next_id == OX_MOST_IDS)
        return ox_fail(b->error, OX_ERROR_LIMIT, "the model has too many names");
    *id = ++b->next_id;
    return ox_build_set(b, map, &b->scratch, key, *id);
}

ox_status ox_build_id(ox_builder *b, const char *interned, int32_t *id) {
    return number(b, &b->ids, OX_KEY(interned), id);
}

ox_status ox_build_pair(ox_builder *b, int32_t first, int32_t second, int32_t *id) {
    return number(b, &b->pairs, (uintptr_t)first << HALF_KEY | (uintptr_t)second, id);
}

const void *ox_build_cached(const ox_builder *b, const ox_parsed *parsed, const void *proto) {
    if (!OX_WITH_FUNCTIONS || parsed != b->parsed)
        return NULL;
    int32_t i = ox_map_get(&b->cache, OX_KEY(proto), OX_MISSING);
    return i < 0 ? NULL : b->cached[i];
}

ox_status ox_build_keep(ox_builder *b, const ox_parsed *parsed, const void *proto, const void *made) {
    if (!OX_WITH_FUNCTIONS || !b->calls || parsed != b->parsed)
        return OX_OK;
    OX_TRY(ox_build_grow(b, &b->scratch, &b->cached, b->ncached, &b->cache_room, sizeof *b->cached));
    b->cached[b->ncached] = made;
    return ox_build_set(b, &b->cache, &b->scratch, OX_KEY(proto), b->ncached++);
}

bool ox_build_locate(ox_builder *b, const ox_env *env) {
    bool first = !b->located;
    b->located = true;
    return first || !env->depth;
}

ox_status ox_build_tensor(ox_builder *b, const ox_parsed *parsed, const Onnx__TensorProto *proto,
                          const ox_tensor **tensor) {
    *tensor = ox_build_cached(b, parsed, proto);
    if (*tensor)
        return OX_OK;
    ox_tensor *made;
    OX_TRY(ox_build_get(b, b->pile, 1, sizeof *made, &made));
    OX_TRY(ox_build_elements(b, parsed, proto, made));
    *tensor = made;
    return ox_build_keep(b, parsed, proto, made);
}

ox_status ox_build_elements(ox_builder *b, const ox_parsed *parsed, const Onnx__TensorProto *proto, ox_tensor *made) {
    b->source.parsed = parsed;
    const size_t before = b->pile->used;
    OX_TRY(ox_payload_tensor(&b->source, proto, made));
    /* It may be made again and again. */
    return parsed == b->parsed ? OX_OK : ox_build_work(b, (b->pile->used - before) / OX_WORK_BYTES);
}

/* ---- Attributes --------------------------------------------------------------------------------------------- */

const ox_attr *ox_emit_attr(const ox_node *node, const char *name, ox_attr_kind kind) {
    for (int i = 0; node && i < node->nattrs; i++)
        if (node->attrs[i].kind == kind && !ox_text_order(node->attrs[i].name, name))
            return &node->attrs[i];
    return NULL;
}

int64_t ox_emit_int(const ox_node *node, const char *name, int64_t otherwise) {
    const ox_attr *attr = ox_emit_attr(node, name, OX_ATTR_INT);
    return attr ? attr->u.i : otherwise;
}

double ox_emit_float(const ox_node *node, const char *name, double otherwise) {
    const ox_attr *attr = ox_emit_attr(node, name, OX_ATTR_FLOAT);
    return attr ? (double)attr->u.f : otherwise;
}

/* ---- Types -------------------------------------------------------------------------------------------------- */

static ox_status dim_name(ox_builder *b, const char *text, const char **name) {
    OX_TRY(ox_build_intern(b, text, name));
    return ox_build_text(b, *name, name);
}

static ox_status take_shape(ox_builder *b, const Onnx__TensorShapeProto *shape, ox_declared *value) {
    if (shape->n_dim > OX_MAX_RANK)
        return ox_fail(b->error, OX_ERROR_LIMIT, "value '%.*s' has rank %zu, more than %d", 80, value->name,
                       shape->n_dim, OX_MAX_RANK);
    ox_shape *made;
    int64_t *dims;
    const char **names;
    OX_TRY(ox_build_get(b, b->pile, 1, sizeof *made, &made));
    OX_TRY(ox_build_get(b, b->pile, shape->n_dim, sizeof *dims, &dims));
    OX_TRY(ox_build_get(b, b->pile, shape->n_dim, sizeof *names, &names));
    for (size_t d = 0; d < shape->n_dim; d++) {
        const Onnx__TensorShapeProto__Dimension *dim = shape->dim[d];
        /* Some exporters write -1 for a dimension that they do not know. */
        bool fixed = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE && dim->dim_value >= 0;
        dims[d] = fixed ? dim->dim_value : -1;
        if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM && *dim->dim_param)
            OX_TRY(dim_name(b, dim->dim_param, &names[d]));
    }
    *made = (ox_shape){(int)shape->n_dim, dims, names};
    value->shape = made;
    return OX_OK;
}

static ox_status take_tensor_type(ox_builder *b, bool has_type, int32_t type, const Onnx__TensorShapeProto *shape,
                                  ox_declared *value) {
    if (has_type && (type < 0 || type >= OX_DTYPE_COUNT))
        return ox_fail(b->error, OX_ERROR_UNSUPPORTED, "value '%.*s': element type %d is not known (1 to %d are)", 80,
                       value->name, (int)type, (int)OX_DTYPE_COUNT - 1);
    value->dtype = has_type ? (ox_dtype)type : OX_UNDEFINED;
    return shape ? take_shape(b, shape, value) : OX_OK;
}

/* The messages of devices do not have what is inside such types. */
#if OX_SMALL
#define INNER(member) 0
#else
#define INNER(member) (member)
#endif

/* One level of a type: what it is around, NULL if it says nothing of that. */
static ox_kind type_level(const Onnx__TypeProto *proto, const Onnx__TypeProto **item, int32_t *key) {
    switch (proto->value_case) {
    case ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE:
        *item = INNER(proto->sequence_type->elem_type);
        return OX_KIND_SEQUENCE;
    case ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE:
        *item = INNER(proto->optional_type->elem_type);
        return OX_KIND_OPTIONAL;
    case ONNX__TYPE_PROTO__VALUE_MAP_TYPE:
        *item = INNER(proto->map_type->value_type);
        *key = INNER(proto->map_type->key_type);
        return OX_KIND_MAP;
    case ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE:
        return OX_KIND_TENSOR;
    case ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE:
        return OX_KIND_SPARSE;
    case ONNX__TYPE_PROTO__VALUE_OPAQUE_TYPE:
        return OX_KIND_OPAQUE;
    default:
        return OX_KIND_UNKNOWN;
    }
}

/* Messages nest no deeper than the walker lets them. */
static ox_status take_type(ox_builder *b, const Onnx__TypeProto *proto, const char *name, ox_dtype *type) {
    const Onnx__TypeProto *item = NULL;
    ox_dtype inner = OX_UNDEFINED;
    int32_t key = OX_UNDEFINED;
    const ox_kind kind = type_level(proto, &item, &key);
    ox_declared value = {.name = name};
    *type = OX_UNDEFINED;
    if (kind == OX_KIND_TENSOR) {
        const Onnx__TypeProto__Tensor *tensor = proto->tensor_type;
        OX_TRY(take_tensor_type(b, tensor->has_elem_type, tensor->elem_type, NULL, &value));
        *type = value.dtype;
        return OX_OK;
    }
    if (kind != OX_KIND_SEQUENCE && kind != OX_KIND_OPTIONAL && kind != OX_KIND_MAP)
        return ox_fail(b->error, OX_ERROR_UNSUPPORTED, "value '%.*s': a type around %s is not supported", 80, name,
                       kind == OX_KIND_UNKNOWN ? "nothing" : ox_kind_text(kind));
    if (item)
        OX_TRY(take_type(b, item, name, &inner));
    *type = ox_type_around(kind, (ox_dtype)key, inner);
    if (*type != OX_UNDEFINED)
        return OX_OK;
    return ox_fail(b->error, OX_ERROR_UNSUPPORTED,
                   "value '%.*s': its type, around %s, nests deeper than %d or has keys "
                   "that no map has",
                   80, name, OX_TYPE(inner), (int)OX_MOST_LEVELS);
}

ox_status ox_build_type(ox_builder *b, const Onnx__TypeProto *proto, ox_declared *value) {
    const Onnx__TypeProto *item;
    int32_t key;
    value->kind = type_level(proto, &item, &key);
    switch ((int)value->kind) {
    case OX_KIND_TENSOR:
        return take_tensor_type(b, proto->tensor_type->has_elem_type, proto->tensor_type->elem_type,
                                proto->tensor_type->shape, value);
    case OX_KIND_SPARSE:
        return take_tensor_type(b, proto->sparse_tensor_type->has_elem_type, proto->sparse_tensor_type->elem_type,
                                proto->sparse_tensor_type->shape, value);
    case OX_KIND_SEQUENCE:
    case OX_KIND_OPTIONAL:
    case OX_KIND_MAP:
        return OX_WITH_VALUES ? take_type(b, proto, value->name, &value->dtype) : OX_OK;
    default:
        return OX_OK;
    }
}

ox_status ox_build_type_attr(ox_builder *b, const Onnx__TypeProto *proto, ox_dtype *type) {
    return take_type(b, proto, "", type);
}
