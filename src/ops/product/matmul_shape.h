/* matmul_shape.h: the shapes of matrix products with batches, as numpy.matmul has them. */
#ifndef OX_OPS_PRODUCT_MATMUL_SHAPE_H
#define OX_OPS_PRODUCT_MATMUL_SHAPE_H

#include "iterate/bcast.h"
#include "ops/op.h"

/* The sizes of a product [m,k] * [k,n], and the batch dimensions that both operands together have. */
typedef struct ox_matmul_shape {
    int64_t m, n, k;
    int batch;
    int64_t dims[OX_MAX_RANK];
} ox_matmul_shape;

/* The number of dimensions before the matrix, of a tensor of that rank. */
static inline int ox_matmul_batch_rank(int rank) {
    return rank > 2 ? rank - 2 : 0;
}

/* Infer: the shape of input a times input b; an operand of one dimension is a row on the left, a column on the right.
 */
ox_status ox_matmul_shape_of(ox_call *call, int a, int b, ox_matmul_shape *shape);

/* The same for operands a and b that are made of those inputs. */
ox_status ox_matmul_shape_between(ox_call *call, int left, const ox_tensor *a, int right, const ox_tensor *b,
                                  ox_matmul_shape *shape);

/* Infer: output 0 of a product of that shape, whose operands have such ranks. */
ox_status ox_matmul_give(ox_call *call, int a_rank, int b_rank, const ox_matmul_shape *shape, ox_dtype dtype);

/* Infer: output 0 of that product. */
ox_status ox_matmul_output(ox_call *call, int a, int b, ox_matmul_shape *shape, ox_dtype dtype);

/* Byte strides of an operand, or of what belongs to one, through the batch; `rank` of its dims are before the matrix.
 */
void ox_matmul_batch_strides(const ox_matmul_shape *shape, int rank, const int64_t *dims, const int64_t *operand,
                             int64_t *strides);

#endif
