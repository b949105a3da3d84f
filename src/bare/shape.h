/* shape.h: the sizes of a convolution of one or two dimensions in integers as wide as addresses, and of bands: rows of
 * a channel that are laid out with their padding. */
#ifndef OX_BARE_SHAPE_H
#define OX_BARE_SHAPE_H

#include "ops/window/conv.h"

#include <stddef.h>

/* Sizes and steps, those of one dimension as rows of 1. */
typedef struct ox_shape {
    ptrdiff_t in_rows, in_columns, out_rows, out_columns, rows, columns; /* the last two of the kernel */
    ptrdiff_t row_stride, column_stride, row_step, column_step, top, left;
    ptrdiff_t channels, outputs; /* of a group */
    ptrdiff_t in_count, out_count, k;
} ox_shape;

ox_shape ox_shape_of(const ox_conv *conv);

/* Whether there are one or two dimensions whose sizes and steps, and a band of `width` bytes an element, stay far from
 * the limits of integers: those of windows are a model's, and padding may be any. */
bool ox_shape_fits(const ox_conv *conv, size_t width);

/* Elements of a row of a band, and of what is read behind its last window: an even number. */
static inline ptrdiff_t ox_band_row(const ox_shape *s) {
    return ((s->out_columns - 1) * s->column_stride + (s->columns - 1) * s->column_step + 3) & ~(ptrdiff_t)1;
}

/* Rows that so many rows of results see. */
static inline ptrdiff_t ox_band_rows(const ox_shape *s, ptrdiff_t results) {
    return (results - 1) * s->row_stride + (s->rows - 1) * s->row_step + 1;
}

/* Rows of results that a band is for, of elements of `width` bytes: at least one, and what fits OX_BAND_BYTES. */
enum {
    OX_BAND_BYTES = 2048
};
ptrdiff_t ox_band_results(const ox_shape *shape, size_t width);

/* Elements of such a band. */
static inline ptrdiff_t ox_band_count(const ox_shape *s, size_t width) {
    return ox_band_rows(s, ox_band_results(s, width)) * ox_band_row(s);
}

#endif
