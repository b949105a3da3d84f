/* group_query.c: shapes and attributes of GroupQueryAttention of com.microsoft, and what its lists of lengths and
 * positions say. */
#include "attention.h"
#include "ops/axes.h"
#include "ops/dense.h"

#include <math.h>
#include <string.h>

enum {
    QUERY,
    KEY,
    VALUE,
    PAST_KEY,
    PAST_VALUE,
    LENGTHS, /* seqlens_k: keys of each of the batch, less 1 */
    TOTAL,   /* total_sequence_length: the most of them */
    COS,
    SIN,
    POSITIONS,
    ADDED,
    SINK,
    K_SCALE,
    V_SCALE,
    Q_NORM,
    K_NORM
};

static ox_status check_pair(ox_call *call, int first, int second, const char *what) {
    return ox_call_given(call, first) == ox_call_given(call, second)
               ? OX_OK
               : ox_call_fail(call, OX_ERROR_MODEL, "inputs %d and %d, %s, must be given together", first, second,
                              what);
}

/* ---- Queries, keys and values ---------------------------------------------------------------------------------- */

static ox_status read_heads(ox_call *call, ox_attention_shape *s) {
    const int64_t heads = ox_call_int(call, "kv_num_heads", 0);
    s->heads = ox_call_int(call, "num_heads", 0);
    if (s->heads < 1 || heads < 1 || s->heads % heads != 0)
        return ox_call_fail(call, OX_ERROR_MODEL,
                            "attribute 'num_heads' is %lld, which is no multiple of 'kv_num_heads', %lld",
                            (long long)s->heads, (long long)heads);
    s->shared = s->heads / heads;
    return OX_OK;
}

/* The size of a head, where `heads` of them lie side by side. */
static ox_status split_heads(ox_call *call, ox_attention_shape *s, int64_t heads) {
    const int64_t width = call->in[QUERY]->dims[2];
    s->size = s->values = width / heads;
    return width % heads == 0 ? OX_OK
                              : ox_call_fail(call, OX_ERROR_SHAPE, "%lld heads do not divide the last dimension of %s",
                                             (long long)heads, OX_INPUT(call, QUERY));
}

static ox_status read_operands(ox_call *call, ox_attention_shape *s) {
    const ox_tensor *x = call->in[QUERY];
    OX_TRY(check_pair(call, KEY, VALUE, "keys and values"));
    OX_TRY(read_heads(call, s));
    const int64_t heads = ox_attention_key_heads(s);
    int64_t all;
    if (x->rank != 3)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have 3 dimensions", OX_INPUT(call, QUERY));
    s->batch = x->dims[0], s->queries = s->added = x->dims[1];
    s->flat = true;
    if (!ox_mul_i64(heads, 2, &all) || !ox_add_i64(all, s->heads, &all))
        return ox_call_fail(call, OX_ERROR_LIMIT, "%lld heads are too many", (long long)s->heads);
    if (ox_call_given(call, KEY)) {
        OX_TRY(split_heads(call, s, s->heads));
        for (int i = QUERY; i <= VALUE; i++) {
            s->rows[i] = ox_attention_rows_of(i, true, i ? heads : s->heads, s->queries, s->size);
            if (i)
                OX_TRY(ox_call_check_dims(call, i, 3,
                                          (const int64_t[]){s->batch, s->queries, ox_wrapping(heads, s->size)}));
        }
        return OX_OK;
    }
    OX_TRY(split_heads(call, s, all));
    const int64_t step = x->dims[2], first[] = {0, s->heads, s->heads + heads};
    for (int i = 0; i < 3; i++)
        s->rows[i] = (ox_attention_rows){
            QUERY, ox_wrapping(first[i], s->size), ox_wrapping(s->queries, step), s->size, step, false};
    return OX_OK;
}

/* ---- Caches ---------------------------------------------------------------------------------------------------- */

