/* quantized_products.c: Conv and products of matrices between quantizations become operators on integers. */
#include "quantized.h"

#include "ops/product/matmul_integer.h"
#include "ops/window/byte_transposed.h"

#include <float.h>
#include <math.h>

/* Two scales are the same number but for the rounding of a product. */
#define ROUNDING 0x1p-22F

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
    return k <= INT32_MAX && product <= INT32_MAX && k * product <= INT32_MAX - least;
}

/* The same computed from the weights themselves, k consecutive ones for each channel. */
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

/* The next node changes the value no more than saturation does: its bounds are quantized to the limits of the type. */
static bool is_saturation(const ox_quantization *to, float low, float high) {
    const ox_int_range limits = ox_quant_range(to->dtype);
    const float scale = ox_quant_float(to->scales, 0), zero = (float)(int32_t)ox_quant_zero(to, 0);
    return rintf(low / scale) + zero <= (float)(int32_t)limits.low &&
           rintf(high / scale) + zero >= (float)(int32_t)limits.high;
}

/* One of Clip's bounds: an attribute before version 11, then an input. False if it is not known. */
static bool read_bound(const ox_requantizer *r, const ox_node *clip, int i, const char *name, float *bound) {
    const int32_t value = ox_quant_input(clip, i);
    const ox_tensor *tensor = ox_quant_known(r, value);
    const ox_attr *attr = ox_emit_attr(clip, name, OX_ATTR_FLOAT);
    if (clip->version < 11)
        *bound = attr ? attr->u.f : *bound;
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
        const float scale = ox_quant_scale(x, 0) * ox_quant_scale(w, ox_remainder(i, w->count));
        if (!(scale <= FLT_MAX && fabsf(ox_quant_scale(&q, i) - scale) <= scale * ROUNDING))
            return false;
    }
    return true;
}

