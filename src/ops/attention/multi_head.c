/* multi_head.c: shapes, attributes and key masks of MultiHeadAttention of com.microsoft, and of what Attention and
 * QAttention become: the same with queries, keys and values side by side in input 0. */
#include "attention.h"
#include "loops/lanes.h"
#include "ops/axes.h"
#include "ops/dense.h"

#include <math.h>

enum {
    QUERY,
    KEY,
    VALUE,
    BIAS,
    KEY_MASK,
    ADDED,
    PAST_KEY,
    PAST_VALUE,
    PAST_LENGTH,
    INDIRECTION
};

static ox_status check_rank(ox_call *call, int i, int rank) {
    return call->in[i]->rank == rank
               ? OX_OK
               : ox_call_fail(call, OX_ERROR_SHAPE, "%s must have %d dimensions", OX_INPUT(call, i), rank);
}

/* ---- Queries, keys and values ---------------------------------------------------------------------------------- */

static ox_status split_heads(ox_call *call, int i, int64_t heads, int64_t width, int64_t *size) {
    *size = width / heads;
    return width % heads == 0
               ? OX_OK
               : ox_call_fail(call, OX_ERROR_SHAPE, "attribute 'num_heads' is %lld, which does not divide %lld of %s",
                              (long long)heads, (long long)width, OX_INPUT(call, i));
}

/* Queries, keys and values lie side by side in each step. */
static ox_status read_projected(ox_call *call, ox_attention_shape *s) {
    const ox_tensor *x = call->in[QUERY];
    const ox_attr *list = ox_call_attr(call, "qkv_hidden_sizes", OX_ATTR_INTS);
    OX_TRY(check_rank(call, QUERY, 3));
    const int64_t whole = x->dims[2], third = whole / 3;
    int64_t sizes[] = {third, third, third}, sum = 0;
    bool fits = !list || list->count == 3;
    for (int k = 0; k < 3; k++) {
        if (list && list->count == 3)
            sizes[k] = list->u.ints[k];
        fits = fits && sizes[k] >= 0 && sizes[k] <= whole - sum;
        sum += fits ? sizes[k] : 0;
    }
    if (!fits || sum != whole || sizes[0] != sizes[1])
        return ox_call_fail(call, OX_ERROR_SHAPE,
                            "%s does not give queries, keys and values of sizes %lld, %lld and %lld",
                            OX_INPUT(call, QUERY), (long long)sizes[0], (long long)sizes[1], (long long)sizes[2]);
    OX_TRY(split_heads(call, QUERY, s->heads, sizes[0], &s->size));
    OX_TRY(split_heads(call, QUERY, s->heads, sizes[2], &s->values));
    s->added = x->dims[1];
    for (int k = 0; k < 3; k++)
        s->rows[k] = (ox_attention_rows){
            QUERY, k * sizes[0], ox_wrapping(x->dims[1], whole), k == 2 ? s->values : s->size, whole, false};
    return OX_OK;
}

/* Inputs of batch x steps x heads x (3 or 2) x size: rows of one head lie behind each other. */
static void pack_rows(ox_attention_shape *s, int input, int first, int count, int64_t steps) {
    for (int k = 0; k < count; k++) {
        const int64_t head = ox_wrapping(count, s->size), step = ox_wrapping(s->heads, head);
        s->rows[first + k] =
            (ox_attention_rows){input, ox_wrapping(k, s->size), ox_wrapping(steps, step), head, step, false};
    }
}

static ox_status read_packed(ox_call *call, ox_attention_shape *s) {
    const ox_tensor *x = call->in[QUERY];
    OX_TRY(ox_call_check_open_dims(call, QUERY, 5, (const int64_t[]){-1, -1, s->heads, 3, -1}));
    s->size = s->values = x->dims[4];
    s->added = x->dims[1];
    pack_rows(s, QUERY, 0, 3, s->added);
    return OX_OK;
}

