/* pick.h: blocks picked from memory by their offsets. */
#ifndef OX_OPS_PICK_H
#define OX_OPS_PICK_H

#include "loops/lanes.h"

/* Copies n blocks of `block` bytes to `to`, one behind the other; block i lies offsets[i] bytes from `from`. */
void ox_pick_blocks(const ox_loops *loops, char *to, const char *from, int64_t block, int64_t n,
                    const int64_t *offsets);

#endif
