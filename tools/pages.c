/* pages.c: memory for tensors, as the library gets it. */
#include <stdlib.h>

#include "memory.h"
#include "system.h"

/* From this size on, large pages are asked for: otherwise walking page tables slows down every reader of the tensor. */
enum {
    LARGE = 4 << 20
};

void *ox_tool_zeroed(size_t size) {
    void *block = calloc(size ? size : 1, 1);
    if (block && size >= LARGE)
        ox_system_large_pages(block, size);
    return block;
}
