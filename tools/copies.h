/* copies.h: the yardstick of "ox bench", how long the C library takes to copy memory. */
#ifndef OX_TOOLS_COPIES_H
#define OX_TOOLS_COPIES_H

#include <stdbool.h>

enum {
    OX_COPY_BYTES = 64 << 20,
    OX_COPIES = 5
};

/* Copies OX_COPY_BYTES that many times, and returns the nanoseconds of each copy. A child process does it on systems
 * that have them, so that its memory does not count as this process's. False if memory is short. */
bool ox_copies_measure(double ns[OX_COPIES]);

#endif
