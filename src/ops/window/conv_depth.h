/* conv_depth.h: convolutions of bytes whose groups have one input channel, summed where the image lies, row by row. */
#ifndef OX_OPS_WINDOW_CONV_DEPTH_H
#define OX_OPS_WINDOW_CONV_DEPTH_H

#include "conv.h"
#include "loops/depth_loops.h"

#if !OX_SMALL
typedef struct ox_conv_depth {
    const ox_depth_loops *loops;
    ox_pool *pool;
    int64_t words;           /* of the weights of a channel, */
    const uint32_t *weights; /* of all channels, */
    const int64_t *offsets;  /* and what they see */
    int64_t pitch, rows;     /* bytes of a row that is laid out, and rows of results that are computed of what is */
    size_t room;             /* bytes of that; each thread has its own */
    int64_t room_step;       /* bytes from one of two such rooms in it to the other; 0: there is one */
    ox_picks picks;          /* no blocks: rows are laid out */
} ox_conv_depth;

/* What a run knows of its bytes. */
typedef struct ox_depth_ends {
    const ox_channel_end *ends; /* of all output channels, for images whose bytes are unsigned */
    ox_dtype dtype;             /* of the result, */
    double zero;                /* its zero point, */
    uint8_t fill;               /* and that of the image, as an unsigned byte */
} ox_depth_ends;

/* Whether weights, which are constant, are such. */
bool ox_conv_depth_can(const ox_call *call, const ox_conv *conv);

/* Prepare: lays weights less their zero points (NULL: 0) out and asks for workspace. */
ox_status ox_conv_depth_prepare(ox_call *call, const ox_conv *conv, const ox_tensor *zeros, ox_conv_depth *depth);

/* The same without rooms, where windows that lie side by side see few bytes of the image. */
bool ox_conv_picks_can(const ox_call *call, const ox_conv *conv, const ox_tensor *zeros);
ox_status ox_conv_picks_prepare(ox_call *call, const ox_conv *conv, const ox_tensor *zeros, ox_conv_depth *depth);

void ox_conv_depth_run(const ox_call *call, const ox_conv *conv, const ox_conv_depth *depth, size_t *used,
                       const ox_depth_ends *ends);
#endif

#endif
