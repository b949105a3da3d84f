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
    ox_transpose_fn *join;
    ox_pool *pool;
    int64_t width; /* bytes of an element */
    int64_t channels;
    char *planes;               /* workspace; NULL: columns are added to images where they lie */
    const char *columns, *bias; /* bias: an element for each channel; NULL for none */
    char *to;
} ox_scatter;

/* Prepare: all members but those that a run sets, for images of a type that is computed in; and workspace. */
ox_status ox_scatter_plan(ox_call *call, ox_scatter *scatter, const ox_window *window, ox_dtype dtype,
                          int64_t channels);

/* Run: that workspace. */
void ox_scatter_take(const ox_call *call, size_t *used, ox_scatter *scatter);

void ox_scatter_run(ox_scatter *scatter);

#endif
