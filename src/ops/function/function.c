/* function.c: operators whose nodes the loader writes (src/rewrite/function.c): what their types and shapes must be.
 * The nodes that compute check what they read themselves; here is what those would let pass. */
#include "ops/op.h"

static ox_status check_vector(ox_call *call, int i, int64_t length) {
    const ox_tensor *t = ox_call_given(call, i) ? call->in[i] : NULL;
    if (!t || (t->rank == 1 && t->dims[0] == length))
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have shape [%lld]", OX_INPUT(call, i), (long long)length);
}

static ox_status check_given(const ox_call *call, int i) {
    return ox_call_given(call, i) ? OX_OK : ox_call_fail(call, OX_ERROR_MODEL, "input %d must be given", i);
}

static ox_status check_rank(ox_call *call, int i, int rank) {
    if (!ox_call_given(call, i) || call->in[i]->rank == rank)
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have %d dimensions", OX_INPUT(call, i), rank);
}

ox_status ox_infer_first_type(ox_call *call) {
    return ox_call_check_dtype(call, 0, call->op->dtypes);
}

ox_status ox_infer_same_types(ox_call *call) {
    OX_TRY(ox_infer_first_type(call));
    return ox_call_check_same(call, 0, call->nin - 1);
}

/* ---- Floats ------------------------------------------------------------------------------------------------- */

/* BiasGelu, FastGelu, Gelu, QuickGelu: a bias is of the last dimension. */
ox_status ox_infer_bias_gelu(ox_call *call) {
    const ox_tensor *x = call->in[0];
    OX_TRY(ox_infer_same_types(call));
    if (ox_call_given(call, 1) && x->rank == 0)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s: a dimension for the bias is expected", OX_INPUT(call, 0));
    return x->rank ? check_vector(call, 1, x->dims[x->rank - 1]) : OX_OK;
}

/* What is added has the shape of the result, which broadcasting would hide but for the windows. */
static ox_status check_added(ox_call *call, bool last) {
    const ox_tensor *x = call->in[0], *w = call->in[1], *z = ox_call_given(call, 3) ? call->in[3] : NULL;
    if (!z || (z->rank == x->rank && z->rank > 2 && w->rank > 0 && z->dims[0] == x->dims[0] &&
               z->dims[last ? z->rank - 1 : 1] == w->dims[0]))
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have the shape of the output", OX_INPUT(call, 3));
}

/* FusedConv. */
ox_status ox_infer_fused_conv(ox_call *call) {
    OX_TRY(ox_infer_same_types(call));
    return check_added(call, false);
}

static ox_status check_image(ox_call *call) {
    return call->in[0]->rank > 2 ? OX_OK
                                 : ox_call_fail(call, OX_ERROR_SHAPE, "%s: images are expected", OX_INPUT(call, 0));
}

/* Weights of an image: as many dimensions, and channels where they are. */
static ox_status check_weights(ox_call *call, int i, bool last) {
    const ox_tensor *x = call->in[0], *w = call->in[i];
    OX_TRY(check_image(call));
    if (w->rank != x->rank)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have as many dimensions as %s", OX_INPUT(call, i),
                            OX_INPUT(call, 0));
    const int64_t channels = x->dims[last ? x->rank - 1 : 1], group = ox_call_int(call, "group", 1);
    if (group < 1 || channels % group || channels / group != w->dims[1])
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s has %lld channels, %s takes %lld in each of %lld groups",
                            OX_INPUT(call, 0), (long long)channels, OX_INPUT(call, i), (long long)w->dims[1],
                            (long long)group);
    return OX_OK;
}

/* NhwcConv and NhwcFusedConv: channels are last in images, and first in weights. */
ox_status ox_infer_nhwc_conv(ox_call *call) {
    OX_TRY(ox_infer_same_types(call));
    OX_TRY(check_weights(call, 1, true));
    return check_added(call, true);
}

ox_status ox_infer_nhwc_pool(ox_call *call) {
    OX_TRY(ox_infer_first_type(call));
    return check_image(call);
}

