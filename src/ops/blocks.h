/* blocks.h: weights of 2, 4 and 8 bits, which lie packed in bytes, the lowest bits first, and are quantised in blocks.
 */
#ifndef OX_OPS_BLOCKS_H
#define OX_OPS_BLOCKS_H

#include "op.h"

/* Element i of a row of packed integers. */
static inline int ox_bits_at(const uint8_t *packed, int64_t i, int bits) {
    const int64_t bit = i * bits;
    return packed[bit >> 3] >> (int)(bit & 7) & ((1 << bits) - 1);
}

/* Bytes of a row of packed integers, of which there is at least one. */
static inline int64_t ox_bits_bytes(int64_t count, int bits) {
    return ((count - 1) * bits >> 3) + 1;
}

/* Infer: the attribute `block_size`, a power of two from 16 on. */
ox_status ox_block_size(ox_call *call, int64_t otherwise, int64_t *size);

/* Infer: the attribute `bits`, 2, 4 or 8. */
ox_status ox_block_bits(ox_call *call, int *bits);

#endif