/* Keys and values in an input each, or together in one. */
static ox_status read_keys(ox_call *call, ox_attention_shape *s) {
    const ox_tensor *x = call->in[QUERY], *key = call->in[KEY];
    OX_TRY(check_rank(call, QUERY, 3));
    OX_TRY(split_heads(call, QUERY, s->heads, x->dims[2], &s->size));
    s->values = s->size;
    s->rows[0] = ox_attention_rows_of(QUERY, true, s->heads, s->queries, s->size);
    if (!ox_call_given(call, VALUE)) {
        OX_TRY(ox_call_check_open_dims(call, KEY, 5, (const int64_t[]){s->batch, -1, s->heads, 2, s->size}));
        s->added = key->dims[1];
        pack_rows(s, KEY, 1, 2, s->added);
        return OX_OK;
    }
    const bool flat = key->rank == 3;
    const int64_t wide[] = {s->batch, -1, x->dims[2]}, deep[] = {s->batch, s->heads, -1, s->size};
    OX_TRY(ox_call_check_open_dims(call, KEY, flat ? 3 : 4, flat ? wide : deep));
    s->added = key->dims[flat ? 1 : 2];
    const int64_t values[] = {s->batch, s->added, -1}, cache[] = {s->batch, s->heads, s->added, -1};
    OX_TRY(ox_call_check_open_dims(call, VALUE, flat ? 3 : 4, flat ? values : cache));
    if (flat)
        OX_TRY(split_heads(call, VALUE, s->heads, call->in[VALUE]->dims[2], &s->values));
    else
        s->values = call->in[VALUE]->dims[3];
    s->rows[1] = ox_attention_rows_of(KEY, flat, s->heads, s->added, s->size);
    s->rows[2] = ox_attention_rows_of(VALUE, flat, s->heads, s->added, s->values);
    s->rows[1].has_bias = s->rows[2].has_bias = !flat;
    return OX_OK;
}

static ox_status read_operands(ox_call *call, ox_attention_shape *s) {
    const ox_tensor *x = call->in[QUERY];
    const bool projected = ox_call_int(call, "__projected", 0) != 0;
    s->heads = ox_call_int(call, "num_heads", 0);
    s->shared = 1;
    if (s->heads < 1)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'num_heads' must be above 0, not %lld",
                            (long long)s->heads);
    if (x->rank != 3 && x->rank != 5)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have 3 or 5 dimensions", OX_INPUT(call, QUERY));
    s->batch = x->dims[0], s->queries = x->dims[1];
    s->flat = true;
    if (ox_call_given(call, VALUE) && !ox_call_given(call, KEY))
        return ox_call_fail(call, OX_ERROR_MODEL, "values are given without keys");
    if (projected)
        return read_projected(call, s);
    return ox_call_given(call, KEY) ? read_keys(call, s) : read_packed(call, s);
}

/* ---- Caches ---------------------------------------------------------------------------------------------------- */

/* Keys and values of before, in memory that may have room for those of this call. */
static ox_status read_past(ox_call *call, ox_attention_shape *s) {
    const bool given = ox_call_given(call, PAST_KEY), shared = ox_call_given(call, PAST_LENGTH);
    int count = 1;
    if (!s->stacked && given != ox_call_given(call, PAST_VALUE))
        return ox_call_fail(call, OX_ERROR_MODEL, "past_key and past_value must be given together");
    const bool shown = call->nout > s->present[0] && call->out[s->present[0]];
    if (s->stacked && (given || shown) && s->size != s->values)
        return ox_call_fail(call, OX_ERROR_SHAPE, "a cache needs keys and values of one size, not %lld and %lld",
                            (long long)s->size, (long long)s->values);
    if (given && s->stacked) {
        OX_TRY(ox_call_check_open_dims(call, PAST_KEY, 5, (const int64_t[]){2, s->batch, s->heads, -1, s->size}));
        s->past = call->in[PAST_KEY]->dims[3];
    } else if (given) {
        OX_TRY(check_rank(call, PAST_KEY, 4));
        s->past = call->in[PAST_KEY]->dims[2];
        OX_TRY(ox_attention_check_past(call, s, PAST_KEY, s->past, s->size));
        OX_TRY(ox_attention_check_past(call, s, PAST_VALUE, s->past, s->values));
    }
    s->before = s->past;
    if (given && shared)
        OX_TRY(ox_call_int_list(call, PAST_LENGTH, &s->before, 1, &count));
    if (count != 1 || s->before < 0 || !ox_add_i64(s->before, s->added, &s->keys))
        return ox_call_fail(call, OX_ERROR_SHAPE, "%lld steps before %lld are not possible", (long long)s->before,
                            (long long)s->added);
    s->room = given && shared ? s->past : s->keys;
    if (s->keys > s->room)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%lld steps behind %lld do not fit into %s", (long long)s->added,
                            (long long)s->before, OX_INPUT(call, PAST_KEY));
    return OX_OK;
}

