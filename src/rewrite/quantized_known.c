/* quantized_known.c: what is known of values of a quantized network before it runs. */
#include "quantized.h"

#include <string.h>

/* Products of scales and sums of integers neither overflow nor underflow floats. */
#define LEAST_SCALE 0x1p-48f
#define MOST_SCALE 0x1p48f

enum {
    MOST_STEPS = 16 /* operators that only move a value, to what gives its type */
};

/* ---- What is known ------------------------------------------------------------------------------------------ */

ox_int_range ox_quant_range(ox_dtype dtype) {
    switch ((int)dtype) {
    case OX_UINT8:
        return (ox_int_range){0, UINT8_MAX};
    case OX_INT8:
        return (ox_int_range){INT8_MIN, INT8_MAX};
    case OX_UINT16:
        return (ox_int_range){0, UINT16_MAX};
    case OX_INT16:
        return (ox_int_range){INT16_MIN, INT16_MAX};
    default:
        return (ox_int_range){0, 0};
    }
}

int32_t ox_quant_input(const ox_node *node, int i) {
    return node && i < node->nin ? node->in[i] : OX_NONE;
}

/* The node that gives a value, NULL if none does. */
const ox_node *ox_quant_maker(const ox_requantizer *r, int32_t value) {
    const int32_t n = value < 0 ? OX_NOBODY : r->makers[value];
    return n < 0 ? NULL : &r->scope->nodes[n];
}

/* The same if the node is of that operator. */
const ox_node *ox_quant_made_by(const ox_requantizer *r, int32_t value, const char *name) {
    const ox_node *node = ox_quant_maker(r, value);
    return node && ox_build_is_op(node, name) ? node : NULL;
}

/* A value that is the same in every run; NULL if it is not known. */
const ox_tensor *ox_quant_known(const ox_requantizer *r, int32_t value) {
    const ox_node *constant = ox_quant_made_by(r, value, "Constant");
    const ox_attr *attr = ox_emit_attr(constant, "value", OX_ATTR_TENSOR);
    const ox_tensor *tensor = attr ? attr->u.tensor : ox_scope_initializer(r->scope, value);
    return tensor && tensor->data ? tensor : NULL;
}

#if OX_WITH_WIDENING
/* The type that a value has in the model: the same as what it is computed from; that of the scales, behind a
 * DequantizeLinear. OX_UNDEFINED where it is not known. */
static ox_dtype written_type(const ox_requantizer *r, int32_t value) {
    for (int steps = 0; value >= 0 && steps < MOST_STEPS; steps++) {
        const ox_node *node = ox_quant_maker(r, value);
        const bool scaled = node && ox_build_is_op(node, "DequantizeLinear");
        const ox_tensor *known = ox_quant_known(r, value);
        if (!node)
            return r->scope->values[value].written;
        if (known)
            return (ox_dtype)ox_emit_int(node, OX_ATTR_WIDENED, known->dtype);
        value = ox_quant_input(node, scaled || ox_build_is_op(node, "Where") ? 1 : 0);
    }
    return OX_UNDEFINED;
}

/* Whether that is what the model states, if it does. */
static bool is_written_as_stated(const ox_requantizer *r, int32_t value) {
    const ox_dtype stated = r->scope->values[value].written;
    return !r->b->model->options.float16_sums || stated == OX_UNDEFINED || stated == written_type(r, value);
}
#endif

bool ox_quant_may_go(const ox_requantizer *r, int32_t value) {
    if (value < 0)
        return false;
#if OX_WITH_WIDENING
    if (!is_written_as_stated(r, value))
        return false;
#endif
    return r->scope->values[value].dtype == OX_UNDEFINED || r->scope->values[value].dtype == OX_FLOAT;
}

float ox_quant_float(const ox_tensor *tensor, int64_t i) {
    float value;
    memcpy(&value, (const char *)tensor->data + i * (int64_t)sizeof value, sizeof value);
    return value;
}

/* One scale serves all entries. */
float ox_quant_scale(const ox_quantization *q, int64_t i) {
    return ox_quant_float(q->scales, q->count == 1 ? 0 : i);
}

