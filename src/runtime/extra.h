/* extra.h: values that a session gives as outputs, though the model does not. */
#ifndef OX_RUNTIME_EXTRA_H
#define OX_RUNTIME_EXTRA_H

#include "frame/graph.h"

/* A copy of the model's main graph with more outputs, by name, in one block of *size bytes; NULL if none are requested.
 * `temporary` holds memory that only the search needs. */
ox_status ox_extra_outputs(const ox_model *model, const ox_options *options, const ox_allocator *allocator,
                           const ox_allocator *temporary, ox_graph **graph, size_t *size, ox_error *error);

#endif
