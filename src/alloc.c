/* alloc.c: allocators, piles, and the allocator over a fixed buffer. */
#include "alloc.h"

#include <string.h>

void *ox_alloc(const ox_allocator *allocator, size_t size) {
    return allocator->resize(allocator->context, NULL, 0, size ? size : 1);
}

void ox_release(const ox_allocator *allocator, void *block, size_t size) {
    if (block)
        allocator->resize(allocator->context, block, size ? size : 1, 0);
}

/* ---- Piles -------------------------------------------------------------------------------------------------- */

enum {
    GRAIN = 16
};

struct ox_chunk {
    ox_chunk *below;
    size_t size, fill; /* bytes of data, and how many are given out */
    _Alignas(GRAIN) unsigned char data[];
};

void ox_pile_init(ox_pile *pile, const ox_allocator *allocator, size_t limit) {
    *pile = (ox_pile){.allocator = allocator, .limit = limit};
}

static bool pile_grow(ox_pile *pile, size_t size) {
    /* Chunks grow with the pile, so that their number stays logarithmic. */
    size_t data = pile->used / 4 > OX_CHUNK_BYTES ? pile->used / 4 : OX_CHUNK_BYTES;
    if (data > ((size_t)1 << 20))
        data = (size_t)1 << 20;
    if (data < size)
        data = size;
    size_t total = sizeof(ox_chunk) + data;
    if (total > pile->limit - pile->used && size < data) {
        data = size;
        total = sizeof(ox_chunk) + data;
    }
    if (total > pile->limit - pile->used) {
        pile->hit_limit = true;
        return false;
    }
    ox_chunk *chunk = ox_alloc(pile->allocator, total);
    if (!chunk)
        return false;
    *chunk = (ox_chunk){.below = pile->top, .size = data};
    pile->top = chunk;
    pile->used += total;
    return true;
}

void *ox_pile_get(ox_pile *pile, size_t size) {
    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + GRAIN - 1) / GRAIN * GRAIN;
    if (!pile->top || pile->top->size - pile->top->fill < size)
        if (!pile_grow(pile, size))
            return NULL;
    void *block = pile->top->data + pile->top->fill;
    pile->top->fill += size;
    memset(block, 0, size);
    return block;
}

void *ox_pile_array(ox_pile *pile, size_t count, size_t size) {
    size_t total;
    return ox_mul_size(count, size, &total) ? ox_pile_get(pile, total) : NULL;
}

ox_pile_mark ox_pile_save(const ox_pile *pile) {
    return (ox_pile_mark){pile->top, pile->top ? pile->top->fill : 0};
}

void ox_pile_restore(ox_pile *pile, ox_pile_mark mark) {
    while (pile->top != mark.top) {
        ox_chunk *chunk = pile->top;
        size_t total = sizeof(ox_chunk) + chunk->size;
        pile->top = chunk->below;
        pile->used -= total;
        ox_release(pile->allocator, chunk, total);
    }
    if (pile->top)
        pile->top->fill = mark.fill;
    pile->hit_limit = false;
}

void ox_pile_free(ox_pile *pile) {
    ox_pile_restore(pile, (ox_pile_mark){NULL, 0});
}

/* ---- A fixed buffer ----------------------------------------------------------------------------------------- */

/* Blocks lie in the buffer in address order, each behind a header; a gap is what lies between two. First fit. */
typedef struct fixed_block {
    struct fixed_block *next;
    size_t size;
} fixed_block;

enum {
    HEADER = (sizeof(fixed_block) + GRAIN - 1) / GRAIN * GRAIN
};

static size_t round_up(size_t size) {
    return (size + GRAIN - 1) / GRAIN * GRAIN;
}

static unsigned char *block_end(fixed_block *block) {
    return (unsigned char *)block + HEADER + block->size;
}

static unsigned char *fixed_start(const ox_fixed *fixed) {
    return fixed->buffer + (GRAIN - (uintptr_t)fixed->buffer % GRAIN) % GRAIN;
}

static void *fixed_get(ox_fixed *fixed, size_t size) {
    size = round_up(size);
    unsigned char *limit = fixed->buffer + fixed->size, *at = fixed_start(fixed);
    fixed_block *before = NULL, *after = fixed->first;
    if (at > limit)
        return NULL;
    while (after && (size_t)((unsigned char *)after - at) < size + HEADER) {
        at = block_end(after);
        before = after;
        after = after->next;
    }
    if (!after && ((size_t)(limit - at) < HEADER || (size_t)(limit - at) - HEADER < size))
        return NULL;
    fixed_block *block = (fixed_block *)(void *)at;
    *block = (fixed_block){after, size};
    if (before)
        before->next = block;
    else
        fixed->first = block;
    size_t peak = (size_t)(block_end(block) - fixed->buffer);
    if (peak > fixed->peak)
        fixed->peak = peak;
    return at + HEADER;
}

static void fixed_put(ox_fixed *fixed, void *data) {
    fixed_block *block = (fixed_block *)(void *)((unsigned char *)data - HEADER);
    if (fixed->first == block) {
        fixed->first = block->next;
        return;
    }
    fixed_block *before = fixed->first;
    while (before->next != block)
        before = before->next;
    before->next = block->next;
}

static void *fixed_resize(void *context, void *block, size_t old_size, size_t new_size) {
    ox_fixed *fixed = context;
    if (new_size > SIZE_MAX / 2)
        return NULL;
    void *moved = new_size ? fixed_get(fixed, new_size) : NULL;
    if (new_size && !moved)
        return NULL;
    if (block) {
        if (moved)
            memcpy(moved, block, old_size < new_size ? old_size : new_size);
        fixed_put(fixed, block);
    }
    return moved;
}

ox_allocator ox_fixed_allocator(ox_fixed *fixed, void *buffer, size_t size) {
    *fixed = (ox_fixed){.buffer = buffer, .size = size};
    return (ox_allocator){fixed_resize, fixed};
}
