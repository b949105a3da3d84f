/* needs.h: the list of operators and element types that models need. */
#ifndef OX_TOOLS_NEEDS_H
#define OX_TOOLS_NEEDS_H

#include <stdbool.h>

#include "ox.h"
#include "text.h"

/* An operator that some model uses, and the element types that it is used with. */
typedef struct ox_need {
    char *name; /* with its domain */
    int64_t version;
    uint32_t types;
    bool stays; /* some model has nodes of it when it has been loaded */
} ox_need;

typedef struct ox_needs {
    ox_need *at;
    size_t count;
    bool functions, external, quantized, depth, columns, means, arithmetic, gemms, tables, trees, typed, constants,
        moves;
} ox_needs;

/* Adds an operator, by its name with the domain. stays: a model has nodes of it when it has been loaded. */
void ox_needs_add(ox_needs *needs, const char *name, int64_t version, uint32_t types, bool stays);

/* Adds what a model needs that has run in the session; planned: but for the operators, of which a plan has fewer. */
void ox_needs_of_model(ox_needs *needs, const ox_model *model, const ox_session *session, bool planned);

/* Writes the list, sorted. */
void ox_needs_put(ox_text *out, ox_needs *needs);
void ox_needs_free(ox_needs *needs);

#endif
