/* malloc.c: defaults that a system gives: memory, and the environment's wish for loops. */
#define _DEFAULT_SOURCE
#include "../alloc.h"
#include "../host.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Blocks from this size on ask for large pages: walking page tables costs half of a memory-bound operator's time. */
enum {
    LARGE = 4 << 20,
    LARGE_PAGE = 2 << 20
};

static void advise(void *block, size_t size) {
#ifdef MADV_HUGEPAGE
    uintptr_t start = ((uintptr_t)block + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    uintptr_t end = ((uintptr_t)block + size) / LARGE_PAGE * LARGE_PAGE;
    if (size >= LARGE && end > start)
        madvise((void *)start, end - start, MADV_HUGEPAGE);
#else
    (void)block, (void)size;
#endif
}

static void *host_resize(void *context, void *block, size_t old_size, size_t new_size) {
    (void)context, (void)old_size;
    if (!new_size) {
        free(block);
        return NULL;
    }
    void *moved = realloc(block, new_size);
    if (moved)
        advise(moved, new_size);
    return moved;
}

const ox_allocator *ox_default_allocator(void) {
    static const ox_allocator allocator = {host_resize, NULL};
    return &allocator;
}

const char *ox_default_isa(void) {
    return getenv("OX_ISA");
}
