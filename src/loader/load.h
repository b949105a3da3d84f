/* load.h: models from bytes, for the functions that get the bytes. */
#ifndef OX_LOADER_LOAD_H
#define OX_LOADER_LOAD_H

#include "frame/graph.h"
#include "payload.h"

/* An empty model. `path` is copied; it names the model in errors. */
ox_status ox_load_create(const ox_options *options, const char *path, ox_model **model, ox_error *error);

/* Fills the model from a serialized ModelProto, which must stay valid as long as the model. `external` may be NULL; it
 * is called with the model as its context. On failure the model is freed, and the error starts with its path. */
ox_status ox_load_bytes(ox_model *model, const void *bytes, size_t size, ox_external_fn *external, bool for_info,
                        ox_error *error);

/* ox_model_load_memory, without a look at its arguments; for_info makes it what ox_model_load_for_info is for files. */
ox_status ox_load_memory(const void *bytes, size_t size, const ox_options *options, bool for_info, ox_model **model,
                         ox_error *error);

#endif
