/* sums.h: weighted sums of elements: the type that they are made in, and conversions from it and to it. */
#ifndef OX_OPS_IMAGE_SUMS_H
#define OX_OPS_IMAGE_SUMS_H

#include "loops/lanes.h"

/* Whether elements of a type are summed in double rather than float: sums of integers have to be exact before they are
 * rounded. */
static inline bool ox_sums_are_wide(ox_dtype dtype) {
    return ox_dtype_compute(dtype) != OX_FLOAT;
}

static inline size_t ox_sum_size(ox_dtype dtype) {
    return ox_sums_are_wide(dtype) ? sizeof(double) : sizeof(float);
}

/* Whether elements are summed as they are. */
static inline bool ox_sums_are_native(ox_dtype dtype) {
    return dtype == OX_FLOAT || dtype == OX_DOUBLE;
}

/* n packed elements as sums. */
void ox_sums_from(const ox_loops *loops, ox_dtype dtype, int64_t n, const void *from, void *to);

/* n sums as elements: integers are the nearest one that the type has. */
void ox_sums_to(const ox_loops *loops, ox_dtype dtype, int64_t n, const void *from, void *to);

#endif
