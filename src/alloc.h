/* alloc.h: allocators, and memory that is freed all at once. */
#ifndef OX_ALLOC_H
#define OX_ALLOC_H

#include "status.h"

void *ox_alloc(const ox_allocator *allocator, size_t size);               /* NULL on failure; not zeroed */
void ox_release(const ox_allocator *allocator, void *block, size_t size); /* NULL is allowed */

/* The same memory, for short-lived blocks. A fixed buffer takes them from its end, so that they leave no gaps between
 * the blocks that stay. */
ox_allocator ox_temporary(const ox_allocator *allocator);

/* Grows a block to `size` bytes without moving it; false if it cannot, which includes all memory other than a fixed
 * buffer. ox_meter_extend does the same for allocators with a meter. */
bool ox_fixed_extend(const ox_allocator *allocator, void *block, size_t size);

/* Whether the memory is a fixed buffer. */
bool ox_is_fixed(const ox_allocator *allocator);

/* malloc and free; NULL on builds without them. */
const ox_allocator *ox_default_allocator(void);

/* A pile of memory: many small allocations that are released together, or back to a mark. */
typedef struct ox_chunk ox_chunk;
typedef struct ox_pile {
    const ox_allocator *allocator;
    ox_chunk *top;
    size_t used;  /* bytes taken from the allocator */
    size_t given; /* bytes given out, each piece rounded to OX_GRAIN */
} ox_pile;

typedef struct ox_pile_mark {
    ox_chunk *top;
    size_t fill, given;
} ox_pile_mark;

void ox_pile_init(ox_pile *pile, const ox_allocator *allocator);
/* A pile in the caller's block, which is aligned to OX_GRAIN; it never grows. ox_pile_size returns the size that the
 * block needs for pieces of `given` bytes. */
void ox_pile_over(ox_pile *pile, void *block, size_t size);
size_t ox_pile_size(size_t given);
/* size zeroed bytes, aligned for any type; NULL if out of memory. */
void *ox_pile_get(ox_pile *pile, size_t size);
/* The same, aligned to OX_ALIGN, as loops want their own memory. */
void *ox_pile_aligned(ox_pile *pile, size_t size);
/* count * size zeroed bytes, NULL on overflow too. */
void *ox_pile_array(ox_pile *pile, size_t count, size_t size);
ox_pile_mark ox_pile_save(const ox_pile *pile);
void ox_pile_restore(ox_pile *pile, ox_pile_mark mark);
void ox_pile_free(ox_pile *pile);

/* The least multiple of `unit` from `size` on, which is at most SIZE_MAX - unit. */
static inline size_t ox_round_up(size_t size, size_t unit) {
    return (size + unit - 1) / unit * unit;
}
static inline size_t ox_aligned(size_t size) {
    return ox_round_up(size, OX_ALIGN);
}

/* The first aligned address of a block, which is at most OX_ALIGN - 1 bytes on; and whether an address is one. */
static inline void *ox_align(void *block) {
    return (char *)block + (OX_ALIGN - (uintptr_t)block % OX_ALIGN) % OX_ALIGN;
}
static inline bool ox_is_aligned(const void *address) {
    return (uintptr_t)address % OX_ALIGN == 0;
}

/* Overflow-checked size arithmetic: false if the result does not fit. */
static inline bool ox_mul_size(size_t a, size_t b, size_t *result) {
    return !__builtin_mul_overflow(a, b, result);
}
/* Small builds make do with less (src/bare/bare.c), in a call that linkers which optimize would undo. */
#if OX_SMALL
__attribute__((noinline)) bool ox_mul_i64(int64_t a, int64_t b, int64_t *result);
#else
static inline bool ox_mul_i64(int64_t a, int64_t b, int64_t *result) {
    return !__builtin_mul_overflow(a, b, result);
}
#endif
static inline bool ox_add_i64(int64_t a, int64_t b, int64_t *result) {
    return !__builtin_add_overflow(a, b, result);
}

#endif
