/* quantized.c: quantized networks that compute on floats between DequantizeLinear and QuantizeLinear. If scales and
 * zero points are known, these nodes are replaced by the equivalent integer operator, by the same operator on the
 * integers, or by a lookup table; and products with weights in blocks by one that reads these. The original nodes are
 * kept as well, for sessions that read values between them. */
#include "quantized.h"

static void count_readers(const ox_requantizer *r, const ox_index *values, int count) {
    for (int i = 0; i < count; i++)
        if (values[i] >= 0)
            r->readers[values[i]]++;
}

static ox_status find_readers(ox_requantizer *r) {
    const ox_scope *scope = r->scope;
    const size_t values = (size_t)scope->nvalues;
    ox_pile *pile = &r->scope->pile;
    r->reader_room = r->maker_room = scope->nvalues;
    OX_TRY(ox_build_get(r->b, pile, values, sizeof *r->readers, &r->readers));
    OX_TRY(ox_build_get(r->b, pile, values, sizeof *r->makers, &r->makers));
    OX_TRY(ox_build_get(r->b, pile, (size_t)scope->nnodes, sizeof *r->gone, &r->gone));
    for (size_t v = 0; v < values; v++)
        r->makers[v] = OX_NOBODY;
    for (int32_t n = 0; n < scope->nnodes; n++) {
        const ox_node *node = &scope->nodes[n];
        count_readers(r, node->in, node->nin);
#if OX_WITH_SUBGRAPHS
        count_readers(r, node->captures, node->ncaptures);
#endif
        for (int k = 0; k < node->nout; k++)
            if (node->out[k] >= 0)
                r->makers[node->out[k]] = n;
    }
    for (int i = 0; i < scope->graph->noutputs; i++)
        r->readers[scope->outputs[i]]++;
    return OX_OK;
}

/* Leaves out the nodes that are gone, and notes what they gave. */
static ox_status close_gaps(ox_requantizer *r) {
    ox_scope *scope = r->scope;
    bool *lost = NULL;
    int32_t count = 0;
    if (OX_KEEP_WRITTEN)
        OX_TRY(ox_build_get(r->b, r->b->pile, (size_t)scope->nvalues, sizeof *lost, &lost));
    for (int32_t n = 0; n < scope->nnodes; n++) {
        const ox_node *node = &scope->nodes[n];
        for (int k = 0; k < node->nout && r->gone[n]; k++)
            if (OX_KEEP_WRITTEN && node->out[k] >= 0)
                lost[node->out[k]] = true;
        if (r->gone[n])
            continue;
        scope->nodes[count] = *node;
        if (OX_KEEP_NAMES)
            scope->node_names[count] = scope->node_names[n];
        count++;
    }
    scope->nnodes = count;
    if (OX_KEEP_WRITTEN)
        scope->written->lost = lost;
    return OX_OK;
}

/* Node n is a QuantizeLinear: looks at what is in front of it. */
static ox_status rewrite(ox_requantizer *r, int32_t n) {
    ox_quantization to;
    const int32_t value = r->scope->nodes[n].in[0];
    if (!ox_quant_read(r, &r->scope->nodes[n], false, &to) || !ox_quant_is_single(&to) || r->readers[value] != 1 ||
        !ox_quant_may_go(r, value))
        return OX_OK;
    const ox_node *node = ox_quant_maker(r, value);
    const ox_op *op = r->scope->nodes[n].op;
    const bool chooses = node && ox_build_is_op(node, "Where"); /* by what a table may know */
    if (ox_quant_is_move(node) && !chooses)
        OX_TRY(ox_quant_move(r, n, value, node, &to));
    if (OX_WITH_OWN_OPERATORS && r->tables && r->scope->nodes[n].op == op)
        OX_TRY(ox_quant_table(r, n, value, &to));
    if (chooses && r->scope->nodes[n].op == op)
        return ox_quant_move(r, n, value, node, &to);
    return r->scope->nodes[n].op == op ? ox_quant_product(r, n, value, &to) : OX_OK;
}

/* Whether there is something to do from a node on. */
static bool is_first(const ox_requantizer *r, const ox_node *node) {
    return ox_build_is_op(node, "QuantizeLinear") ||
           (r->own && ox_build_is_op(node, "DequantizeLinear") && ox_emit_int(node, "block_size", 0));
}

static ox_status look_at(ox_requantizer *r, int32_t n) {
    if (ox_build_is_op(&r->scope->nodes[n], "QuantizeLinear"))
        return rewrite(r, n);
#if OX_WITH_OWN_OPERATORS
    if (r->own)
        return ox_quant_blocks(r, n);
#endif
    return OX_OK;
}

ox_status ox_rewrite_quantized(ox_builder *b, ox_scope *scope) {
    ox_requantizer r = {
        .b = b,
        .scope = scope,
        .own = OX_WITH_OWN_OPERATORS && !b->model->options.no_fuse,
#if OX_WITH_OWN_OPERATORS
        .tables = !b->model->options.no_fuse || b->model->to_write,
#endif
        .bytes = {OX_NONE, OX_NONE}
    };
    int32_t first = 0;
    while (first < scope->nnodes && !is_first(&r, &scope->nodes[first]))
        first++;
    if (first == scope->nnodes)
        return OX_OK;
    OX_TRY(find_readers(&r));
    for (int32_t n = first; n < scope->nnodes; n++)
        OX_TRY(look_at(&r, n));
    if (OX_WITH_OWN_OPERATORS && r.nadded)
        OX_TRY(ox_quant_list_added(&r));
    return r.changed ? close_gaps(&r) : OX_OK;
}
