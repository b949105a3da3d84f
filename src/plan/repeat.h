/* repeat.h: nodes that repeat each other, as those of equal layers do: with equal shapes they give equal shapes, so
 * that one of them is inferred and the others take over its results. */
#ifndef OX_PLAN_REPEAT_H
#define OX_PLAN_REPEAT_H

#include "frame/frame.h"

#if OX_WITH_UPDATES
/* Whether two tensors have the same type, dims and strides. Packed strides are not the same as none. */
static inline bool ox_repeat_same(const ox_tensor *a, const ox_tensor *b) {
    return a->dtype == b->dtype && ox_same_dims(a->rank, a->dims, b->rank, b->dims) && !a->strides == !b->strides &&
           (!a->strides || ox_same_dims(a->rank, a->strides, b->rank, b->strides));
}
/* The class of each node: the first node with the same operator, version, attributes, and counts of inputs and outputs.
 * A node that repeats none is its own class. NULL without memory. */
int *ox_repeat_classes(ox_frame *frame);
/* True if node n gets from its inputs what node m of its class got, which has been described without looking at data:
 * the inputs have the same types, shapes and strides, and what the outputs of n were allows lists to be written again.
 */
bool ox_repeat_fits(const ox_frame *frame, int m, int n);
/* Describes node n as node m has been described. */
void ox_repeat_describe(ox_frame *frame, int m, int n);
#endif

#endif