int64_t ox_quant_zero(const ox_quantization *q, int64_t i) {
    return q->zeros ? ox_tensor_int(q->zeros, q->count == 1 ? 0 : i) : 0;
}

/* The same where the one element of a list may be its scalar, as com.microsoft's operators write it. */
static const ox_tensor *known_list(const ox_requantizer *r, int32_t value) {
    const ox_node *squeeze = ox_quant_made_by(r, value, "Squeeze");
    const ox_tensor *tensor = ox_quant_known(r, squeeze ? squeeze->in[0] : value);
    return squeeze && tensor && ox_tensor_count(tensor) != 1 ? NULL : tensor;
}

/* ---- Moves -------------------------------------------------------------------------------------------------- */

/* The attribute has this text; or is missing, which means the same. */
static bool says(const ox_node *node, const char *name, const char *text, bool otherwise) {
    const ox_attr *attr = ox_emit_attr(node, name, OX_ATTR_STRING);
    return attr ? ox_says(attr->u.s, text) : otherwise;
}

/* Moves by one of its modes. */
static bool is_moving_mode(const ox_node *node) {
    if (ox_build_is_op(node, "Pad"))
        return node->version >= 11;
    return ox_build_is_op(node, "Resize") && node->version >= 11 && says(node, "mode", "nearest", true) &&
           !says(node, "coordinate_transformation_mode", "tf_crop_and_resize", false);
}

bool ox_quant_is_move(const ox_node *node) {
    static const char *const moves[] = {"Concat",   "DepthToSpace", "Expand",    "Flatten",   "Gather",
                                        "Identity", "MaxPool",      "Reshape",   "Slice",     "SpaceToDepth",
                                        "Squeeze",  "Tile",         "Transpose", "Unsqueeze", "Where"};
    if (!node || !node->nin)
        return false;
    if (ox_build_is_op(node, "Split"))
        return true;
    if (node->nout != 1)
        return false;
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (ox_build_is_op(node, moves[i]))
            return true;
    return is_moving_mode(node);
}

/* ---- Quantizations ------------------------------------------------------------------------------------------ */

/* Attributes that change what the node computes. */
static bool has_plain_attrs(const ox_node *node, int64_t output) {
    const int64_t dtype = ox_emit_int(node, "output_dtype", 0), precision = ox_emit_int(node, "precision", 0);
    return !ox_emit_int(node, "block_size", 0) && (!dtype || dtype == output) && (!precision || precision == OX_FLOAT);
}

static bool has_plain_scales(const ox_quantization *q) {
    for (int64_t i = 0; i < q->count; i++) {
        const float scale = ox_quant_float(q->scales, i);
        if (!(scale >= LEAST_SCALE && scale <= MOST_SCALE))
            return false;
    }
    return true;
}

/* The node of the model that gives a value, which an integer operator may have replaced. */
static const ox_node *model_maker(const ox_requantizer *r, int32_t value) {
    const int32_t n = value < 0 ? OX_NOBODY : r->makers[value];
    if (OX_KEEP_WRITTEN && r->scope->written && n >= 0)
        return &r->scope->written->graph.nodes[n];
    return ox_quant_maker(r, value);
}

ox_dtype ox_quant_written_type(const ox_requantizer *r, const ox_node *node) {
    const ox_tensor *zeros = known_list(r, ox_quant_input(node, 2));
    if (ox_quant_input(node, 2) >= 0)
        return zeros ? zeros->dtype : OX_UNDEFINED;
    const int64_t dtype = ox_emit_int(node, "output_dtype", 0);
    return dtype ? (ox_dtype)dtype : OX_UINT8;
}

/* The type of the result of a node other than a move; OX_UNDEFINED where it is not known. */
static ox_dtype given_type(const ox_requantizer *r, const ox_node *node) {
    if (ox_build_is_op(node, "QuantizeLinear"))
        return ox_quant_written_type(r, node);
    if (ox_build_is_op(node, "Cast"))
        return (ox_dtype)ox_emit_int(node, "to", OX_UNDEFINED);
    const bool has_zero = ox_build_is_op(node, "QLinearConv") || ox_build_is_op(node, "QLinearMatMul");
    const ox_tensor *zeros = has_zero ? ox_quant_known(r, ox_quant_input(node, 7)) : NULL;
    return zeros ? zeros->dtype : OX_UNDEFINED;
}