/* ---- Masks ----------------------------------------------------------------------------------------------------- */

/* For each of the batch where keys end, and perhaps where they begin; or what each key, or each query, sees. */
static ox_status read_key_mask(ox_call *call, ox_attention_shape *s) {
    if (!ox_call_given(call, KEY_MASK))
        return OX_OK;
    const ox_tensor *mask = call->in[KEY_MASK];
    const int64_t count = mask->rank == 1 ? mask->dims[0] : 0, batch = s->batch;
    OX_TRY(ox_call_check_dtype(call, KEY_MASK, OX_BIT(OX_INT32)));
    s->key_mask_rows = mask->rank == 3 ? s->queries : 1;
    if (mask->rank == 4)
        return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "%s: masks of 4 dimensions are not supported",
                            OX_INPUT(call, KEY_MASK));
    if (mask->rank == 3)
        return ox_call_check_open_dims(call, KEY_MASK, 3, (const int64_t[]){batch, s->queries, s->keys});
    if (mask->rank == 2)
        return ox_call_check_open_dims(call, KEY_MASK, 2, (const int64_t[]){batch, s->keys});
    if (mask->rank == 1 && (count == batch || (count % 2 == 0 && count / 2 == batch) ||
                            (count >= 2 && (count - 2) % 3 == 0 && (count - 2) / 3 == batch)))
        return OX_OK;
    return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have one element for each of the batch of %lld, or two",
                        OX_INPUT(call, KEY_MASK), (long long)batch);
}

ox_status ox_attention_plan_key_mask(ox_call *call, const ox_attention_shape *s) {
    return ox_workspace_add(call, ox_count(3, (const int64_t[]){s->batch, s->key_mask_rows, s->keys}), sizeof(ox_f32));
}

/* Whether keys [first, end) of a row are all that is seen. */
typedef struct seen_range {
    int64_t first, end;
} seen_range;

static seen_range range_of(const ox_tensor *mask, const ox_attention_shape *s, int64_t batch) {
    const bool starts = mask->dims[0] / 2 == s->batch && mask->dims[0] % 2 == 0;
    return (seen_range){starts ? ox_tensor_int(mask, batch + s->batch) : 0, ox_tensor_int(mask, batch)};
}

const char *ox_attention_take_key_mask(const ox_call *call, size_t *used, const ox_attention_shape *s) {
    const ox_tensor *mask = call->in[s->in[OX_ATTENTION_KEY_MASK]];
    const int64_t rows = s->batch * s->key_mask_rows;
    ox_f32 *to = ox_workspace_take(call, used, rows * s->keys, sizeof *to);
    const float no = (float)s->filter;
    for (int64_t i = 0; i < rows; i++) {
        const seen_range seen = mask->rank == 1 ? range_of(mask, s, i) : (seen_range){0, s->keys};
        for (int64_t k = 0; k < s->keys; k++) {
            const bool is_seen =
                mask->rank == 1 ? k >= seen.first && k < seen.end : ox_tensor_int(mask, i * s->keys + k) > 0;
            to[i * s->keys + k] = is_seen ? 0 : no;
        }
    }
    return (const char *)to;
}

/* ---- The node -------------------------------------------------------------------------------------------------- */

