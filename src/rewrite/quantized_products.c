/* quantized_products.c: Conv and products of matrices between quantizations become operators on integers. */
#include "quantized.h"

#include <float.h>
#include <math.h>

/* Two scales are the same number but for the rounding of a product. */
#define ROUNDING 0x1p-22

enum {
    MOST_INPUTS = 9 /* of an integer operator */
};

/* ---- Sums --------------------------------------------------------------------------------------------------- */

/* The largest distance of a number from its zero point. */
static int64_t reach_of(const ox_quantization *q, int64_t i) {
    const ox_int_range limits = ox_quant_range(q->dtype);
    const int64_t zero = ox_quant_zero(q, i);
    return zero - limits.low > limits.high - zero ? zero - limits.low : limits.high - zero;
}

/* Whether a sum of k products of x and weights and `more` is below 2^31 whatever x holds. */
static bool fits_sum(const ox_quantization *x, const ox_quantization *w, int64_t channel, int64_t k, int64_t more) {
    const int64_t product = reach_of(x, 0) * reach_of(w, channel), least = -more > more ? -more : more;
    return k <= (INT32_MAX - least) / product;
}

/* The same by the weights themselves, which lie k behind each other for each channel. */
static bool fits_weights(const ox_quantization *x, const ox_quantization *w, const ox_tensor *weights, int64_t channel,
                         int64_t k, int64_t more) {
    int64_t sum = -more > more ? -more : more;
    for (int64_t i = 0; i < k && sum <= INT32_MAX; i++) {
        const int64_t distance = ox_tensor_int(weights, channel * k + i) - ox_quant_zero(w, channel);
        sum += reach_of(x, 0) * (distance < 0 ? -distance : distance);
    }
    return sum <= INT32_MAX;
}

static bool has_zeros(const ox_quantization *q) {
    for (int64_t i = 0; i < q->count; i++)
        if (ox_quant_zero(q, i))
            return true;
    return false;
}

/* ---- Bounds ---------------------------------------------------------------------------------------------- */

/* The node behind does to the value nothing that saturation does not do, too: the bounds are quantized to the type's.
 */
static bool is_saturation(const ox_quantization *to, float low, float high) {
    const ox_int_range limits = ox_quant_range(to->dtype);
    const float scale = ox_quant_float(to->scales, 0), zero = (float)ox_quant_zero(to, 0);
    return rintf(low / scale) + zero <= (float)limits.low && rintf(high / scale) + zero >= (float)limits.high;
}

/* One of Clip's bounds: an attribute before version 11, then an input. False if it is not known. */
static bool read_bound(const ox_requantizer *r, const ox_node *clip, int i, const char *name, float *bound) {
    const int32_t value = ox_quant_input(clip, i);
    const ox_tensor *tensor = ox_quant_known(r, value);
    if (clip->version < 11)
        *bound = (float)ox_emit_float(clip, name, (double)*bound);
    else if (tensor && tensor->dtype == OX_FLOAT && ox_tensor_count(tensor) == 1)
        *bound = ox_quant_float(tensor, 0);
    else
        return value < 0;
    return true;
}

/* Steps from a value that only one node reads over Relu or Clip in front, if saturation does what they do. */
static int32_t before_bounds(const ox_requantizer *r, const ox_quantization *to, int32_t value) {
    const ox_node *relu = ox_quant_made_by(r, value, "Relu"), *clip = ox_quant_made_by(r, value, "Clip");
    float low = relu ? 0 : -FLT_MAX, high = FLT_MAX;
    if (!relu && !clip)
        return value;
    if (clip && (!read_bound(r, clip, 1, "min", &low) || !read_bound(r, clip, 2, "max", &high)))
        return OX_NONE;
    return is_saturation(to, low, high) ? ox_quant_input(relu ? relu : clip, 0) : OX_NONE;
}

/* ---- Operators ---------------------------------------------------------------------------------------------- */

/* The bias, as integers of the scale of the sums; false if it is something else. */
static bool read_bias(const ox_requantizer *r, const ox_node *conv, const ox_quantization *x, const ox_quantization *w,
                      int64_t channels, const ox_tensor **bias) {
    ox_quantization q;
    const int32_t value = ox_quant_input(conv, 2);
    *bias = NULL;
    if (value < 0)
        return true;
    if (!ox_quant_source(r, value, &q))
        return false;
    *bias = ox_quant_known(r, q.node->in[0]);
    if (!*bias || (*bias)->dtype != OX_INT32 || (*bias)->rank != 1 || (*bias)->dims[0] != channels || has_zeros(&q) ||
        !ox_quant_is_along(&q, *bias, 0))
        return false;
    for (int64_t i = 0; i < channels; i++) {
        const double scale = ox_quant_scale(x, 0) * ox_quant_scale(w, i);
        if (fabs(ox_quant_scale(&q, i) - scale) > scale * ROUNDING)
            return false;
    }
    return true;
}