/* SkipLayerNormalization and SkipSimplifiedLayerNormalization: batch (which may be missing), sequence, hidden size. */
ox_status ox_infer_skip_norm(ox_call *call) {
    const ox_tensor *x = call->in[0], *skip = call->in[1];
    OX_TRY(ox_infer_same_types(call));
    if (x->rank != 2 && x->rank != 3)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have 2 or 3 dimensions", OX_INPUT(call, 0));
    bool fits = skip->rank >= 2 && skip->rank <= x->rank;
    for (int d = 1; d <= skip->rank && fits; d++) {
        const int64_t dim = skip->dims[skip->rank - d];
        fits = dim == x->dims[x->rank - d] || (d == 3 && dim == 1);
    }
    if (!fits)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have the shape of %s, but for the batch", OX_INPUT(call, 1),
                            OX_INPUT(call, 0));
    for (int i = 2; i < call->nin; i++)
        OX_TRY(check_vector(call, i, x->dims[x->rank - 1]));
    return OX_OK;
}

/* EmbedLayerNormalization: indices of words and segments, the rows that they name, scale and bias, a mask, positions.
 */
ox_status ox_infer_embed_norm(ox_call *call) {
    static const int needed[] = {0, 2, 3, 5, 6};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        OX_TRY(check_given(call, needed[i]));
    const ox_tensor *ids = call->in[0], *words = call->in[2];
    OX_TRY(check_rank(call, 0, 2));
    if (ox_call_given(call, 1) != ox_call_given(call, 4))
        return ox_call_fail(call, OX_ERROR_MODEL, "inputs 1 and 4, the segments, must be given together");
    for (int i = 2; i < 7; i++)
        if (call->in[i] && call->in[i]->dtype != words->dtype)
            return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must have the same type", OX_INPUT(call, 2),
                                OX_INPUT(call, i));
    OX_TRY(ox_call_check_dtype(call, 2, OX_BIT(OX_FLOAT) | OX_BIT(OX_FLOAT16)));
    for (int i = 2; i < 5; i++)
        OX_TRY(check_rank(call, i, 2));
    for (int i = 3; i < 5; i++)
        if (call->in[i] && call->in[i]->dims[1] != words->dims[1])
            return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s have rows of other lengths", OX_INPUT(call, 2),
                                OX_INPUT(call, i));
    OX_TRY(check_vector(call, 5, words->dims[1]));
    OX_TRY(check_vector(call, 6, words->dims[1]));
    for (int i = 0; i < call->nin; i = i == 1 ? 7 : i + 1) {
        const ox_tensor *t = call->in[i];
        if (!t)
            continue;
        OX_TRY(ox_call_check_dtype(call, i, call->op->dtypes));
        if (t->rank != 2 || t->dims[1] != ids->dims[1] || (t->dims[0] != ids->dims[0] && !(i == 8 && t->dims[0] == 1)))
            return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have the shape of %s", OX_INPUT(call, i),
                                OX_INPUT(call, 0));
    }
    return OX_OK;
}

/* Operators of com.microsoft.nchwc: images of floats with two dimensions. */
ox_status ox_infer_block_image(ox_call *call) {
    OX_TRY(ox_infer_same_types(call));
    OX_TRY(check_rank(call, 0, 4));
    return call->nin > 1 ? check_added(call, false) : OX_OK;
}

/* ReorderOutput: the channels of the image but those that fill its last block. */
ox_status ox_infer_block_end(ox_call *call) {
    OX_TRY(ox_infer_block_image(call));
    const int64_t channels = ox_call_int(call, "channels", 0);
    if (channels > 0 && channels <= call->in[0]->dims[1])
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "attribute 'channels' is %lld, %s has %lld", (long long)channels,
                        OX_INPUT(call, 0), (long long)call->in[0]->dims[1]);
}

/* ---- Quantised tensors -------------------------------------------------------------------------------------- */

