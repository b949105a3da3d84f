/* shape.c: shapes written as text on the command line. */
#include "shape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *skip_space(const char *at) {
    return at + strspn(at, " ");
}

/* Reads a size of 0 and more, and the comma or bracket after it; NULL if there is none. */
static const char *read_size(const char *at, int64_t *size) {
    char *end;
    at = skip_space(at);
    if (*at < '0' || *at > '9')
        return NULL;
    errno = 0;
    *size = strtoll(at, &end, 10);
    return errno ? NULL : skip_space(end);
}

bool ox_shape_read(const char *text, int *rank, int64_t dims[OX_TOOL_RANK]) {
    const char *at = skip_space(text);
    *rank = 0;
    if (*at != '[')
        return false;
    at = skip_space(at + 1);
    while (*at != ']') {
        if (*rank == OX_TOOL_RANK || !(at = read_size(at, &dims[*rank])) || (*at != ',' && *at != ']'))
            return false;
        ++*rank;
        at += *at == ',';
    }
    return !at[1];
}
