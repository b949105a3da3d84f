/* source.h: one SOURCE of the command line: a file, standard input, or literal text. */
#ifndef OX_SOURCE_H
#define OX_SOURCE_H

#include "array.h"

/* True if the text is a source by its looks, or names a file. */
bool ox_source_is(const char *text);

/* True if the source ends with ",cast", which allows values of another type than the model's; *length is the length of
 * the source before it. */
bool ox_source_cast(const char *text, size_t *length);

/* The length of the name before the options of a picture, "cat.png" of "cat.png,resize=224", in the first `length`
 * characters; `length` itself if there are no options. */
size_t ox_source_options(const char *text, size_t length);

/* True for "-", with or without ",cast" or options. */
bool ox_source_is_stdin(const char *text);

/* True if the source is a table by its name, with options or not. */
bool ox_source_is_csv(const char *text);

/* True for an .npz file by its name. */
bool ox_source_is_npz(const char *text);

/* Converts an array read from a source to the input's type, with ox_array_cast if the source has ",cast"; frees the
 * array on failure. */
ox_status ox_source_convert(const char *text, const ox_value_info *info, ox_array *array, ox_error *error);

/* Reads a source (but for @ rules and .npz) as a tensor of the input's type. */
ox_status ox_source_load(const char *text, const ox_value_info *info, ox_array *array, ox_error *error);

/* Reads a serialized TensorProto. `name` as in ox_tensor_from_proto. */
ox_status ox_source_proto(const unsigned char *bytes, size_t size, ox_array *array, const char **name, ox_error *error);

#endif
