/* plugin.h: --plugin FILE, shared objects with the user's operators; and ox's own plug-ins, which are in a separate
 * folder: BUILD/plugins beside BUILD/ox, PREFIX/lib/ox for PREFIX/bin/ox. */
#ifndef OX_PLUGIN_H
#define OX_PLUGIN_H

#include "tool.h"

/* Zeroed at first. Models that use the operators must be gone before ox_plugins_free. */
typedef struct ox_plugins {
    const char **paths;
    void **handles; /* as many as are loaded */
    size_t path_count, handle_count;
    ox_operator *operators; /* of all of them */
    ox_options options;     /* for loading models that use them */
    bool has_own;           /* those that belong to ox were looked for */
} ox_plugins;

/* True if the next argument is --plugin; takes it and its value. */
bool ox_plugins_argument(ox_plugins *plugins, ox_args *args);

/* Opens the files and checks what is in them; fills in the options. */
ox_status ox_plugins_load(ox_plugins *plugins, ox_error *error);

/* For a model with missing operators: adds ox's own plug-ins, once. True if that added operators: the model may then be
 * loaded again. Plug-ins are not loaded earlier because most models need none, and loading takes time. */
bool ox_plugins_add_own(ox_plugins *plugins);

/* Adds to an error about operators which plug-in of ox is missing, and what it is built from. */
void ox_plugins_remedy(ox_error *error);

/* The same for a picture that the plug-in of ImageDecoder would read. */
void ox_plugins_remedy_image(ox_error *error);

void ox_plugins_free(ox_plugins *plugins);

#endif
