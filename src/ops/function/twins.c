/* twins.c: operators of com.microsoft that are one or a few of ONNX's (src/rewrite/function.c), as ONNX Runtime had
 * them first or has them in other words: what their types and shapes must be, as far as the nodes that compute would
 * let something else pass. */
#include "ops/op.h"

static ox_status check_rank(ox_call *call, int i, int rank) {
    if (!ox_call_given(call, i) || call->in[i]->rank == rank)
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have %d dimension%s", OX_INPUT(call, i), rank,
                        rank == 1 ? "" : "s");
}

static ox_status check_same_dims(ox_call *call, int i, int j) {
    const ox_tensor *a = call->in[i], *b = call->in[j];
    return ox_same_dims(a->rank, a->dims, b->rank, b->dims)
               ? OX_OK
               : ox_call_fail(call, OX_ERROR_SHAPE, "%s must have the shape of %s", OX_INPUT(call, j),
                              OX_INPUT(call, i));
}

static ox_status check_one(ox_call *call, int i) {
    if (!ox_call_given(call, i) || (call->in[i]->rank < 2 && ox_tensor_count(call->in[i]) == 1))
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "%s must be one element", OX_INPUT(call, i));
}

static ox_status check_words(ox_call *call, const char *name, const char *given, const char *const *words, int count) {
    const ox_string said = ox_call_string(call, name, given);
    for (int i = 0; i < count; i++)
        if (ox_says(said, words[i]))
            return OX_OK;
    return ox_call_fail(call, OX_ERROR_MODEL, "attribute '%s': '%.*s' is not possible", name, OX_SHORT(said));
}

/* ---- Elements that move ------------------------------------------------------------------------------------------ */

/* ExpandDims: a tensor, and where the dimension goes. */
ox_status ox_infer_expand_dims(ox_call *call) {
    OX_TRY(ox_call_check_dtype(call, 1, OX_BIT(OX_INT32)));
    return check_one(call, 1);
}

/* GatherND: indices of 32 bits, too. */
ox_status ox_infer_tuples(ox_call *call) {
    return ox_call_check_dtype(call, 1, OX_BIT(OX_INT32) | OX_BIT(OX_INT64));
}

/* Pad: widths in a list, or in a matrix of one row. */
ox_status ox_infer_padding(ox_call *call) {
    const ox_tensor *x = call->in[0], *pads = call->in[1];
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(ox_call_check_dtype(call, 1, OX_BIT(OX_INT64)));
    if ((pads->rank != 1 && pads->rank != 2) || (pads->rank == 2 && pads->dims[0] != 1) ||
        pads->dims[pads->rank - 1] != 2 * (int64_t)x->rank)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have shape [%d] or [1,%d]", OX_INPUT(call, 1), 2 * x->rank,
                            2 * x->rank);
    return check_one(call, 2);
}

/* Unique: of a list. */
ox_status ox_infer_unique_list(ox_call *call) {
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    return check_rank(call, 0, 1);
}

/* Range: one element each. */
ox_status ox_infer_steps(ox_call *call) {
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(ox_call_check_same(call, 0, 2));
    for (int i = 0; i < call->nin; i++)
        OX_TRY(check_one(call, i));
    return OX_OK;
}

/* ---- Images and distances ---------------------------------------------------------------------------------------- */

/* GridSample: images of two dimensions, and the names that modes had first. */
ox_status ox_infer_sampling(ox_call *call) {
    static const char *const modes[] = {"bilinear", "nearest", "bicubic"};
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(ox_call_check_same(call, 0, 1));
    OX_TRY(check_rank(call, 0, 4));
    OX_TRY(check_rank(call, 1, 4));
    return check_words(call, "mode", "bilinear", modes, 3);
}

/* CDist: points in two matrices. */
ox_status ox_infer_distances(ox_call *call) {
    static const char *const metrics[] = {"sqeuclidean", "euclidean"};
    const ox_tensor *a = call->in[0], *b = call->in[1];
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(ox_call_check_same(call, 0, 1));
    OX_TRY(check_rank(call, 0, 2));
    OX_TRY(check_rank(call, 1, 2));
    if (a->dims[1] != b->dims[1])
        return ox_call_fail(call, OX_ERROR_SHAPE, "points of %s and %s have other dimensions", OX_INPUT(call, 0),
                            OX_INPUT(call, 1));
    return check_words(call, "metric", "sqeuclidean", metrics, 2);
}

/* ---- Gates ------------------------------------------------------------------------------------------------------- */

/* GatedAdd: a factor for each row. */
ox_status ox_infer_gated_add(ox_call *call) {
    const ox_tensor *x = call->in[0], *gate = call->in[2];
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(ox_call_check_same(call, 0, 2));
    OX_TRY(check_same_dims(call, 0, 1));
    if (x->rank && gate->rank == x->rank && ox_same_dims(x->rank - 1, x->dims, x->rank - 1, gate->dims) &&
        gate->dims[x->rank - 1] == 1)
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have one element for each row of %s", OX_INPUT(call, 2),
                        OX_INPUT(call, 0));
}

/* ScaledSiLU: a factor of any floating type. */
ox_status ox_infer_scaled_silu(ox_call *call) {
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    if (ox_call_given(call, 1))
        OX_TRY(ox_call_check_dtype(call, 1, call->op->dtypes));
    return check_one(call, 1);
}

