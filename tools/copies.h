/* copies.h: the yardstick of "ox bench", how long the C library takes to copy memory. */
#ifndef OX_TOOLS_COPIES_H
#define OX_TOOLS_COPIES_H

#include <stdbool.h>

enum {
    OX_COPY_BYTES = 64 << 20,
    OX_COPIES = 5
};

/* Copies OX_COPY_BYTES so many times, and says how many nanoseconds each took. A process of its own does it where there
 * can be one, so that the memory that it takes is not this one's. False where there is no memory for it. */
bool ox_copies_measure(double ns[OX_COPIES]);

#endif
