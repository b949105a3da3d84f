/* statistics_loops.h: means and variances, shares of squares, and where in a row its greatest or least element is. */
#ifndef OX_LOOPS_STATISTICS_LOOPS_H
#define OX_LOOPS_STATISTICS_LOOPS_H

#include "lanes.h"

/* What gives mean and variance in one pass: sums of the differences from an element, and of their squares. Where the
 * element lies among the others nothing cancels out that the variance needs. */
typedef struct ox_moments {
    double shift, sum, squares;
} ox_moments;

/* Adds `length` packed elements of n rows, `next` bytes apart, to n moments. */
typedef void ox_moments_rows_fn(ox_moments *moments, int64_t n, const char *from, int64_t next, int64_t length);

/* The same for columns side by side, whose elements are `step` bytes apart. */
typedef void ox_moments_columns_fn(ox_moments *moments, int64_t n, const char *from, int64_t length, int64_t step);

typedef struct ox_moments_loops {
    ox_moments_rows_fn *rows;
    ox_moments_columns_fn *columns;
} ox_moments_loops;

/* The index of the greatest (or least) of n elements that are `step` elements apart, of each of `lanes` neighbours, at
 * most OX_ARG_LANES; where step is 1, of each of `lanes` rows, one behind the other. The first of equals, or the last.
 * NaN, where there is one, is greatest and least. */
enum {
    OX_ARG_LANES = 128
};
typedef void ox_arg_fn(int64_t n, int64_t step, int64_t lanes, const void *from, int64_t *index);

/* Keys of n elements that are `step` elements apart: integers in the order of the elements, but for the bits in `flip`.
 * NaN is the greatest; both zeros are equal. Gives the greatest key. */
typedef uint64_t ox_keys_fn(int64_t n, int64_t step, const void *from, uint64_t flip, uint64_t *keys);

/* LRN: x / (bias + alpha * sum)^beta, where sum is of the squares of so many neighbouring channels, `after` of them
 * behind the one itself. */
typedef struct ox_lrn {
    int64_t channels, inner; /* elements from channel to channel */
    int64_t after, window;   /* a window is no longer than all channels and `after` */
    double bias, alpha, beta;
} ox_lrn;

/* All channels of `lanes` neighbours in each, at most OX_LRN_LANES; `ends` has room for a window of sums of each. */
enum {
    OX_LRN_LANES = OX_SMALL ? 16 : 256
};
typedef void ox_lrn_fn(const ox_lrn *lrn, int64_t lanes, const void *from, void *to, double *ends);

typedef struct ox_lrn_loops {
    ox_lrn_fn *f32, *f64;
} ox_lrn_loops;

extern const ox_lrn_loops *const ox_lrn_builds[];

typedef struct ox_statistics_loops {
    ox_moments_loops f32, f64;
    /* NULL for a type that nothing is computed in */
    ox_arg_fn *(*arg)(ox_dtype compute, bool least, bool last);
    ox_keys_fn *(*keys)(ox_dtype compute);
} ox_statistics_loops;

extern const ox_statistics_loops *const ox_statistics_builds[];

#endif
