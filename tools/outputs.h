/* outputs.h: where the results of a run go. */
#ifndef OX_OUTPUTS_H
#define OX_OUTPUTS_H

#include "ox.h"

typedef struct ox_outputs {
    const ox_model *model;
    size_t count;
    ox_value_info *infos;
    const char **paths; /* per output: the file of -o, NULL if none, "-" for standard output */
    const char *save;   /* the directory of --save, or NULL */
    bool quiet;
    bool uses_stdout; /* a .npy goes to standard output, so nothing else does */
} ox_outputs;

/* To be freed in every case. */
ox_outputs ox_outputs_create(const ox_model *model);
void ox_outputs_free(ox_outputs *outputs);

/* Takes "NAME=FILE". */
ox_status ox_outputs_assign(ox_outputs *outputs, const char *text, ox_error *error);

/* Writes and prints the session's outputs. */
ox_status ox_outputs_write(const ox_outputs *outputs, const ox_session *session, ox_error *error);

#endif