static void number_inputs(ox_attention_shape *s) {
    static const signed char in[OX_ATTENTION_INPUTS] = {[OX_ATTENTION_Q] = QUERY,
                                                        [OX_ATTENTION_K] = KEY,
                                                        [OX_ATTENTION_V] = VALUE,
                                                        [OX_ATTENTION_MASK] = ADDED,
                                                        [OX_ATTENTION_PAST_KEY] = PAST_KEY,
                                                        [OX_ATTENTION_PAST_VALUE] = PAST_VALUE,
                                                        [OX_ATTENTION_VALID] = -1,
                                                        [OX_ATTENTION_BIAS] = BIAS,
                                                        [OX_ATTENTION_KEY_MASK] = KEY_MASK,
                                                        [OX_ATTENTION_SINK] = -1,
                                                        [OX_ATTENTION_COS] = -1,
                                                        [OX_ATTENTION_SIN] = -1,
                                                        [OX_ATTENTION_POSITIONS] = -1,
                                                        [OX_ATTENTION_Q_NORM] = -1,
                                                        [OX_ATTENTION_K_NORM] = -1,
                                                        [OX_ATTENTION_K_SCALE] = -1,
                                                        [OX_ATTENTION_V_SCALE] = -1};
    for (int i = 0; i < OX_ATTENTION_INPUTS; i++)
        s->in[i] = in[i];
}

/* Scores are scaled by this, unless the node says 0. */
static double scale_of(ox_call *call, const ox_attention_shape *s) {
    const double given = (double)ox_call_float(call, "scale", 0);
    return given != 0 ? given : 1 / sqrt((double)s->size);
}

ox_status ox_multi_head_shape_of(ox_call *call, ox_attention_shape *s) {
    const bool projected = ox_call_int(call, "__projected", 0) != 0;
    *s = (ox_attention_shape){.present = {1, projected ? 1 : 2},
                              .scores = projected ? INT8_MAX : 3,
                              .stacked = projected,
                              .left = -1,
                              .right = -1,
                              .mode = OX_SCORES_BIASED,
                              .unseen = -(double)INFINITY};
    number_inputs(s);
    if (ox_call_given(call, INDIRECTION))
        return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "%s: caches of beams are not supported",
                            OX_INPUT(call, INDIRECTION));
    OX_TRY(read_operands(call, s));
    OX_TRY(read_past(call, s));
    OX_TRY(read_key_mask(call, s));
    OX_TRY(ox_attention_read_mask(call, s));
    if (ox_call_given(call, ADDED) && s->mask_row != s->keys)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have an element for each of %lld keys",
                            OX_INPUT(call, ADDED), (long long)s->keys);
    int64_t widths = 0, part;
    if (!ox_mul_i64(s->heads, s->size, &part) || !ox_mul_i64(s->heads, s->values, &widths) ||
        !ox_add_i64(widths, part, &widths) || !ox_add_i64(widths, part, &widths))
        return ox_call_fail(call, OX_ERROR_LIMIT, "%lld heads are too many", (long long)s->heads);
    if (ox_call_given(call, BIAS))
        OX_TRY(ox_call_check_open_dims(call, BIAS, 1, &widths));
    s->causal = ox_call_int(call, "unidirectional", 0) != 0;
    s->filter = (double)ox_call_float(call, "mask_filter_value", -10000);
    s->scale = scale_of(call, s);
    return OX_OK;
}

ox_status ox_infer_multi_head(ox_call *call) {
    static const int floats[] = {KEY, VALUE, BIAS, ADDED, PAST_KEY, PAST_VALUE};
    ox_attention_shape s;
    OX_TRY(ox_call_check_dtype(call, QUERY, call->op->dtypes));
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        if (ox_call_given(call, floats[i]))
            OX_TRY(ox_call_check_dtype(call, floats[i], OX_BIT(call->in[QUERY]->dtype)));
    OX_TRY(ox_multi_head_shape_of(call, &s));
    return ox_attention_describe(call, &s);
}
