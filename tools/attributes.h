/* attributes.h: which attributes ONNX defines for an operator. */
#ifndef OX_TOOLS_ATTRIBUTES_H
#define OX_TOOLS_ATTRIBUTES_H

#include "ox.h"

#include "text.h"

/* A line for each attribute that the newest version of a row of the table has: name, kind, whether it is required, and
 * the version that added it, if the row's first version lacks it. Nothing for operators that are not ONNX's. */
void ox_attributes_put(ox_text *text, const ox_op_info *info);

#endif