/* A scale or a zero point of `dtype` for a whole tensor, or for its columns (columns > 0). */
static ox_status check_parameter(ox_call *call, int i, ox_dtype dtype, int64_t columns) {
    const ox_tensor *t = ox_call_given(call, i) ? call->in[i] : NULL;
    if (!t)
        return OX_OK;
    OX_TRY(ox_call_check_dtype(call, i, OX_BIT(dtype)));
    if (t->rank == 0 || (t->rank == 1 && (t->dims[0] == 1 || t->dims[0] == columns)))
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "%s must be one element%s", OX_INPUT(call, i),
                        columns ? ", or one for each column" : "");
}

/* A scale, which must be there, and a zero point. */
static ox_status check_parameters(ox_call *call, int i, ox_dtype dtype) {
    OX_TRY(check_given(call, i));
    OX_TRY(check_parameter(call, i, OX_FLOAT, 0));
    return check_parameter(call, i + 1, dtype, 0);
}

/* Tensors of a type, each with scale and zero point behind it, from input `first` to before `end`. */
static ox_status check_triples(ox_call *call, int first, int end, ox_dtype dtype) {
    for (int i = first; i < end; i += 3) {
        OX_TRY(check_given(call, i));
        OX_TRY(ox_call_check_dtype(call, i, OX_BIT(dtype)));
        OX_TRY(check_parameters(call, i + 1, dtype));
    }
    return OX_OK;
}

/* Triples, and then scale and zero point of the result. */
ox_status ox_infer_quantized(ox_call *call) {
    const int end = call->op->max_in - 2;
    OX_TRY(check_given(call, 0));
    OX_TRY(ox_infer_first_type(call));
    OX_TRY(check_triples(call, 0, end, call->in[0]->dtype));
    return check_parameters(call, end, call->in[0]->dtype);
}

static ox_status check_channels_last(ox_call *call) {
    const int64_t last = ox_call_int(call, "channels_last", 0);
    if (last == 0 || last == 1)
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'channels_last' must be 0 or 1, not %lld", (long long)last);
}

ox_status ox_infer_quantized_pool(ox_call *call) {
    OX_TRY(ox_infer_quantized(call));
    OX_TRY(check_channels_last(call));
    return check_image(call);
}

/* QLinearConv, which ONNX has for channels that come first: the node that computes checks all but the image. */
ox_status ox_infer_quantized_conv(ox_call *call) {
    OX_TRY(ox_infer_first_type(call));
    OX_TRY(check_channels_last(call));
    OX_TRY(check_parameters(call, 1, call->in[0]->dtype));
    return check_weights(call, 3, ox_call_int(call, "channels_last", 0) != 0);
}

/* QLinearWhere: a condition, two triples, and then scale and zero point of the result. */
ox_status ox_infer_quantized_where(ox_call *call) {
    OX_TRY(ox_call_check_dtype(call, 0, OX_BIT(OX_BOOL)));
    OX_TRY(ox_call_check_dtype(call, 1, call->op->dtypes));
    OX_TRY(check_triples(call, 1, 7, call->in[1]->dtype));
    return check_parameters(call, 7, call->in[1]->dtype);
}

/* QLinearConcat: scale and zero point of the result, and then triples. */
ox_status ox_infer_quantized_concat(ox_call *call) {
    OX_TRY(check_given(call, 1));
    OX_TRY(ox_call_check_dtype(call, 1, OX_BIT(OX_INT8) | OX_BIT(OX_UINT8)));
    OX_TRY(check_parameters(call, 0, call->in[1]->dtype));
    if (call->nin < 4)
        return ox_call_fail(call, OX_ERROR_MODEL, "it has no tensor with a scale");
    return check_triples(call, 2, call->nin, call->in[1]->dtype);
}

static int64_t columns_of(const ox_tensor *b) {
    return b->rank > 1 ? b->dims[b->rank - 1] : 1;
}

