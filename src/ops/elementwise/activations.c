/* activations.c: activation functions and other functions of one operand: shapes and lane programs. */
#include "ops/elementwise.h"

#include <math.h>

/* A floating-point attribute and its default. */
typedef struct float_attr {
    const char *name;
    float otherwise;
} float_attr;

/* Up to two of them, as the loops of lanes_math.c take them. */
static ox_reg emit_floats(ox_call *call, ox_pass_builder *b, ox_reg in, int n, const float_attr *attrs) {
    float *kept = ox_pile_array(call->pile, (size_t)n, sizeof *kept);
    if (!kept)
        return -1;
    for (int i = 0; i < n; i++)
        kept[i] = ox_call_float(call, attrs[i].name, attrs[i].otherwise);
    return ox_elementwise_apply(b, ox_elementwise_lanes(call), kept, OX_UNDEFINED, 1, &in);
}

ox_reg ox_emit_alpha(ox_call *call, ox_pass_builder *b, const ox_reg *in) {
    return emit_floats(call, b, in[0], 1, &(const float_attr){"alpha", 1});
}

ox_status ox_infer_swiglu(ox_call *call) {
    const ox_tensor *a = call->in[0], *b = call->in[1];
    OX_TRY(ox_call_check_same(call, 0, 1));
    if (!ox_same_dims(a->rank, a->dims, b->rank, b->dims))
        return ox_call_fail(call, OX_ERROR_SHAPE, "%s and %s must have the same shape", OX_INPUT(call, 0),
                            OX_INPUT(call, 1));
    return ox_infer_like(call);
}

ox_reg ox_emit_swiglu(ox_call *call, ox_pass_builder *b, const ox_reg *in) {
    const ox_reg gate = ox_emit_alpha(call, b, in);
    return ox_elementwise_apply(b, OX_LANES_Mul, NULL, OX_UNDEFINED, 2, (const ox_reg[]){gate, in[1]});
}

ox_reg ox_emit_leaky(ox_call *call, ox_pass_builder *b, const ox_reg *in) {
    return emit_floats(call, b, in[0], 1, &(const float_attr){"alpha", 0.01f});
}

ox_reg ox_emit_hard_sigmoid(ox_call *call, ox_pass_builder *b, const ox_reg *in) {
    return emit_floats(call, b, in[0], 2, (const float_attr[]){{"alpha", 0.2f}, {"beta", 0.5f}});
}

ox_reg ox_emit_selu(ox_call *call, ox_pass_builder *b, const ox_reg *in) {
    static const float_attr first[] = {{"alpha", 1.6732f}, {"gamma", 1.0507f}},
                            later[] = {{"alpha", 1.67326319217681884765625f}, {"gamma", 1.05070102214813232421875f}};
    return emit_floats(call, b, in[0], 2, call->op->since < 6 ? first : later);
}

ox_reg ox_emit_shrink(ox_call *call, ox_pass_builder *b, const ox_reg *in) {
    return emit_floats(call, b, in[0], 2, (const float_attr[]){{"lambd", 0.5f}, {"bias", 0}});
}

/* The error function of integers, in Erf-9, is that of the real numbers, cut off. */
ox_reg ox_emit_erf(ox_call *call, ox_pass_builder *b, const ox_reg *in) {
    bool integer = OX_BIT(ox_pass_dtype(b, in[0])) & OX_SET_INT;
    ox_reg x = integer ? ox_pass_convert(b, in[0], OX_DOUBLE) : in[0];
    return ox_elementwise_apply(b, ox_elementwise_lanes(call), NULL, OX_UNDEFINED, 1, &x);
}

ox_status ox_infer_gelu(ox_call *call) {
    ox_string approximate = ox_call_string(call, "approximate", "none");
    if (!ox_says(approximate, "none") && !ox_says(approximate, "tanh"))
        return ox_call_fail(call, OX_ERROR_MODEL, "attribute 'approximate' must be none or tanh, not '%.*s'",
                            OX_SHORT(approximate));
    return ox_infer_like(call);
}

ox_reg ox_emit_gelu(ox_call *call, ox_pass_builder *b, const ox_reg *in) {
    bool exact = ox_says(ox_call_string(call, "approximate", "none"), "none");
    return ox_elementwise_apply(b, exact ? OX_LANES_Gelu : OX_LANES_GeluTanh, NULL, OX_UNDEFINED, 1, in);
}

ox_status ox_infer_test(ox_call *call) {
    OX_TRY(ox_call_check_dtype(call, 0, call->op->dtypes));
    return ox_call_output(call, 0, OX_BOOL, call->in[0]->rank, call->in[0]->dims);
}

ox_reg ox_emit_is_inf(ox_call *call, ox_pass_builder *b, const ox_reg *in) {
    float *wanted = ox_pile_get(call->pile, 2 * sizeof *wanted);
    if (!wanted)
        return -1;
    wanted[0] = ox_call_int(call, "detect_positive", 1) ? INFINITY : NAN; /* nothing equals NaN */
    wanted[1] = ox_call_int(call, "detect_negative", 1) ? -INFINITY : NAN;
    return ox_elementwise_apply(b, ox_elementwise_lanes(call), wanted, OX_BOOL, 1, in);
}
