/* inputs.h: what the command line says of a model's inputs. */
#ifndef OX_INPUTS_H
#define OX_INPUTS_H

#include "array.h"
#include "bindings.h"
#include "npz.h"

/* What is taken for an open height or width: the size that many networks were trained with. */
enum {
    OX_PICTURE_SIDE = 224
};

/* The tensors and other values for a model's inputs. */
typedef struct ox_inputs {
    const ox_model *model;
    size_t count;
    ox_value_info *infos;
    int64_t **dims; /* per input: dims with bound ones filled in, -1 where open */
    ox_array *arrays;
    ox_value **values;      /* NULL where it is a tensor */
    const char **sources;   /* NULL where none was given */
    ox_npz_member *members; /* where the source is an .npz; its archive is NULL otherwise */
    ox_npz **archives;
    size_t archive_count;
    char **made; /* sources that stand for columns of a table */
    size_t made_count;
    ox_text taken;   /* those that were: "batch=1, x.2=1" */
    ox_text options; /* and how to give them: "-d batch=N -d x.2=N" */
} ox_inputs;

/* Starts with no sources; bound dimensions are filled in. To be freed in every case. */
ox_status ox_inputs_create(ox_inputs *inputs, const ox_model *model, const ox_bindings *bindings, ox_error *error);
void ox_inputs_free(ox_inputs *inputs);

/* Gives "NAME=SOURCE" or "SOURCE"; without a name the next input in graph order. Named ones come first. */
ox_status ox_inputs_assign(ox_inputs *inputs, char *const *texts, size_t count, ox_error *error);

/* Gives one input its source, once. */
ox_status ox_inputs_give(ox_inputs *inputs, size_t i, const char *source, ox_error *error);

/* "WHAT 'NAME': the model has ...", with the inputs. */
ox_status ox_inputs_fail(const ox_inputs *inputs, const char *what, int length, const char *name, ox_error *error);

/* Sets inputs from the arrays of an .npz by their names; arr_0 and so on, numpy's names for arrays saved without one,
 * set inputs in graph order. (inputs_npz.c) */
ox_status ox_inputs_assign_npz(ox_inputs *inputs, const char *text, ox_error *error);

/* Sets inputs from the columns of a table with their names; *done is false if there are none, and the whole table may
 * be one input. (inputs_npz.c) */
ox_status ox_inputs_assign_csv(ox_inputs *inputs, const char *text, bool *done, ox_error *error);

/* Says on standard error which sizes were taken for open dimensions, and how to give others. */
void ox_inputs_note(const ox_inputs *inputs);

/* Opens the .npz that is input i's source, and takes the array of its name from it, or the only one there is. */
ox_status ox_inputs_give_member(ox_inputs *inputs, size_t i, ox_error *error);

/* Reads all sources, checked against the model. Inputs that lack one are an error that lists them. Where an input is
 * filled, a dimension that is still open becomes 1, or OX_PICTURE_SIDE for height and width of a picture. */
ox_status ox_inputs_load(ox_inputs *inputs, ox_error *error);

/* Adds the unbound dimensions of inputs without a default, as "-d batch=N -d x.2=N". False if there are none. */
bool ox_inputs_open_dims(const ox_inputs *inputs, ox_text *text);

/* True if the model does not even say how many dimensions an input without a default has. */
bool ox_inputs_open_rank(const ox_inputs *inputs);

/* Hands the tensors and values to a session. */
ox_status ox_inputs_set(const ox_inputs *inputs, ox_session *session, ox_error *error);

/* The index of the value whose name precedes '=' in text, with *rest after it; SIZE_MAX if there is none. */
size_t ox_find_named(const ox_value_info *infos, size_t count, const char *text, const char **rest);

/* Adds "'a' (float [2]), 'b' (int64 [n])". */
void ox_text_values(ox_text *text, const ox_value_info *infos, size_t count);

#endif