/* GatedRMSNorm: rows of as many elements as the scale has. */
ox_status ox_infer_gated_norm(ox_call *call) {
    static const char *const gates[] = {"silu", "swish", "sigmoid"};
    const ox_tensor *x = call->in[0], *scale = call->in[1];
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(ox_call_check_same(call, 0, 2));
    OX_TRY(check_same_dims(call, 0, 2));
    OX_TRY(check_rank(call, 1, 1));
    if (!x->rank || scale->dims[0] < 1 || x->dims[x->rank - 1] % scale->dims[0])
        return ox_call_fail(call, OX_ERROR_SHAPE, "rows of %s are no multiple of %s", OX_INPUT(call, 0),
                            OX_INPUT(call, 1));
    return check_words(call, "activation", "silu", gates, 3);
}

/* LinearAttentionGate: numbers by heads, and what goes with each head. */
ox_status ox_infer_decay_gate(ox_call *call) {
    const ox_tensor *x = call->in[0];
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(check_rank(call, 0, 3));
    for (int i = 1; i < 3; i++) {
        OX_TRY(ox_call_check_dtype(call, i, OX_BIT(OX_FLOAT)));
        OX_TRY(ox_call_check_dims(call, i, 1, x->dims + 2));
    }
    if (!ox_call_given(call, 3))
        return OX_OK;
    OX_TRY(ox_call_check_dtype(call, 3, OX_BIT(x->dtype)));
    return check_same_dims(call, 0, 3);
}

/* ---- Attention of one step --------------------------------------------------------------------------------------- */

/* DecoderMaskedMultiHeadAttention: MultiHeadAttention checks the rest. */
ox_status ox_infer_masked_heads(ox_call *call) {
    enum {
        KEY = 1,
        VALUE,
        LENGTH = 7,
        INDIRECTION = 9
    };
    const ox_tensor *x = call->in[0];
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    OX_TRY(check_rank(call, 0, 3));
    if (x->dims[1] != 1)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have one step, not %lld", OX_INPUT(call, 0),
                            (long long)x->dims[1]);
    if (ox_call_given(call, KEY) != ox_call_given(call, VALUE))
        return ox_call_fail(call, OX_ERROR_MODEL, "inputs 1 and 2, keys and values, must be given together");
    if (!ox_call_given(call, KEY) && x->dims[2] % 3)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s does not give queries, keys and values of one size",
                            OX_INPUT(call, 0));
    if (ox_call_given(call, INDIRECTION))
        return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "%s: caches of beams are not supported",
                            OX_INPUT(call, INDIRECTION));
    if (ox_call_int(call, "past_present_share_buffer", 0) && !ox_call_given(call, LENGTH) &&
        !(ox_call_given(call, KEY) && call->in[KEY]->rank == 4))
        return ox_call_fail(call, OX_ERROR_MODEL,
                            "attribute 'past_present_share_buffer' needs input 7, the length of the past");
    return OX_OK;
}

/* ---- Embeddings of bytes ----------------------------------------------------------------------------------------- */

enum {
    IDS,
    SEGMENTS,
    TABLES, /* words, positions, segments, then the scale and bias of the norm */
    MASK = TABLES + 5,
    SCALES, /* of those five */
    ZEROS = SCALES + 5
};

static ox_status check_table(ox_call *call, int k, int64_t width) {
    const int i = TABLES + k, rank = k < 3 ? 2 : 1;
    const ox_tensor *t = call->in[i];
    OX_TRY(ox_call_check_dtype(call, i, OX_BIT(OX_INT8) | OX_BIT(OX_UINT8)));
    OX_TRY(check_rank(call, i, rank));
    if (t->dims[rank - 1] != width)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s have rows of other lengths", OX_INPUT(call, TABLES),
                            OX_INPUT(call, i));
    OX_TRY(ox_call_check_dtype(call, SCALES + k, OX_BIT(OX_FLOAT)));
    OX_TRY(ox_call_check_dtype(call, ZEROS + k, OX_BIT(t->dtype)));
    OX_TRY(check_one(call, SCALES + k));
    return check_one(call, ZEROS + k);
}

/* QEmbedLayerNormalization. */
ox_status ox_infer_quantized_embed_norm(ox_call *call) {
    static const int segments[] = {SEGMENTS, TABLES + 2, SCALES + 2, ZEROS + 2};
    const bool segmented = ox_call_given(call, SEGMENTS);
    for (int i = 0; i < 4; i++)
        if (ox_call_given(call, segments[i]) != segmented)
            return ox_call_fail(call, OX_ERROR_MODEL, "inputs 1, 4, 10 and 15, the segments, must be given together");
    if (!ox_call_given(call, IDS))
        return ox_call_fail(call, OX_ERROR_MODEL, "input %d must be given", IDS);
    for (int k = 0; k < 5; k++)
        for (int part = 0; part < 3 && (k != 2 || segmented); part++)
            if (!ox_call_given(call, (const int[]){TABLES, SCALES, ZEROS}[part] + k))
                return ox_call_fail(call, OX_ERROR_MODEL, "input %d must be given",
                                    (const int[]){TABLES, SCALES, ZEROS}[part] + k);
    OX_TRY(check_rank(call, IDS, 2));
    for (int i = 0; i < SCALES; i = i == SEGMENTS ? MASK : i + 1) {
        if (!ox_call_given(call, i))
            continue;
        OX_TRY(ox_call_check_dtype(call, i, OX_BIT(OX_INT32)));
        OX_TRY(check_same_dims(call, IDS, i));
    }
    OX_TRY(check_rank(call, TABLES, 2));
    for (int k = 0; k < 5; k++)
        if (k != 2 || segmented)
            OX_TRY(check_table(call, k, call->in[TABLES]->dims[1]));
    return OX_OK;
}
