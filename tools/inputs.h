/* inputs.h: what the command line says of a model's inputs. */
#ifndef OX_INPUTS_H
#define OX_INPUTS_H

#include "array.h"
#include "text.h"

/* "-d batch=4" */
typedef struct ox_binding {
    const char *name; /* ends at size */
    size_t length;
    int64_t size;
} ox_binding;

typedef struct ox_bindings {
    ox_binding *at;
    size_t count;
} ox_bindings;

/* Adds "batch=4", which must outlive the bindings; false if it is not of that form. */
bool ox_bindings_add(ox_bindings *bindings, const char *text);
void ox_bindings_free(ox_bindings *bindings);

/* Checks that the model has a symbolic dimension of each name. */
ox_status ox_bindings_check(const ox_bindings *bindings, const ox_model *model, ox_error *error);

/* The tensors for a model's inputs. */
typedef struct ox_inputs {
    const ox_model *model;
    size_t count;
    ox_value_info *infos;
    int64_t **dims; /* per input: dims with bound ones filled in, -1 where open */
    ox_array *arrays;
    const char **sources; /* NULL where none was given */
} ox_inputs;

/* Starts with no sources; bound dimensions are filled in. To be freed in every case. */
ox_status ox_inputs_create(ox_inputs *inputs, const ox_model *model, const ox_bindings *bindings, ox_error *error);
void ox_inputs_free(ox_inputs *inputs);

/* Gives "NAME=SOURCE" or "SOURCE"; without a name the next input in graph order. Named ones come first. */
ox_status ox_inputs_assign(ox_inputs *inputs, char *const *texts, size_t count, ox_error *error);

/* Reads all sources, checked against the model. Inputs that lack one are an error that lists them. */
ox_status ox_inputs_load(ox_inputs *inputs, ox_error *error);

/* Adds the symbolic dimensions of inputs without a default that nothing binds, as "-d batch=N -d time=N"; "?" for one
 * without a name. False if there are none. */
bool ox_inputs_open_dims(const ox_inputs *inputs, ox_text *text);

/* Hands the tensors to a session. */
ox_status ox_inputs_set(const ox_inputs *inputs, ox_session *session, ox_error *error);

/* The index of the value whose name precedes '=' in text, with *rest after it; SIZE_MAX if there is none. */
size_t ox_find_named(const ox_value_info *infos, size_t count, const char *text, const char **rest);

/* Adds "'a' (float [2]), 'b' (int64 [n])". */
void ox_text_values(ox_text *text, const ox_value_info *infos, size_t count);

#endif
