/* reduce_transposed.h: folding the rows of a matrix whose columns are packed, and the other way round. */
#ifndef OX_OPS_REDUCE_REDUCE_TRANSPOSED_H
#define OX_OPS_REDUCE_REDUCE_TRANSPOSED_H

#include "iterate/bcast.h"
#include "loops/reduce_loops.h"

/* Does the work of folder->columns where neighbouring accumulators read elements that are `next` bytes apart; elements
 * have `width` bytes. */
void ox_fold_columns_apart(const struct ox_loops *loops, const ox_folder *folder, void *sums, int64_t n,
                           const char *from, int64_t width, int64_t next, int64_t length, int64_t step);

/* Does the work of folder->rows where neighbouring accumulators read elements that lie side by side: many accumulators
 * at a time. `joins` folds accumulators: it is the folder of their type. */
void ox_fold_rows_beside(const ox_folder *folder, const ox_folder *joins, void *sums, int64_t n, const char *from,
                         int64_t width, int64_t length, int64_t step);

#endif
