/* nearest.h: suggestions for misspelt names. */
#ifndef OX_NEAREST_H
#define OX_NEAREST_H

#include "text.h"

enum {
    OX_NEAREST_MOST = 3,
    OX_NEAREST_LENGTH = 64 /* of names that are looked at */
};

/* Starts with the name that is not there, otherwise zeroed. */
typedef struct ox_nearest {
    const char *wanted;
    const char *names[OX_NEAREST_MOST]; /* nearest first; they must stay */
    int distances[OX_NEAREST_MOST];
    int count;
} ox_nearest;

/* Considers an existing name: it is a candidate if few letters differ, ignoring case, or if it begins or ends with the
 * wanted one. */
void ox_nearest_add(ox_nearest *nearest, const char *name);

/* Adds "; did you mean 'Conv' or 'Cos'?", nothing if no name is near. */
void ox_nearest_put(const ox_nearest *nearest, ox_text *text);

#endif
