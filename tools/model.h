/* model.h: models that the command line names. */
#ifndef OX_TOOL_MODEL_H
#define OX_TOOL_MODEL_H

#include "ox.h"

/* A model and, if it came from a stream, the bytes that it is made of. Starts zeroed. */
typedef struct ox_loaded {
    ox_model *model;
    unsigned char *bytes;
} ox_loaded;

/* Loads a model from a file, or from standard input for "-", of at most 2 GB and the bytes of the options' limits.
 * `for_info`: as ox_model_load_for_info. A file of another format is an error that names the format. */
ox_status ox_loaded_open(ox_loaded *loaded, const char *path, const ox_options *options, bool for_info,
                         ox_error *error);
void ox_loaded_free(ox_loaded *loaded);

#endif