static ox_status read_past(ox_call *call, ox_attention_shape *s) {
    int count;
    OX_TRY(check_pair(call, PAST_KEY, PAST_VALUE, "the caches"));
    if (ox_call_given(call, PAST_KEY)) {
        s->past = call->in[PAST_KEY]->rank == 4 ? call->in[PAST_KEY]->dims[2] : 0;
        OX_TRY(ox_attention_check_past(call, s, PAST_KEY, s->past, ox_attention_cached(s, s->size)));
        OX_TRY(ox_attention_check_past(call, s, PAST_VALUE, s->past, ox_attention_cached(s, s->size)));
    }
    OX_TRY(ox_call_check_dims(call, LENGTHS, 1, &s->batch));
    OX_TRY(ox_call_int_list(call, TOTAL, &s->keys, 1, &count));
    if (count != 1 || s->keys < s->queries)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must be one number of at least the %lld steps of %s",
                            OX_INPUT(call, TOTAL), (long long)s->queries, OX_INPUT(call, QUERY));
    s->room = s->keys > s->past ? s->keys : s->past;
    if (s->keys - s->queries > s->past)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%lld keys of %s need %lld of before, but caches have %lld",
                            (long long)s->keys, OX_INPUT(call, TOTAL), (long long)(s->keys - s->queries),
                            (long long)s->past);
    return OX_OK;
}

/* ---- Rotation, norms and sinks ---------------------------------------------------------------------------------- */

static ox_status read_rotation(ox_call *call, ox_attention_shape *s) {
    if (!ox_call_int(call, "do_rotary", 0))
        return OX_OK;
    if (!ox_call_given(call, COS) || !ox_call_given(call, SIN))
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'do_rotary' needs inputs 7 and 8, cosines and sines");
    const ox_tensor *cos = call->in[COS];
    s->half = cos->rank == 2 ? cos->dims[1] : 0;
    s->interleaved = ox_call_int(call, "rotary_interleaved", 0) != 0;
    if (s->half < 1 || s->half > s->size / 2)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have 2 dimensions, the last of 1 to %lld",
                            OX_INPUT(call, COS), (long long)(s->size / 2));
    OX_TRY(ox_call_check_dims(call, SIN, 2, cos->dims));
    return ox_call_given(call, POSITIONS)
               ? ox_call_check_dims(call, POSITIONS, 2, (const int64_t[]){s->batch, s->queries})
               : OX_OK;
}

static ox_status read_norms(ox_call *call, ox_attention_shape *s) {
    OX_TRY(check_pair(call, Q_NORM, K_NORM, "the norms"));
    for (int i = Q_NORM; i <= K_NORM; i++)
        if (ox_call_given(call, i))
            OX_TRY(ox_call_check_dims(call, i, 1, &s->size));
    s->epsilon = (double)ox_call_float(call, "qk_norm_epsilon", 1e-6F);
    s->sinks = ox_call_int(call, "smooth_softmax", 0) > 0 || ox_call_given(call, SINK);
    return ox_call_given(call, SINK) ? ox_call_check_dims(call, SINK, 1, &s->heads) : OX_OK;
}

/* ---- The node -------------------------------------------------------------------------------------------------- */

static bool is_quantized(ox_call *call) {
    return !ox_says(ox_call_string(call, "k_quant_type", "NONE"), "NONE") ||
           !ox_says(ox_call_string(call, "v_quant_type", "NONE"), "NONE") || ox_call_given(call, K_SCALE) ||
           ox_call_given(call, V_SCALE);
}

/* What attributes say of caches, and whether there are the inputs that these need. */
static ox_status read_forms(ox_call *call, ox_attention_shape *s) {
    const int64_t bits = ox_call_int(call, "kv_cache_bit_width", 0);
    if (ox_call_int(call, "sliding_window_cache", 0) != 0)
        return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "attribute 'sliding_window_cache' is not supported");
    if (!is_quantized(call))
        return OX_OK;
    if (!OX_WITH_BYTE_CACHES)
        return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "quantized caches are not supported");
    const ox_string k = ox_call_string(call, "k_quant_type", "NONE"), v = ox_call_string(call, "v_quant_type", "NONE");
    s->scaled_each = ox_says(k, "PER_CHANNEL");
    if ((!s->scaled_each && !ox_says(k, "PER_TENSOR")) || k.size != v.size || memcmp(k.data, v.data, k.size) != 0)
        return ox_call_fail(call, OX_ERROR_UNSUPPORTED,
                            "attributes 'k_quant_type', '%.*s', and 'v_quant_type', '%.*s', are not both PER_TENSOR or "
                            "both PER_CHANNEL",
                            OX_SHORT(k), OX_SHORT(v));
    if (bits != 8 && bits != 4)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'kv_cache_bit_width' is %lld, not 4 or 8",
                            (long long)bits);
    if (!ox_call_given(call, PAST_KEY) || !ox_call_given(call, PAST_VALUE) || !ox_call_given(call, K_SCALE) ||
        !ox_call_given(call, V_SCALE))
        return ox_call_fail(call, OX_ERROR_MODEL,
                            "quantized caches need inputs 3, 4, 12 and 13: caches and their scales");
    s->bits = (signed char)bits;
    return OX_OK;
}

