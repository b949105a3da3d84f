/* npy.h: numpy's .npy files. */
#ifndef OX_NPY_H
#define OX_NPY_H

#include <stdio.h>

#include "array.h"
#include "text.h"

/* True if the bytes start as an .npy file does. */
bool ox_npy_is(const unsigned char *bytes, size_t size);

/* Reads versions 1 to 3, every numpy type that ONNX has, both byte orders, C and Fortran order. `bytes` is malloced
 * and becomes the array's on success; the caller frees it on failure. Unicode becomes UTF-8. Elements of a void type
 * of 1 or 2 bytes are kept as unsigned integers, with array->raw set. */
ox_status ox_npy_read(unsigned char *bytes, size_t size, ox_array *array, ox_error *error);

/* The name of numpy's type that a tensor of this type is written as: "<f4", "|V2" for bfloat16, "|u1" for smaller
 * floats. Strings give "U". */
const char *ox_npy_type(ox_dtype dtype);

/* True if numpy has no such type, so that only the raw elements are written. */
bool ox_npy_is_raw(ox_dtype dtype);

/* Writes a tensor as .npy version 1. Strings are written as Unicode, or as byte strings if one of them is not UTF-8.
 * Errors of the file stay in it (ferror). */
ox_status ox_npy_write(const ox_tensor *tensor, FILE *file, ox_error *error);

/* The same, behind what the text has. */
ox_status ox_npy_put(const ox_tensor *tensor, ox_text *text, ox_error *error);

#endif
