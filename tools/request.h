/* request.h: what the command line asks of a model: its inputs, and how it runs; the same for run and bench. */
#ifndef OX_REQUEST_H
#define OX_REQUEST_H

#include "inputs.h"
#include "model.h"
#include "plugin.h"
#include "profile.h"
#include "tool.h"
#include "watch.h"

/* Starts zeroed. Texts are the command line's. */
typedef struct ox_request {
    const char *model;
    char **inputs;
    size_t input_count;
    ox_bindings bindings;
    ox_plugins plugins; /* with the options for loading the model */
    bool profile;       /* --profile */
    const char *trace;  /* --trace, or NULL */
    const char *save;   /* --save-inputs, or NULL */
    bool silent;        /* nothing is shown while it lasts */
    ox_watch watch;     /* started when the model is loaded */
    ox_loaded loaded;
} ox_request;

/* Takes the next argument: the model, or one of -i, -d, --save-inputs, --profile, --trace, --plugin and
 * ox_options_take. Comes after all other options have been tried. Returns the exit status, after a usage error. */
int ox_request_take(ox_args *args, ox_request *request);
void ox_request_free(ox_request *request); /* the model too */

/* Loads the plug-ins and the model, which belongs to the request. */
ox_status ox_request_load(ox_request *request, const ox_model **model, ox_error *error);

/* Writes the inputs that were given or filled as input_0.npy (.pb for values) and so on, by their number, if
 * --save-inputs was given. */
ox_status ox_request_save(const ox_request *request, const ox_inputs *inputs, ox_error *error);

/* Writes the trace and prints the profile that were asked for. */
ox_status ox_request_report(const ox_request *request, const ox_session *session, ox_recorder *recorder,
                            ox_error *error);

#endif
