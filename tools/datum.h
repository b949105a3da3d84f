/* datum.h: what a model takes or gives, of any kind, as text. */
#ifndef OX_DATUM_H
#define OX_DATUM_H

#include "top.h"

/* A tensor, or another value. */
typedef struct ox_datum {
    ox_tensor tensor;
    const ox_value *value; /* NULL where it is a tensor */
} ox_datum;

/* How tensors are shown; in values, all by their elements or statistics. */
typedef struct ox_manner {
    const ox_top *top;
    bool stats;
} ox_manner;

/* Output `index` of the last run. */
ox_status ox_datum_output(const ox_session *session, size_t index, ox_datum *datum, ox_error *error);

/* Adds "NAME: TYPE [SHAPE]" and the elements, ending with a newline. Items of values are indented; of more than 1000,
 * the 3 first and last are shown. */
void ox_datum_text(ox_text *text, const char *name, const ox_datum *datum, ox_manner manner);

/* Adds a JSON object with the key name; for a tensor with dtype, shape and values; otherwise with type and the key
 * items (sequence), item (optional, null if empty), or keys and values (map). Items are objects of the same form. */
void ox_datum_json(ox_text *text, const char *name, const ox_datum *datum, ox_manner manner);

#endif
