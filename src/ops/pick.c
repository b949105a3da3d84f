/* pick.c: blocks picked from memory by their offsets. */
#include "pick.h"
#include "loops/copy_run.h"
#include "loops/element.h"

/* Single elements: a typed copy, as memcpy of a variable length costs a call each. */
#define COPY_ELEMENTS(type)                                                                                            \
    for (int64_t i = 0; i < n; i++)                                                                                    \
        OX_AT(type, to + i * (int64_t)sizeof(type)) = OX_GET(type, from + offsets[i]);                                 \
    return

void ox_pick_blocks(const ox_loops *loops, char *to, const char *from, int64_t block, int64_t n,
                    const int64_t *offsets) {
    switch (block) {
    case 1:
        COPY_ELEMENTS(ox_u8);
    case 2:
        COPY_ELEMENTS(ox_u16);
    case 4:
        COPY_ELEMENTS(ox_u32);
    case 8:
        COPY_ELEMENTS(ox_u64);
    default:
        if (!OX_SMALL && block <= 2 * OX_COPY)
            for (int64_t i = 0; i < n; i++)
                ox_copy_run(to + i * block, from + offsets[i], block);
        else
            for (int64_t i = 0; i < n; i++)
                loops->copy_bytes(to + i * block, from + offsets[i], (size_t)block);
    }
}
