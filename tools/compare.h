/* compare.h: a result against the expected one, by the rules of ONNX's backend test runner. */
#ifndef OX_COMPARE_H
#define OX_COMPARE_H

#include "text.h"

typedef struct ox_tolerance {
    double relative;
    double absolute;
} ox_tolerance;

/* True if type and shape are equal and every element is equal or within the tolerance: |got - expected| <=
 * absolute + relative * |expected|. NaN equals NaN; infinities and strings must be equal. If not, adds the reason:
 * what differs, or the first index that does with both values. */
bool ox_compare(const ox_tensor *got, const ox_tensor *expected, ox_tolerance tolerance, ox_text *reason);

#endif
