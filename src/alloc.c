/* alloc.c: allocators, and the one over a fixed buffer. */
#include "alloc.h"
#include "asserts.h"

#include <string.h>

void *ox_alloc(const ox_allocator *allocator, size_t size) {
    return allocator->resize(allocator->context, NULL, 0, size ? size : 1);
}

void ox_release(const ox_allocator *allocator, void *block, size_t size) {
    if (block)
        allocator->resize(allocator->context, block, size ? size : 1, 0);
}

/* Blocks are in the buffer in address order, each after a header; the space between two is a gap. Permanent blocks come
 * first and take the first gap that is large enough; temporary blocks come after them and take the last. Only the gap
 * between the two kinds depends on the size of the buffer, so that the same calls take the same number of bytes in
 * every buffer that is large enough. OX_GRAIN - 1 bytes are reserved for the alignment of the first block, so that the
 * address of the buffer makes no difference. */
typedef struct fixed_block {
    struct fixed_block *next;
    size_t size; /* a multiple of OX_GRAIN; + 1 if it is temporary */
} fixed_block;

enum {
    HEADER = (sizeof(fixed_block) + OX_GRAIN - 1) / OX_GRAIN * OX_GRAIN,
    PADDING = OX_GRAIN - 1
};

static bool is_temporary(const fixed_block *block) {
    return block->size & 1;
}

static unsigned char *block_end(fixed_block *block) {
    return (unsigned char *)block + HEADER + (block->size & ~(size_t)1);
}

/* The first address of blocks. */
static unsigned char *fixed_start(const ox_fixed *fixed) {
    return fixed->buffer + (OX_GRAIN - (uintptr_t)fixed->buffer % OX_GRAIN) % OX_GRAIN;
}

/* The first address after them. */
static unsigned char *fixed_end(const ox_fixed *fixed) {
    return fixed_start(fixed) + (fixed->size - PADDING) / OX_GRAIN * OX_GRAIN;
}

/* Where `size` bytes can go; *before is the block below, NULL for none. NULL if they cannot. */
static unsigned char *find_gap(const ox_fixed *fixed, size_t size, bool temporary, fixed_block **before) {
    unsigned char *at = fixed_start(fixed), *found = NULL;
    fixed_block *below = NULL, *above = fixed->first;
    for (;; at = block_end(above), below = above, above = above->next) {
        unsigned char *end = above ? (unsigned char *)above : fixed_end(fixed);
        bool ours = temporary ? !above || is_temporary(above) : !found && !(below && is_temporary(below));
        if (ours && end >= at && (size_t)(end - at) >= size) {
            found = temporary ? end - size : at;
            *before = below;
        }
        if (!above)
            return found;
    }
}

static void note_peak(ox_fixed *fixed) {
    unsigned char *low = fixed_start(fixed), *high = fixed_end(fixed);
    for (fixed_block *block = fixed->first; block && high == fixed_end(fixed); block = block->next)
        if (is_temporary(block))
            high = (unsigned char *)block;
        else
            low = block_end(block);
    size_t used = (size_t)(low - fixed_start(fixed)) + (size_t)(fixed_end(fixed) - high) + PADDING;
    if (used > fixed->peak)
        fixed->peak = used;
}

static void *fixed_get(ox_fixed *fixed, size_t size, bool temporary) {
    fixed_block *before = NULL;
    size = ox_round_up(size, OX_GRAIN);
    unsigned char *at = find_gap(fixed, HEADER + size, temporary, &before);
    if (!at)
        return NULL;
    fixed_block *block = (fixed_block *)(void *)at;
    OX_ASSERT(at >= fixed_start(fixed) && at + HEADER + size <= fixed_end(fixed));
    OX_ASSERT(!before || block_end(before) <= at);
    *block = (fixed_block){before ? before->next : fixed->first, size + temporary};
    if (before)
        before->next = block;
    else
        fixed->first = block;
    note_peak(fixed);
    return at + HEADER;
}

static void fixed_put(ox_fixed *fixed, void *data) {
    fixed_block *block = (fixed_block *)(void *)((unsigned char *)data - HEADER);
    if (fixed->first == block) {
        fixed->first = block->next;
        return;
    }
    fixed_block *before = fixed->first;
    OX_ASSERT(before && before < block);
    while (before->next != block)
        before = before->next;
    before->next = block->next;
}

static void *resize(ox_fixed *fixed, void *block, size_t old_size, size_t new_size, bool temporary) {
    if (new_size > SIZE_MAX / 2)
        return NULL;
    void *moved = new_size ? fixed_get(fixed, new_size, temporary) : NULL;
    if (new_size && !moved)
        return NULL;
    if (block) {
        if (moved)
            memcpy(moved, block, old_size < new_size ? old_size : new_size);
        fixed_put(fixed, block);
    }
    return moved;
}

static void *fixed_resize(void *context, void *block, size_t old_size, size_t new_size) {
    return resize(context, block, old_size, new_size, false);
}

static void *fixed_resize_temporary(void *context, void *block, size_t old_size, size_t new_size) {
    return resize(context, block, old_size, new_size, true);
}

ox_allocator ox_fixed_allocator(ox_fixed *fixed, void *buffer, size_t size) {
    if (!fixed)
        return (ox_allocator){0};
    *fixed = (ox_fixed){.buffer = buffer, .size = buffer && size > PADDING ? size : PADDING};
    return (ox_allocator){fixed_resize, fixed};
}

ox_allocator ox_temporary(const ox_allocator *allocator) {
    return (ox_allocator){allocator->resize == fixed_resize ? fixed_resize_temporary : allocator->resize,
                          allocator->context};
}

bool ox_is_fixed(const ox_allocator *allocator) {
    return allocator->resize == fixed_resize;
}

bool ox_fixed_extend(const ox_allocator *allocator, void *data, size_t size) {
    if (allocator->resize != fixed_resize || size > SIZE_MAX / 2)
        return false;
    ox_fixed *fixed = allocator->context;
    fixed_block *block = (fixed_block *)(void *)((unsigned char *)data - HEADER);
    unsigned char *end = block->next ? (unsigned char *)block->next : fixed_end(fixed);
    size = ox_round_up(size, OX_GRAIN);
    if (size > (size_t)(end - (unsigned char *)data))
        return false;
    block->size = size;
    note_peak(fixed);
    return true;
}
