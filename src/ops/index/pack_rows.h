/* pack_rows.h: PackRows, an operator that no file names: the rewriter makes it of weights that are quantized in blocks
 * (quantized_blocks.c). */
#ifndef OX_OPS_INDEX_PACK_ROWS_H
#define OX_OPS_INDEX_PACK_ROWS_H

#include "ops/op.h"

/* PackRows(x): integers of 2, 4 or 8 bits, [k, n], or [n, k] if the attribute `by_row` is 1, become n rows of k that
 * lie packed in bytes, the lowest bits first, as MatMulNBits reads weights and zero points: [n, blocks, bytes of a
 * block] with the attribute `block`, a power of two, the last block filled up; [n, bytes] where that is 0. Signed ones
 * are stored above the smallest. Where the attribute `dtype` says 4 or 2 bits, x is the same matrix in bytes, whose
 * rows lie packed as UnpackBits reads them. */
extern const ox_op ox_op_pack_rows;

#endif
