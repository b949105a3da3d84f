/* lookup_loops.h: tables of one byte, built for each kind of processor. */
#ifndef OX_LOOPS_LOOKUP_LOOPS_H
#define OX_LOOPS_LOOKUP_LOOPS_H

#include "lanes.h"

/* to[i] = table[from[i]] of a table of 256 bytes. `to` may be `from`. */
typedef void ox_lookup_fn(const void *table, int64_t n, const char *from, char *to);

/* The loop for this processor; `any`: by what only some processors of the build have, too. */
typedef ox_lookup_fn *ox_lookup_find_fn(bool any);
extern ox_lookup_find_fn *const ox_lookup_builds[];

#endif
