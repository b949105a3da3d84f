/* bindings.h: sizes that the command line gives to dimensions. */
#ifndef OX_BINDINGS_H
#define OX_BINDINGS_H

#include "text.h"

/* "-d batch=4", or "-d x.0=4" for the first dimension of the input x */
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

/* Checks that the model has an open dimension of each name. */
ox_status ox_bindings_check(const ox_bindings *bindings, const ox_model *model, ox_error *error);

/* The size bound to an open dimension, -1 if none is. */
int64_t ox_bindings_size(const ox_bindings *bindings, const ox_value_info *info, int d);

/* Adds the name of an open dimension: its own, or "x.0" if it has none. */
void ox_text_dim(ox_text *text, const ox_value_info *info, int d);

/* Adds an item to a list unless it is there. */
void ox_text_add_once(ox_text *list, const char *item, const char *separator);

#endif
