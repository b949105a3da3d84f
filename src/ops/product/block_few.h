/* block_few.h: products of a few rows with weights in blocks: every weight is read once, and widened in registers. */
#ifndef OX_OPS_PRODUCT_BLOCK_FEW_H
#define OX_OPS_PRODUCT_BLOCK_FEW_H

#include "loops/block_loops.h"
#include "matmul_blocks.h"

enum {
    OX_BLOCK_FEW = 8 /* rows of A */
};

/* What is known when a plan is made. */
typedef struct ox_block_few {
    const ox_block_loops *loops;
    ox_block_row row;
    bool rounds, by_bytes; /* rows of A are rounded to bytes; and multiplied as such */
    int64_t laid, room;    /* bytes of a row of A that is laid out, and of the memory of a thread */
    size_t scratch;        /* of that, for what follows the product */
    ox_pool *pool;         /* NULL if the work is not worth it */
} ox_block_few;

/* Prepare: asks for the workspace of ox_block_few_run. `few` has its loops, row and `rounds`. */
ox_status ox_block_few_prepare(ox_call *call, const ox_gemm *g, ox_block_few *few);

/* Run: the product, whose A and C are in place. */
void ox_block_few_run(const ox_call *call, size_t *used, const ox_block_few *few, const ox_gemm *g);

#endif