/* Of heads whose size is known. */
static ox_status check_scales(ox_call *call, const ox_attention_shape *s) {
    const int64_t count = s->scaled_each ? ox_wrapping(ox_attention_key_heads(s), s->size) : 1;
    if (s->bits == 4 && s->size % 2)
        return ox_call_fail(call, OX_ERROR_SHAPE, "heads of %lld elements are not packed in pairs", (long long)s->size);
    for (int i = K_SCALE; i <= V_SCALE; i++)
        if (ox_tensor_count(call->in[i]) != count)
            return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have %lld elements", OX_INPUT(call, i),
                                (long long)count);
    return OX_OK;
}

static ox_status read_numbers(ox_call *call, ox_attention_shape *s) {
    const int64_t causal = ox_call_int(call, "causal", 1), shown = ox_call_int(call, "qk_output", 0);
    const double scale = (double)ox_call_float(call, "scale", 0);
    s->causal = causal != 0;
    const int64_t window = ox_call_int(call, "local_window_size", -1);
    s->left = window > 0 ? window - 1 : -1; /* the query's own key counts */
    s->scale = scale != 0 ? scale : 1 / sqrt((double)s->size);
    s->cap = (double)ox_call_float(call, "softcap", 0);
    s->mode = shown == 2 ? OX_SCORES_SOFTMAX : OX_SCORES_BIASED;
    if (causal < 0 || causal > 1 || window < -1 || window == 0 || (!causal && window != -1))
        return ox_call_fail(call, OX_ERROR_MODEL,
                            "attributes 'causal', %lld, and 'local_window_size', %lld, do not fit together",
                            (long long)causal, (long long)window);
    if (shown < 0 || shown > 2 || (!shown && call->nout > s->scores && call->results && call->out[s->scores]))
        return ox_call_fail(call, OX_ERROR_MODEL,
                            "attribute 'qk_output' must be 1 or 2 where output 3 is given, not %lld", (long long)shown);
    return OX_OK;
}

static void number_inputs(ox_attention_shape *s) {
    static const signed char in[OX_ATTENTION_INPUTS] = {[OX_ATTENTION_Q] = QUERY,
                                                        [OX_ATTENTION_K] = KEY,
                                                        [OX_ATTENTION_V] = VALUE,
                                                        [OX_ATTENTION_MASK] = ADDED,
                                                        [OX_ATTENTION_PAST_KEY] = PAST_KEY,
                                                        [OX_ATTENTION_PAST_VALUE] = PAST_VALUE,
                                                        [OX_ATTENTION_VALID] = LENGTHS,
                                                        [OX_ATTENTION_BIAS] = -1,
                                                        [OX_ATTENTION_KEY_MASK] = -1,
                                                        [OX_ATTENTION_SINK] = SINK,
                                                        [OX_ATTENTION_COS] = COS,
                                                        [OX_ATTENTION_SIN] = SIN,
                                                        [OX_ATTENTION_POSITIONS] = POSITIONS,
                                                        [OX_ATTENTION_Q_NORM] = Q_NORM,
                                                        [OX_ATTENTION_K_NORM] = K_NORM,
                                                        [OX_ATTENTION_K_SCALE] = K_SCALE,
                                                        [OX_ATTENTION_V_SCALE] = V_SCALE};
    for (int i = 0; i < OX_ATTENTION_INPUTS; i++)
        s->in[i] = in[i];
}

