/* matmul_blocks.h: products with weights in blocks: MatMulNBits and MatMulBnb4. */
#ifndef OX_OPS_PRODUCT_MATMUL_BLOCKS_H
#define OX_OPS_PRODUCT_MATMUL_BLOCKS_H

#include "ops/gemm/gemm.h"

/* How the weights W[n, k] are packed. Y = A * W transposed, or A * W. */
typedef struct ox_block_shape {
    int64_t n, k;          /* of W, */
    int64_t block, blocks; /* elements of a block, and blocks of a row of W */
    int bits;
    const float
        *table; /* if not NULL, what each of 16 codes stands for: MatMulBnb4, whose blocks go on from row to row */
    bool is_transposed; /* W is multiplied as it is */
    bool is_quick;      /* the model allows sums of bytes: accuracy_level 4 */
} ox_block_shape;

/* An attribute of nodes that stand for a MatMul (1) or a Gemm (2) of the model, whose weights a DequantizeLinear makes
 * floats of. */
#define OX_ATTR_DEQUANTIZED "__dequantized"

/* The inputs: numbers, -1 where an operator has none. */
enum {
    OX_BLOCKS_A,
    OX_BLOCKS_B,
    OX_BLOCKS_SCALES,
    OX_BLOCKS_ZEROS,
    OX_BLOCKS_GROUPS,
    OX_BLOCKS_BIAS
};

/* The weights of a run. */
typedef struct ox_block_weights {
    ox_block_shape shape;
    const uint8_t *data;
    const ox_f32 *scales, *zeros; /* zeros: NULL if there are none of floats */
    const uint8_t *packed_zeros;  /* NULL if there are none of integers */
    int64_t zeros_row;            /* bytes of those of a row */
    const int64_t *groups;        /* for each k the block whose scale and zero point it has; NULL: its own */
    bool absolute, ones;          /* as of ox_call */
} ox_block_weights;

/* The plain way: element [n, k] of W. */
float ox_block_weight(const ox_block_weights *weights, int64_t n, int64_t k);

/* Infer: the shape, which inputs and attributes agree on. */
ox_status ox_block_shape_of(ox_call *call, ox_block_shape *shape);

#endif
