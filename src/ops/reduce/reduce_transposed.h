/* reduce_transposed.h: folding the rows of a matrix whose columns are packed, and the other way round. */
#ifndef OX_OPS_REDUCE_REDUCE_TRANSPOSED_H
#define OX_OPS_REDUCE_REDUCE_TRANSPOSED_H

#include "iterate/bcast.h"
#include "loops/reduce_loops.h"

/* Gives what folder->columns does where the elements, of `width` bytes, of neighbouring accumulators are `next` bytes
 * apart. */
void ox_fold_columns_apart(const struct ox_loops *loops, const ox_folder *folder, void *sums, int64_t n,
                           const char *from, int64_t width, int64_t next, int64_t length, int64_t step);

/* Gives what folder->rows does where the elements, of `width` bytes, of neighbouring accumulators lie side by side:
 * many accumulators at a time. `joins` folds accumulators: the folder of their type. */
void ox_fold_rows_beside(const ox_folder *folder, const ox_folder *joins, void *sums, int64_t n, const char *from,
                         int64_t width, int64_t length, int64_t step);

#endif
