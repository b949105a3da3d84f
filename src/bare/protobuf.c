/* protobuf.c: protobuf-c, without the memory of a C library behind it: ox gives it an allocator with every call. */
#include <stdlib.h>

static inline void *no_memory(size_t size) {
    (void)size;
    return NULL;
}

static inline void nothing(void *block) {
    (void)block;
}

#define malloc no_memory
#define free nothing
#include "protobuf-c/protobuf-c.c"
