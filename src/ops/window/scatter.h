/* scatter.h: columns added back into the image that they were seen in: what ConvTranspose and Col2Im end with. */
#ifndef OX_OPS_WINDOW_SCATTER_H
#define OX_OPS_WINDOW_SCATTER_H

#include "loops/lanes.h"
#include "pool.h"
#include "window.h"

typedef struct ox_scatter ox_scatter;

#if OX_WITH_OWN_OPERATORS
/* Makes `count` sums of a channel, which may change, bytes that may lie where the sums do. Threads call it at the same
 * time. */
typedef void ox_scatter_end_fn(const ox_scatter *scatter, int64_t channel, int64_t count, char *sums, char *to);
#endif

/* Sets each of `channels` images to its bias, or zeros, and adds the columns of its taps: for each tap of the kernel, a
 * column has one element for each window. */
struct ox_scatter {
    const ox_window *window;
    ox_add_apart_fn *add;
    ox_move_fn *fill;
    ox_transpose_fn *join;
    ox_pool *pool;
    int64_t width; /* bytes of an element */
    int64_t channels;
    char *planes;               /* workspace, where columns are added up; NULL: in images where they lie */
    const char *columns, *bias; /* bias: an element for each channel; NULL for none */
    char *to;
#if OX_WITH_OWN_OPERATORS
    ox_scatter_end_fn *end; /* if not NULL, images are bytes, which it makes of finished sums */
    const void *context;    /* of `end` */
    /* If `times` is not NULL, `columns` are images of bytes, each of which so many channels see by all their taps: what
     * a tap adds is a byte times its factor, less what it takes. */
    ox_add_times_fn *times;
    int64_t sharing;
    const uint32_t *factors, *take;
#endif
};

/* Prepare: all members but those that a run sets, for images of a type that is computed in; and workspace. */
ox_status ox_scatter_plan(ox_call *call, ox_scatter *scatter, const ox_window *window, ox_dtype dtype,
                          int64_t channels);

#if OX_WITH_OWN_OPERATORS
/* Prepare, after that: images become bytes by `end`. */
ox_status ox_scatter_plan_end(ox_call *call, ox_scatter *scatter, ox_scatter_end_fn *end);
#endif

/* Run: that workspace. */
void ox_scatter_take(const ox_call *call, size_t *used, ox_scatter *scatter);

void ox_scatter_run(ox_scatter *scatter);

#endif
