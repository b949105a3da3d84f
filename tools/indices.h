/* indices.h: inputs of a model whose values are places in other tensors. */
#ifndef OX_INDICES_H
#define OX_INDICES_H

#include "inputs.h"

/* How many places there are for the values of an input that a node of the main graph takes as indices (Gather,
 * GatherElements, GatherND, Scatter, ScatterElements, ScatterND), in data that is an input or an initializer of known
 * size; the least of several. 0 if the graph does not say. */
int64_t ox_index_places(const ox_inputs *inputs, size_t input);

#endif
