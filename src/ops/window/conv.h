/* conv.h: convolutions, whatever the type of their elements, and the ways to compute them. */
#ifndef OX_OPS_WINDOW_CONV_H
#define OX_OPS_WINDOW_CONV_H

#include "loops/conv_loops.h"
#include "band.h"
#include "winograd.h"
#include "ops/gemm/gemm.h"

typedef struct ox_conv ox_conv;

/* ---- Ways --------------------------------------------------------------------------------------------------- */

/* Where the operands of a run are, in the type that is computed in; weights of a way that lays them out as they are. */
typedef struct ox_conv_operands {
    const void *x, *weights, *bias; /* no bias: NULL */
    void *to;                       /* NULL where an epilogue takes the result */
} ox_conv_operands;

typedef void ox_conv_run_fn(const ox_call *call, const ox_conv *conv, size_t *used, const ox_conv_operands *operands);

/* What a way does to its sums. */
enum {
    OX_CONV_TRANSFORMS = 1, /* they are of transformed inputs, and their rounding errors of all that a tile sees:
                             * ox_options.no_winograd leaves the way out */
    OX_CONV_ADDS_BIAS = 2   /* loops add the bias for nothing: it is not left to an epilogue */
};

/* A way to compute a convolution. An operator has a table of them (conv.c, conv_integer.c), in the order of preference:
 * the first one that can and costs less than 1 is prepared when a plan is made, kept in ox_conv.way, and run. */
typedef struct ox_conv_way {
    const char *name; /* for the environment's OX_CONV, by which tests take a way wherever it can */
    int sums;
    bool lays_weights; /* floats of 16 bits are widened where weights are laid out: others come as a whole, widened */
    const char *(*algorithm)(const ox_conv *conv);         /* once it is prepared: for ox_call_name */
    bool (*can)(const ox_call *call, const ox_conv *conv); /* NULL: always */
    /* Prepare: the time that it takes, as a part of what the ways behind it take; INFINITY or 0 where that was measured
     * for all convolutions of a kind. NULL: 0. It may keep what it has found out for `prepare`. */
    ox_status (*cost)(ox_call *call, ox_conv *conv, double *cost);
    /* Prepare: asks for workspace, unless there is no room for its weights: then *ready is false, and the ways behind
     * it are asked. */
    ox_status (*prepare)(ox_call *call, ox_conv *conv, bool *ready);
    ox_conv_run_fn *run;
} ox_conv_way;

/* Prepare: chooses one of `count` ways, the last of which is the plain one and can do everything. */
ox_status ox_conv_choose(ox_call *call, ox_conv *conv, const ox_conv_way *const *ways, int count);

/* The ways of floats. Devices have the last two alone: groups of one channel, and all others. */
extern const ox_conv_way ox_conv_winograd_way, ox_conv_beside_way, ox_conv_direct_way, ox_conv_rows_way,
    ox_conv_depth_way, ox_conv_columns_way;

/* ---- Convolutions ------------------------------------------------------------------------------------------- */

#if !OX_SMALL
/* Direct sums of outputs that lie side by side (conv_beside.c). */
typedef struct ox_conv_beside {
    const ox_beside_loops *loops;
    ox_transpose_fn *transpose;
    const ox_f32 *panels; /* weights, OX_BESIDE outputs of a group side by side */
    int shape;            /* of tiles */
    int64_t rows;         /* of windows that are computed before their results are transposed, at most */
    size_t bytes;         /* of these results; each thread has its own */
} ox_conv_beside;

/* Computes outputs from one on, counted over all groups, at most `count` of what a tile sees, and returns how many.
 * `room` has ox_conv_beside.bytes. */
typedef int64_t ox_conv_outputs_fn(const ox_conv *conv, ox_direct_tile *tile, int64_t output, int64_t count,
                                   void *room);

/* A convolution that is no product (conv_direct.c). */
typedef struct ox_conv_direct {
    ox_conv_outputs_fn *compute;
    const ox_pass_affine *affine; /* what loops do of what the epilogue does; NULL: nothing */
    bool in_place;                /* loops read the image where it lies; a room is a row of padding */
    ox_band band;
    int64_t unit;                /* outputs that are computed at once: all are of one group */
    int64_t together;            /* channels that are computed before they are handed on */
    int64_t layer;               /* elements from the band of an input channel to the next one */
    int64_t rooms;               /* of the inputs of a group each */
    size_t room, block, scratch; /* bytes; each thread has its own */
    ox_pool *pool;
    const ox_direct_loops *loops;
    ox_conv_beside beside;
} ox_conv_direct;
#endif

#if !OX_SMALL
/* A product with pixels as rows (conv_rows.c). */
typedef struct ox_conv_rows {
    bool is_laid;       /* images are laid out with their channels last; else tiles read them where they lie */
    int64_t together;   /* images that are laid out before they are multiplied */
    size_t bytes, each; /* of these images, and of the panels of a group */
    const void *panels;
    ox_pool *pool;       /* that lays images out */
    const ox_taps *seen; /* of the windows of each dimension; NULL if zeros are multiplied as well */
} ox_conv_rows;
#endif

