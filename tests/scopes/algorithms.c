/* algorithms.c: by which algorithms nodes were computed, and which of them no graph took. */
#include <stdio.h>
#include <string.h>

#include "scopes.h"

/* All that this machine has: a graph has to take each. */
static const char *const all[] = {
    "MatMul: one row along rows of B",
    "MatMul: one column along columns of A",
    "MatMul: product with panels of B",
    "MatMul: one row of dot products",
    "MatMul: one column of dot products",
    "MatMul: one row with B in panels kept",
    "MatMul: product with B in panels kept",
    "MatMul: product with B as it lies",
    "MatMul: product with B as it lies, but for an edge",
    "FusedMatMul: product with panels of B",
    "FusedMatMul: product with B in panels kept",
    "FusedMatMul: product with B as it lies, but for an edge",
    "FusedMatMul: product with B as it lies",
    "FusedMatMul: one row along rows of B",
    "FusedMatMul: one row of dot products",
    "FusedMatMul: one row with B in panels kept",
    "FusedMatMul: one column along columns of A",
    "FusedMatMul: one column of dot products",
    "Gemm: one row along rows of B",
    "Gemm: one column along columns of A",
    "Gemm: product with panels of B",
    "Gemm: one row of dot products",
    "Gemm: one column of dot products",
    "Gemm: one row with B in panels kept",
    "Gemm: product with B in panels kept",
    "Gemm: product with B as it lies",
    "Gemm: product with B as it lies, but for an edge",
    "Conv: product with pixels as rows, channels first",
    "Conv: product, channels first",
    "Conv: direct, channels first",
    "Conv: product of gathered columns, channels first",
    "Conv: product of gathered pixels as rows, channels first",
    "Conv: Winograd 2x2, channels first",
    "Conv: Winograd 4x4, channels first",
    "MatMulInteger: product with panels of B",
    "MatMulInteger: product with B in panels kept",
    "QLinearMatMul: product with panels of B",
    "QLinearMatMul: product with B in panels kept",
    "ConvInteger: direct, channels first",
    "ConvInteger: product, channels first",
    "QLinearConv: direct, channels first",
    "ConvInteger: product of gathered columns, channels first",
    "QLinearConv: product of gathered columns, channels first",
    "QLinearConv: product, channels first",
    "DeformConv: product of sampled columns, channels first",
    "ConvTranspose: scattered product, channels first",
    "QLinearConvTranspose: scattered product of bytes, channels first",
    "QLinearConvTranspose: tiles of a product of bytes, channels first",
    "QLinearConvTranspose: scattered bytes, channels first",
    "QLinearConvTranspose: scattered row of bytes, channels first",
    "MaxPool: direct, channels first",
    "MaxPool: rows, then columns, channels first",
    "AveragePool: rows, then columns, channels first",
    "AveragePool: direct, channels first",
    "MaxPool: whole images, channels first",
    "MaxPool: window by window, channels first",
    "AveragePool: window by window, channels first",
    "AveragePool: whole images, channels first",
    "LpPool: rows, then columns, channels first",
#if defined(__x86_64__) || (defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
    "Conv: direct with outputs side by side, channels first",
    "ConvInteger: product of gathered columns of words, channels first",
    "QLinearConv: product of gathered columns of words, channels first",
    "QLinearConv: direct, of bytes, channels first",
#endif
#ifdef __x86_64__ /* by instructions that other machines have no loops for */
    "MatMulNBits: rows of blocks of weights",
#endif
};

void scope_count_algorithm(void *context, const ox_node_info *node) {
    scope_counts *counts = context;
    for (int i = 0; i < SCOPE_NAMES && *node->algorithm; i++) {
        if (!counts->algorithms[i].count)
            snprintf(counts->algorithms[i].name, sizeof counts->algorithms[i].name, "%s: %s", node->op,
                     node->algorithm);
        if (!strncmp(counts->algorithms[i].name, node->op, strlen(node->op)) &&
            !strcmp(counts->algorithms[i].name + strlen(node->op) + 2, node->algorithm)) {
            counts->algorithms[i].count++;
            return;
        }
    }
}

static bool is_taken(const scope_counts *counts, const char *name) {
    for (int i = 0; i < SCOPE_NAMES && counts->algorithms[i].count; i++)
        if (!strcmp(counts->algorithms[i].name, name))
            return true;
    return false;
}

int scope_tell_algorithms(const scope_counts *counts, bool is_whole) {
    int missing = 0;
    for (int i = 0; i < SCOPE_NAMES && counts->algorithms[i].count; i++)
        printf("%s: %lld\n", counts->algorithms[i].name, (long long)counts->algorithms[i].count);
    for (size_t i = 0; i < sizeof all / sizeof *all && is_whole; i++)
        if (!is_taken(counts, all[i])) {
            printf("no session took %s\n", all[i]);
            missing++;
        }
    return missing;
}
