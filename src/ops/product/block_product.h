/* block_product.h: products with weights in blocks. For a few rows of A, weights are widened in registers; where an
 * instruction adds four products of bytes, they are unpacked once for tiles of any number of rows. */
#ifndef OX_OPS_PRODUCT_BLOCK_PRODUCT_H
#define OX_OPS_PRODUCT_BLOCK_PRODUCT_H

#include "loops/block_loops.h"
#include "matmul_blocks.h"

enum {
    OX_BLOCK_FEW = 8 /* rows of A that are multiplied by weights in registers */
};

/* Bytes of the parts of a thread's memory. */
typedef struct ox_block_room {
    int64_t row;     /* of A: as bytes, or laid out as floats */
    int64_t lists;   /* scales and zero points of some rows of weights */
    int64_t sums;    /* of the columns that are finished together */
    int64_t panels;  /* of tiles */
    int64_t scratch; /* of what follows the product */
    int64_t all;
} ox_block_room;

/* What is known when a plan is made. */
typedef struct ox_block_product {
    const ox_block_loops *loops;
    ox_block_row row;
    bool rounds, by_bytes;       /* rows of A are rounded to bytes; and multiplied as such */
    const ox_block_tiles *tiles; /* NULL: row by row */
    int64_t columns;             /* of C that are finished together: rows of weights, or panels, as a whole */
    int64_t laid;                /* bytes of a row of A that is laid out */
    ox_block_room room;
    ox_pool *pool; /* NULL if the work is not worth it */
} ox_block_product;

/* True if there is a way for so many rows. `product` has its loops, row and `rounds`. */
bool ox_block_product_can(const ox_call *call, const ox_gemm *g, ox_block_product *product);

/* Prepare: asks for the workspace of ox_block_product_run. */
ox_status ox_block_product_prepare(ox_call *call, const ox_gemm *g, ox_block_product *product);

/* Run: the product, whose A and C are in place. */
void ox_block_product_run(const ox_call *call, size_t *used, const ox_block_product *product, const ox_gemm *g);

#endif
