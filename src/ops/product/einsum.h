/* einsum.h: the equation of Einsum, taken apart. */
#ifndef OX_OPS_PRODUCT_EINSUM_H
#define OX_OPS_PRODUCT_EINSUM_H

#include "ops/op.h"

/* Labels are numbered as letters come; the dimensions of an ellipsis have the last ones. */
enum {
    OX_EINSUM_LETTERS = 52,
    OX_EINSUM_LABELS = 64
};

/* A set of labels: bit 1 << label. */
typedef uint64_t ox_labels;
#define OX_LABEL(label) ((ox_labels)1 << (label))
_Static_assert(OX_MAX_RANK <= OX_EINSUM_LABELS, "an ellipsis may stand for all dimensions");

/* The labels of the dimensions of an operand, or of the output. */
typedef struct ox_einsum_term {
    int rank;
    int8_t label[OX_MAX_RANK];
} ox_einsum_term;

typedef struct ox_einsum {
    ox_einsum_term *terms; /* of the inputs, in plan memory */
    ox_einsum_term output;
    int64_t sizes[OX_EINSUM_LABELS];
} ox_einsum;

/* Infer and prepare: reads and checks the equation. e->terms has room for a term of each input; where it is NULL, sizes
 * and the output alone are read. */
ox_status ox_einsum_read(ox_call *call, ox_einsum *e);

static inline ox_labels ox_einsum_labels(const ox_einsum_term *term) {
    ox_labels set = 0;
    for (int d = 0; d < term->rank; d++)
        set |= OX_LABEL(term->label[d]);
    return set;
}

#endif
