/* flops.h: how many operations on numbers the dense nodes of a model take. */
#ifndef OX_FLOPS_H
#define OX_FLOPS_H

#include "ox.h"

/* Multiplications and additions of nodes that compute sums of products: convolutions, products, recurrent layers,
 * attention; 0 for all others, and if shapes are unknown. Padding counts. */
double ox_node_flops(const ox_node_info *node);

#endif
