/* quantized_replace.c: nodes of a quantized network are replaced; the original nodes are kept as well. */
#include "quantized.h"

#include <string.h>

/* Removes one reader of a value, and nodes whose results are then unread. The inputs of these are still read by the
 * node that replaces them, or are constants. */
static void drop(ox_requantizer *r, int32_t value) {
    const int32_t n = r->makers[value];
    if (--r->readers[value] || n < 0)
        return;
    const ox_node *node = &r->scope->nodes[n];
    for (int k = 0; k < node->nout; k++)
        if (node->out[k] >= 0 && r->readers[node->out[k]])
            return;
    r->gone[n] = true;
    for (int i = 0; i < node->nin; i++)
        if (node->in[i] >= 0)
            drop(r, node->in[i]);
}

ox_status ox_quant_keep_written(ox_requantizer *r) {
    ox_scope *scope = r->scope;
    r->changed = true;
    if (!OX_KEEP_WRITTEN || scope->written)
        return OX_OK;
    const size_t count = (size_t)scope->nnodes;
    ox_written *written;
    ox_node *nodes;
    const char **names;
    OX_TRY(ox_build_get(r->b, r->b->pile, 1, sizeof *written, &written));
    OX_TRY(ox_build_get(r->b, r->b->pile, count, sizeof *nodes, &nodes));
    OX_TRY(ox_build_get(r->b, r->b->pile, count, sizeof *names, &names));
    memcpy(nodes, scope->nodes, count * sizeof *nodes);
    if (OX_KEEP_NAMES)
        memcpy(names, scope->node_names, count * sizeof *names);
    written->graph.nodes = nodes;
    written->graph.node_names = names;
    written->graph.nnodes = scope->nnodes;
    written->graph.nvalues = scope->nvalues;
    scope->written = written;
    return OX_OK;
}

/* Puts an operator with these inputs where node n is, which quantizes `value`; it has attributes and name of the node
 * that it stands for, `from`. */
ox_status ox_quant_replace(ox_requantizer *r, int32_t n, int32_t value, const ox_node *from, const ox_op *op, int count,
                           const ox_index *in) {
    ox_scope *scope = r->scope;
    ox_index *kept;
    const ox_node used = {.op = op, .version = from->version};
    OX_TRY(ox_quant_keep_written(r));
    if (!OX_KEEP_WRITTEN && scope->nodes[n].out[0] >= 0) /* which nothing else would say */
        scope->values[scope->nodes[n].out[0]].dtype = ox_quant_written_type(r, &scope->nodes[n]);
    if (OX_WITH_USES && ox_build_is_op(&used, op->name))
        OX_TRY(ox_build_note_op(r->b, op, from->version));
    OX_TRY(ox_build_get(r->b, r->b->pile, (size_t)count, sizeof *kept, &kept));
    memcpy(kept, in, (size_t)count * sizeof *kept);
    ox_node made = *from;
    made.op = op;
    made.in = kept;
    made.nin = (ox_index)count;
    made.out = scope->nodes[n].out;
    made.nout = scope->nodes[n].nout;
    for (int i = 0; i < count; i++)
        if (in[i] >= 0)
            r->readers[in[i]]++;
    if (OX_KEEP_NAMES)
        scope->node_names[n] = scope->node_names[from - scope->nodes];
    for (int i = scope->nodes[n].nin; i-- > 0;)
        if (scope->nodes[n].in[i] >= 0 && scope->nodes[n].in[i] != value)
            r->readers[scope->nodes[n].in[i]]--;
    scope->nodes[n] = made;
    drop(r, value);
    return OX_OK;
}
