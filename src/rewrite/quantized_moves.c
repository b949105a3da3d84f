/* quantized_moves.c: operators that only move elements move integers, between quantizations. */
#include "quantized.h"

bool ox_quant_is_move(const ox_node *node) {
    static const char *const moves[] = {"Concat",  "DepthToSpace", "Flatten",      "Gather",  "Identity",  "MaxPool",
                                        "Reshape", "Slice",        "SpaceToDepth", "Squeeze", "Transpose", "Unsqueeze"};
    for (size_t i = 0; node && i < sizeof moves / sizeof *moves; i++)
        if (ox_build_is_op(node, moves[i]))
            return node->nout == 1 && node->nin;
    return false;
}

ox_status ox_quant_move(ox_requantizer *r, int32_t n, int32_t value, const ox_node *move, const ox_quantization *to) {
    const int moved = ox_build_is_op(move, "Concat") ? move->nin : 1;
    ox_index *in;
    if (!(move->op->dtypes & OX_BIT(to->dtype)) || !ox_op_builds(move->op, to->dtype))
        return OX_OK;
    OX_TRY(ox_build_get(r->b, &r->scope->pile, (size_t)move->nin, sizeof *in, &in));
    for (int i = 0; i < move->nin; i++) {
        ox_quantization from;
        in[i] = move->in[i];
        if (i >= moved)
            continue;
        if (!ox_quant_source(r, in[i], &from) || !ox_quant_is_single(&from) || !ox_quant_is_same(&from, to))
            return OX_OK;
        in[i] = from.node->in[0];
    }
    return ox_quant_replace(r, n, value, move, move->op, move->nin, in);
}
