/* lookup_loops.c: the loop of a table of one byte. */
#include "lookup_loops.h"
#include "lane_loops.h"
#include "loops/simd/x86.h"

ox_lookup_find_fn OX_VARIANT(ox_lookup_find);

static void one_by_one(const u8 *table, int64_t n, const u8 *x, u8 *o) {
    FOR_N o[i] = table[x[i]];
}

#ifdef OX_BYTES_LOOKED_UP
static void by_vectors(const void *table, int64_t n, const char *from, char *to) {
    ox_byte_parts parts;
    ox_byte_parts_read(&parts, table);
    int64_t i = 0;
    for (; i + OX_BYTES_LOOKED_UP <= n; i += OX_BYTES_LOOKED_UP)
        ox_look_up(&parts, from + i, to + i);
    one_by_one(table, n - i, (const u8 *)from + i, (u8 *)to + i);
}
#endif

#ifdef OX_BYTES_LOOKED_UP_WIDE
static void by_wide_vectors(const void *table, int64_t n, const char *from, char *to) {
    const int64_t whole = n - n % OX_BYTES_LOOKED_UP_WIDE;
    ox_look_up_wide(table, whole, from, to);
    one_by_one(table, n - whole, (const u8 *)from + whole, (u8 *)to + whole);
}
#endif

#ifndef OX_BYTES_LOOKED_UP
static void plain(const void *table, int64_t n, const char *from, char *to) {
    one_by_one(table, n, (const u8 *)from, (u8 *)to);
}
#endif

ox_lookup_fn *OX_VARIANT(ox_lookup_find)(bool any) {
#ifdef OX_BYTES_LOOKED_UP_WIDE
    if (any && OX_CPU_HAS(AVX512_VBMI))
        return by_wide_vectors;
#endif
    (void)any;
#ifdef OX_BYTES_LOOKED_UP
    return by_vectors;
#else
    return plain;
#endif
}