/* DynamicQuantizeMatMul: A, B, scale and zero point of B, bias. */
ox_status ox_infer_quantizing_matmul(ox_call *call) {
    const ox_tensor *b = call->in[1];
    const int64_t columns = columns_of(b);
    OX_TRY(ox_infer_first_type(call));
    OX_TRY(ox_call_check_dtype(call, 1, OX_BIT(OX_INT8) | OX_BIT(OX_UINT8)));
    OX_TRY(check_parameter(call, 2, OX_FLOAT, columns));
    OX_TRY(check_parameter(call, 3, b->dtype, columns));
    if (ox_call_given(call, 4))
        OX_TRY(ox_call_check_dtype(call, 4, OX_BIT(OX_FLOAT)));
    return check_vector(call, 4, columns);
}

/* MatMulIntegerToFloat: A, B, their scales, their zero points, bias. */
ox_status ox_infer_matmul_to_float(ox_call *call) {
    const ox_tensor *b = call->in[1];
    const int64_t columns = columns_of(b);
    OX_TRY(ox_infer_first_type(call));
    OX_TRY(ox_call_check_dtype(call, 1, OX_BIT(OX_INT8) | OX_BIT(OX_UINT8)));
    OX_TRY(check_parameter(call, 2, OX_FLOAT, 0));
    OX_TRY(check_parameter(call, 3, OX_FLOAT, columns));
    OX_TRY(check_parameter(call, 4, call->in[0]->dtype, 0));
    OX_TRY(check_parameter(call, 5, b->dtype, columns));
    if (ox_call_given(call, 6))
        OX_TRY(ox_call_check_dtype(call, 6, OX_BIT(OX_FLOAT)));
    return check_vector(call, 6, columns);
}

/* Input 6 broadcasts to the product. */
static ox_status check_bias(ox_call *call) {
    const ox_tensor *c = call->in[6];
    const int64_t dims[2] = {call->in[0]->dims[ox_call_int(call, "transA", 0) != 0],
                             call->in[3]->dims[ox_call_int(call, "transB", 0) == 0]};
    OX_TRY(ox_call_check_dtype(call, 6, OX_BIT(OX_INT32)));
    bool fits = c->rank <= 2;
    for (int d = 1; d <= c->rank && fits; d++)
        fits = c->dims[c->rank - d] == 1 || c->dims[c->rank - d] == dims[2 - d];
    return fits ? OX_OK
                : ox_call_fail(call, OX_ERROR_SHAPE, "%s does not fit the output of shape %s", OX_INPUT(call, 6),
                               OX_DIMS(2, dims));
}

/* QGemm: A and B, each with scale and zero point, a bias of integers, and scale and zero point of the result. */
ox_status ox_infer_quantized_gemm(ox_call *call) {
    const ox_tensor *b = call->in[3];
    OX_TRY(ox_infer_first_type(call));
    OX_TRY(ox_call_check_dtype(call, 3, OX_BIT(OX_INT8) | OX_BIT(OX_UINT8)));
    OX_TRY(check_rank(call, 0, 2));
    OX_TRY(check_rank(call, 3, 2));
    const int64_t columns = b->dims[ox_call_int(call, "transB", 0) == 0];
    OX_TRY(check_parameters(call, 1, call->in[0]->dtype));
    OX_TRY(check_parameter(call, 4, OX_FLOAT, columns));
    OX_TRY(check_parameter(call, 5, b->dtype, columns));
    if (ox_call_given(call, 7) != ox_call_given(call, 8))
        return ox_call_fail(call, OX_ERROR_MODEL,
                            "inputs 7 and 8, scale and zero point of the result, must be given "
                            "together");
    OX_TRY(check_parameter(call, 7, OX_FLOAT, 0));
    OX_TRY(check_parameter(call, 8, call->in[0]->dtype, 0));
    return ox_call_given(call, 6) ? check_bias(call) : OX_OK;
}

/* MatMulInteger16: sums of 32 bits. */
ox_status ox_infer_matmul_words(ox_call *call) {
    OX_TRY(ox_infer_first_type(call));
    return ox_call_check_dtype(call, 1, call->op->dtypes);
}

