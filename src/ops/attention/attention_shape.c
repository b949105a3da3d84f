/* attention_shape.c: shapes and attributes of Attention. */
#include "attention.h"
#include "ops/control.h"

#include <math.h>

/* One of Q, K and V as heads x steps x size. */
typedef struct operand {
    int64_t heads, steps, size;
} operand;

static ox_status read_operand(ox_call *call, int i, const char *attribute, operand *o) {
    const ox_tensor *t = call->in[i];
    if (t->rank == 4) {
        *o = (operand){t->dims[1], t->dims[2], t->dims[3]};
        return OX_OK;
    }
    const int64_t heads = ox_call_int(call, attribute, 0);
    if (heads <= 0 || t->dims[2] % heads != 0)
        return ox_call_fail(call, OX_ERROR_SHAPE,
                            "attribute '%s' is %lld, which does not divide the last dimension of %s", attribute,
                            (long long)heads, OX_INPUT(call, i));
    *o = (operand){heads, t->dims[1], t->dims[2] / heads};
    return OX_OK;
}

static ox_status check_ranks(ox_call *call) {
    const int rank = call->in[OX_ATTENTION_Q]->rank;
    for (int i = OX_ATTENTION_Q; i <= OX_ATTENTION_V; i++)
        if (call->in[i]->rank != rank || rank < 3 || rank > 4 || call->in[i]->dims[0] != call->in[0]->dims[0])
            return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must have 3 or 4 dimensions, both, and the same batch",
                                OX_INPUT(call, OX_ATTENTION_Q), OX_INPUT(call, i));
    return OX_OK;
}

ox_attention_rows ox_attention_rows_of(int input, bool flat, int64_t heads, int64_t steps, int64_t size) {
    return (ox_attention_rows){.input = input,
                               .batch = ox_wrapping(ox_wrapping(heads, steps), size),
                               .head = ox_wrapping(flat ? 1 : steps, size),
                               .step = ox_wrapping(flat ? heads : 1, size)};
}

static ox_status read_operands(ox_call *call, ox_attention_shape *s) {
    operand q, k, v;
    OX_TRY(check_ranks(call));
    OX_TRY(read_operand(call, OX_ATTENTION_Q, "q_num_heads", &q));
    OX_TRY(read_operand(call, OX_ATTENTION_K, "kv_num_heads", &k));
    OX_TRY(read_operand(call, OX_ATTENTION_V, "kv_num_heads", &v));
    if (k.heads != v.heads || k.steps != v.steps || k.size != q.size || (k.heads ? q.heads % k.heads : q.heads) != 0)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s, %s and %s do not fit together", OX_INPUT(call, OX_ATTENTION_Q),
                            OX_INPUT(call, OX_ATTENTION_K), OX_INPUT(call, OX_ATTENTION_V));
    s->flat = call->in[OX_ATTENTION_Q]->rank == 3;
    s->rows[0] = ox_attention_rows_of(OX_ATTENTION_Q, s->flat, q.heads, q.steps, q.size);
    s->rows[1] = ox_attention_rows_of(OX_ATTENTION_K, s->flat, k.heads, k.steps, k.size);
    s->rows[2] = ox_attention_rows_of(OX_ATTENTION_V, s->flat, v.heads, v.steps, v.size);
    s->batch = call->in[OX_ATTENTION_Q]->dims[0];
    s->heads = q.heads, s->shared = k.heads && q.heads ? q.heads / k.heads : 1;
    s->queries = q.steps, s->added = k.steps;
    s->size = q.size, s->values = v.size;
    return OX_OK;
}

ox_status ox_attention_check_past(ox_call *call, const ox_attention_shape *s, int i, int64_t steps, int64_t size) {
    const ox_tensor *past = call->in[i];
    const int64_t dims[] = {s->batch, ox_attention_key_heads(s), steps, size};
    if (ox_same_dims(past->rank, past->dims, 4, dims))
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have shape %s", OX_INPUT(call, i), OX_DIMS(4, dims));
}

