/* top.h: the likeliest classes of what a classifier gives, with their labels. */
#ifndef OX_TOP_H
#define OX_TOP_H

#include "text.h"

/* Starts zeroed. The lines lie in the bytes. */
typedef struct ox_top {
    int count;        /* how many classes are shown, 0 for none */
    const char *path; /* of the labels, or NULL */
    unsigned char *bytes;
    const char **lines;
    size_t line_count;
} ox_top;

/* Reads the labels, a line each, if there is a path. */
ox_status ox_top_load(ox_top *top, ox_error *error);
void ox_top_free(ox_top *top);

/* True for tensors of floating types of the shape [C] or [N,C], also with dimensions of 1 after these: a row of classes
 * for each input. */
bool ox_top_fits(const ox_tensor *tensor);

/* Warns once on standard error if there are not as many labels as classes. `name` is the output's. */
void ox_top_check(const ox_top *top, const ox_tensor *tensor, const char *name);

/* Adds the likeliest classes of each row, as lines or as a JSON list of lists. Rows with a value below 0 or above 1 are
 * not probabilities, and go through a softmax first. */
void ox_top_put(const ox_top *top, const ox_tensor *tensor, ox_text *text);
void ox_top_json(const ox_top *top, const ox_tensor *tensor, ox_text *text);

#endif
