/* quantized_elements.c: arithmetic of two tensors and means between quantizations become operators on integers. */
#include "quantized.h"

#include "ops/elementwise/byte_arithmetic.h"
#include "ops/reduce/byte_mean.h"
#include "ops/window/byte_pool.h"

#include <string.h>

#if OX_WITH_BYTE_MEANS || OX_WITH_BYTE_ARITHMETIC
/* A tensor of bytes with one scale. */
static bool read_bytes(const ox_requantizer *r, int32_t value, ox_quantization *q) {
    return ox_quant_source(r, value, q) && ox_quant_is_single(q) && ox_quant_is_byte(q);
}

/* ---- Arithmetic --------------------------------------------------------------------------------------------- */

#if OX_WITH_BYTE_ARITHMETIC
static const ox_op *arithmetic_of(const ox_node *node) {
    static const struct {
        const char *name;
        const ox_op *op;
    } all[] = {{"Add", &ox_op_qlinear_add},
               {"Sub", &ox_op_qlinear_sub},
               {"Mul", &ox_op_qlinear_mul},
               {"Div", &ox_op_qlinear_div}};
    for (size_t i = 0; node->version >= 7 && i < sizeof all / sizeof *all; i++)
        if (ox_build_is_op(node, all[i].name))
            return all[i].op;
    return NULL;
}

static ox_status rewrite_arithmetic(ox_requantizer *r, int32_t n, int32_t value, const ox_node *node, const ox_op *op,
                                    const ox_quantization *to) {
    ox_quantization a, b;
    if (!read_bytes(r, ox_quant_input(node, 0), &a) || !read_bytes(r, ox_quant_input(node, 1), &b))
        return OX_OK;
    const ox_index in[] = {a.node->in[0], a.scale, a.zero, b.node->in[0], b.scale, b.zero, to->scale, to->zero};
    return ox_quant_replace(r, n, value, node, op, 8, in);
}
#else
static const ox_op *arithmetic_of(const ox_node *node) {
    (void)node;
    return NULL;
}
static ox_status rewrite_arithmetic(ox_requantizer *r, int32_t n, int32_t value, const ox_node *node, const ox_op *op,
                                    const ox_quantization *to) {
    (void)r, (void)n, (void)value, (void)node, (void)op, (void)to;
    return OX_OK;
}
#endif

/* ---- Means -------------------------------------------------------------------------------------------------- */

#if OX_WITH_OWN_OPERATORS
/* Turns the axes input of ReduceMean into an attribute. False if the axes are not known, or nothing is reduced. */
static bool read_axes(const ox_requantizer *r, const ox_node *node, ox_attr *axes) {
    const int32_t value = ox_quant_input(node, 1);
    const ox_tensor *list = ox_quant_known(r, value);
    *axes = (ox_attr){.name = "axes", .kind = OX_ATTR_INTS};
    if (node->version < 18) {
        const ox_attr *attr = ox_emit_attr(node, "axes", OX_ATTR_INTS);
        *axes = attr ? *attr : *axes;
    } else if (value >= 0) {
        if (!list || list->dtype != OX_INT64 || list->rank != 1)
            return false;
        axes->count = (size_t)ox_tensor_count(list);
        axes->u.ints = list->data;
    }
    return axes->count || node->version < 18 || !ox_emit_int(node, "noop_with_empty_axes", 0);
}

/* The mean takes the axes and whether they are kept. */
static ox_status put_axes(ox_requantizer *r, int32_t n, const ox_node *from, const ox_attr *axes) {
    const int64_t keeps = ox_emit_int(from, "keepdims", 1);
    ox_attr *attrs;
    int64_t *list;
    OX_TRY(ox_build_get(r->b, r->b->pile, 2, sizeof *attrs, &attrs));
    OX_TRY(ox_build_get(r->b, r->b->pile, axes->count, sizeof *list, &list));
    if (axes->count)
        memcpy(list, axes->u.ints, axes->count * sizeof *list);
    attrs[0] = *axes;
    attrs[0].u.ints = list;
    attrs[1] = (ox_attr){.name = "keepdims", .kind = OX_ATTR_INT, .u.i = keeps};
    r->scope->nodes[n].attrs = attrs;
    r->scope->nodes[n].nattrs = 2;
    return OX_OK;
}

#endif

#if OX_WITH_BYTE_MEANS
static ox_status rewrite_mean(ox_requantizer *r, int32_t n, int32_t value, const ox_node *node, const ox_op *op,
                              const ox_quantization *to) {
    ox_quantization x;
    if (!read_bytes(r, ox_quant_input(node, 0), &x))
        return OX_OK;
    const ox_index in[] = {x.node->in[0], x.scale, x.zero, to->scale, to->zero};
    return ox_quant_replace(r, n, value, node, op, 5, in);
}
#endif

#if OX_WITH_OWN_OPERATORS
static ox_status rewrite_reduce_mean(ox_requantizer *r, int32_t n, int32_t value, const ox_node *node,
                                     const ox_quantization *to) {
    ox_attr axes;
    const ox_node from = *node;
    const ox_op *op = r->scope->nodes[n].op;
    if (!read_axes(r, node, &axes))
        return OX_OK;
    OX_TRY(rewrite_mean(r, n, value, node, &ox_op_qlinear_reduce_mean, to));
    return r->scope->nodes[n].op == op ? OX_OK : put_axes(r, n, &from, &axes);
}
#endif

ox_status ox_quant_elements(ox_requantizer *r, int32_t n, int32_t value, const ox_node *node,
                            const ox_quantization *to) {
    const ox_op *arithmetic = arithmetic_of(node);
    if (to->zero < 0 || !ox_quant_is_byte(to))
        return OX_OK;
    if (arithmetic)
        return rewrite_arithmetic(r, n, value, node, arithmetic, to);
#if OX_WITH_BYTE_MEANS
    if (ox_build_is_op(node, "AveragePool"))
        return rewrite_mean(r, n, value, node, &ox_op_qlinear_average_pool, to);
    if (ox_build_is_op(node, "GlobalAveragePool"))
        return rewrite_mean(r, n, value, node, &ox_op_qlinear_global_average_pool, to);
#endif
#if OX_WITH_OWN_OPERATORS
    if (r->own && ox_build_is_op(node, "ReduceMean"))
        return rewrite_reduce_mean(r, n, value, node, to);
#endif
    return OX_OK;
}
#endif