static bool fits_sums(const ox_quantization *x, const ox_quantization *w, const ox_tensor *weights,
                      const ox_tensor *bias) {
    const int64_t channels = weights->dims[0];
    if (channels < 1)
        return false;
    const int64_t k = ox_tensor_count(weights) / channels;
    for (int64_t i = 0; i < channels; i++) {
        const int64_t more = bias ? ox_tensor_int(bias, i) : 0;
        if (!fits_sum(x, w, i, k, more) && !fits_weights(x, w, weights, i, k, more))
            return false;
    }
    return true;
}

static ox_status rewrite_conv(ox_requantizer *r, int32_t n, int32_t value, const ox_node *conv,
                              const ox_quantization *to) {
    ox_quantization x, w;
    const ox_tensor *bias;
    const ox_op *op = ox_op_find("", "QLinearConv", conv->version, NULL);
    if (!op || to->zero < 0 || !ox_quant_is_byte(to) || !ox_quant_source(r, ox_quant_input(conv, 0), &x) ||
        !ox_quant_is_single(&x) || !ox_quant_is_byte(&x) || x.zero < 0 ||
        !ox_quant_source(r, ox_quant_input(conv, 1), &w) || !ox_quant_is_byte(&w) || w.zero < 0)
        return OX_OK;
    const ox_tensor *weights = ox_quant_known(r, w.node->in[0]);
    if (!weights || weights->dtype != w.dtype || weights->rank < 3 || !ox_quant_is_along(&w, weights, 0) ||
        !read_bias(r, conv, &x, &w, weights->dims[0], &bias) || !fits_sums(&x, &w, weights, bias))
        return OX_OK;
    const ox_node *more = ox_quant_maker(r, ox_quant_input(conv, 2));
    const ox_index in[MOST_INPUTS] = {x.node->in[0], x.scale,  x.zero,
                                      w.node->in[0], w.scale,  w.zero,
                                      to->scale,     to->zero, bias ? more->in[0] : OX_NONE};
    return ox_quant_replace(r, n, value, conv, op, bias ? 9 : 8, in);
}

static ox_status rewrite_matmul(ox_requantizer *r, int32_t n, int32_t value, const ox_node *matmul,
                                const ox_quantization *to) {
    ox_quantization a, b;
    const ox_op *op = ox_op_find("", "QLinearMatMul", matmul->version, NULL);
    if (!op || to->zero < 0 || !ox_quant_is_byte(to) || !ox_quant_source(r, ox_quant_input(matmul, 0), &a) ||
        !ox_quant_is_single(&a) || !ox_quant_is_byte(&a) || a.zero < 0 ||
        !ox_quant_source(r, ox_quant_input(matmul, 1), &b) || !ox_quant_is_byte(&b) || b.zero < 0)
        return OX_OK;
    const ox_tensor *weights = ox_quant_known(r, b.node->in[0]);
    if (!weights || weights->dtype != b.dtype || weights->rank < 2 ||
        !ox_quant_is_along(&b, weights, weights->rank - 1))
        return OX_OK;
    for (int64_t i = 0; i < b.count; i++)
        if (!fits_sum(&a, &b, i, weights->dims[weights->rank - 2], 0))
            return OX_OK;
    const ox_index in[] = {a.node->in[0], a.scale, a.zero, b.node->in[0], b.scale, b.zero, to->scale, to->zero};
    return ox_quant_replace(r, n, value, matmul, op, 8, in);
}

ox_status ox_quant_product(ox_requantizer *r, int32_t n, int32_t value, const ox_quantization *to) {
    const int32_t product = before_bounds(r, to, value);
    const ox_node *node = ox_quant_maker(r, product);
    if (product < 0 || r->readers[product] != 1 || !node)
        return OX_OK;
    if (ox_build_is_op(node, "Conv"))
        return rewrite_conv(r, n, value, node, to);
    return ox_build_is_op(node, "MatMul") ? rewrite_matmul(r, n, value, node, to) : OX_OK;
}
