/* indices.h: inputs of a model whose values are places in other tensors. */
#ifndef OX_INDICES_H
#define OX_INDICES_H

#include "inputs.h"

/* The number of valid indices for an input that a node of the main graph uses as indices (Gather, GatherElements,
 * GatherND, Scatter, ScatterElements, ScatterND) into an input or an initializer of known size; the minimum if there
 * are several. 0 if unknown. */
int64_t ox_index_places(const ox_inputs *inputs, size_t input);

#endif
