/* pile.c: memory that is released together, in chunks of an allocator. */
#include <string.h>

#include "asserts.h"
#include "meter.h"

static const size_t WHOLE_CHUNK = 2 << 20;

struct ox_chunk {
    ox_chunk *below;
    size_t size, fill; /* bytes of data, and how many are given out */
    _Alignas(OX_GRAIN) unsigned char data[];
};

void ox_pile_init(ox_pile *pile, const ox_allocator *allocator) {
    *pile = (ox_pile){.allocator = allocator};
}

void ox_pile_over(ox_pile *pile, void *block, size_t size) {
    *pile = (ox_pile){.top = block};
    *pile->top = (ox_chunk){.size = size - sizeof(ox_chunk)};
}

size_t ox_pile_size(size_t given) {
    return sizeof(ox_chunk) + given;
}

/* Makes room in the topmost chunk, exactly, where memory is a fixed buffer. */
static bool pile_extend(ox_pile *pile, size_t size) {
    ox_chunk *top = pile->top;
    const size_t more = size - (top->size - top->fill), total = sizeof(ox_chunk) + top->size;
    if (!pile->allocator || !ox_meter_extend(pile->allocator, top, total, total + more))
        return false;
    top->size += more;
    pile->used += more;
    return true;
}

static bool pile_grow(ox_pile *pile, size_t size) {
    /* Chunks grow with the pile, so that their number stays logarithmic. */
    size_t data = pile->used / 4 > OX_CHUNK_BYTES ? pile->used / 4 : OX_CHUNK_BYTES;
    if (data > WHOLE_CHUNK / 2) /* what is mapped by itself takes a large page */
        data = WHOLE_CHUNK - sizeof(ox_chunk);
    if (data < size)
        data = size;
    const size_t total = sizeof(ox_chunk) + data;
    ox_chunk *chunk = pile->allocator ? ox_alloc(pile->allocator, total) : NULL;
    if (!chunk)
        return false;
    OX_ASSERT((uintptr_t)chunk % OX_GRAIN == 0);
    *chunk = (ox_chunk){.below = pile->top, .size = data};
    pile->top = chunk;
    pile->used += total;
    return true;
}

void *ox_pile_get(ox_pile *pile, size_t size) {
    if (size > SIZE_MAX / 2)
        return NULL;
    size = ox_round_up(size, OX_GRAIN);
    bool room = pile->top && pile->top->size - pile->top->fill >= size;
    if (!room && !(pile->top && pile_extend(pile, size)) && !pile_grow(pile, size))
        return NULL;
    OX_ASSERT(pile->top->fill % OX_GRAIN == 0 && pile->top->size - pile->top->fill >= size);
    void *block = pile->top->data + pile->top->fill;
    pile->top->fill += size;
    pile->given += size;
    memset(block, 0, size);
    return block;
}

_Static_assert(OX_ALIGN % OX_GRAIN == 0, "what is aligned for loops is aligned for elements");

void *ox_pile_aligned(ox_pile *pile, size_t size) {
    void *block = size > SIZE_MAX / 2 ? NULL : ox_pile_get(pile, size + (OX_ALIGN - OX_GRAIN));
    return block ? ox_align(block) : NULL;
}

void *ox_pile_array(ox_pile *pile, size_t count, size_t size) {
    size_t total;
    return ox_mul_size(count, size, &total) ? ox_pile_get(pile, total) : NULL;
}

ox_pile_mark ox_pile_save(const ox_pile *pile) {
    return (ox_pile_mark){pile->top, pile->top ? pile->top->fill : 0, pile->given};
}

void ox_pile_restore(ox_pile *pile, ox_pile_mark mark) {
    while (pile->top != mark.top) {
        ox_chunk *chunk = pile->top;
        size_t total = sizeof(ox_chunk) + chunk->size;
        pile->top = chunk->below;
        pile->used -= total;
        ox_release(pile->allocator, chunk, total);
    }
#if OX_ASSERTIONS
    if (pile->top && pile->top->fill > mark.fill) /* memory after this may be overwritten */
        memset(pile->top->data + mark.fill, 0xA5, pile->top->fill - mark.fill);
#endif
    if (pile->top)
        pile->top->fill = mark.fill;
    pile->given = mark.given;
}

void ox_pile_free(ox_pile *pile) {
    ox_pile_restore(pile, (ox_pile_mark){NULL, 0, 0});
}
