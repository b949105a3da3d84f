/* reduce.h: what operators that go along dimensions share. */
#ifndef OX_OPS_REDUCE_REDUCE_H
#define OX_OPS_REDUCE_REDUCE_H

#include "loops/reduce_loops.h"
#include "ops/axes.h"

/* ---- Reductions as parts of others -------------------------------------------------------------------------- */

/* Infer: the dimensions that a reduction takes. */
ox_status ox_reduced_axes(ox_call *call, ox_axis_set *set);

/* Prepare: input 0 reduced to output 0, which may have any type that reductions are computed in; ox_run_reduce does
 * it. */
ox_status ox_reduce_prepare(ox_call *call, ox_fold fold, ox_axis_set set);
ox_call_fn ox_run_reduce;

/* ---- Lines -------------------------------------------------------------------------------------------------- */

/* A packed tensor as outer x n x inner: lines of n elements that are `inner` elements apart. */
typedef struct ox_lines {
    int64_t outer, n, inner;
} ox_lines;

/* Those along a dimension. */
static inline ox_lines ox_lines_of(const ox_tensor *tensor, int axis) {
    return (ox_lines){ox_count(axis, tensor->dims), tensor->dims[axis],
                      ox_count(tensor->rank - axis - 1, tensor->dims + axis + 1)};
}

/* Lines that are done together, at most so many: the first element, and the number of the first line. They lie side by
 * side; those whose elements are neighbours (inner is 1) one behind the other. */
typedef struct ox_line_block {
    int64_t first, line, lanes;
} ox_line_block;

/* Lines as they are taken in blocks of at most `most`: `beside` in a row, `next` elements apart, and so many of those
 * rows. */
typedef struct ox_line_rows {
    int64_t rows, beside, next, most;
} ox_line_rows;

static inline ox_line_rows ox_line_rows_of(const ox_lines *lines, int64_t most) {
    enum {
        ELEMENTS = 2048 /* of a block of lines behind each other: enough to hide what a block costs */
    };
    if (lines->inner != 1)
        return (ox_line_rows){lines->outer, lines->inner, 1, most};
    const int64_t few = lines->n > ELEMENTS ? 1 : ELEMENTS / (lines->n + (lines->n == 0));
    return (ox_line_rows){1, lines->outer, lines->n, ox_least(few, most)};
}

/* How many blocks a row has. */
static inline int64_t ox_line_row_blocks(const ox_line_rows *all) {
    return ox_quotient(all->beside, all->most) + (ox_remainder(all->beside, all->most) != 0);
}

static inline int64_t ox_line_blocks(const ox_lines *lines, int64_t most) {
    const ox_line_rows all = ox_line_rows_of(lines, most);
    return all.rows * ox_line_row_blocks(&all);
}

static inline ox_line_block ox_line_block_at(const ox_lines *lines, int64_t most, int64_t i) {
    const ox_line_rows all = ox_line_rows_of(lines, most);
    const int64_t each = ox_line_row_blocks(&all);
    const int64_t lane = ox_remainder(i, each) * all.most, row = ox_quotient(i, each);
    return (ox_line_block){row * lines->n * all.beside + lane * all.next, row * all.beside + lane,
                           ox_least(all.beside - lane, all.most)};
}

/* Infer: what Softmax and its kin go over. */
ox_status ox_softmax_axes(ox_call *call, ox_axis_set *set);
ox_status ox_softmax_lines(ox_call *call, ox_lines *lines);

#endif
