/* copy_run.h: copies of short rows. */
#ifndef OX_LOOPS_COPY_RUN_H
#define OX_LOOPS_COPY_RUN_H

#include <stdint.h>
#include <string.h>

/* Rows are short: a few copies of constant size, the last of them over the end of the one before, take less than a
 * call. */
enum {
    OX_COPY = 64
};
static inline void ox_copy_ends(char *to, const char *from, int64_t size, const size_t each) {
    memcpy(to, from, each);
    memcpy(to + size - each, from + size - each, each);
}

static inline void ox_copy_run(char *to, const char *from, int64_t size) {
    for (; size >= 2 * OX_COPY; size -= OX_COPY, to += OX_COPY, from += OX_COPY)
        memcpy(to, from, OX_COPY);
    if (size >= OX_COPY)
        ox_copy_ends(to, from, size, OX_COPY);
    else if (size >= OX_COPY / 2)
        ox_copy_ends(to, from, size, OX_COPY / 2);
    else if (size >= OX_COPY / 4)
        ox_copy_ends(to, from, size, OX_COPY / 4);
    else if (size >= OX_COPY / 8)
        ox_copy_ends(to, from, size, OX_COPY / 8);
    else if (size >= OX_COPY / 16)
        ox_copy_ends(to, from, size, OX_COPY / 16);
    else
        for (int64_t i = 0; i < size; i++)
            to[i] = from[i];
}

/* As many rows of one size, whose pieces are chosen once. */
static inline void ox_copy_rows(int64_t rows, char *to, int64_t to_row, const char *from, int64_t from_row,
                                int64_t size) {
#define OX_COPY_EACH(copy)                                                                                             \
    for (; rows > 0; rows--, to += to_row, from += from_row)                                                           \
    copy
    if (size >= OX_COPY / 2 && size <= OX_COPY)
        OX_COPY_EACH(ox_copy_ends(to, from, size, OX_COPY / 2));
    else if (size >= OX_COPY / 4 && size < OX_COPY / 2)
        OX_COPY_EACH(ox_copy_ends(to, from, size, OX_COPY / 4));
    else if (size > OX_COPY && size <= 2 * OX_COPY)
        OX_COPY_EACH(ox_copy_ends(to, from, size, OX_COPY));
    else
        OX_COPY_EACH(ox_copy_run(to, from, size));
#undef OX_COPY_EACH
}

#endif
