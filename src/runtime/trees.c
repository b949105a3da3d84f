/* trees.c: the trees of a node, laid out as ox embed writes them. */
#include "frame/graph.h"
#include "ops/ml/tree.h"
#include "write_trees.h"

ox_status ox_model_write_trees(const ox_model *model, ox_words_fn *put, void *context, ox_error *error) {
    const ox_graph *graph = model->graph;
    const ox_allocator *allocator = ox_default_allocator();
    const ox_tensor *in[] = {&(const ox_tensor){.dtype = OX_FLOAT}};
    ox_pile pile;
    ox_tensor flat;
    ox_error_clear(error);
    if (graph->nnodes != 1 || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
        return ox_fail(error, OX_ERROR_UNSUPPORTED,
                       "trees can be written for a model of one node, on a little-endian machine");
    ox_pile_init(&pile, allocator);
    const ox_node *node = &graph->nodes[0];
    ox_call call = {.op = node->op,
                    .version = node->version,
                    .nin = 1,
                    .in = in,
                    .nattrs = (size_t)node->nattrs,
                    .attrs = node->attrs,
                    .pile = &pile,
                    .error = error};
    ox_status status = ox_tree_flatten_node(&call, &flat);
    if (!status)
        status = call.attr_status;
    if (!status)
        put(context, flat.data, (size_t)flat.dims[0]);
    ox_pile_free(&pile);
    return status;
}
