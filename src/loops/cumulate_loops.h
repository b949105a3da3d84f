/* cumulate_loops.h: sums and products of all elements up to each, built for each kind of processor. */
#ifndef OX_LOOPS_CUMULATE_LOOPS_H
#define OX_LOOPS_CUMULATE_LOOPS_H

#include "tensor.h"

enum {
    OX_CUMULATE_LANES = OX_SMALL ? 16 : 128 /* the most lines side by side that are done together */
};

/* `lanes` lines of n elements, `step` elements apart (backwards where that is below 0); a line begins `next` elements
 * behind the one before, which is 1 unless step is 1 or -1. exclusive: each result is of the elements before. Sums and
 * products of floats are kept in double, and rounded for each result. */
typedef void ox_cumulate_fn(int64_t n, int64_t step, int64_t lanes, int64_t next, const void *from, void *to,
                            bool exclusive);

/* Products, or sums, of a type that values are computed in. */
typedef ox_cumulate_fn *ox_cumulate_find_fn(ox_dtype dtype, bool products);
extern ox_cumulate_find_fn *const ox_cumulate_builds[];

#endif
