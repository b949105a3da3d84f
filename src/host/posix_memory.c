/* posix_memory.c: memory by default. */
#include "posix.h"
#ifdef OX_HOST_POSIX
#include "alloc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Walking page tables costs half of a memory-bound operator's time, and malloc reuses memory in small pages: so large
 * blocks are mapped separately. */
enum {
    LARGE_PAGE = 2 << 20,
    PAGE = 64 << 10 /* the largest that systems have */
};

static bool is_mapped(size_t size) {
    return size >= OX_MAPPED_BYTES;
}

/* The bytes that a block of that size takes; 0 if they are more than a pointer difference can hold. A rest of less than
 * half of a large page is in small pages, of which only the used ones take memory. */
static size_t mapped_size(size_t size) {
    const size_t last = size % LARGE_PAGE, whole = last > LARGE_PAGE / 2 ? size - last + LARGE_PAGE : size;
    const size_t pages = whole / PAGE + (whole % PAGE != 0);
    return pages < (PTRDIFF_MAX - LARGE_PAGE) / PAGE ? pages * PAGE : 0;
}

static void *map(size_t size) {
    const size_t wanted = mapped_size(size), room = wanted + LARGE_PAGE;
    char *start = wanted ? mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
    if (start == MAP_FAILED)
        return NULL;
    const size_t before = (LARGE_PAGE - (uintptr_t)start % LARGE_PAGE) % LARGE_PAGE;
    char *block = start + before;
    if (before)
        munmap(start, before);
    munmap(block + wanted, LARGE_PAGE - before);
#ifdef MADV_HUGEPAGE
    madvise(block, wanted, MADV_HUGEPAGE);
#endif
    return block;
}

static void give_back(void *block, size_t size) {
    if (block && is_mapped(size))
        munmap(block, mapped_size(size));
    else
        free(block);
}

static void *host_resize(void *context, void *block, size_t old_size, size_t new_size) {
    (void)context;
    void *moved = NULL;
    if (new_size && !is_mapped(old_size) && !is_mapped(new_size))
        return realloc(block, new_size);
    if (new_size) {
        moved = is_mapped(new_size) ? map(new_size) : malloc(new_size);
        if (moved && block)
            memcpy(moved, block, old_size < new_size ? old_size : new_size);
    }
    if (moved || !new_size)
        give_back(block, old_size);
    return moved;
}

const ox_allocator *ox_default_allocator(void) {
    static const ox_allocator allocator = {host_resize, NULL};
    return &allocator;
}
#endif
