/* intrinsics.h: what C has no words for. Each processor has a header of what it has of it, the only places for
 * intrinsics; simd_generic.h describes the functions, and has those in C that a processor lacks. */
#ifndef OX_LOOPS_INTRINSICS_H
#define OX_LOOPS_INTRINSICS_H

#if defined(__SSE2__)
#include "simd_x86.h"
#elif defined(__aarch64__)
#include "simd_neon.h"
#elif defined(__wasm_simd128__)
#include "simd_wasm.h"
#endif
#include "simd_generic.h"

/* So many floats are looked up in a table of OX_PLACES at a time. Only where an instruction does that: half of a table
 * at a time would be as slow as computing more. */
enum {
    OX_PLACES = 16
};

/* ox_stream_line for whole lines. */
static inline void ox_stream_lines(void *to, const void *from, size_t size) {
    for (size_t at = 0; at < size; at += OX_LINE)
        ox_stream_line((char *)to + at, (const char *)from + at);
}

/* Prefetches the cache line at an address, which need not be there; _far: no nearer than the second-level cache. */
#if defined(__GNUC__)
/* gcc takes a function that does nothing else for one without effect, and leaves its calls out. */
#define OX_PREFETCH(address, locality)                                                                                 \
    __builtin_prefetch((const void *)(address), 0, locality);                                                          \
    __asm__ volatile("")
#else
#define OX_PREFETCH(address, locality) (void)(address)
#endif
static inline void ox_prefetch(uintptr_t address) {
    OX_PREFETCH(address, 3);
}
static inline void ox_prefetch_far(uintptr_t address) {
    OX_PREFETCH(address, 2);
}

/* How far ahead reads are prefetched. */
enum {
    OX_SOON = 1 << 10,
    OX_LATER = 16 << 10
};

/* Prefetches what lies behind the next `size` bytes of a stream: the lines OX_SOON bytes on into the first-level cache,
 * those OX_LATER bytes on into the second-level one, because few lines can be under way to the first. */
static inline void ox_prefetch_lines(uintptr_t from, size_t size) {
    for (size_t at = 0; at < size; at += OX_LINE) {
        ox_prefetch(from + OX_SOON + at);
        ox_prefetch_far(from + OX_LATER + at);
    }
}

/* Prefetches so many bytes of each of some rows, no nearer than the second-level cache. */
static inline void ox_prefetch_rows(uintptr_t from, int64_t step, int64_t rows, int64_t bytes) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t at = 0; at < bytes; at += OX_LINE)
            ox_prefetch_far(from + (uintptr_t)(r * step + at));
}

#endif
