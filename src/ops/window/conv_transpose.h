/* conv_transpose.h: the shape of ConvTranspose, of floats and of bytes. */
#ifndef OX_OPS_WINDOW_CONV_TRANSPOSE_H
#define OX_OPS_WINDOW_CONV_TRANSPOSE_H

#include "window.h"

typedef struct ox_transposed {
    ox_window window; /* over the result: a window for each element of the image */
    int64_t images, groups;
    int64_t in_channels, out_channels; /* per group */
} ox_transposed;

/* The shape, from attributes, image (input 0), weights (1) and bias (2, if any); the lists of its window have their
 * places. */
ox_status ox_transposed_geometry(ox_call *call, ox_transposed *shape);

/* Infer: checks the same, and says the shape of the result, of that type. */
ox_status ox_transposed_infer(ox_call *call, ox_dtype dtype);

#endif
