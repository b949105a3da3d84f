/* window.h: a kernel that slides over an image: what convolutions, pools and their inverses have in common. A window
 * is the part of the padded image that one place of the kernel covers; a tap is an element of the kernel. */
#ifndef OX_OPS_WINDOW_WINDOW_H
#define OX_OPS_WINDOW_WINDOW_H

#include "iterate/walk.h"
#include "ops/op.h"

enum {
    OX_WINDOW_DIMS = OX_MAX_RANK - 2, /* the most spatial dimensions */
    OX_WINDOW_LISTS = 7               /* of an ox_window */
};

typedef enum ox_auto_pad {
    OX_PAD_NOTSET,
    OX_PAD_VALID,
    OX_PAD_UPPER, /* SAME_UPPER: the odd element comes behind the image */
    OX_PAD_LOWER
} ox_auto_pad;

/* The lists have an entry for each spatial dimension. */
typedef struct ox_window {
    int spatial;
    ox_auto_pad auto_pad;
    int64_t *in, *kernel;        /* sizes of image and kernel */
    int64_t *stride, *dilation;  /* at least 1 */
    int64_t *pad, *end;          /* padding before and behind the image */
    int64_t *out;                /* windows */
    int64_t taps;                /* elements of the kernel, ... */
    int64_t in_count, out_count; /* ... and of a channel of image and result */
} ox_window;

/* Gives the lists their places in a room for OX_WINDOW_LISTS * spatial numbers. */
void ox_window_place(ox_window *window, int spatial, int64_t *room);

/* A window as the state of a prepared operator, which begins with it and has `size` bytes; NULL if out of memory. */
void *ox_window_state(ox_call *call, size_t size, int spatial);

/* The number of spatial dimensions of an image; 0 if its rank is too low. */
static inline int ox_window_spatial(const ox_tensor *image) {
    return image->rank < 3 ? 0 : image->rank - 2;
}

/* A list attribute with `count` values of at least `least`, or `otherwise` for each. */
ox_status ox_window_list(ox_call *call, const char *name, int count, int64_t least, int64_t otherwise, int64_t *list);

/* strides, dilations, pads and auto_pad. */
ox_status ox_window_read(ox_call *call, ox_window *window);

/* The sizes of the image from input 0, which has at least one spatial dimension. */
ox_status ox_window_image(ox_call *call, ox_window *window);

/* The kernel's size from kernel_shape, which the loader wants to be there. */
ox_status ox_window_kernel(ox_call *call, ox_window *window);

/* The kernel's size from input `weights`, behind two other dimensions; kernel_shape may say the same. */
ox_status ox_window_weights(ox_call *call, ox_window *window, int weights);

/* Reads attribute 'group', which has to divide the channels: those of input i. */
ox_status ox_window_groups(ox_call *call, int i, int64_t channels, int64_t *groups);

/* The elements that the kernel spans in dimension d. */
ox_status ox_window_reach(ox_call *call, const ox_window *window, int d, int64_t *reach);

/* Computes the number of windows, and the padding where auto_pad gives it, from all other members. `ceil`: the last
 * window may reach beyond the padding, but not begin in the padding behind the image. */
ox_status ox_window_slide(ox_call *call, ox_window *window, bool ceil);

/* The counts of elements; an error if they overflow. */
ox_status ox_window_count(ox_call *call, ox_window *window);

/* The taps [first, end) of a kernel that see the image from window i of dimension d. */
typedef struct ox_taps {
    int64_t first, end;
} ox_taps;
ox_taps ox_window_taps(const ox_window *window, int d, int64_t i);

/* Whether memory may have room for that many. Only what is empty can have other sizes. */
static inline bool ox_window_fits(int64_t value) {
    return value >= 0 && (uint64_t)value <= SIZE_MAX / 2;
}

#endif
