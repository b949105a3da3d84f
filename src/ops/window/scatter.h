/* scatter.h: columns added back into the image that they were seen in: what ConvTranspose and Col2Im end with. */
#ifndef OX_OPS_WINDOW_SCATTER_H
#define OX_OPS_WINDOW_SCATTER_H

#include "loops/lanes.h"
#include "pool.h"
#include "window.h"

/* Sets each of `channels` images to its bias, or zeros, and adds the columns of its taps: for each tap of the kernel, a
 * column has one element for each window. */
typedef struct ox_scatter {
    const ox_window *window;
    ox_add_apart_fn *add;
    ox_move_fn *fill;
    int64_t width; /* bytes of an element */
    int64_t channels;
    const char *columns, *bias; /* bias: an element for each channel; NULL for none */
    char *to;
} ox_scatter;

void ox_scatter_run(ox_pool *pool, const ox_scatter *scatter);

#endif
