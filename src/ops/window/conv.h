/* conv.h: convolutions as matrix products, whatever the type of their elements. */
#ifndef OX_OPS_WINDOW_CONV_H
#define OX_OPS_WINDOW_CONV_H

#include "loops/conv_loops.h"
#include "band.h"
#include "winograd.h"
#include "ops/gemm/gemm.h"

#if !OX_SMALL
/* Direct sums of outputs that lie side by side (conv_beside.c). */
typedef struct ox_conv_beside {
    const ox_beside_loops *loops; /* NULL if it is not used */
    ox_transpose_fn *transpose;
    const ox_f32 *panels; /* weights, OX_BESIDE outputs of a group side by side */
    int shape;            /* of tiles */
    int64_t rows;         /* of windows that are computed before their results are transposed, at most */
    size_t bytes;         /* of these results; each thread has its own */
} ox_conv_beside;

/* A convolution that is no product (conv_direct.c). */
typedef struct ox_conv_direct {
    bool is_used;
    bool finishes; /* loops do what the epilogue does */
    bool in_place; /* loops read the image where it lies; a room is a row of padding */
    ox_band band;
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
    bool is_used;
    int64_t together;   /* images that are laid out before they are multiplied */
    size_t bytes, each; /* of these images, and of the panels of a group */
    const void *panels;
    ox_pool *pool;       /* that lays images out */
    const ox_taps *seen; /* of the windows of each dimension; NULL if zeros are multiplied as well */
} ox_conv_rows;
#endif

typedef struct ox_conv {
    ox_window window;
    int64_t images, groups;
    int64_t in_channels, out_channels; /* per group */
    bool pointwise;                    /* every output element sees one input element, in order */
    ox_gemm_plan plan;
    const ox_lanes *add; /* the bias */
#if !OX_SMALL
    ox_gemm_sides sides; /* the columns of all images are one product; zeros if not */
    ox_conv_direct direct;
    ox_winograd winograd;
    ox_conv_rows rows;
#endif
} ox_conv;

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
static inline const char *ox_conv_algorithm(const ox_conv *conv) {
    return conv->pointwise ? "product, channels first" : "product of gathered columns, channels first";
}

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

/* Rows [row, row + rows) of columns [column, column + columns) of the product's second matrix: the input elements that
 * each output element sees, row k those of tap k % taps of channel k / taps; filled up with padding to to_row bytes.
 * At most OX_CONV_COLUMNS columns. */
enum {
    OX_CONV_COLUMNS = OX_SMALL ? 1 : OX_GEMM_PANEL_ROW / (int)sizeof(float)
};
void ox_conv_columns(const ox_conv *conv, const ox_conv_source *from, int64_t row, int64_t rows, int64_t column,
                     int64_t columns, char *to, int64_t to_row);

/* Run: all products. `extra` has `extra_size` bytes for each output channel, and is handed on to the product's `end`
 * from the group's first channel on. */
void ox_conv_run(const ox_conv *conv, const ox_gemm *product, const void *x, const void *weights, const void *extra,
                 int64_t extra_size, void *workspace);

