/* quantized_moves.c: between quantizations, operators that only move elements move the integers. Inputs whose
 * quantization differs from the result's are converted by a table first. */
#include "quantized.h"

#include "ops/index/byte_table.h"

static bool is_constant_pad(const ox_node *node) {
    const ox_attr *mode = ox_emit_attr(node, "mode", OX_ATTR_STRING);
    return ox_build_is_op(node, "Pad") && (!mode || ox_says(mode->u.s, "constant"));
}

#if OX_WITH_OWN_OPERATORS
/* Puts a table in front of node n that quantizes what `from` reads as node n does. */
static ox_status put_table(ox_requantizer *r, int32_t n, const ox_quantization *from, ox_index *value) {
    const int32_t like = r->scope->nodes[n].out[0];
    int32_t bytes, floats, entries, table;
    const ox_node read = *from->node, written = r->scope->nodes[n], look = {.op = &ox_op_byte_table, .version = 1};
    int32_t in[] = {OX_NONE, from->scale, from->zero};
    OX_TRY(ox_quant_bytes(r, n, from->dtype, &bytes));
    in[0] = bytes;
    OX_TRY(ox_quant_put(r, n, &read, from->zero < 0 ? 2 : 3, in, like, &floats));
    const int32_t back[] = {floats, ox_quant_input(&written, 1), ox_quant_input(&written, 2)};
    OX_TRY(ox_quant_put(r, n, &written, written.nin, back, like, &entries));
    OX_TRY(ox_quant_put(r, n, &look, 2, (const int32_t[]){from->node->in[0], entries}, like, &table));
    *value = (ox_index)table;
    return OX_OK;
}
#endif

/* Node n, which replaced a QuantizeLinear, computes one of several parts: the output `value` of `split`. The others,
 * which are views, have their own nodes. */
static ox_status give_part(ox_requantizer *r, int32_t n, const ox_node *split, int32_t value) {
    ox_node *node = &r->scope->nodes[n];
    ox_index *out;
    OX_TRY(ox_build_get(r->b, r->b->pile, (size_t)split->nout, sizeof *out, &out));
    for (int k = 0; k < split->nout; k++)
        out[k] = split->out[k] == value ? node->out[0] : (ox_index)OX_NONE;
    node->out = out;
    node->nout = split->nout;
    return OX_OK;
}

/* Whether input i can be integers as the result is: by itself (*same), or by a table. Neither looks at their type. */
static bool fits(const ox_requantizer *r, int32_t value, const ox_quantization *to, ox_quantization *from, bool *same) {
    if (!ox_quant_source(r, value, from) || !ox_quant_is_single(from) || !from->is_sure)
        return false;
    *same = ox_quant_is_same(from, to);
    return *same || (OX_WITH_OWN_OPERATORS && r->tables && ox_quant_is_byte(from) && ox_quant_is_byte(to));
}

/* What Pad puts around is 0, which integers have as their zero point. */
static bool pads_zeros(const ox_requantizer *r, const ox_node *pad, const ox_quantization *to) {
    const ox_tensor *value = ox_quant_known(r, ox_quant_input(pad, 2));
    if (to->zero < 0 || !to->zeros || to->zeros->rank)
        return false;
    return ox_quant_input(pad, 2) < 0 ||
           (value && value->dtype == OX_FLOAT && ox_tensor_count(value) == 1 && !(ox_quant_float(value, 0) < 0) &&
            !(ox_quant_float(value, 0) > 0) && ox_quant_float(value, 0) < 1);
}

ox_status ox_quant_move(ox_requantizer *r, int32_t n, int32_t value, const ox_node *move, const ox_quantization *to) {
    const int first = ox_build_is_op(move, "Where") ? 1 : 0, /* after the condition */
        end = first || ox_build_is_op(move, "Concat") ? move->nin : 1;
    const bool pads = is_constant_pad(move), splits = ox_build_is_op(move, "Split");
    const ox_node split = *move; /* which may be gone afterwards */
    const int count = pads && move->nin < 3 ? 3 : move->nin;
    ox_quantization from;
    ox_index *in;
    bool same;
    if (!(move->op->dtypes & OX_BIT(to->dtype)) || !ox_op_builds(move->op, to->dtype) ||
        (pads && !pads_zeros(r, move, to)))
        return OX_OK;
    OX_TRY(ox_build_get(r->b, &r->scope->pile, (size_t)count, sizeof *in, &in));
    for (int i = first; i < end; i++)
        if (!fits(r, move->in[i], to, &from, &same) || (splits && !same))
            return OX_OK;
    for (int i = 0; i < move->nin; i++) {
        in[i] = move->in[i];
        if (i < first || i >= end)
            continue;
        fits(r, move->in[i], to, &from, &same);
        in[i] = from.node->in[0];
#if OX_WITH_OWN_OPERATORS
        if (!same)
            OX_TRY(put_table(r, n, &from, &in[i]));
#endif
    }
    if (pads)
        in[2] = to->zero;
    OX_TRY(ox_quant_replace(r, n, value, move, move->op, count, in));
    return splits ? give_part(r, n, &split, value) : OX_OK;
}
