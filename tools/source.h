/* source.h: one SOURCE of the command line: a file, standard input, or literal text. */
#ifndef OX_SOURCE_H
#define OX_SOURCE_H

#include "array.h"

/* True if the text is a source by its looks, or names a file. */
bool ox_source_is(const char *text);

/* Reads a source (but for @ rules) as a tensor of the input's type. */
ox_status ox_source_load(const char *text, const ox_value_info *info, ox_array *array, ox_error *error);

/* Reads a serialized TensorProto. `name` as in ox_tensor_from_proto. */
ox_status ox_source_proto(const unsigned char *bytes, size_t size, ox_array *array, const char **name, ox_error *error);

#endif
