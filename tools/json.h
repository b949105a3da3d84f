/* json.h: tensors as JSON. */
#ifndef OX_JSON_H
#define OX_JSON_H

#include "text.h"

/* Adds a number with the fewest digits that give it back when read as the type; what is none in JSON becomes "NaN",
 * "Infinity" or "-Infinity", in quotes. */
void ox_json_real(ox_text *text, ox_dtype dtype, double value);

/* Adds all elements in nested lists, a scalar without. Complex numbers are lists of two; bytes of strings that are no
 * UTF-8 become U+FFFD. */
void ox_json_values(ox_text *text, const ox_tensor *tensor);

/* Adds "[2, 3]". */
void ox_json_dims(ox_text *text, int rank, const int64_t *dims);

#endif