static ox_status read_past(ox_call *call, ox_attention_shape *s) {
    const bool given = ox_call_given(call, OX_ATTENTION_PAST_KEY), valid = ox_call_given(call, OX_ATTENTION_VALID);
    if (given != ox_call_given(call, OX_ATTENTION_PAST_VALUE) || (given && valid))
        return ox_call_fail(call, OX_ERROR_MODEL,
                            "past_key and past_value must be given together, and without nonpad_kv_seqlen");
    if (valid && !ox_same_dims(call->in[OX_ATTENTION_VALID]->rank, call->in[OX_ATTENTION_VALID]->dims, 1, &s->batch))
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have %lld elements, one for each batch",
                            OX_INPUT(call, OX_ATTENTION_VALID), (long long)s->batch);
    s->room = s->keys = s->added;
    if (!given)
        return OX_OK;
    s->past = call->in[OX_ATTENTION_PAST_KEY]->rank == 4 ? call->in[OX_ATTENTION_PAST_KEY]->dims[2] : 0;
    s->before = s->past;
    if (!ox_add_i64(s->past, s->added, &s->keys))
        return ox_call_fail(call, OX_ERROR_LIMIT, "%lld steps before these are too many", (long long)s->past);
    s->room = s->keys;
    OX_TRY(ox_attention_check_past(call, s, OX_ATTENTION_PAST_KEY, s->past, s->size));
    return ox_attention_check_past(call, s, OX_ATTENTION_PAST_VALUE, s->past, s->values);
}

/* What the mask lacks of the keys is not seen. */
ox_status ox_attention_read_mask(ox_call *call, ox_attention_shape *s) {
    const int i = s->in[OX_ATTENTION_MASK];
    if (!ox_call_given(call, i))
        return OX_OK;
    const ox_tensor *mask = call->in[i];
    const int64_t keys = s->keys, all[] = {s->batch, s->heads, s->queries, keys};
    bool fits = mask->rank >= 1 && mask->rank <= 4 && mask->dims[mask->rank - 1] <= keys;
    int64_t step = 1;
    for (int d = mask->rank - 1, to = 3; fits && d >= 0; d--, to--) {
        fits = to == 3 || mask->dims[d] == 1 || mask->dims[d] == all[to];
        s->mask[to] = mask->dims[d] == 1 && to < 3 ? 0 : step;
        step = ox_wrapping(step, mask->dims[d]);
    }
    s->mask_row = fits ? mask->dims[mask->rank - 1] : 0;
    return fits ? OX_OK
                : ox_call_fail(call, OX_ERROR_SHAPE, "%s does not broadcast to shape %s", OX_INPUT(call, i),
                               OX_DIMS(4, all));
}

static ox_status read_window(ox_call *call, ox_attention_shape *s) {
    s->causal = ox_call_int(call, "is_causal", 0) != 0;
    s->left = ox_call_int(call, "left_window_size", -1);
    s->right = ox_call_int(call, "right_window_size", -1);
    if (s->left < -1 || s->right < -1)
        return ox_call_fail(call, OX_ERROR_MODEL, "window sizes must be -1 or more, not %lld and %lld",
                            (long long)s->left, (long long)s->right);
    return OX_OK;
}

static ox_status read_numbers(ox_call *call, ox_attention_shape *s) {
    const int64_t precision = ox_call_int(call, "softmax_precision", OX_FLOAT);
    s->mode = ox_call_int(call, "qk_matmul_output_mode", OX_SCORES_RAW);
    s->cap = (double)ox_call_float(call, "softcap", 0);
    s->scale = ox_call_has(call, "scale") ? (double)ox_call_float(call, "scale", 0) : 1 / sqrt((double)s->size);
    if (s->mode < OX_SCORES_RAW || s->mode > OX_SCORES_SOFTMAX)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'qk_matmul_output_mode' must be 0 to 3, not %lld",
                            (long long)s->mode);
    if (precision < 0 || precision > OX_BFLOAT16 || !(OX_SET_FLOAT >> precision & 1))
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'softmax_precision' must be 1, 10, 11 or 16, not %lld",
                            (long long)precision);
    return OX_OK;
}

ox_status ox_attention_shape_of(ox_call *call, ox_attention_shape *s) {
    *s = (ox_attention_shape){.present = {OX_ATTENTION_PRESENT_KEY, OX_ATTENTION_PRESENT_VALUE},
                              .scores = OX_ATTENTION_SCORES,
                              .unseen = -(double)INFINITY};
    for (int i = 0; i < OX_ATTENTION_INPUTS; i++)
        s->in[i] = (signed char)(i <= OX_ATTENTION_VALID ? i : -1);
    OX_TRY(read_operands(call, s));
    OX_TRY(read_past(call, s));
    OX_TRY(ox_attention_read_mask(call, s));
    OX_TRY(read_window(call, s));
    return read_numbers(call, s);
}

