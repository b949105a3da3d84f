/* value_source.h: a SOURCE of the command line for a sequence, an optional or a map. */
#ifndef OX_VALUE_SOURCE_H
#define OX_VALUE_SOURCE_H

#include "ox.h"

/* True if the text looks like a literal that only such values have: "none", or "{" and what follows. */
bool ox_value_source_is(const char *text);

/* Reads a source as a value of the type that is stated, such as "seq(tensor(float))"; free it with ox_value_free. It is
 * a serialized SequenceProto, OptionalProto or MapProto in a FILE.pb or on standard input, or a literal: the items of a
 * sequence in brackets, "[[1,2],[3]]"; "none" or the item of an optional; "{1: [0.5], 2: [1,2]}". Tensors in it are as
 * ox_literal_read takes them. A tensor for an optional may come from any source that tensors have. */
ox_status ox_value_source_load(const char *text, const ox_value_info *info, ox_value **value, ox_error *error);

#endif
