/* model.h: models that the command line names. */
#ifndef OX_TOOL_MODEL_H
#define OX_TOOL_MODEL_H

#include "ox.h"

/* A model and, if it came from a stream, the bytes that it is made of. Starts zeroed. */
typedef struct ox_loaded {
    ox_model *model;
    unsigned char *bytes;
} ox_loaded;

/* Loads a model from a file, or from standard input for "-", up to the 2 GB that a model may have and the bytes of the
 * options' limits. `for_info` as of ox_model_load_for_info. A file of another kind is an error that says which. */
ox_status ox_loaded_open(ox_loaded *loaded, const char *path, const ox_options *options, bool for_info,
                         ox_error *error);
void ox_loaded_free(ox_loaded *loaded);

#endif
