/* type_proto.c: what a model states of a value: its kind, element type and shape. */
#include "loader.h"

static ox_status dim_name(ox_loader *l, const char *text, const char **name) {
    OX_TRY(ox_build_intern(&l->b, text, name));
    return ox_build_text(&l->b, *name, name);
}

static ox_status take_shape(ox_loader *l, const Onnx__TensorShapeProto *shape, ox_declared *value) {
    if (shape->n_dim > OX_MAX_RANK)
        return ox_fail(l->b.error, OX_ERROR_LIMIT, "value '%.*s' has rank %zu, more than %d", 80, value->name,
                       shape->n_dim, OX_MAX_RANK);
    ox_shape *made;
    int64_t *dims;
    const char **names;
    OX_TRY(ox_build_get(&l->b, l->b.pile, 1, sizeof *made, &made));
    OX_TRY(ox_build_get(&l->b, l->b.pile, shape->n_dim, sizeof *dims, &dims));
    OX_TRY(ox_build_get(&l->b, l->b.pile, shape->n_dim, sizeof *names, &names));
    for (size_t d = 0; d < shape->n_dim; d++) {
        const Onnx__TensorShapeProto__Dimension *dim = shape->dim[d];
        /* Some exporters write -1 for a dimension that they do not know. */
        bool fixed = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE && dim->dim_value >= 0;
        dims[d] = fixed ? dim->dim_value : -1;
        if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM && *dim->dim_param)
            OX_TRY(dim_name(l, dim->dim_param, &names[d]));
    }
    *made = (ox_shape){(int)shape->n_dim, dims, names};
    value->shape = made;
    return OX_OK;
}

static ox_status take_tensor_type(ox_loader *l, bool has_type, int32_t type, const Onnx__TensorShapeProto *shape,
                                  ox_declared *value) {
    if (has_type && (type < 0 || type >= OX_DTYPE_COUNT))
        return ox_fail(l->b.error, OX_ERROR_UNSUPPORTED, "value '%.*s': element type %d is not known (1 to %d are)", 80,
                       value->name, (int)type, (int)OX_DTYPE_COUNT - 1);
    value->dtype = has_type ? (ox_dtype)type : OX_UNDEFINED;
    return shape ? take_shape(l, shape, value) : OX_OK;
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
static ox_status take_type(ox_loader *l, const Onnx__TypeProto *proto, const char *name, ox_dtype *type) {
    const Onnx__TypeProto *item = NULL;
    ox_dtype inner = OX_UNDEFINED;
    int32_t key = OX_UNDEFINED;
    const ox_kind kind = type_level(proto, &item, &key);
    ox_declared value = {.name = name};
    *type = OX_UNDEFINED;
    if (kind == OX_KIND_TENSOR) {
        const Onnx__TypeProto__Tensor *tensor = proto->tensor_type;
        OX_TRY(take_tensor_type(l, tensor->has_elem_type, tensor->elem_type, NULL, &value));
        *type = value.dtype;
        return OX_OK;
    }
    if (kind != OX_KIND_SEQUENCE && kind != OX_KIND_OPTIONAL && kind != OX_KIND_MAP)
        return ox_fail(l->b.error, OX_ERROR_UNSUPPORTED, "value '%.*s': a type around %s is not supported", 80, name,
                       kind == OX_KIND_UNKNOWN ? "nothing" : ox_kind_text(kind));
    if (item)
        OX_TRY(take_type(l, item, name, &inner));
    *type = ox_type_around(kind, (ox_dtype)key, inner);
    if (*type != OX_UNDEFINED)
        return OX_OK;
    return ox_fail(l->b.error, OX_ERROR_UNSUPPORTED,
                   "value '%.*s': its type, around %s, nests deeper than %d or has keys "
                   "that no map has",
                   80, name, OX_TYPE(inner), (int)OX_MOST_LEVELS);
}

ox_status ox_load_type(ox_loader *l, const Onnx__TypeProto *proto, ox_declared *value) {
    const Onnx__TypeProto *item;
    int32_t key;
    value->kind = type_level(proto, &item, &key);
    switch ((int)value->kind) {
    case OX_KIND_TENSOR:
        return take_tensor_type(l, proto->tensor_type->has_elem_type, proto->tensor_type->elem_type,
                                proto->tensor_type->shape, value);
    case OX_KIND_SPARSE:
        return take_tensor_type(l, proto->sparse_tensor_type->has_elem_type, proto->sparse_tensor_type->elem_type,
                                proto->sparse_tensor_type->shape, value);
    case OX_KIND_SEQUENCE:
    case OX_KIND_OPTIONAL:
    case OX_KIND_MAP:
        return OX_WITH_VALUES ? take_type(l, proto, value->name, &value->dtype) : OX_OK;
    default:
        return OX_OK;
    }
}

ox_status ox_load_type_attr(ox_loader *l, const Onnx__TypeProto *proto, ox_dtype *type) {
    return take_type(l, proto, "", type);
}
