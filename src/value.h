/* value.h: sequences, optionals and maps.
 *
 * A value never changes once it is made, so that other values may refer to it: inserting into a sequence copies
 * references, not elements. Values made in a run are in the pile of its strings, and live until the session runs
 * again. */
#ifndef OX_VALUE_H
#define OX_VALUE_H

#include "alloc.h"
#include "type.h"
#include "tensor.h"

/* The references of a sequence, with spare capacity at both ends: sequences that grew from each other share them. */
typedef struct ox_items {
    const ox_value **at;
    size_t room, low, high; /* [low, high) are taken */
} ox_items;

struct ox_value {
    ox_dtype type;    /* type.h; of a tensor its element type */
    ox_tensor tensor; /* a tensor, packed; of a map its keys, a list */
    size_t count;     /* of items; of an optional 0 or 1 */
    const ox_value *const *items;
    ox_items *shared; /* where the items lie, NULL where there is no room for more */
};

/* In a pile; NULL where memory is out. The elements of a tensor are `data`, or for NULL zeroed memory of its own. */
ox_value *ox_make_tensor(ox_pile *pile, ox_dtype dtype, int rank, const int64_t *dims, void *data);
/* A sequence, an optional or a map of `count` items, which the caller fills in. */
ox_value *ox_make_list(ox_pile *pile, ox_dtype type, size_t count, const ox_value ***items);
/* A sequence with one more item at position `at`, or one less. At both ends this takes amortized constant time. */
const ox_value *ox_list_insert(ox_pile *pile, const ox_value *list, size_t at, const ox_value *item);
const ox_value *ox_list_erase(ox_pile *pile, const ox_value *list, size_t at);

/* The value that a slot refers to. */
static inline const ox_value *ox_value_in(const ox_tensor *slot) {
    return *(const ox_value *const *)slot->data;
}

#endif
