/* window_loops.h: what windows do to the rows of an image, apart from where they lie. */
#ifndef OX_LOOPS_WINDOW_LOOPS_H
#define OX_LOOPS_WINDOW_LOOPS_H

#include "element.h"

/* Folds `taps` elements, `step` apart from from[i * stride] on, into to[i], for n of them; `to` needs no first values.
 * All are of the type of the accumulators of ox_folder. */
typedef void ox_slide_fn(int64_t n, void *to, const void *from, int64_t stride, int64_t taps, int64_t step);

/* n elements whose first is number `at`, `step` bytes apart: *most becomes the greatest of them and itself, and *place
 * the number of the first of those; -1 if there is none yet. NaN is the greatest. */
typedef void ox_find_fn(int64_t n, const char *from, int64_t step, int64_t at, int64_t at_step, void *most,
                        int64_t *place);

/* to[i] = |from[i]| ^ p, of n elements `step` bytes apart. */
typedef void ox_power_fn(int64_t n, const char *from, int64_t step, double p, double *to);

/* to[i] = sums[i] / (count * counts[i]); packed. */
typedef void ox_mean_fn(int64_t n, const double *sums, double count, const double *counts, void *to);

/* to[i] = sums[i] ^ (1 / p); packed. */
typedef void ox_root_fn(int64_t n, const double *sums, double p, void *to);

/* to[i * to_step] += from[i], in bytes, of packed rows of `from`; rows are to_row and from_row bytes apart. */
typedef void ox_add_apart_fn(int64_t rows, int64_t n, char *to, int64_t to_row, int64_t to_step, const char *from,
                             int64_t from_row);

#if OX_WITH_OWN_OPERATORS
/* to[i * to_step] += from[i] * factor - take, in bytes, of packed rows of bytes, which wraps. */
typedef struct ox_add_times {
    int64_t rows, n;
    char *to; /* of uint32 */
    int64_t to_row, to_step;
    const char *from;
    int64_t from_row;
    uint32_t factor, take;
} ox_add_times;
typedef void ox_add_times_fn(const ox_add_times *job);
typedef ox_add_times_fn *ox_add_times_for_fn(ox_dtype from);
#endif

/* Each zero of n packed elements becomes +0: which of two zeros is the greater one depends on their order. */
typedef void ox_sign_zeros_fn(int64_t n, void *to);

/* By the type that is computed in; NULL where there is none. Pools that need little else should link little else. */
typedef struct ox_window_loops {
    ox_slide_fn *slide;           /* of the greatest, or of sums: those are doubles, whatever the type */
    ox_find_fn *find;             /* of the greatest */
    ox_mean_fn *mean;             /* of sums */
    ox_sign_zeros_fn *sign_zeros; /* of the greatest; NULL for integers */
} ox_window_loops;
typedef struct ox_norm_loops {
    ox_power_fn *power;
    ox_root_fn *root;
} ox_norm_loops;

typedef ox_window_loops ox_window_loops_fn(ox_dtype compute);
typedef ox_norm_loops ox_norm_loops_fn(ox_dtype compute);
typedef ox_add_apart_fn *ox_add_apart_for_fn(ox_dtype compute);

#endif
