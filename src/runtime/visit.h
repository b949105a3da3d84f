/* visit.h: listing the nodes of a model. */
#ifndef OX_RUNTIME_VISIT_H
#define OX_RUNTIME_VISIT_H

#include "frame/frame.h"

/* Calls the function for each node of a graph and its subgraphs. frame may be NULL. */
void ox_visit(const ox_graph *graph, const ox_frame *frame, int depth, ox_node_fn *visit, void *context);

#endif
