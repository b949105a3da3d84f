/* array.h: a tensor that the command owns, and walking over any tensor's elements. */
#ifndef OX_ARRAY_H
#define OX_ARRAY_H

#include "ox.h"

/* Starts zeroed. The tensor is packed; its memory is in the blocks. */
typedef struct ox_array {
    ox_tensor tensor;
    int64_t *dims;
    void *data;            /* the block that holds the elements, or the file that they lie in */
    char *characters;      /* of string elements */
    ox_tensor *from_proto; /* the library's allocation, when it was read from a TensorProto */
    size_t raw;            /* element size when only bytes are known: an .npy of void type; dtype is then unsigned */
} ox_array;

/* Allocates a packed tensor, zeroed. */
ox_status ox_array_create(ox_array *array, ox_dtype dtype, int rank, const int64_t *dims, ox_error *error);
void ox_array_free(ox_array *array);

/* Converts to another type of the same kind when every value fits; otherwise the error names both types and the
 * first value that does not fit. Raw bytes become any type of their size. */
ox_status ox_array_convert(ox_array *array, ox_dtype dtype, ox_error *error);

/* Converts to a type of any kind, as numpy's astype does but for values that the type has no place for: an error. */
ox_status ox_array_cast(ox_array *array, ox_dtype dtype, ox_error *error);

/* True if both types are numbers, which ox_array_cast is for. */
bool ox_array_can_cast(const ox_array *array, ox_dtype dtype);

/* The elements of a tensor in row-major order:
 *     for (ox_walk walk = ox_walk_start(tensor); walk.element; ox_walk_next(&walk)) */
typedef struct ox_walk {
    const ox_tensor *tensor;
    const char *element; /* NULL at the end */
    int64_t at;          /* row-major number of the element */
    int64_t count;
    int64_t index[64];
    int64_t stride[64];
} ox_walk;

ox_walk ox_walk_start(const ox_tensor *tensor);
void ox_walk_next(ox_walk *walk);

/* Byte strides of a tensor, packed or not; rank entries. */
void ox_array_strides(const ox_tensor *tensor, int64_t *strides);

#endif
