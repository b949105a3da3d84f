/* flops.c: operations of dense nodes, from the shapes of their inputs and outputs. */
#include "flops.h"

#include <string.h>

/* An input or output whose dimensions are all known. */
typedef struct shape {
    int rank;
    const int64_t *dims;
} shape;

static shape shape_of(const ox_node_info *node, size_t index,
                      ox_status (*get)(const ox_node_info *, size_t, ox_value_info *)) {
    ox_value_info info;
    if (get(node, index, &info) || info.dtype == OX_UNDEFINED || info.rank < 0)
        return (shape){0};
    for (int d = 0; d < info.rank; d++)
        if (info.dims[d] < 0)
            return (shape){0};
    return (shape){info.rank, info.dims};
}

/* Dimension d, counted from the end if it is below 0; 0 if there is none. */
static double size_of(shape s, int d) {
    d += d < 0 ? s.rank : 0;
    return d >= 0 && d < s.rank ? (double)s.dims[d] : 0;
}

/* Elements; 0 if nothing is known. */
static double count_of(shape s) {
    double count = s.rank ? 1 : 0;
    for (int d = 0; d < s.rank; d++)
        count *= (double)s.dims[d];
    return count;
}

static shape input_of(const ox_node_info *node, size_t index) {
    return shape_of(node, index, ox_node_input);
}

static shape output_of(const ox_node_info *node) {
    return shape_of(node, 0, ox_node_output);
}

/* The element that one row of weights belongs to takes a product for each weight in the row. */
static double per_weight(double elements, shape weights) {
    const double rows = size_of(weights, 0);
    return rows > 0 ? 2 * elements * count_of(weights) / rows : 0;
}

static double matmul(const ox_node_info *node) {
    return 2 * count_of(output_of(node)) * size_of(input_of(node, 0), -1);
}

static double fused_matmul(const ox_node_info *node) {
    const int inner = !ox_node_int(node, "transA", 0) ? -1 : ox_node_int(node, "transBatchA", 0) ? 0 : -2;
    return 2 * count_of(output_of(node)) * size_of(input_of(node, 0), inner);
}

static double gemm(const ox_node_info *node) {
    return 2 * count_of(output_of(node)) * size_of(input_of(node, 0), ox_node_int(node, "transA", 0) ? 0 : 1);
}

static double conv(const ox_node_info *node) {
    return per_weight(count_of(output_of(node)), input_of(node, 1));
}

static double quantized_conv(const ox_node_info *node) {
    return per_weight(count_of(output_of(node)), input_of(node, 3));
}

static double transposed_conv(const ox_node_info *node) {
    return per_weight(count_of(input_of(node, 0)), input_of(node, 1));
}

/* The products with the input and with the state, for each step of each sequence. */
static double recurrent(const ox_node_info *node) {
    const shape x = input_of(node, 0);
    return 2 * size_of(x, 0) * size_of(x, 1) * (count_of(input_of(node, 1)) + count_of(input_of(node, 2)));
}

/* Queries times keys, and what comes of that times values, for keys of the past, too. */
static double attention(const ox_node_info *node) {
    const double keys = size_of(input_of(node, 1), -2) + size_of(input_of(node, 4), -2);
    const double given = count_of(output_of(node)); /* 0 of a node that only checks */
    return given > 0 ? 2 * keys * (count_of(input_of(node, 0)) + given) : 0;
}

/* The same for heads of com.microsoft, whose keys are in input 1, or beside queries. */
static double heads_behind(const ox_node_info *node, size_t past) {
    const shape q = input_of(node, 0), k = input_of(node, 1);
    const double keys = size_of(k.rank ? k : q, k.rank == 4 ? 2 : 1) + size_of(input_of(node, past), -2);
    return 4 * keys * count_of(output_of(node));
}

/* The products of as many experts as each token goes through: weights are inputs `first`, and every `apart`-th from
 * there. Those of QMoE are packed. */
static double experts(const ox_node_info *node, size_t first, size_t apart) {
    const shape x = input_of(node, 0), router = input_of(node, 1);
    double rows = 0;
    for (size_t i = 0; i < 3; i++)
        rows += i == 1 ? 0 : size_of(input_of(node, first + i * apart), 1);
    const shape down = input_of(node, first + apart), up = input_of(node, first);
    const double packs = size_of(up, 2) > 0 ? size_of(x, -1) / size_of(up, 2) : 0, inner = size_of(down, 2) * packs;
    return 2 * size_of(router, 0) * (double)ox_node_int(node, "k", 1) * size_of(x, -1) * (rows + inner);
}

static double mixture(const ox_node_info *node) {
    return experts(node, 2, 2);
}

static double packed_mixture(const ox_node_info *node) {
    return experts(node, 2, 3);
}

static double many_heads(const ox_node_info *node) {
    return heads_behind(node, 6);
}

static double grouped_heads(const ox_node_info *node) {
    return heads_behind(node, 3);
}

static const struct {
    const char *op;
    double (*count)(const ox_node_info *node);
} dense[] = {
    {"Attention", attention},
    {"CausalConvWithState", conv},
    {"Conv", conv},
    {"ConvInteger", conv},
    {"ConvTranspose", transposed_conv},
    {"DeformConv", conv},
    {"FusedMatMul", fused_matmul},
    {"GRU", recurrent},
    {"Gemm", gemm},
    {"GroupQueryAttention", grouped_heads},
    {"LSTM", recurrent},
    {"MatMul", matmul},
    {"MatMulBnb4", matmul},
    {"MatMulInteger", matmul},
    {"MatMulNBits", matmul},
    {"MoE", mixture},
    {"MultiHeadAttention", many_heads},
    {"QLinearConv", quantized_conv},
    {"QLinearMatMul", matmul},
    {"QMoE", packed_mixture},
    {"RNN", recurrent},
};

double ox_node_flops(const ox_node_info *node) {
    const bool known = !*node->domain || !strcmp(node->domain, "com.microsoft");
    for (size_t i = 0; i < sizeof dense / sizeof *dense && known; i++)
        if (strcmp(node->op, dense[i].op) == 0)
            return dense[i].count(node);
    return 0;
}
