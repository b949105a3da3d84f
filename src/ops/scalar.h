/* scalar.h: single elements: inputs that are one number, elements made of a number, and memory filled with one. */
#ifndef OX_OPS_SCALAR_H
#define OX_OPS_SCALAR_H

#include "op.h"

enum {
    OX_ELEMENT_MAX = 16 /* bytes of the widest element */
};

/* Infer: input i with its data, which must be one element of a type of the set; OX_DEFER if it is not known before the
 * run. */
ox_status ox_call_scalar(ox_call *call, int i, ox_dtypes set, const ox_tensor **tensor);

/* The one element of a tensor of numbers. As an integer it is truncated, and the nearest int64 for what lies outside;
 * NaN is 0. */
double ox_scalar_float(const ox_tensor *tensor);
int64_t ox_scalar_int(const ox_tensor *tensor);

/* Writes the element of that type for a number: integers truncate and wrap, a string is empty. */
void ox_make_element(ox_dtype dtype, float value, void *to);

/* Writes one element to everything in packed memory of shape dims that is outside of the box [first, end). */
void ox_fill_outside(const ox_call *call, int rank, const int64_t *dims, const int64_t *first, const int64_t *end,
                     size_t width, void *data, const void *element);

#endif