static bool fits_sums(const ox_quantization *x, const ox_quantization *w, const ox_tensor *weights,
                      const ox_tensor *bias) {
    const int64_t channels = weights->dims[0];
    if (channels < 1)
        return false;
    const int64_t k = ox_quotient(ox_tensor_count(weights), channels);
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

#if OX_WITH_OWN_OPERATORS
/* The weights of ConvTranspose: input channels, output channels of each group, and taps. */
typedef struct transposed_weights {
    const ox_tensor *tensor;
    int64_t groups, ins, outs, taps; /* channels of a group */
} transposed_weights;

static bool read_transposed(const ox_node *conv, const ox_tensor *weights, transposed_weights *t) {
    if (!weights || weights->rank < 3 || ox_tensor_count(weights) < 1)
        return false;
    *t = (transposed_weights){.tensor = weights, .groups = ox_emit_int(conv, "group", 1), .outs = weights->dims[1]};
    if (t->groups < 1 || ox_remainder(weights->dims[0], t->groups))
        return false;
    t->ins = ox_quotient(weights->dims[0], t->groups);
    t->taps = ox_count(weights->rank - 2, weights->dims + 2);
    return true;
}

/* Whether sums of an output channel of a group stay below 2^31 whatever x holds, by the weights. */
static bool fits_transposed_channel(const ox_quantization *x, const ox_quantization *w, const transposed_weights *t,
                                    int64_t group, int64_t channel, int64_t more) {
    const int64_t zero = ox_quant_zero(w, channel), first = group * t->ins * t->outs + channel;
    int64_t sum = -more > more ? -more : more;
    for (int64_t i = 0; i < t->ins && sum <= INT32_MAX; i++)
        for (int64_t tap = 0; tap < t->taps && sum <= INT32_MAX; tap++) {
            const int64_t distance = ox_tensor_int(t->tensor, (first + i * t->outs) * t->taps + tap) - zero;
            sum += reach_of(x, 0) * (distance < 0 ? -distance : distance);
        }
    return sum <= INT32_MAX;
}

static bool fits_transposed(const ox_quantization *x, const ox_quantization *w, const transposed_weights *t,
                            const ox_tensor *bias) {
    for (int64_t group = 0; group < t->groups; group++)
        for (int64_t i = 0; i < t->outs; i++) {
            const int64_t more = bias ? ox_tensor_int(bias, group * t->outs + i) : 0;
            if (!fits_sum(x, w, i, t->ins * t->taps, more) && !fits_transposed_channel(x, w, t, group, i, more))
                return false;
        }
    return true;
}

static ox_status rewrite_transposed(ox_requantizer *r, int32_t n, int32_t value, const ox_node *conv,
                                    const ox_quantization *to) {
    ox_quantization x, w;
    const ox_tensor *bias;
    transposed_weights weights;
    if (!r->own || !ox_quant_is_byte(to) || !ox_quant_source(r, ox_quant_input(conv, 0), &x) ||
        !ox_quant_is_single(&x) || !ox_quant_is_byte(&x) || !ox_quant_source(r, ox_quant_input(conv, 1), &w) ||
        !ox_quant_is_byte(&w) || !read_transposed(conv, ox_quant_known(r, w.node->in[0]), &weights) ||
        weights.tensor->dtype != w.dtype || !ox_quant_is_along(&w, weights.tensor, 1) ||
        !read_bias(r, conv, &x, &w, weights.groups * weights.outs, &bias) || !fits_transposed(&x, &w, &weights, bias))
        return OX_OK;
    const ox_node *more = ox_quant_maker(r, ox_quant_input(conv, 2));
    const ox_index in[OX_TRANSPOSED_INPUTS] = {[OX_TRANSPOSED_X] = x.node->in[0],
                                               [OX_TRANSPOSED_X_SCALE] = x.scale,
                                               [OX_TRANSPOSED_X_ZERO] = x.zero,
                                               [OX_TRANSPOSED_W] = w.node->in[0],
                                               [OX_TRANSPOSED_W_SCALE] = w.scale,
                                               [OX_TRANSPOSED_W_ZERO] = w.zero,
                                               [OX_TRANSPOSED_Y_SCALE] = to->scale,
                                               [OX_TRANSPOSED_Y_ZERO] = to->zero,
                                               [OX_TRANSPOSED_BIAS] = bias ? more->in[0] : OX_NONE};
    return ox_quant_replace(r, n, value, conv, &ox_op_qlinear_conv_transpose,
                            to->zero >= 0 ? OX_TRANSPOSED_INPUTS : OX_TRANSPOSED_Y_ZERO, in);
}
#endif

/* A matrix of bytes with a zero point. */
static bool read_matrix(const ox_requantizer *r, int32_t value, ox_quantization *q) {
    return ox_quant_source(r, value, q) && ox_quant_is_byte(q) && q->zero >= 0;
}

/* Whether sums of products with constant weights [.., k, n] stay below 2^31, and there is one scale, or one for each
 * column. For two matrices that are not constant, the operator itself checks the length of the sums. */
static bool fits_matmul(const ox_requantizer *r, const ox_quantization *a, const ox_quantization *b) {
    const ox_tensor *weights = ox_quant_known(r, b->node->in[0]);
    if (!weights)
        return OX_WITH_OWN_OPERATORS && r->own && ox_quant_is_single(b);
    if (weights->dtype != b->dtype || weights->rank < 2 || !ox_quant_is_along(b, weights, weights->rank - 1))
        return false;
    for (int64_t i = 0; i < b->count; i++)
        if (!fits_sum(a, b, i, weights->dims[weights->rank - 2], 0))
            return false;
    return true;
}

static ox_status rewrite_matmul(ox_requantizer *r, int32_t n, int32_t value, const ox_node *matmul,
                                const ox_quantization *to) {
    ox_quantization a, b;
    const ox_op *op = ox_op_find("", "QLinearMatMul", matmul->version, NULL);
    if (!op || to->zero < 0 || !ox_quant_is_byte(to) || !read_matrix(r, ox_quant_input(matmul, 0), &a) ||
        !ox_quant_is_single(&a) || !read_matrix(r, ox_quant_input(matmul, 1), &b) || !fits_matmul(r, &a, &b))
        return OX_OK;
#if OX_WITH_OWN_OPERATORS
    if (!ox_quant_known(r, b.node->in[0]))
        op = &ox_op_qlinear_product;
#endif
    const ox_index in[] = {a.node->in[0], a.scale, a.zero, b.node->in[0], b.scale, b.zero, to->scale, to->zero};
    return ox_quant_replace(r, n, value, matmul, op, 8, in);
}

#if OX_WITH_OWN_OPERATORS
/* Puts the transpose of constant weights in front of node n; devices read weights as they lie. */
static ox_status put_transpose(ox_requantizer *r, int32_t n, int32_t weights, int32_t *out) {
    ox_node node = {.version = (ox_index)ox_newest_opset("")};
    node.op = ox_op_find("", "Transpose", node.version, NULL);
    return ox_quant_put(r, n, &node, 1, &weights, r->scope->nodes[n].out[0], out);
}

#endif

#if OX_WITH_BYTE_GEMMS
/* Weights [n,k] or [k,n], a scale for each of n, and a bias for each, if any. */
static bool fits_gemm(const ox_requantizer *r, const ox_node *gemm, const ox_quantization *a, const ox_quantization *b,
                      const ox_tensor **bias) {
    const ox_tensor *weights = ox_quant_known(r, b->node->in[0]);
    const int axis = ox_emit_int(gemm, "transB", 0) ? 0 : 1;
    if (!weights || weights->dtype != b->dtype || weights->rank != 2 || !ox_quant_is_along(b, weights, axis) ||
        !read_bias(r, gemm, a, b, weights->dims[axis], bias))
        return false;
    if (!axis)
        return fits_sums(a, b, weights, *bias);
    for (int64_t i = 0; i < weights->dims[1]; i++)
        if (!fits_sum(a, b, i, weights->dims[0], *bias ? ox_tensor_int(*bias, i) : 0))
            return false;
    return weights->dims[0] > 0;
}

static ox_status rewrite_gemm(ox_requantizer *r, int32_t n, int32_t value, const ox_node *gemm,
                              const ox_quantization *to) {
    ox_quantization a, b;
    const ox_tensor *bias;
    const bool has_c = ox_quant_input(gemm, 2) >= 0;
    if (gemm->version < 7 || ox_emit_int(gemm, "transA", 0) || ox_emit_float(gemm, "alpha", 1) < 1 ||
        ox_emit_float(gemm, "alpha", 1) > 1 || (has_c && ox_emit_float(gemm, "beta", 1) < 1) ||
        (has_c && ox_emit_float(gemm, "beta", 1) > 1) || to->zero < 0 || !ox_quant_is_byte(to) ||
        !read_matrix(r, ox_quant_input(gemm, 0), &a) || !ox_quant_is_single(&a) ||
        !read_matrix(r, ox_quant_input(gemm, 1), &b) || !fits_gemm(r, gemm, &a, &b, &bias))
        return OX_OK;
    int32_t weights = b.node->in[0];
#if OX_WITH_OWN_OPERATORS
    if (ox_emit_int(gemm, "transB", 0))
        OX_TRY(put_transpose(r, n, weights, &weights));
#endif
    const ox_node *more = ox_quant_maker(r, ox_quant_input(gemm, 2));
    const ox_index in[] = {a.node->in[0], a.scale,   a.zero,   (ox_index)weights,           b.scale,
                           b.zero,        to->scale, to->zero, bias ? more->in[0] : OX_NONE};
    OX_TRY(ox_quant_replace(r, n, value, gemm, &ox_op_qlinear_gemm, bias ? 9 : 8, in));
    if (OX_WITH_OWN_OPERATORS)
        r->scope->nodes[n].nattrs = 0;
    return OX_OK;
}
#endif

ox_status ox_quant_product(ox_requantizer *r, int32_t n, int32_t value, const ox_quantization *to) {
    const int32_t product = before_bounds(r, to, value);
    const ox_node *node = ox_quant_maker(r, product);
    if (product < 0 || r->readers[product] != 1 || !node || !ox_quant_may_go(r, product))
        return OX_OK;
    if (ox_build_is_op(node, "Conv"))
        return rewrite_conv(r, n, value, node, to);
#if OX_WITH_OWN_OPERATORS
    if (ox_build_is_op(node, "ConvTranspose"))
        return rewrite_transposed(r, n, value, node, to);
#endif
#if OX_WITH_BYTE_GEMMS
    if (ox_build_is_op(node, "Gemm"))
        return rewrite_gemm(r, n, value, node, to);
#endif
    if (ox_build_is_op(node, "MatMul"))
        return rewrite_matmul(r, n, value, node, to);
    return OX_WITH_BYTE_MEANS || OX_WITH_BYTE_ARITHMETIC ? ox_quant_elements(r, n, value, node, to) : OX_OK;
}
