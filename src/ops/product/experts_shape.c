/* experts_shape.c: shapes and attributes of MoE and QMoE. */
#include "experts.h"
#include "ops/blocks.h"

#include <math.h>

enum {
    X,
    ROUTER,
    MIXING = 14, /* of QMoE, the last input that is not of other kinds of quantization */
    LEAST_BLOCK = 16,
    MOST_BLOCK = 128 /* where one scale is for a whole row */
};

static bool is_packed(const ox_call *call) {
    return ox_op_has(call->op, OX_OP_QUANTIZED);
}

static void number_inputs(const ox_call *call, ox_experts *x) {
    for (int i = 0; i < OX_EXPERT_PRODUCTS; i++)
        x->products[i] = is_packed(call)
                             ? (ox_expert_product){2 + 3 * i, 3 + 3 * i, 11 + i, 4 + 3 * i, 0, 0, 0, 0, 0, 0}
                             : (ox_expert_product){2 + 2 * i, -1, -1, 3 + 2 * i, 0, 0, 0, 0, 0, 0};
    x->mixing = is_packed(call) && ox_call_given(call, MIXING) ? MIXING : -1;
}

/* ---- Attributes -------------------------------------------------------------------------------------------------- */

static ox_status read_activation(ox_call *call, ox_experts *x) {
    static const char *const names[] = {"relu", "gelu", "silu", "swiglu", "identity"};
    const ox_string given = ox_call_string(call, "activation_type", "relu");
    int i = 0;
    while (i < OX_EXPERT_ACTIVATIONS && !ox_says(given, names[i]))
        i++;
    if (i == OX_EXPERT_ACTIVATIONS)
        return ox_call_fail(call, OX_ERROR_MODEL,
                            "attribute 'activation_type' must be relu, gelu, silu, swiglu or identity, not '%.*s'",
                            OX_SHORT(given));
    x->activation = (ox_expert_activation)i;
    x->fusion = i == OX_EXPERT_SWIGLU ? ox_call_int(call, "swiglu_fusion", 0) : 0;
    if (x->fusion < 0 || x->fusion > 2)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'swiglu_fusion' must be 0 to 2, not %lld",
                            (long long)x->fusion);
    x->alpha = (double)ox_call_float(call, "activation_alpha", 1);
    x->beta = (double)ox_call_float(call, "activation_beta", 0);
    x->limit = ox_call_has(call, "swiglu_limit") ? (double)ox_call_float(call, "swiglu_limit", 0) : (double)INFINITY;
    return OX_OK;
}

/* Forms that are laid out for other processors, or take other kinds of numbers. */
static ox_status check_forms(ox_call *call) {
    const ox_string type = ox_call_string(call, "quant_type", "int");
    if (ox_call_int(call, "use_sparse_mixer", 0) != 0)
        return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "attribute 'use_sparse_mixer' is not supported");
    if (!ox_says(type, "int"))
        return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "attribute 'quant_type': '%.*s' is not supported",
                            OX_SHORT(type));
    if (ox_call_int(call, "weights_prepacked", -1) > 0)
        return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "weights that are laid out for a GPU are not supported");
    for (int i = MIXING + 1; i < call->nin; i++)
        if (ox_call_given(call, i))
            return ox_call_fail(call, OX_ERROR_UNSUPPORTED, "%s: scales of floats are not supported",
                                OX_INPUT(call, i));
    return OX_OK;
}

static ox_status read_numbers(ox_call *call, ox_experts *x) {
    x->top = ox_call_int(call, "k", 1);
    x->normalizes = ox_call_int(call, "normalize_routing_weights", 0) != 0;
    x->level = ox_call_int(call, "accuracy_level", 0) == 4 ? 4 : 0;
    if (x->top < 1 || x->top > x->experts)
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'k' is %lld, but there are %lld experts",
                            (long long)x->top, (long long)x->experts);
    return OX_OK;
}

/* ---- Products ---------------------------------------------------------------------------------------------------- */

