/* pages.c: memory for tensors, as the library gets it. */
#define _DEFAULT_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "memory.h"

/* From this size on, large pages are asked for: otherwise walking page tables slows down whoever reads the tensor. */
enum {
    LARGE = 4 << 20,
    LARGE_PAGE = 2 << 20
};

void *ox_tool_zeroed(size_t size) {
    void *block = calloc(size ? size : 1, 1);
#ifdef MADV_HUGEPAGE
    uintptr_t start = ((uintptr_t)block + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    uintptr_t end = ((uintptr_t)block + size) / LARGE_PAGE * LARGE_PAGE;
    if (block && size >= LARGE && end > start)
        madvise((void *)start, end - start, MADV_HUGEPAGE);
#endif
    return block;
}
