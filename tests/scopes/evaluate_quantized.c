/* evaluate_quantized.c: operators on quantized tensors as their definitions say. Where nodes stand between such, scales
 * are powers of two, so that nothing is rounded before the end. */
#include <math.h>
#include <string.h>

#include "scopes.h"

/* The nearest, ties to even, within the limits of the type. */
static double saturate(ox_dtype dtype, double number) {
    const double least = dtype == OX_INT8 ? -128 : 0, most = dtype == OX_INT8 ? 127 : 255;
    return fmin(fmax(nearbyint(number), least), most);
}

static ox_dtype type_of(const scope_graph *g, const scope_node *node, int input) {
    return node->nin > input && node->in[input] >= 0 ? g->values[node->in[input]].dtype : OX_UINT8;
}

/* Of scales and zero points there is one. */
static bool is_for_all(const scope_graph *g, const scope_node *node, const int *inputs, int count) {
    for (int i = 0; i < count; i++) {
        const scope_value *v =
            node->nin > inputs[i] && node->in[inputs[i]] >= 0 ? &g->values[node->in[inputs[i]]] : NULL;
        if (v && scope_count(v->rank, v->dims) != 1)
            return false;
    }
    return true;
}

/* The number of the scale of element i: one for each block along an axis. */
static int64_t block_of(const scope_value *x, int d, int64_t size, int64_t i) {
    const int64_t count = x->dims[d], inner = scope_count(x->rank - d - 1, x->dims + d + 1);
    return (i / inner / count * ((count + size - 1) / size) + i / inner % count / size) * inner + i % inner;
}

/* (x - zero) * scale, or x / scale + zero; scales and zero points are one, or some along an axis. */
static bool evaluate_element(scope_graph *g, const scope_node *node, bool is_back) {
    static const int ones[] = {1, 2};
    const scope_value *x = &g->values[node->in[0]];
    const scope_attribute *axis = scope_find(node, "axis");
    const int64_t block = scope_find_int(node, "block_size", 0);
    scope_value *out = &g->values[node->outs[0]];
    if ((!axis && !is_for_all(g, node, ones, 2)) || node->nattrs > (axis != NULL) + (block != 0) ||
        !scope_shape_like(g, out, x))
        return false;
    const int d = !axis ? 0 : (int)axis->ints[0] + (axis->ints[0] < 0 ? x->rank : 0);
    const int64_t count = x->rank ? x->dims[d] : 1, inner = x->rank ? scope_count(x->rank - d - 1, x->dims + d + 1) : 1;
    out->dtype = is_back ? g->values[node->in[1]].dtype : type_of(g, node, 2);
    for (int64_t i = 0; i < scope_count(x->rank, x->dims); i++) {
        const int64_t at = block ? block_of(x, d, block, i) : i / inner % count;
        const double scale = scope_first(g, node, 1, at), zero = scope_first(g, node, 2, at);
        out->numbers[i] =
            is_back ? (x->numbers[i] - zero) * scale : saturate(out->dtype, nearbyint(x->numbers[i] / scale) + zero);
    }
    return true;
}

/* The factor of element i of a result: of a product those of its row and column, of a convolution that of its channel.
 */
static double factor_of(const scope_graph *g, const scope_node *node, const scope_value *out, int64_t i) {
    const double y_scale = scope_first(g, node, 6, 0);
    if (!strcmp(node->op, "QLinearMatMul")) {
        const int64_t columns = out->dims[out->rank - 1], rows = out->rank > 1 ? out->dims[out->rank - 2] : 1;
        return scope_first(g, node, 1, i / columns % rows) / y_scale * scope_first(g, node, 4, i % columns);
    }
    const int64_t channel = i / scope_count(out->rank - 2, out->dims + 2) % out->dims[1];
    return scope_first(g, node, 1, 0) * scope_first(g, node, 4, channel) / y_scale;
}

/* The node with the operands of a product alone, whose sums a scale and a zero point follow. */
static bool evaluate_sums(scope_graph *g, const scope_node *node) {
    static const int ones[] = {6, 7};
    scope_value *out = &g->values[node->outs[0]];
    scope_node sums = *node;
    if (!is_for_all(g, node, ones, 2))
        return false;
    if (!strcmp(node->op, "QLinearMatMul")) {
        sums.op = "MatMulInteger";
        sums.nin = 4;
        sums.in[1] = node->in[3], sums.in[2] = node->in[2], sums.in[3] = node->in[5];
        if (!scope_evaluate_product(g, &sums))
            return false;
    } else if (!scope_evaluate_window(g, &sums)) {
        return false;
    }
    const double zero = scope_first(g, node, 7, 0);
    out->dtype = type_of(g, node, 7);
    for (int64_t i = 0; i < scope_count(out->rank, out->dims); i++)
        out->numbers[i] = saturate(out->dtype, nearbyint(out->numbers[i] * factor_of(g, node, out, i)) + zero);
    return true;
}

bool scope_evaluate_quantized(scope_graph *g, const scope_node *node) {
    if (!strcmp(node->op, "DequantizeLinear") || !strcmp(node->op, "QuantizeLinear"))
        return evaluate_element(g, node, *node->op == 'D');
    return (!strcmp(node->op, "QLinearMatMul") || !strcmp(node->op, "QLinearConv")) && evaluate_sums(g, node);
}
