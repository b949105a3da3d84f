/* evaluate_blocks.c: operators on weights in blocks as their definitions say. */
#include <math.h>
#include <string.h>

#include "scopes.h"

/* Integer i of bytes that hold several, the lowest bits first. */
static double integer_of(const scope_value *packed, int64_t first, int64_t i, int64_t bits) {
    const int64_t byte = (int64_t)packed->numbers[first + i * bits / 8];
    return (double)(byte >> i * bits % 8 & ((1 << bits) - 1));
}

static const scope_value *input_of(const scope_graph *g, const scope_node *node, int i) {
    return node->nin > i && node->in[i] >= 0 ? &g->values[node->in[i]] : NULL;
}

/* Element [n, k] of the weights of MatMulNBits. */
static double nbits_weight(const scope_graph *g, const scope_node *node, int64_t n, int64_t k) {
    const scope_value *data = input_of(g, node, 1), *zeros = input_of(g, node, 3), *groups = input_of(g, node, 4);
    const int64_t bits = scope_find_int(node, "bits", 4), size = scope_find_int(node, "block_size", 0),
                  blocks = data->dims[1], block = groups ? (int64_t)groups->numbers[k] : k / size,
                  row = (blocks * bits + 7) / 8;
    double zero = (double)(1 << (bits - 1));
    if (zeros)
        zero = zeros->dtype == OX_UINT8 ? integer_of(zeros, n * row, block, bits) : zeros->numbers[n * blocks + block];
    return (integer_of(data, n * blocks * data->dims[2], k, bits) - zero) *
           input_of(g, node, 2)->numbers[n * blocks + block];
}

/* Of MatMulBnb4: codes that stand for numbers with few digits; others are not known here. */
static double code_weight(const scope_graph *g, const scope_node *node, int64_t n, int64_t k) {
    static const double floats[16] = {0, NAN, NAN, 1, NAN, 0.5, NAN, NAN, NAN, NAN, NAN, NAN, NAN, -0.5, NAN, NAN},
                        normal[16] = {-1, NAN, NAN, NAN, NAN, NAN, NAN, 0, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 1};
    const int64_t i = n * scope_find_int(node, "K", 0) + k, byte = (int64_t)input_of(g, node, 1)->numbers[i / 2],
                  code = i % 2 ? byte & 15 : byte >> 4;
    return (scope_find_int(node, "quant_type", 0) ? normal : floats)[code] *
           input_of(g, node, 2)->numbers[i / scope_find_int(node, "block_size", 0)];
}

static bool evaluate_product(scope_graph *g, const scope_node *node, bool has_codes) {
    const scope_value *a = input_of(g, node, 0), *bias = has_codes ? NULL : input_of(g, node, 5);
    const bool is_turned = !has_codes || scope_find_int(node, "transB", 1);
    const int64_t depth = a->dims[a->rank - 1], n = scope_find_int(node, "N", 0), k = scope_find_int(node, "K", 0),
                  width = is_turned ? n : k, rows = scope_count(a->rank - 1, a->dims);
    scope_value *out = &g->values[node->outs[0]];
    out->dtype = a->dtype;
    out->rank = a->rank;
    memcpy(out->dims, a->dims, sizeof out->dims);
    out->dims[a->rank - 1] = width;
    if (!scope_room(g, out))
        return false;
    for (int64_t j = 0; j < width; j++) {
        for (int64_t i = 0; i < rows; i++)
            out->numbers[i * width + j] = bias ? bias->numbers[j] : 0;
        for (int64_t d = 0; d < depth; d++) {
            const double weight =
                !has_codes ? nbits_weight(g, node, j, d) : code_weight(g, node, is_turned ? j : d, is_turned ? d : j);
            for (int64_t i = 0; i < rows; i++)
                out->numbers[i * width + j] += a->numbers[i * depth + d] * weight;
        }
    }
    for (int64_t i = 0; i < rows * width; i++)
        out->numbers[i] = scope_round(out->dtype, out->numbers[i]);
    return true;
}

/* The first dimension is picked from, the last one has the blocks. */
static bool evaluate_gather(scope_graph *g, const scope_node *node) {
    const scope_value *data = input_of(g, node, 0), *indices = input_of(g, node, 1), *scales = input_of(g, node, 2),
                      *zeros = input_of(g, node, 3);
    const int last = data->rank - 1;
    const int64_t bits = scope_find_int(node, "bits", 4), size = scope_find_int(node, "block_size", 128),
                  length = data->dims[last] * 8 / bits, blocks = scales->dims[last],
                  between = scope_count(last - 1, data->dims + 1);
    scope_value *out = &g->values[node->outs[0]];
    out->dtype = scales->dtype;
    out->rank = indices->rank + last;
    memcpy(out->dims, indices->dims, sizeof out->dims);
    memcpy(out->dims + indices->rank, data->dims + 1, (size_t)last * sizeof *out->dims);
    out->dims[out->rank - 1] = length;
    if (!scope_room(g, out))
        return false;
    for (int64_t i = 0; i < scope_count(out->rank, out->dims); i++) {
        const int64_t slice = i / length, k = i % length, n = data->dims[0];
        int64_t index = (int64_t)indices->numbers[slice / between];
        index += index < 0 ? n : 0;
        const int64_t row = index * between + slice % between, block = row * blocks + k / size;
        if (index < 0 || index >= n) {
            out->numbers[i] = 0;
            continue;
        }
        const double zero = zeros ? integer_of(zeros, row * zeros->dims[last], k / size, bits) : (1 << (bits - 1));
        out->numbers[i] = scope_round(out->dtype, (integer_of(data, row * data->dims[last], k, bits) - zero) *
                                                      scales->numbers[block]);
    }
    return true;
}

bool scope_evaluate_blocks(scope_graph *g, const scope_node *node) {
    if (!strcmp(node->op, "GatherBlockQuantized"))
        return evaluate_gather(g, node);
    const bool has_codes = !strcmp(node->op, "MatMulBnb4");
    return (has_codes || !strcmp(node->op, "MatMulNBits")) && evaluate_product(g, node, has_codes);
}
