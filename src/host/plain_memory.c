/* plain_memory.c: memory by default on systems where large blocks are best left to malloc. */
#if defined(_WIN32) || defined(__wasi__)
#include "alloc.h"

#include <stdlib.h>

static void *host_resize(void *context, void *block, size_t old_size, size_t new_size) {
    (void)context, (void)old_size;
    if (new_size)
        return new_size < PTRDIFF_MAX ? realloc(block, new_size) : NULL;
    free(block);
    return NULL;
}

const ox_allocator *ox_default_allocator(void) {
    static const ox_allocator allocator = {host_resize, NULL};
    return &allocator;
}
#endif
