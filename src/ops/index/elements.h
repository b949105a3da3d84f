/* elements.h: what operators that follow a tensor of indices share. */
#ifndef OX_OPS_INDEX_ELEMENTS_H
#define OX_OPS_INDEX_ELEMENTS_H

#include "ops/dense.h"

enum {
    OX_INDEX_PIECE = 256 /* indices that are looked at in one go */
};

/* Indices of an axis of `dim` elements, `step` bytes apart. */
typedef struct ox_index_axis {
    int64_t dim, step;
} ox_index_axis;

/* Element i of a list of int64 (wide) or int32, `index_step` bytes apart. */
static inline int64_t ox_index_at(bool wide, const char *indices, int64_t index_step, int64_t i) {
    return wide ? OX_ONCE(ox_i64, indices + i * index_step) : OX_ONCE(ox_i32, indices + i * index_step);
}

/* Adds to offsets[0..n) where those indices lead. Returns how many are in range before the first that is not: n if
 * there is none, and only then. Offsets mean something only where all are. */
int64_t ox_index_offsets(bool wide, int64_t n, const char *indices, int64_t index_step, ox_index_axis axis,
                         int64_t *offsets);

/* Fails for an index of axis `axis` of input 0. */
ox_status ox_index_fail(const ox_call *call, int64_t index, int axis);

/* GatherND and ScatterND: input 1 is a list of tuples, which lead to blocks of the data; of each batch by itself. */
typedef struct ox_tuples {
    int batch_rank, size;    /* size: indices of a tuple */
    int64_t batches, tuples; /* tuples: of a batch */
    int64_t block, batch;    /* bytes; batch: of the data */
    ox_index_axis axis[OX_MAX_RANK];
} ox_tuples;

/* Infer: checks both shapes, and gives the rank and the dims of the list of blocks. */
ox_status ox_tuples_infer(ox_call *call, int batch_rank, int *rank, int64_t *dims);

/* Describes the packed data and indices of a call. */
ox_tuples ox_tuples_of(const ox_call *call, int batch_rank);

/* The offsets of tuples [at, at + n), at most OX_INDEX_PIECE, in packed data; fails for what is out of range. */
ox_status ox_tuples_offsets(const ox_call *call, const ox_tuples *tuples, int64_t at, int64_t n, int64_t *offsets);

#endif
