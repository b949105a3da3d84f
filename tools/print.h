/* print.h: tensors as text. */
#ifndef OX_PRINT_H
#define OX_PRINT_H

#include "text.h"

/* Adds the elements as numpy prints an array: up to 8 digits after the point, alike for all elements; more than 1000
 * elements shortened to the 3 first and last of each dimension; lines of 75 characters. No newline at the end. */
void ox_print_tensor(ox_text *text, const ox_tensor *tensor);

/* Adds one element, in its shortest form. */
void ox_print_element(ox_text *text, ox_dtype dtype, const void *element);

#endif
