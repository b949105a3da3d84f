/* values.h: the values of a model that can be asked for by name: inputs, outputs, and all between. */
#ifndef OX_VALUES_H
#define OX_VALUES_H

#include "text.h"

/* Finds the value of the main graph whose name is at the start of a text, followed by '=' or the end; the longest one
 * if there are several. *name lives as long as the model; *rest is after the '=', or NULL. False if there is none. */
bool ox_values_find(const ox_model *model, const char *text, const char **name, const char **rest);

/* Adds suggestions for a name that no value has: similar names, or the outputs of a node of that name. */
void ox_values_suggest(const ox_model *model, const char *name, ox_text *text);

/* The names of all values that nodes of the main graph give, *count of them; to be freed. */
const char **ox_values_list(const ox_model *model, size_t *count);

#endif
