/* fill.h: tensors filled by a rule: @zeros, @ones, @random[:SEED]. */
#ifndef OX_FILL_H
#define OX_FILL_H

#include "array.h"

/* Fills a new tensor. The same rule, type, shape and stream give the same values on every machine: floats in [0,1),
 * small integers, bools. `stream` tells inputs of one run apart. */
ox_status ox_fill(const char *rule, ox_dtype dtype, int rank, const int64_t *dims, uint64_t stream, ox_array *array,
                  ox_error *error);

#endif
