/* copies.c: the yardstick of "ox bench". */
#include "copies.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "system.h"
#include "tool.h"

/* The first copy touches the pages. */
static bool measure_here(double ns[OX_COPIES]) {
    unsigned char *from = ox_tool_zeroed(OX_COPY_BYTES), *to = ox_tool_zeroed(OX_COPY_BYTES);
    const bool got = from && to;
    if (got)
        memset(from, 1, OX_COPY_BYTES);
    for (int i = 0; got && i <= OX_COPIES; i++) {
        uint64_t start = ox_tool_now();
        memcpy(to, from, OX_COPY_BYTES);
        /* What is read is not optimised away. */
        from[i] = to[OX_COPY_BYTES - 1 - i];
        if (i)
            ns[i - 1] = (double)(ox_tool_now() - start);
    }
    free(from);
    free(to);
    return got;
}

static bool measure(void *ns) {
    return measure_here(ns);
}

bool ox_copies_measure(double ns[OX_COPIES]) {
    return ox_system_apart(measure, ns, OX_COPIES * sizeof *ns);
}
