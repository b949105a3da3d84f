/* literal.h: tensors written as text on the command line. */
#ifndef OX_LITERAL_H
#define OX_LITERAL_H

#include "array.h"

/* True if the text looks like a literal: a list, a string, a number, true, false, nan or inf. */
bool ox_literal_is(const char *text);

/* Reads nested lists of numbers, strings, true and false, or a single one of them, as a tensor of the given type:
 * "[[1,2],[3,4]]", "7", "["a","b"]", "[1.5, nan, -inf]", "1+2j". Every value must fit the type. */
ox_status ox_literal_read(const char *text, ox_dtype dtype, ox_array *array, ox_error *error);

/* Fails with what is wrong, and where in the text. */
ox_status ox_literal_fail(const char *text, const char *at, const char *what, ox_error *error);

#endif
