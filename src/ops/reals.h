/* reals.h: numbers of any type as doubles, for operators whose sums or curves are computed in double. */
#ifndef OX_OPS_REALS_H
#define OX_OPS_REALS_H

#include "dtype.h"

enum {
    OX_REALS_PIECE = OX_SMALL ? 16 : 256 /* numbers that fit into a buffer on the stack */
};

/* The types that these functions know. */
#define OX_SET_REAL                                                                                                    \
    (OX_SET_NUM | OX_SET_BOOL | OX_BIT(OX_FLOAT8E4M3FN) | OX_BIT(OX_FLOAT8E4M3FNUZ) | OX_BIT(OX_FLOAT8E5M2) |          \
     OX_BIT(OX_FLOAT8E5M2FNUZ))

/* Reads n numbers, `step` bytes apart; they are written to_step doubles apart. */
void ox_reals_load(ox_dtype dtype, int64_t n, const void *from, int64_t step, double *to, int64_t to_step);

/* Writes n numbers, each rounded once, `step` bytes apart; they are read from_step doubles apart. Integers are cut off,
 * and wrap. */
void ox_reals_store(ox_dtype dtype, int64_t n, const double *from, int64_t from_step, void *to, int64_t step);

/* One number. */
static inline double ox_real_at(ox_dtype dtype, const void *from) {
    double value = 0;
    ox_reals_load(dtype, 1, from, 0, &value, 1);
    return value;
}

static inline void ox_real_put(ox_dtype dtype, double value, void *to) {
    ox_reals_store(dtype, 1, &value, 1, to, 0);
}

#endif
