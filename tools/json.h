/* json.h: tensors as JSON. */
#ifndef OX_JSON_H
#define OX_JSON_H

#include "text.h"

/* Adds a number with the shortest digits that give the same value back when read as the type; numbers that JSON lacks
 * become "NaN", "Infinity" or "-Infinity", in quotes. */
void ox_json_real(ox_text *text, ox_dtype dtype, double value);

/* Adds all elements in nested lists, or a scalar without a list. Complex numbers are lists of two; bytes of strings
 * that are not UTF-8 become U+FFFD. */
void ox_json_values(ox_text *text, const ox_tensor *tensor);

/* Adds "[2, 3]". */
void ox_json_dims(ox_text *text, int rank, const int64_t *dims);

#endif
