/* small_conv.h: the sizes of convolutions that the loops of devices take, and that `ox embed` lists `with columns`
 * beyond. */
#ifndef OX_SMALL_CONV_H
#define OX_SMALL_CONV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    OX_MOST_CONV_SIZE = 1 << 14,    /* of a dimension, a kernel, a step and padding */
    OX_MOST_CONV_PRODUCTS = 1 << 24 /* for an element of the result; and the most output channels */
};

/* Elements of a row of a band: rows of the image that a row of results sees, with their padding. */
static inline int64_t ox_conv_band_row(int64_t out, int64_t stride, int64_t kernel, int64_t step) {
    return (out - 1) * stride + (kernel - 1) * step + 3;
}

/* Whether a band of `kernel` rows stays far from the limits of integers, of `width` bytes an element; sizes are within
 * those above. */
static inline bool ox_conv_band_fits(int64_t row, int64_t kernel, int64_t step, size_t width) {
    const uint64_t rows = (uint64_t)(kernel - 1) * (uint64_t)step + 1;
    return (uint64_t)row * width * rows <= (uint64_t)1 << 25;
}

#endif