struct ox_conv {
    ox_window window;
    int64_t images, groups;
    int64_t in_channels, out_channels; /* per group */
    int weights;                       /* the number of that input */
    bool pointwise;                    /* every output element sees one input element, in order */
    bool adds_bias;                    /* it has one, which is not left to the epilogue */
    size_t wide;                       /* where the workspace has weights that are widened in each run */
    const ox_conv_way *way;
    ox_gemm_plan plan;
    const ox_lanes *add; /* the bias */
#if !OX_SMALL
    ox_gemm_sides sides; /* the columns of all images are one product; zeros if not */
    ox_conv_direct direct;
    ox_winograd winograd;
    ox_conv_rows rows;
#endif
};

/* The convolution of input 0 with input `weights`, and the bias of input `bias`. */
ox_status ox_conv_describe(ox_call *call, ox_conv *conv, int weights, int bias);

/* Infer: the same, and that output 0 is what it gives, of that type. */
ox_status ox_conv_infer(ox_call *call, int weights, int bias, ox_dtype dtype);

/* The columns of all images as one product; NULL if each image has its own. */
static inline const ox_gemm_sides *ox_conv_sides(const ox_conv *conv) {
#if OX_SMALL
    (void)conv;
    return NULL;
#else
    return conv->sides.columns ? &conv->sides : NULL;
#endif
}

/* How its products are made, for ox_call_name. */
const char *ox_conv_product_algorithm(const ox_conv *conv);

/* One product of it, for an image and a group, with elements of that type; its context is the convolution. */
ox_gemm ox_conv_product(const ox_conv *conv, ox_dtype dtype);

/* An address inside a tensor; one without elements may have none. */
static inline const char *ox_conv_offset(const void *base, int64_t bytes) {
    return base && bytes ? (const char *)base + bytes : base;
}

/* An ox_gemm_end_fn: adds the bias, whose elements for the group's channels `extra` points to. */
void ox_conv_add_bias(const ox_gemm *gemm, const ox_gemm_block *block);

/* The channels of a group, of elements of `width` bytes, and the byte that padding is made of. */
typedef struct ox_conv_source {
    const void *data;
    int64_t width;
    int fill;
    ox_gather_fn *gather; /* of that width; devices have none */
} ox_conv_source;

ox_conv_source ox_conv_source_of(const ox_loops *loops, const void *data, ox_dtype dtype, int fill);

/* Writes a block of the product's second matrix: the input elements that each output element sees, row k those of tap
 * k % taps of channel k / taps; filled up with padding to data_row bytes. At most OX_CONV_COLUMNS columns. */
enum {
    OX_CONV_COLUMNS = OX_SMALL ? 4 : OX_GEMM_PANEL_ROW / (int)sizeof(float)
};
void ox_conv_columns(const ox_conv *conv, const ox_conv_source *from, const ox_gemm_block *to);

/* The product of floats, with what becomes of its sums. */
ox_gemm ox_conv_float_product(const ox_call *call, const ox_conv *conv, const void *bias);

/* Run: all products. `extra` has `extra_size` bytes for each output channel, and is handed on to the product's `end`
 * from the group's first channel on. */
void ox_conv_run(const ox_conv *conv, const ox_gemm *product, const void *x, const void *weights, const void *extra,
                 int64_t extra_size, void *workspace);

#if !OX_SMALL
/* Of ox_conv_winograd_way (winograd_plan.c). */
bool ox_winograd_can(const ox_call *call, const ox_conv *conv);
ox_status ox_winograd_cost(ox_call *call, ox_conv *conv, double *cost);
ox_status ox_winograd_prepare(ox_call *call, ox_conv *conv, bool *ready);

/* Whether direct sums are possible. Without elements, sizes may be anything. */
static inline bool ox_conv_may_be_direct(const ox_conv *conv) {
    return conv->in_channels > 0 && conv->out_channels > 0 && conv->images > 0 && conv->groups > 0 &&
           ox_band_fits(&conv->window, sizeof(float));
}

/* Prepare: bands for direct sums; `unit` and `compute` are set, and whatever the latter wants is prepared, before the
 * workspace is asked for. */
ox_status ox_conv_direct_bands(ox_call *call, ox_conv *conv);
ox_status ox_conv_direct_plan(ox_call *call, ox_conv *conv);

/* The time that direct sums of outputs side by side take for an image and a group, in multiplications of a number by
 * Winograd's algorithm; INFINITY if they cannot be, or compute too much for nothing. */
double ox_conv_beside_steps(const ox_call *call, const ox_conv *conv);

/* An ox_conv_run_fn, of direct sums of either kind. */
ox_conv_run_fn ox_conv_direct_run;
#endif

/* Whether groups of floats have so few input channels that no other way takes less time than direct sums. */
#if OX_SMALL
static inline bool ox_conv_has_few(const ox_conv *conv) {
    (void)conv;
    return false;
}
#else
bool ox_conv_has_few(const ox_conv *conv);
#endif

#endif