/* The bits of a product's weights, which it may state by itself. */
static ox_status read_bits(ox_call *call, int which, ox_expert_product *p) {
    static const char *const names[] = {"fc1_expert_weight_bits", "fc2_expert_weight_bits", "fc3_expert_weight_bits"};
    if (!is_packed(call))
        return OX_OK;
    const int64_t bits = ox_call_int(call, names[which], ox_call_int(call, "expert_weight_bits", 4));
    if (bits != 2 && bits != 4 && bits != 8)
        return ox_call_fail(call, OX_ERROR_MODEL, "weights of %lld bits are not possible, but of 2, 4 or 8",
                            (long long)bits);
    p->bits = (int)bits;
    return OX_OK;
}

static ox_status read_blocks(ox_call *call, ox_expert_product *p) {
    const int64_t given = ox_call_int(call, "block_size", 0);
    p->whole = given <= 0;
    p->block = MOST_BLOCK;
    if (!p->whole)
        OX_TRY(ox_block_size(call, 0, &p->block));
    while (p->whole && p->block > LEAST_BLOCK && p->k % p->block)
        p->block /= 2;
    p->blocks = p->k / p->block;
    if (p->k > 0 && p->k % p->block == 0)
        return OX_OK;
    return ox_call_fail(call, p->whole ? OX_ERROR_UNSUPPORTED : OX_ERROR_SHAPE,
                        "blocks of %lld weights do not divide rows of %lld in %s", (long long)p->block, (long long)p->k,
                        OX_INPUT(call, p->weights));
}

/* Scales, and zero points that are packed along blocks, or along rows, up to a whole byte. */
static ox_status check_scales(ox_call *call, const ox_experts *x, const ox_expert_product *p) {
    const int each = 8 / p->bits;
    const int64_t packed = p->whole ? p->n : p->blocks;
    if (!ox_call_given(call, p->scales))
        return ox_call_fail(call, OX_ERROR_MODEL, "input %d, the scales of %s, is missing", p->scales,
                            OX_INPUT(call, p->weights));
    OX_TRY(ox_call_check_dtype(call, p->scales, call->op->dtypes));
    OX_TRY(ox_call_check_dims(call, p->scales, p->whole ? 2 : 3, (const int64_t[]){x->experts, p->n, p->blocks}));
    if (!ox_call_given(call, p->zeros))
        return OX_OK;
    OX_TRY(ox_call_check_dtype(call, p->zeros, OX_BIT(OX_UINT8)));
    const int64_t bytes = packed / each + (packed % each > 0);
    return p->whole ? ox_call_check_dims(call, p->zeros, 2, (const int64_t[]){x->experts, bytes})
                    : ox_call_check_dims(call, p->zeros, 3, (const int64_t[]){x->experts, p->n, bytes});
}

static ox_status check_product(ox_call *call, const ox_experts *x, ox_expert_product *p) {
    const int each = p->bits ? 8 / p->bits : 1;
    int64_t count;
    if (p->k % each)
        return ox_call_fail(call, OX_ERROR_SHAPE, "rows of %lld weights of %d bits do not fill bytes of %s",
                            (long long)p->k, p->bits, OX_INPUT(call, p->weights));
    if (!ox_mul_i64(p->n, p->k, &count))
        return ox_call_fail(call, OX_ERROR_LIMIT, "%s is too large for this machine", OX_INPUT(call, p->weights));
    OX_TRY(ox_call_check_dtype(call, p->weights, OX_BIT(p->bits ? OX_UINT8 : call->in[X]->dtype)));
    OX_TRY(ox_call_check_dims(call, p->weights, 3, (const int64_t[]){x->experts, p->n, p->k / each}));
    if (p->bits) {
        OX_TRY(read_blocks(call, p));
        OX_TRY(check_scales(call, x, p));
    }
    if (!ox_call_given(call, p->bias))
        return OX_OK;
    OX_TRY(ox_call_check_dtype(call, p->bias, OX_BIT(call->in[X]->dtype)));
    return ox_call_check_dims(call, p->bias, 2, (const int64_t[]){x->experts, p->n});
}

