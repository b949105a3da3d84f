/* trace.h: recorded runs in the trace event format that Chrome and Perfetto show. */
#ifndef OX_TRACE_H
#define OX_TRACE_H

#include "profile.h"

/* Writes the spans of a recorder that keeps them. The file appears whole or not at all. */
ox_status ox_trace_write(const ox_recorder *recorder, const char *path, ox_error *error);

#endif
