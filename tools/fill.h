/* fill.h: tensors filled by a rule: @zeros, @ones, @random[:LO..HI][:SEED]. */
#ifndef OX_FILL_H
#define OX_FILL_H

#include "array.h"

/* What is filled. */
typedef struct ox_fill_shape {
    ox_dtype dtype;
    int rank;
    const int64_t *dims;
    int64_t places; /* values are indices of so many places; 0 if they are not */
} ox_fill_shape;

/* Fills a new tensor. The same rule, shape and stream give the same values on every machine: floats in [0,1), small
 * integers, bools, unless the rule or `places` set a range. `stream` distinguishes the inputs of a run. */
ox_status ox_fill(const char *rule, const ox_fill_shape *shape, uint64_t stream, ox_array *array, ox_error *error);

#endif
