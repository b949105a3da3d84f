/* conv_integer.h: the way in which devices compute convolutions of bytes (src/bare/conv_bytes.c). */
#ifndef OX_OPS_WINDOW_CONV_INTEGER_H
#define OX_OPS_WINDOW_CONV_INTEGER_H

#include "conv.h"
#include "loops/depth_loops.h"

#if OX_SMALL
/* A convolution of bytes with one or two spatial dimensions; the sums are of elements less their zero points. */
typedef struct ox_conv_bytes {
    const ox_conv *conv;
    ox_dtype x_dtype, w_dtype, y_dtype;
    int32_t x_zero, y_zero;
    const ox_tensor *w_zeros; /* NULL: all are 0 */
    const void *x, *w;
    float x_scale, y_scale;
    const ox_tensor *w_scales; /* one, or one for each channel */
    const ox_tensor *bias;     /* NULL: there is none */
    void *y;
} ox_conv_bytes;

/* Prepare: the bytes of workspace that it takes; 0: it is not for this convolution. */
size_t ox_conv_bytes_room(const ox_conv *conv);
/* Whether results may be written over the image, if that has their shape. */
bool ox_conv_bytes_overwrites(const ox_conv *conv);
void ox_conv_bytes_run(const ox_conv_bytes *c, void *room);
#endif

#endif