static ox_status read_products(ox_call *call, ox_experts *x) {
    ox_expert_product *up = &x->products[OX_EXPERT_UP], *down = &x->products[OX_EXPERT_DOWN],
                      *gate = &x->products[OX_EXPERT_GATE];
    const bool has_gate = ox_expert_has(call, gate), needs = x->activation == OX_EXPERT_SWIGLU && !x->fusion;
    for (int i = 0; i < OX_EXPERT_PRODUCTS; i++)
        OX_TRY(read_bits(call, i, &x->products[i]));
    if (x->fusion && gate->bits != up->bits)
        return ox_call_fail(call, OX_ERROR_MODEL,
                            "attribute 'swiglu_fusion' is %lld, with which the weights of fc3 lie in those of fc1, but "
                            "those have %d bits, and fc3's %d",
                            (long long)x->fusion, up->bits, gate->bits);
    const ox_tensor *w = call->in[down->weights];
    if (w->rank != 3 || !ox_mul_i64(w->dims[2], down->bits ? 8 / down->bits : 1, &x->inner) ||
        x->inner > INT64_MAX / 2 || (down->bits && (!x->inner || !x->hidden)))
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have 3 dimensions", OX_INPUT(call, down->weights));
    if (needs != has_gate && (needs || x->fusion))
        return ox_call_fail(call, OX_ERROR_MODEL,
                            "attribute 'swiglu_fusion' is %lld, with which input %d, fc3_experts_weights, %s",
                            (long long)x->fusion, gate->weights, needs ? "must be given" : "must not be given");
    up->n = x->fusion ? 2 * x->inner : x->inner, up->k = x->hidden;
    down->n = x->hidden, down->k = x->inner;
    gate->n = x->inner, gate->k = x->hidden;
    for (int i = 0; i < OX_EXPERT_PRODUCTS; i++)
        if (ox_expert_has(call, &x->products[i]))
            OX_TRY(check_product(call, x, &x->products[i]));
    return OX_OK;
}

/* ---- The node ---------------------------------------------------------------------------------------------------- */

/* Products are in floats where scales have another type than tokens. */
static ox_dtype type_of_products(const ox_call *call, const ox_experts *x) {
    const ox_dtype given = call->in[X]->dtype;
    for (int i = 0; i < OX_EXPERT_PRODUCTS; i++)
        if (x->products[i].bits && ox_expert_has(call, &x->products[i]) &&
            call->in[x->products[i].scales]->dtype != given)
            return OX_FLOAT;
    return given;
}

ox_status ox_experts_of(ox_call *call, ox_experts *x) {
    const ox_tensor *t = call->in[X], *router = call->in[ROUTER];
    *x = (ox_experts){0};
    number_inputs(call, x);
    OX_TRY(check_forms(call));
    OX_TRY(read_activation(call, x));
    if (t->rank != 2 && t->rank != 3)
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s must have 2 or 3 dimensions", OX_INPUT(call, X));
    x->tokens = ox_count(t->rank - 1, t->dims);
    x->hidden = t->dims[t->rank - 1];
    x->experts = router->rank == 2 ? router->dims[1] : 0;
    for (int i = ROUTER; i >= 0; i = i == ROUTER ? x->mixing : -1) {
        OX_TRY(ox_call_check_dtype(call, i, OX_BIT(t->dtype)));
        OX_TRY(ox_call_check_dims(call, i, 2, (const int64_t[]){x->tokens, x->experts}));
    }
    OX_TRY(read_numbers(call, x));
    OX_TRY(read_products(call, x));
    x->dtype = type_of_products(call, x);
    return OX_OK;
}

ox_status ox_infer_experts(ox_call *call) {
    ox_experts x;
    number_inputs(call, &x);
    for (int i = X; i <= ROUTER; i++)
        OX_TRY(ox_call_check_dtype(call, i, call->op->dtypes));
    for (int i = OX_EXPERT_UP; i <= OX_EXPERT_DOWN; i++)
        OX_TRY(ox_call_check_dtype(call, x.products[i].weights, call->op->dtypes | OX_BIT(OX_UINT8)));
    OX_TRY(ox_experts_of(call, &x));
    return ox_call_output(call, 0, call->in[X]->dtype, call->in[X]->rank, call->in[X]->dims);
}
