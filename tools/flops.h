/* flops.h: how many operations on numbers the dense nodes of a model take. */
#ifndef OX_FLOPS_H
#define OX_FLOPS_H

#include "ox.h"

/* Multiplications and additions of a node whose time goes into sums of products: convolutions, products, recurrent
 * layers, attention; 0 for all others, and where shapes are not known. Elements of padding count. */
double ox_node_flops(const ox_node_info *node);

#endif
