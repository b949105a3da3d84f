/* type.h: types of values other than tensors.
 *
 * A slot holds such a value as a packed scalar, whose element is the address of an ox_value (value.h). Its ox_dtype is
 * an internal number that encodes the whole type: the element type of the tensors inside in the lowest bits, then a
 * code for each level around them, the outermost first, and a bit that no element type has. So types are compared,
 * passed on and stated like element types. */
#ifndef OX_TYPE_H
#define OX_TYPE_H

#include "dtype.h"

enum {
    OX_TYPE_BITS = 5,  /* of the element type */
    OX_LEVEL_BITS = 4, /* of each level */
    OX_MOST_LEVELS = 6
};

/* The outermost kind: OX_KIND_TENSOR for element types. */
ox_kind ox_type_kind(ox_dtype type);
/* The type of what a sequence, an optional or a map holds; it may be OX_UNDEFINED: not known. */
ox_dtype ox_type_item(ox_dtype type);
/* The type of a map's keys. */
ox_dtype ox_type_key(ox_dtype type);
/* A type around another; OX_UNDEFINED if it nests too deep, or no map has such keys. */
ox_dtype ox_type_around(ox_kind kind, ox_dtype key, ox_dtype item);
/* True if they are the same, or could be: an empty sequence may not know what its items would be. */
bool ox_type_fits(ox_dtype a, ox_dtype b);
/* True if it does not say what is innermost. */
bool ox_type_is_open(ox_dtype type);

/* "tensor(float)", "seq(tensor(float))", "map(string,tensor(float))", into OX_TYPE_TEXT bytes. */
const char *ox_type_write(char *text, ox_dtype type);
/* For error texts: element types by their name alone. */
typedef struct ox_type_buffer {
    char text[OX_TYPE_TEXT];
} ox_type_buffer;
const char *ox_type_text(ox_type_buffer *buffer, ox_dtype type);
#define OX_TYPE(type) ox_type_text(&(ox_type_buffer){{0}}, (type))

/* "a tensor", "a sequence", ...; static storage. */
const char *ox_kind_text(ox_kind kind);

#endif
