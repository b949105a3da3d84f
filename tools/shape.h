/* shape.h: shapes written as text on the command line. */
#ifndef OX_SHAPE_H
#define OX_SHAPE_H

#include "tool.h"

/* Reads "[3,4]"; false if the text is none, or its rank is beyond OX_TOOL_RANK. */
bool ox_shape_read(const char *text, int *rank, int64_t dims[OX_TOOL_RANK]);

#endif