/* Ends of the keys of each of the batch, or ends and starts; or what each key, or each query, sees. */
static ox_status check_mask(ox_call *call, int64_t keys) {
    const ox_tensor *x = call->in[0], *mask = call->in[5];
    const int64_t seen[3] = {x->dims[0], x->dims[1], keys};
    OX_TRY(ox_call_check_dtype(call, 5, OX_BIT(OX_INT32)));
    if (mask->rank == 4)
        return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "%s: masks of 4 dimensions are not supported",
                            OX_INPUT(call, 5));
    if (mask->rank == 3)
        return ox_call_check_open_dims(call, 5, 3, seen);
    if (mask->rank == 2)
        return ox_call_check_open_dims(call, 5, 2, (const int64_t[]){seen[0], keys});
    if (mask->rank == 1 && (mask->dims[0] == seen[0] || (mask->dims[0] % 2 == 0 && mask->dims[0] / 2 == seen[0])))
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have one element for each of the batch of %lld, or two",
                        OX_INPUT(call, 5), (long long)seen[0]);
}

/* Attention: A and B, and what the node that computes it checks. */
ox_status ox_infer_projected_attention(ox_call *call) {
    static const int floats[] = {1, 2, 4, 5};
    const ox_tensor *x = call->in[0], *w = call->in[1];
    OX_TRY(ox_infer_first_type(call));
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        if (ox_call_given(call, floats[i]))
            OX_TRY(ox_call_check_dtype(call, floats[i], OX_BIT(x->dtype)));
    OX_TRY(check_rank(call, 0, 3));
    OX_TRY(ox_call_check_open_dims(call, 1, 2, (const int64_t[]){x->dims[2], -1}));
    if (ox_call_int(call, "past_present_share_buffer", 0) && (!ox_call_given(call, 4) || !ox_call_given(call, 6)))
        return ox_call_fail(call, OX_ERROR_MODEL,
                            "attribute 'past_present_share_buffer' needs inputs 4 and 6, the past and its length");
    return check_vector(call, 2, w->dims[1]);
}

/* QAttention: A and B, bias, scales, mask, zero points, keys and values of before. */
ox_status ox_infer_quantized_attention(ox_call *call) {
    const ox_tensor *x = call->in[0], *w = call->in[1];
    const int64_t heads = ox_call_int(call, "num_heads", 0);
    OX_TRY(ox_infer_first_type(call));
    OX_TRY(ox_call_check_dtype(call, 1, OX_BIT(OX_INT8) | OX_BIT(OX_UINT8)));
    OX_TRY(check_rank(call, 0, 3));
    OX_TRY(ox_call_check_open_dims(call, 1, 2, (const int64_t[]){x->dims[2], -1}));
    const int64_t columns = w->dims[1];
    if (heads < 1 || columns % 3 || columns / 3 % heads)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s does not give queries, keys and values of %lld heads",
                            OX_INPUT(call, 1), (long long)heads);
    OX_TRY(ox_call_check_dtype(call, 2, OX_BIT(OX_FLOAT)));
    OX_TRY(check_vector(call, 2, columns));
    OX_TRY(check_parameter(call, 3, OX_FLOAT, 0));
    OX_TRY(check_parameter(call, 4, OX_FLOAT, columns));
    OX_TRY(check_parameter(call, 6, x->dtype, 0));
    OX_TRY(check_parameter(call, 7, w->dtype, columns));
    int64_t keys = x->dims[1];
    if (ox_call_given(call, 8)) {
        OX_TRY(ox_call_check_dtype(call, 8, OX_BIT(OX_FLOAT)));
        OX_TRY(ox_call_check_open_dims(call, 8, 5, (const int64_t[]){2, x->dims[0], heads, -1, columns / 3 / heads}));
        if (!ox_add_i64(keys, call->in[8]->dims[3], &keys))
            return ox_call_fail(call, OX_ERROR_LIMIT, "%s has too many keys", OX_INPUT(call, 8));
    }
    return ox_call_given(call, 5) ? check_mask(call, keys) : OX_OK;
}
