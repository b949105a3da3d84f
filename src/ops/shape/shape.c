/* shape.c: operators that turn shapes into tensors and back: Shape, Size, Constant, ConstantOfShape. */
#include "ops/axes.h"
#include "iterate/bcast.h"
#include "loops/element.h"

#include <string.h>

/* ---- Shape, Size -------------------------------------------------------------------------------------------- */

/* An end of the range of axes that Shape gives, in [0, rank]. */
static int shape_end(int64_t axis, int rank) {
    axis += axis < 0 ? rank : 0;
    return axis < 0 ? 0 : axis > rank ? rank : (int)axis;
}

static void shape_range(ox_call *call, int *start, int *end) {
    int rank = call->in[0]->rank;
    bool part = call->op->since >= 15;
    *start = part ? shape_end(ox_call_int(call, "start", 0), rank) : 0;
    *end = part ? shape_end(ox_call_int(call, "end", rank), rank) : rank;
}

ox_status ox_infer_shape(ox_call *call) {
    int start, end;
    shape_range(call, &start, &end);
    int64_t count = start < end ? end - start : 0;
    return ox_call_output(call, 0, OX_INT64, 1, &count);
}

ox_status ox_run_shape(ox_call *call) {
    int start, end;
    shape_range(call, &start, &end);
    for (int d = start; d < end; d++)
        OX_AT(ox_i64, (char *)call->out[0]->data + (d - start) * 8) = call->in[0]->dims[d];
    return OX_OK;
}

ox_status ox_infer_size(ox_call *call) {
    return ox_call_output(call, 0, OX_INT64, 0, &(int64_t){0});
}

ox_status ox_run_size(ox_call *call) {
    OX_AT(ox_i64, call->out[0]->data) = ox_tensor_count(call->in[0]);
    return OX_OK;
}

/* ---- Constant ----------------------------------------------------------------------------------------------- */

/* The forms that a constant may have; the lists and scalars of each element type share one attribute kind. */
static const struct constant_form {
    const char *name;
    ox_attr_kind kind;
    ox_dtype dtype;
    int rank;
} constant_forms[] = {
    {"value_float", OX_ATTR_FLOAT, OX_FLOAT, 0},    {"value_floats", OX_ATTR_FLOATS, OX_FLOAT, 1},
    {"value_int", OX_ATTR_INT, OX_INT64, 0},        {"value_ints", OX_ATTR_INTS, OX_INT64, 1},
    {"value_string", OX_ATTR_STRING, OX_STRING, 0}, {"value_strings", OX_ATTR_STRINGS, OX_STRING, 1},
};
enum {
    CONSTANT_FORMS = sizeof constant_forms / sizeof *constant_forms
};

static const void *constant_data(const ox_attr *attr) {
    switch ((int)attr->kind) {
    case OX_ATTR_FLOAT:
        return &attr->u.f;
    case OX_ATTR_INT:
        return &attr->u.i;
    case OX_ATTR_STRING:
        return &attr->u.s;
    case OX_ATTR_FLOATS:
        return attr->u.floats;
    case OX_ATTR_INTS:
        return attr->u.ints;
    default:
        return attr->u.strings;
    }
}

/* The value as a tensor over the attribute's own memory; false if the node has none. *dim is room for a dimension. */
static bool constant_value(ox_call *call, ox_tensor *tensor, int64_t *dim) {
    const ox_attr *attr = ox_call_attr(call, "value", OX_ATTR_TENSOR);
    if (OX_WITH_SPARSE && !attr) /* dense by now */
        attr = ox_call_attr(call, "sparse_value", OX_ATTR_SPARSE_TENSOR);
    if (attr) {
        *tensor = *attr->u.tensor;
        return true;
    }
    for (int i = 0; i < CONSTANT_FORMS; i++) {
        const struct constant_form *form = &constant_forms[i];
        attr = ox_call_attr(call, form->name, form->kind);
        if (!attr)
            continue;
        *dim = (int64_t)attr->count;
        *tensor = (ox_tensor){.dtype = form->dtype, .rank = form->rank, .dims = dim};
        tensor->data = (void *)(uintptr_t)constant_data(attr); /* only read from */
        return true;
    }
    return false;
}

ox_status ox_infer_constant(ox_call *call) {
    ox_tensor value;
    int64_t dim;
    if (!constant_value(call, &value, &dim))
        return ox_call_fail(call, OX_ERROR_MODEL, "the value is missing");
    return ox_call_give(call, 0, &value);
}

/* ---- ConstantOfShape ---------------------------------------------------------------------------------------- */

ox_status ox_infer_constant_of_shape(ox_call *call) {
    const ox_attr *attr = ox_call_attr(call, "value", OX_ATTR_TENSOR);
    if (attr && ox_tensor_count(attr->u.tensor) != 1)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'value' has shape %s, one element is expected",
                            OX_DIMS(attr->u.tensor->rank, attr->u.tensor->dims));
    ox_short_list shape;
    OX_TRY(ox_list_input(call, 0, OX_BIT(OX_INT64), &shape));
    for (int d = 0; d < shape.count; d++)
        if (shape.value[d] < 0)
            return ox_call_fail(call, OX_ERROR_SHAPE, "shape %s has a negative dimension",
                                OX_DIMS(shape.count, shape.value));
    return ox_call_output(call, 0, attr ? attr->u.tensor->dtype : OX_FLOAT, shape.count, shape.value);
}

ox_status ox_run_constant_of_shape(ox_call *call) {
    const ox_attr *attr = ox_call_attr(call, "value", OX_ATTR_TENSOR);
    const ox_tensor *out = call->out[0];
    const float zero = 0;
    const void *value = attr ? attr->u.tensor->data : &zero;
    int64_t strides[OX_MAX_RANK];
    static const int64_t still[OX_MAX_RANK] = {0};
    ox_tensor_strides(out, strides);
    ox_move(call->loops, call->pool, out->rank, out->dims, ox_dtype_size(out->dtype), out->data, strides, value, still);
    return OX_OK;
}