/* Keys and queries have one type, values another one, masks any. */
static ox_status check_types(ox_call *call) {
    static const int kin[][2] = {{OX_ATTENTION_Q, OX_ATTENTION_K},
                                 {OX_ATTENTION_Q, OX_ATTENTION_PAST_KEY},
                                 {OX_ATTENTION_V, OX_ATTENTION_PAST_VALUE}};
    OX_TRY(ox_call_check_dtype(call, OX_ATTENTION_Q, call->op->dtypes));
    OX_TRY(ox_call_check_dtype(call, OX_ATTENTION_V, call->op->dtypes));
    for (size_t i = 0; i < sizeof kin / sizeof *kin; i++)
        if (ox_call_given(call, kin[i][1]) && call->in[kin[i][0]]->dtype != call->in[kin[i][1]]->dtype)
            return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must have the same type", OX_INPUT(call, kin[i][0]),
                                OX_INPUT(call, kin[i][1]));
    if (ox_call_given(call, OX_ATTENTION_MASK))
        OX_TRY(ox_call_check_dtype(call, OX_ATTENTION_MASK, OX_SET_NUM | OX_SET_BOOL));
    return ox_call_given(call, OX_ATTENTION_VALID) ? ox_call_check_dtype(call, OX_ATTENTION_VALID, OX_BIT(OX_INT64))
                                                   : OX_OK;
}

ox_status ox_attention_describe(ox_call *call, const ox_attention_shape *s) {
    const bool has_bytes = ox_attention_has_bytes(s);
    const ox_dtype type = call->in[s->rows[0].input]->dtype, value_type = call->in[s->rows[2].input]->dtype;
    const int64_t heads = ox_attention_key_heads(s),
                  caches[] = {s->batch, heads, s->room, ox_attention_cached(s, s->size)};
    int64_t width;
    if (!ox_mul_i64(s->heads, s->values, &width))
        return ox_call_fail(call, OX_ERROR_LIMIT, "%lld heads are too many", (long long)s->heads);
    const int64_t flat[] = {s->batch, s->queries, width}, y[] = {s->batch, s->heads, s->queries, s->values},
                  both[] = {2, s->batch, heads, s->room, s->size};
    OX_TRY(ox_call_output(call, OX_ATTENTION_Y, type, s->flat ? 3 : 4, s->flat ? flat : y));
    if (s->stacked)
        return call->nout > s->present[0] ? ox_call_output(call, s->present[0], type, 5, both) : OX_OK;
    for (int i = 0; i < 2 && has_bytes; i++)
        if (call->nout > s->present[i])
            OX_TRY(ox_call_output(call, s->present[i], call->in[s->in[OX_ATTENTION_PAST_KEY]]->dtype, 4, caches));
    if (call->nout > s->present[0] && !has_bytes)
        OX_TRY(ox_call_output(call, s->present[0], type, 4, caches));
    if (call->nout > s->present[1] && !has_bytes)
        OX_TRY(
            ox_call_output(call, s->present[1], value_type, 4, (const int64_t[]){s->batch, heads, s->room, s->values}));
    if (call->nout > s->scores)
        OX_TRY(ox_call_output(call, s->scores, type, 4, (const int64_t[]){s->batch, s->heads, s->queries, s->keys}));
    return OX_OK;
}

ox_status ox_infer_attention(ox_call *call) {
    ox_attention_shape s;
    OX_TRY(check_types(call));
    OX_TRY(ox_attention_shape_of(call, &s));
    return ox_attention_describe(call, &s);
}

static const char *const mod_names[] = {"score_mod", "prob_mod"};

const ox_attr *ox_attention_mod(ox_call *call, int which) {
    return ox_call_attr(call, mod_names[which], OX_ATTR_GRAPH);
}

/* A graph that changes scores or weights takes them, and gives as many. */
static ox_status check_mods(ox_call *call) {
    for (int i = OX_SCORE_MOD; i < OX_ATTENTION_MODS; i++) {
        const ox_attr *mod = ox_attention_mod(call, i);
        int nin, nout;
        if (!mod)
            continue;
        call->bodies->ends(mod->u.graph, &nin, &nout);
        if (nin != 1 || nout != 1)
            return ox_call_fail(call, OX_ERROR_MODEL, "attribute '%s' has %d inputs and %d outputs, not 1 and 1",
                                mod_names[i], nin, nout);
    }
    return OX_OK;
}

/* Attention of 4 dimensions, all of one type. */
ox_status ox_infer_flex_attention(ox_call *call) {
    if (OX_WITH_SUBGRAPHS)
        OX_TRY(check_mods(call));
    for (int i = OX_ATTENTION_Q; i <= OX_ATTENTION_V; i++)
        if (call->in[i]->rank != 4)
            return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have 4 dimensions", OX_INPUT(call, i));
    if (call->in[OX_ATTENTION_V]->dtype != call->in[OX_ATTENTION_Q]->dtype)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must have the same type", OX_INPUT(call, OX_ATTENTION_Q),
                            OX_INPUT(call, OX_ATTENTION_V));
    return ox_infer_attention(call);
}
