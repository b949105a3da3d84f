/* rewrite.h: graphs are rewritten while they are made: nodes are replaced by others that compute the same. */
#ifndef OX_REWRITE_REWRITE_H
#define OX_REWRITE_REWRITE_H

#include "builder.h"

/* function.c: a node with OX_OP_FUNCTION: writes the nodes that it stands for. */
ox_status ox_rewrite_function(ox_builder *b, ox_scope *scope, const ox_node *node, const char *name);

/* A node of Gradient: what it names, by value. */
typedef struct ox_gradient {
    ox_node node;
    const char *name; /* interned */
    int32_t y;
    int nxs, nnamed; /* xs, then zs */
    const int32_t *named;
    struct ox_gradient *next;
} ox_gradient;

/* gradient.c: a Gradient node, complete except for its inputs: writes the nodes that compute the gradients, and the
 * node after them. If the nodes that it differentiates are not built yet, it waits for ox_rewrite_waiting. `named`
 * lives as long as the scope. */
ox_status ox_rewrite_gradient(ox_builder *b, ox_scope *scope, const ox_gradient *gradient);
/* Builds what waits, once all nodes of the graph are there. */
ox_status ox_rewrite_waiting(ox_builder *b, ox_scope *scope);

/* unpool.c: gives MaxUnpool the shape of the image that its indices refer to, if a MaxPool computes them. The nodes are
 * sorted. */
ox_status ox_rewrite_unpools(ox_builder *b, ox_scope *scope);

/* widened.c: ox_options.float16_sums: values of 16-bit floats become floats, except inputs and outputs of the model.
 * The nodes are sorted, and the outputs known. */
ox_status ox_rewrite_widened(ox_builder *b, ox_scope *scope);

/* nchwc.c: replaces the operators of com.microsoft.nchwc, whose images and weights are in blocks of channels, by the
 * original operators. The nodes are sorted, and the outputs known. */
ox_status ox_rewrite_blocks(ox_builder *b, ox_scope *scope);

/* quantized.c: replaces nodes between DequantizeLinear and QuantizeLinear by equivalent integer operators. The nodes
 * are sorted, and the outputs known. */
ox_status ox_rewrite_quantized(ox_builder *b, ox_scope *scope);

#endif
