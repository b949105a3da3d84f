/* check_differ.h: where two tensors differ, and what an error says of that. */
#ifndef OX_RUNTIME_CHECK_DIFFER_H
#define OX_RUNTIME_CHECK_DIFFER_H

#include "tensor.h"

/* How far an element may be from what another way gives. All zeros: same bits, where NaN is NaN. */
typedef struct ox_tolerance {
    double units;           /* in the last place of the larger one */
    double share;           /* of the largest finite element of the tensor */
    const ox_tensor *scale; /* packed, of the same shape: of its elements, NULL for none; ... */
    double times;           /* ... so often, ... */
    double largest;         /* ... or 0, or the largest of them all that counts for each */
} ox_tolerance;

/* The first element beyond the bound, -1 if there is none. Both tensors are packed and of one type and shape. */
int64_t ox_differ(const ox_tensor *a, const ox_tensor *b, const ox_tolerance *bound);

/* The largest absolute value of a packed tensor of floats; infinite where one is no number. */
double ox_differ_largest(const ox_tensor *tensor);

/* "1.5 (0x3fc00000)": an element of a packed tensor; "[1,0,2]": where it is. */
typedef struct ox_element_buffer {
    char text[80];
} ox_element_buffer;
const char *ox_differ_element(ox_element_buffer *buffer, const ox_tensor *tensor, int64_t i);
const char *ox_differ_index(ox_dims_buffer *buffer, const ox_tensor *tensor, int64_t i);

#endif