ox_status ox_group_query_shape_of(ox_call *call, ox_attention_shape *s) {
    *s = (ox_attention_shape){.present = {1, 2}, .scores = 3, .right = -1, .counted = true};
    number_inputs(s);
    OX_TRY(read_forms(call, s));
    OX_TRY(read_operands(call, s));
    if (ox_attention_has_bytes(s))
        OX_TRY(check_scales(call, s));
    OX_TRY(read_past(call, s));
    OX_TRY(ox_attention_read_mask(call, s));
    if (ox_call_given(call, ADDED) && s->mask_row != s->keys)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have an element for each of %lld keys",
                            OX_INPUT(call, ADDED), (long long)s->keys);
    OX_TRY(read_rotation(call, s));
    OX_TRY(read_norms(call, s));
    return read_numbers(call, s);
}

/* The types of quantized caches and of their scales. */
static ox_status check_caches(ox_call *call) {
    ox_attention_shape s = {0};
    OX_TRY(read_forms(call, &s));
    for (int i = 0; i < 2 && ox_attention_has_bytes(&s); i++) {
        OX_TRY(ox_call_check_dtype(call, PAST_KEY + i, OX_BIT(s.bits == 8 ? OX_INT8 : OX_UINT8)));
        OX_TRY(ox_call_check_dtype(call, K_SCALE + i, OX_BIT(OX_FLOAT)));
    }
    return OX_OK;
}

ox_status ox_infer_group_query(ox_call *call) {
    static const int floats[] = {KEY, VALUE, PAST_KEY, PAST_VALUE, COS, SIN, ADDED, SINK, Q_NORM, K_NORM};
    ox_attention_shape s;
    OX_TRY(ox_call_check_dtype(call, QUERY, call->op->dtypes));
    OX_TRY(ox_call_check_dtype(call, LENGTHS, OX_BIT(OX_INT32)));
    OX_TRY(ox_call_check_dtype(call, TOTAL, OX_BIT(OX_INT32)));
    if (ox_call_given(call, POSITIONS))
        OX_TRY(ox_call_check_dtype(call, POSITIONS, OX_BIT(OX_INT64)));
    OX_TRY(check_caches(call));
    const bool has_bytes = is_quantized(call);
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        if (ox_call_given(call, floats[i]) && !(has_bytes && (floats[i] == PAST_KEY || floats[i] == PAST_VALUE)))
            OX_TRY(ox_call_check_dtype(call, floats[i], OX_BIT(call->in[QUERY]->dtype)));
    OX_TRY(ox_group_query_shape_of(call, &s));
    return ox_attention_describe(call, &s);
}

/* ---- Run ------------------------------------------------------------------------------------------------------- */

/* All keys are those of this call. */
static bool is_first(const ox_attention_shape *s) {
    return s->queries == s->keys;
}

ox_status ox_group_query_count(const ox_call *call, const ox_attention_shape *s, const int64_t *given,
                               int64_t *counts) {
    for (int64_t b = 0; b < s->batch; b++) {
        const int64_t least = is_first(s) ? 0 : s->queries - 1;
        if (given[b] < least || given[b] >= s->keys)
            return ox_call_fail(call, OX_ERROR_VALUE, "element %lld of %s is %lld, not %lld to %lld", (long long)b,
                                OX_INPUT(call, LENGTHS), (long long)given[b], (long long)least,
                                (long long)(s->keys - 1));
        counts[b] = given[b] + 1;
        counts[b + s->batch] = is_first(s) ? 0 : counts[b] - s->queries;
    }
    return OX_OK;
}

ox_status ox_group_query_place(const ox_call *call, const ox_attention_shape *s, const int64_t *before,
                               const int64_t *given, int64_t *positions) {
    const int64_t most = call->in[COS]->dims[0];
    for (int64_t i = 0; i < s->batch * s->queries; i++) {
        const int64_t b = i / s->queries, step = i % s->queries;
        if (given)
            positions[i] = is_first(s) ? (int64_t)((uint64_t)given[0] + (uint64_t)step) : given[i];
        else
            positions[i] = before[b] + step;
        if (positions[i] < 0 || positions[i] >= most)
            return ox_call_fail(call, OX_ERROR_VALUE, "position %lld is out of range for the %lld rows of %s",
                                (long long)positions[i], (long long)most, OX_INPUT(call, COS));
    }
    return OX_OK;
}
