/* fold.h: folding the rows and columns of matrices that do not lie as the loops take them. */
#ifndef OX_ITERATE_FOLD_H
#define OX_ITERATE_FOLD_H

#include "bcast.h"
#include "loops/simd/intrinsics.h"
#include "loops/reduce_loops.h"

/* Whether rows of so many elements are short: a row of accumulators is less than a line of a cache. */
static inline bool ox_is_short_row(const ox_folder *folder, int64_t length) {
    return length < OX_LINE / folder->width;
}

/* Does the work of folder->columns where neighbouring accumulators read elements that are `next` bytes apart; elements
 * have `width` bytes. */
void ox_fold_columns_apart(const struct ox_loops *loops, const ox_folder *folder, void *sums, int64_t n,
                           const char *from, int64_t width, int64_t next, int64_t length, int64_t step);

/* Does the work of folder->rows where neighbouring accumulators read elements that lie side by side: many accumulators
 * at a time. `joins` folds accumulators: it is the folder of their type. */
void ox_fold_rows_beside(const ox_folder *folder, const ox_folder *joins, void *sums, int64_t n, const char *from,
                         int64_t width, int64_t length, int64_t step);

/* Does the work of folder->rows for packed rows that are short, the next one `next` bytes further:
 * they are transposed, then folded as above. */
void ox_fold_short_rows(const struct ox_loops *loops, const ox_folder *folder, const ox_folder *joins, void *sums,
                        int64_t n, const char *from, int64_t width, int64_t next, int64_t length);

#endif
