/* memory.c: memory of the command, which ends where there is none. */
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>

void *ox_tool_resize(void *block, size_t size) {
    void *moved = realloc(block, size ? size : 1);
    if (!moved) {
        fprintf(stderr, "ox: out of memory (%zu bytes)\n", size);
        exit(EXIT_FAILURE);
    }
    return moved;
}

void *ox_tool_alloc(size_t size) {
    return ox_tool_resize(NULL, size);
}

bool ox_tool_multiply(size_t a, size_t b, size_t *product) {
    *product = a * b;
    return !b || *product / b == a;
}
