/* blend_loops.h: weighted sums of a few elements, as Resize, GridSample, RoiAlign and RotaryEmbedding make them, built
 * for each kind of processor. */
#ifndef OX_LOOPS_BLEND_LOOPS_H
#define OX_LOOPS_BLEND_LOOPS_H

#include "element.h"
#include "tensor.h"

/* The sum of `taps` rows of n elements, which lie one behind the other. */
typedef void ox_blend_rows_fn(int64_t n, const double *weights, int64_t taps, const void *from, void *to);

/* Elements of a line: number j is the sum of weights[j * taps + k] * from[first[j] + k], for k below counts[j]. */
typedef void ox_blend_line_fn(int64_t n, const int64_t *first, const int64_t *counts, const void *weights, int64_t taps,
                              const void *from, void *to);

/* Elements from anywhere: number j is the sum of weights[k] * from[element[k]], for the k from end[j - 1] (0 for the
 * first) to end[j]. The same for each of `planes` planes, whose elements are from_step apart, and results to_step. */
typedef void ox_blend_points_fn(int64_t n, const int64_t *end, const int64_t *element, const void *weights,
                                int64_t planes, const void *from, int64_t from_step, void *to, int64_t to_step);

/* The four neighbours of a place between elements, and what they weigh. */
typedef struct ox_blend_place {
    int64_t at[4];
    double weight[4];
} ox_blend_place;

/* Adds the weighted sums at `count` places, one place after the other, to each of n values; or makes it the greatest of
 * all weighted neighbours and itself. Value i sees the elements from[i * step + at]. */
typedef void ox_blend_values_fn(int64_t n, int64_t count, const ox_blend_place *places, bool greatest, const void *from,
                                int64_t step, double *values);

/* Turns n pairs by angles. The pairs are neighbours, or (`apart`) element i and i + n. */
typedef void ox_rotate_fn(int64_t n, bool apart, const ox_f32 *x, const ox_f32 *cos, const ox_f32 *sin, ox_f32 *to);

/* Each operator names its own loops, so that a linker can leave out the others: those for elements, weights and results
 * of one type. */
typedef struct ox_blend_lines {
    ox_blend_rows_fn *rows;
    ox_blend_line_fn *line;
} ox_blend_lines;

extern const ox_blend_lines *const ox_blend_lines_f32_builds[], *const ox_blend_lines_f64_builds[];
extern ox_blend_points_fn *const ox_blend_points_f32_builds[], *const ox_blend_points_f64_builds[];
extern ox_blend_values_fn *const ox_blend_values_f32_builds[], *const ox_blend_values_f64_builds[];
extern ox_rotate_fn *const ox_rotate_builds[];

#endif
