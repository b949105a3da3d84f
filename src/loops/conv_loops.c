/* conv_loops.c: the loops of convolutions. */
#include "conv_loops.h"
#include "lane_loops.h"

#include <string.h>

ox_gather_for_fn OX_VARIANT(ox_gather_find);

/* ---- Gathering ---------------------------------------------------------------------------------------------- */

/* Rows are short: a few copies of constant size, the last of them over the end of the one before, take less than a
 * call. */
enum {
    COPY = 64
};
static inline void copy_ends(char *to, const char *from, int64_t size, const size_t each) {
    memcpy(to, from, each);
    memcpy(to + size - each, from + size - each, each);
}

static inline void copy_run(char *to, const char *from, int64_t size) {
    for (; size >= 2 * COPY; size -= COPY, to += COPY, from += COPY)
        memcpy(to, from, COPY);
    if (size >= COPY)
        copy_ends(to, from, size, COPY);
    else if (size >= COPY / 2)
        copy_ends(to, from, size, COPY / 2);
    else if (size >= COPY / 4)
        copy_ends(to, from, size, COPY / 4);
    else if (size >= COPY / 8)
        copy_ends(to, from, size, COPY / 8);
    else if (size)
        memcpy(to, from, COPY / 16);
}

#define GATHER(T)                                                                                                      \
    static inline void pick_##T(int64_t n, T *o, const T *x, int64_t stride) {                                         \
        if (stride == 2)                                                                                               \
            FOR_N o[i] = x[2 * i];                                                                                     \
        else                                                                                                           \
            FOR_N o[i] = x[i * stride];                                                                                \
    }                                                                                                                  \
    static void gather_##T(int64_t rows, char *to, int64_t to_row, const char *from, int64_t from_row, int64_t stride, \
                           int64_t count, const ox_run *runs) {                                                        \
        for (int64_t r = 0; r < rows; r++, to += to_row, from += from_row) {                                           \
            for (const ox_run *run = runs; run < runs + count; run++) {                                                \
                T *o = (T *)(void *)to + run->to;                                                                      \
                if (run->from < 0) {                                                                                   \
                    memset(o, 0, (size_t)run->count * sizeof *o);                                                      \
                    continue;                                                                                          \
                }                                                                                                      \
                const T *x = (const T *)(const void *)from + run->from;                                                \
                if (stride == 1)                                                                                       \
                    copy_run((char *)o, (const char *)x, run->count *(int64_t)sizeof *o);                              \
                else                                                                                                   \
                    pick_##T(run->count, o, x, stride);                                                                \
            }                                                                                                          \
        }                                                                                                              \
    }
GATHER(u32)
GATHER(u64)

ox_gather_fn *OX_VARIANT(ox_gather_find)(size_t width) {
    return width == sizeof(uint32_t) ? gather_u32 : gather_u64;
}