/* The type of a value, where it is stated, or known by what gives it; OX_UNDEFINED elsewhere. */
static ox_dtype type_of(const ox_requantizer *r, int32_t value) {
    for (int steps = 0; value >= 0 && steps < MOST_STEPS; steps++) {
        const ox_tensor *known = ox_quant_known(r, value);
        const ox_dtype stated = r->scope->values[value].dtype;
        const ox_node *node = model_maker(r, value);
        if (known || stated != OX_UNDEFINED)
            return known ? known->dtype : stated;
        if (!node || !ox_quant_is_move(node))
            return node ? given_type(r, node) : OX_UNDEFINED;
        value = ox_quant_input(node, ox_build_is_op(node, "Where") ? 1 : 0);
    }
    return OX_UNDEFINED;
}

/* A zero point of another type than the integers is the model's fault, which the node itself tells. */
static bool fits_integers(const ox_requantizer *r, ox_quantization *q) {
    const ox_dtype type = q->zeros ? type_of(r, ox_quant_input(q->node, 0)) : q->dtype;
    q->is_sure = type != OX_UNDEFINED;
    return type == OX_UNDEFINED || type == q->dtype;
}

bool ox_quant_read(const ox_requantizer *r, const ox_node *node, bool back, ox_quantization *q) {
    if (!node)
        return false;
    *q = (ox_quantization){.node = node,
                           .scale = (ox_index)ox_quant_input(node, 1),
                           .zero = (ox_index)ox_quant_input(node, 2),
                           .scales = known_list(r, ox_quant_input(node, 1)),
                           .zeros = known_list(r, ox_quant_input(node, 2)),
                           .axis = ox_emit_attr(node, "axis", OX_ATTR_INT)};
    if (!q->scales || q->scales->dtype != OX_FLOAT || q->scales->rank > 1 || (!q->zeros && q->zero >= 0))
        return false;
    q->count = ox_tensor_count(q->scales);
    q->dtype = q->zeros ? q->zeros->dtype : back ? r->scope->values[node->in[0]].dtype : OX_UINT8;
    if (back && !ox_quant_may_go(r, node->out[0]))
        return false;
    if (q->count < 1 || (q->zeros && (q->zeros->rank > 1 || ox_tensor_count(q->zeros) != q->count)))
        return false;
    return has_plain_attrs(node, back ? OX_FLOAT : q->dtype) && has_plain_scales(q) && (!back || fits_integers(r, q));
}

/* What a DequantizeLinear makes floats of. */
bool ox_quant_source(const ox_requantizer *r, int32_t value, ox_quantization *q) {
    return ox_quant_read(r, ox_quant_made_by(r, value, "DequantizeLinear"), true, q);
}

/* Has one scale for all elements. */
bool ox_quant_is_single(const ox_quantization *q) {
    return q->count == 1 && ox_quant_range(q->dtype).high > 0;
}

bool ox_quant_is_byte(const ox_quantization *q) {
    return q->dtype == OX_UINT8 || q->dtype == OX_INT8;
}

/* Has one scale, or one for each entry of that axis of a tensor. */
bool ox_quant_is_along(const ox_quantization *q, const ox_tensor *tensor, int axis) {
    if (q->count == 1)
        return true;
    const int64_t given = q->axis ? q->axis->u.i : 1;
    return q->node->version >= 13 && q->scales->rank == 1 && q->count == tensor->dims[axis] &&
           (given == axis || given == axis - tensor->rank);
}

bool ox_quant_is_same(const ox_quantization *a, const ox_quantization *b) {
    const float one = ox_quant_float(a->scales, 0), other = ox_quant_float(b->scales, 0);
    return a->dtype == b->dtype && !memcmp(&one, &other, sizeof one) && ox_quant_zero(a, 0) == ox_quant_zero(b, 0);
}
