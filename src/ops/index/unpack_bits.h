/* unpack_bits.h: UnpackBits, an operator that no file names: the loader makes it of initializers that stay packed. */
#ifndef OX_OPS_INDEX_UNPACK_BITS_H
#define OX_OPS_INDEX_UNPACK_BITS_H

#include "ops/op.h"

/* UnpackBits(x): rows of bytes that hold integers of 4 or 2 bits, the lowest bits first, become rows of such integers,
 * a byte for each: [..., bytes of a row] becomes [..., dims of a row]. Attributes: `dtype`, the integers' type; `dims`,
 * those of the tensor whose rows they are, of which all but the first are dims of a row. A row fills whole bytes. */
extern const ox_op ox_op_unpack_bits;

/* The types that it takes out of bytes. */
#define OX_SET_PACKED (OX_BIT(OX_INT4) | OX_BIT(OX_UINT4) | OX_BIT(OX_INT2) | OX_BIT(OX_UINT2))

/* The tensor whose rows a node with these attributes gives, without data; of type UNDEFINED if they do not say it. */
ox_tensor ox_unpacked_tensor(const ox_attr *attrs, int count);

/* How many bytes a row of that type and these dims fills, as a whole number; 0 where it does not. */
int64_t ox_packed_row(ox_dtype dtype, int rank, const int64_t *dims);

/* Writes 8 / bits integers for each of the packed bytes; signed ones with the bits of their sign. */
void ox_unpack_bits(ox_dtype dtype, int64_t bytes, const uint8_t *from, uint8_t *to);

#endif
