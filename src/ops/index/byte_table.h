/* byte_table.h: ByteTable, an operator that only models of `ox embed` name: the rewriter makes it of functions of one
 * byte. */
#ifndef OX_OPS_INDEX_BYTE_TABLE_H
#define OX_OPS_INDEX_BYTE_TABLE_H

#include "ops/op.h"

/* ByteTable(x, table): for each byte of x, signed or not, the entry of the table that it names as an unsigned number. A
 * table of any shape has 256 bytes. The attribute `rank` is the least rank of the result, which has dimensions of 1 in
 * front of those of x to reach it; `x_rank` is the least rank of x, for a PRelu whose slope has so many dimensions. */
extern const ox_op ox_op_byte_table;

enum {
    OX_BYTE_TABLE_SIZE = 256
};

#endif
