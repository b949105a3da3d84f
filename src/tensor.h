/* tensor.h: shapes, strides and elements of tensors. */
#ifndef OX_TENSOR_H
#define OX_TENSOR_H

#include "alloc.h"
#include "dtype.h"

/* Of two numbers of elements or places. */
static inline int64_t ox_least(int64_t a, int64_t b) {
    return a < b ? a : b;
}
static inline int64_t ox_most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* The product of dims; -1 if a dimension is negative or the product overflows. */
int64_t ox_count(int rank, const int64_t *dims);

/* Sizes that memory has room for are divided as such: devices take a library for 64 bits. */
static inline int64_t ox_quotient(int64_t a, int64_t b) {
    return (int64_t)((size_t)a / (size_t)b);
}
static inline int64_t ox_remainder(int64_t a, int64_t b) {
    return (int64_t)((size_t)a % (size_t)b);
}

/* True if the memory of this machine can hold so many elements, and has addresses to spare; false for -1. */
bool ox_can_hold(int64_t count, ox_dtype dtype);

/* Byte strides of a packed tensor of that shape, rank entries. */
void ox_packed_strides(int rank, const int64_t *dims, size_t width, int64_t *strides);

/* The byte stride of dimension d, packed or not. O(rank) when packed. */
int64_t ox_stride(const ox_tensor *tensor, int d);

/* Bytes from the first element to the end of the last one; 0 if there are no elements, or some lie before the first. */
size_t ox_tensor_span(const ox_tensor *tensor);

/* Reads element i (row-major) of an int64, int32, ... tensor as int64_t; for shapes, axes and indices. */
int64_t ox_tensor_int(const ox_tensor *tensor, int64_t i);

bool ox_same_dims(int rank_a, const int64_t *a, int rank_b, const int64_t *b);

#endif
