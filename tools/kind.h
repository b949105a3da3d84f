/* kind.h: what files of other kinds are, and what to do with them. */
#ifndef OX_KIND_H
#define OX_KIND_H

#include "ox.h"

typedef struct ox_file_kind {
    const char *name;     /* "a gzip file"; NULL if the bytes are of no known kind */
    const char *as_model; /* what to do when a model was wanted */
} ox_file_kind;

/* The kind of a file by its bytes, or the first 4,096 and more of them. */
const ox_file_kind *ox_kind_of(const unsigned char *bytes, size_t size);

/* The ending of the name by which a file of that kind is read as an input; NULL if none is: it goes by its bytes. */
const char *ox_kind_ending(const ox_file_kind *kind);

/* Says of a file that is no model what else it is, if that is known: puts that in place of the error's text. */
void ox_kind_explain(const char *path, ox_error *error);

/* The same for bytes that came from what `name` says. */
void ox_kind_explain_bytes(const char *name, const unsigned char *bytes, size_t size, ox_error *error);

#endif
