/* malloc.c: the default allocator of builds that have malloc. */
#include "../alloc.h"

#include <stdlib.h>

static void *host_resize(void *context, void *block, size_t old_size, size_t new_size) {
    (void)context, (void)old_size;
    if (new_size)
        return realloc(block, new_size);
    free(block);
    return NULL;
}

const ox_allocator *ox_default_allocator(void) {
    static const ox_allocator allocator = {host_resize, NULL};
    return &allocator;
}
