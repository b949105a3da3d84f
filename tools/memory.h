/* memory.h: memory of the command. */
#ifndef OX_MEMORY_H
#define OX_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* malloc and realloc that end the process with a message when memory is out. A size of 0 is allowed. */
void *ox_tool_alloc(size_t size);
void *ox_tool_resize(void *block, size_t size);

/* Zeroed memory for a tensor, on large pages if it is large; NULL if there is none. To be freed with free. (pages.c) */
void *ox_tool_zeroed(size_t size);

/* A product of sizes; false on overflow. */
bool ox_tool_multiply(size_t a, size_t b, size_t *product);

#endif
