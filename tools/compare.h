/* compare.h: a result against the expected one, by the rules of ONNX's backend test runner. */
#ifndef OX_COMPARE_H
#define OX_COMPARE_H

#include "text.h"

typedef struct ox_tolerance {
    double relative;
    double absolute;
    bool given; /* on the command line: it holds for all types */
} ox_tolerance;

/* That of ONNX's runner. bfloat16, where two steps are more than that, gets more unless a tolerance is given. */
#define OX_USUAL_TOLERANCE ((ox_tolerance){.relative = 1e-3, .absolute = 1e-7})

/* The largest distance between finite elements of two tensors of one type and shape; 0 for strings. */
double ox_largest_difference(const ox_tensor *got, const ox_tensor *expected);

/* The same of all tensors in two values that ox_compare_values finds equal. */
double ox_largest_in_values(const ox_value *got, const ox_value *expected);

/* True if type and shape are equal and every element is equal or within the tolerance: |got - expected| <= absolute +
 * relative * |expected|. NaN equals NaN; infinities and strings must be equal. If not, adds the reason: the types or
 * shapes that differ, or the first index that differs with both values. */
bool ox_compare(const ox_tensor *got, const ox_tensor *expected, ox_tolerance tolerance, ox_text *reason);

/* The same for values of any kind: kinds, numbers of items and keys are equal, and so is each tensor in them. */
bool ox_compare_values(const ox_value *got, const ox_value *expected, ox_tolerance tolerance, ox_text *reason);

#endif
