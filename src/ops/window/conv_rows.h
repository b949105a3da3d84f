/* conv_rows.h: products with pixels as rows, and weights in panels, for elements of any type. */
#ifndef OX_OPS_WINDOW_CONV_ROWS_H
#define OX_OPS_WINDOW_CONV_ROWS_H

#include "conv.h"

/* Whether weights can lie in panels, and rows of pixels be gathered for them. */
bool ox_conv_rows_can(const ox_call *call, const ox_conv *conv, const ox_gemm_kernel *kernel);

/* Steps that a product takes besides its own, each as long as one for a vector of sums: for an element of the result,
 * of the image, of a gathered matrix, and of the weights, and for a run of gathered elements. */
typedef struct ox_conv_steps {
    double result, image, gathered, weights, run;
} ox_conv_steps;

/* The steps of a product with pixels as rows, as a part of those with pixels as columns: `groups` along k of which an
 * instruction adds one, vectors of `unit` lanes. `seen` of the products of rows are computed. */
double ox_conv_rows_part(const ox_conv *conv, int64_t unit, double groups, double seen, const ox_conv_steps *rows,
                         const ox_conv_steps *columns);

/* Prepare: lays out the weights, unless there is no room for them: then conv->rows.panels is NULL. */
ox_status ox_conv_rows_weights(ox_call *call, ox_conv *conv, const ox_gemm_kernel *kernel);

/* Makes a product of a convolution one with rows of pixels. */
void ox_conv_rows_product(const ox_conv *conv, ox_gemm_columns_fn *gather, ox_gemm *gemm);

/* Prepare: asks for the workspace of ox_conv_rows_run, for such a product. */
ox_status ox_conv_rows_plan(ox_call *call, ox_conv *conv, const ox_gemm *gemm);

/* For an ox_gemm_columns_fn: what windows see of an image with its channels last; `fill` is each byte of padding. */
void ox_conv_rows_gather(const ox_gemm *gemm, const ox_conv *conv, int fill, const ox_gemm_block *to);

/* What depends on the type. */
typedef struct ox_conv_rows_extra {
    int64_t size; /* bytes of what operands->bias has for an output channel */
    uint8_t flip; /* of each byte of the image */
} ox_conv_rows_extra;

/* Run: the products of all images. */
void ox_conv_rows_run(const ox_call *call, const ox_conv *conv, size_t *used, ox_gemm *gemm,
                      const ox_conv_operands *operands, const ox_conv_rows_extra *extra);

#endif
