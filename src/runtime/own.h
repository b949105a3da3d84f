/* own.h: values that a caller owns: each lies in a pile of its own. */
#ifndef OX_RUNTIME_OWN_H
#define OX_RUNTIME_OWN_H

#include "value.h"

/* A value on its way: what it is made of goes into the pile. */
typedef struct ox_owned {
    ox_allocator allocator;
    ox_pile pile;
    const char *name; /* of a value from a file, "" for others; in the pile */
    ox_value value;
} ox_owned;

/* An empty one, or an error. */
ox_status ox_own_begin(const ox_options *options, ox_owned **owned, ox_error *error);
/* Hands it over, or frees it if there was an error. */
ox_status ox_own_end(ox_owned *owned, ox_status status, ox_value **value);
/* A copy of a tensor in a pile, with its strings; NULL where memory is out. */
ox_value *ox_own_tensor(ox_pile *pile, const ox_tensor *tensor);
/* Checks that the items are of one type, which becomes `type`'s: what an empty one does not know, another may. */
ox_status ox_own_join(ox_dtype *type, ox_dtype item, size_t i, ox_error *error);

#endif
