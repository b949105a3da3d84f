/* names.h: interned names, and hash maps from keys to indices. */
#ifndef OX_REWRITE_NAMES_H
#define OX_REWRITE_NAMES_H

#include "alloc.h"

/* A map from non-zero keys (OX_KEY of an address, or an index + 1) to numbers. Its memory is in a pile; tables that it
 * outgrew are freed with the pile. A zeroed struct is an empty map. */
typedef struct ox_map {
    struct ox_map_entry *entries;
    size_t room, count; /* room is a power of two */
} ox_map;

#define OX_KEY(address) ((uintptr_t)(address))

/* The value of a key, or `otherwise`. */
int32_t ox_map_get(const ox_map *map, uintptr_t key, int32_t otherwise);
/* Sets a key, new or not. False if out of memory. */
bool ox_map_set(ox_map *map, ox_pile *pile, uintptr_t key, int32_t value);
/* Makes room for `count` keys at once. False if out of memory. */
bool ox_map_reserve(ox_map *map, ox_pile *pile, size_t count);

/* Each text once: equal texts have the same address. */
typedef struct ox_names {
    struct ox_name *entries;
    size_t room, count;
} ox_names;

/* The interned copy of text (size bytes, none of them zero), NUL-terminated, in `keep`; NULL if out of memory. The
 * table is allocated from the allocator. */
const char *ox_intern(ox_names *names, ox_pile *keep, const ox_allocator *allocator, const char *text, size_t size);
/* Frees the table. */
void ox_names_free(ox_names *names, const ox_allocator *allocator);

#endif