/* Whether a convolution is computed directly, by Winograd's algorithm, or with pixels as rows. */
#if OX_SMALL
static inline bool ox_conv_is_winograd(const ox_conv *conv) {
    (void)conv;
    return false;
}
static inline double ox_conv_beside_steps(const ox_call *call, const ox_conv *conv) {
    (void)call, (void)conv;
    return 0;
}
static inline ox_status ox_conv_winograd_prepare(ox_call *call, ox_conv *conv, double least) {
    (void)call, (void)conv, (void)least;
    return OX_OK;
}
static inline void ox_conv_winograd_run(const ox_call *call, const ox_conv *conv, size_t *used, const ox_f32 *x,
                                        const ox_f32 *bias, float *to) {
    (void)call, (void)conv, (void)used, (void)x, (void)bias, (void)to;
}
static inline bool ox_conv_is_rows(const ox_conv *conv) {
    (void)conv;
    return false;
}
static inline int64_t ox_conv_together(const ox_conv *conv) {
    return conv->images;
}
static inline ox_status ox_conv_rows_prepare(ox_call *call, ox_conv *conv, const ox_gemm *as_columns) {
    (void)call, (void)conv, (void)as_columns;
    return OX_OK;
}
static inline void ox_conv_rows_product(const ox_conv *conv, ox_gemm *g) {
    (void)conv, (void)g;
}
static inline void ox_conv_rows_run(const ox_call *call, const ox_conv *conv, const ox_gemm *product, size_t *used,
                                    const void *x, const void *bias) {
    (void)call, (void)conv, (void)product, (void)used, (void)x, (void)bias;
}
static inline bool ox_conv_is_direct(const ox_conv *conv) {
    (void)conv;
    return false;
}
static inline bool ox_conv_has_few(const ox_conv *conv) {
    (void)conv;
    return false;
}
static inline ox_status ox_conv_direct_prepare(ox_call *call, ox_conv *conv, bool beside) {
    (void)call, (void)conv, (void)beside;
    return OX_OK;
}
static inline void ox_conv_direct_run(const ox_call *call, const ox_conv *conv, size_t *used, const ox_f32 *x,
                                      const ox_f32 *w, const ox_f32 *bias, float *to) {
    (void)call, (void)conv, (void)used, (void)x, (void)w, (void)bias, (void)to;
}
#else
static inline bool ox_conv_is_winograd(const ox_conv *conv) {
    return conv->winograd.is_used;
}
static inline ox_status ox_conv_winograd_prepare(ox_call *call, ox_conv *conv, double least) {
    const ox_winograd_shape shape = {&conv->window, conv->images, conv->groups, conv->in_channels, conv->out_channels};
    return ox_winograd_prepare(call, &shape, least, &conv->winograd);
}
static inline void ox_conv_winograd_run(const ox_call *call, const ox_conv *conv, size_t *used, const ox_f32 *x,
                                        const ox_f32 *bias, float *to) {
    ox_winograd_run(call, &conv->winograd, used, x, bias, to);
}
static inline bool ox_conv_is_rows(const ox_conv *conv) {
    return conv->rows.is_used;
}

/* The images whose products are run at once. */
static inline int64_t ox_conv_together(const ox_conv *conv) {
    return conv->rows.is_used ? conv->rows.together : conv->images;
}

/* Prepare: decides on that beside a product with pixels as columns, and asks for workspace. */
ox_status ox_conv_rows_prepare(ox_call *call, ox_conv *conv, const ox_gemm *as_columns);

/* Makes its products such ones, for ox_gemm_prepare. */
void ox_conv_rows_product(const ox_conv *conv, ox_gemm *g);

/* Run: all products; `bias` is handed on to the product's `end`, and may be NULL. */
void ox_conv_rows_run(const ox_call *call, const ox_conv *conv, const ox_gemm *product, size_t *used, const void *x,
                      const void *bias);

static inline bool ox_conv_is_direct(const ox_conv *conv) {
    return conv->direct.is_used;
}

/* Whether direct sums are possible. Without elements, sizes may be anything. */
static inline bool ox_conv_may_be_direct(const ox_conv *conv) {
    return conv->in_channels > 0 && conv->out_channels > 0 && conv->images > 0 && conv->groups > 0 &&
           ox_band_fits(&conv->window, sizeof(float));
}

/* Whether groups of floats have so few input channels that no other algorithm takes less time. */
bool ox_conv_has_few(const ox_conv *conv);

/* Prepare: decides on that, and asks for workspace; `beside` says that outputs lie side by side. */
ox_status ox_conv_direct_prepare(ox_call *call, ox_conv *conv, bool beside);

/* The time that direct sums of outputs side by side take for an image and a group, in multiplications of a number by
 * Winograd's algorithm; INFINITY if they cannot be, or compute too much for nothing. */
double ox_conv_beside_steps(const ox_call *call, const ox_conv *conv);

/* Prepare: lays weights out, and finds out how much room the results of a band take. It is not used if there is none
 * for the weights. */
ox_status ox_conv_beside_prepare(ox_call *call, ox_conv *conv);

/* Computes the block of outputs that begins with one, counted over all groups, of what a tile sees; `room` has the
 * bytes that were asked for. */
void ox_conv_beside_run(const ox_conv *conv, const ox_direct_tile *tile, int64_t output, void *room);

/* Run; `to` is not used where there is an epilogue, `bias` may be NULL. */
void ox_conv_direct_run(const ox_call *call, const ox_conv *conv, size_t *used, const ox_f32 *x, const ox_f32 *w,
                        const ox_f32 *bias, float *to);
#endif

#endif
