/* store.c: blocks by key, in a hash table, because sessions look up every weight whenever they plan. Blocks follow each
 * other in chunks, so that they share large pages; a chunk contains nothing else, and a block of whole large pages has
 * a chunk of its own. */
#include "store.h"

#include "asserts.h"
#include "lock.h"
#include "meter.h"

#include <string.h>

enum {
    MOST_CHUNK = 32 << 20, /* bytes of a chunk, but for a larger block */
    LEAST_LISTS = 64
};

typedef struct store_block {
    struct store_block *next; /* in the list of its hash */
    ox_store_key key;
    size_t size;
    void *data;
} store_block;

typedef struct store_chunk {
    struct store_chunk *next;
    char *data;        /* what is aligned to OX_ALIGN in it is for blocks */
    size_t size, used; /* for blocks: wherever the memory lies, the same blocks take the same chunks */
} store_chunk;

struct ox_store {
    ox_allocator allocator;
    size_t limit, used; /* `used` by blocks */
    size_t expected;
    ox_store_read_fn *tell;
    const void *context;
    store_block **lists;  /* by hash; `count` blocks in them */
    size_t nlists, count; /* nlists is 0 or a power of two */
    store_chunk *chunks;
    ox_lock *lock;
};

ox_status ox_store_create(const ox_allocator *allocator, size_t limit, ox_store **result, ox_error *error) {
    ox_store *store = *result = ox_alloc(allocator, sizeof *store);
    if (!store)
        return ox_fail_memory(error, "the model", sizeof *store);
    *store = (ox_store){.allocator = *allocator, .limit = limit};
    return ox_lock_create(allocator, &store->lock, error);
}

void ox_store_free(ox_store *store) {
    if (!store)
        return;
    for (size_t i = 0; i < store->nlists; i++)
        while (store->lists[i]) {
            store_block *block = store->lists[i];
            store->lists[i] = block->next;
            ox_release(&store->allocator, block, sizeof *block);
        }
    ox_release(&store->allocator, store->lists, store->nlists * sizeof *store->lists);
    while (store->chunks) {
        store_chunk *chunk = store->chunks;
        store->chunks = chunk->next;
        ox_release(&store->allocator, chunk->data, chunk->size + OX_ALIGN);
        ox_release(&store->allocator, chunk, sizeof *chunk);
    }
    ox_lock_free(store->lock);
    ox_allocator allocator = store->allocator;
    ox_release(&allocator, store, sizeof *store);
}

void ox_store_expect(ox_store *store, size_t bytes) {
    store->expected = bytes;
}

void ox_store_tell(ox_store *store, ox_store_read_fn *tell, const void *context) {
    store->tell = tell;
    store->context = context;
}

void ox_store_told(const ox_store *store, const void *data, size_t bytes) {
    if (store->tell && bytes)
        store->tell(store->context, data, bytes);
}

/* ---- Chunks ------------------------------------------------------------------------------------------------- */

/* A chunk with room for so many bytes: as much as there is already, or as is expected, if there is so much memory; no
 * more than is needed in a fixed buffer, whose peak is what a device must have. */
static store_chunk *add_chunk(ox_store *store, size_t bytes) {
    size_t size = store->used > store->expected ? store->used : store->expected;
    size = size < MOST_CHUNK ? size : MOST_CHUNK;
    size = size > bytes && !ox_meter_is_fixed(&store->allocator) ? size : bytes;
    store_chunk *chunk = ox_alloc(&store->allocator, sizeof *chunk);
    if (!chunk)
        return NULL;
    char *data = ox_alloc(&store->allocator, size + OX_ALIGN);
    if (!data)
        data = ox_alloc(&store->allocator, (size = bytes) + OX_ALIGN);
    if (!data) {
        ox_release(&store->allocator, chunk, sizeof *chunk);
        return NULL;
    }
    *chunk = (store_chunk){store->chunks, data, size, 0};
    return store->chunks = chunk;
}

/* So many bytes of a chunk. */
static void *take(ox_store *store, size_t bytes) {
    store_chunk *chunk = store->chunks;
    while (chunk && chunk->size - chunk->used < bytes)
        chunk = chunk->next;
    if (!chunk)
        chunk = add_chunk(store, bytes);
    if (!chunk)
        return NULL;
    void *taken = (char *)ox_align(chunk->data) + chunk->used;
    chunk->used += bytes;
    OX_ASSERT(ox_is_aligned(taken) && chunk->used <= chunk->size);
    return taken;
}

/* ---- Blocks ------------------------------------------------------------------------------------------------- */

static bool same_key(const ox_store_key *a, const ox_store_key *b) {
    return a->layout == b->layout && a->dtype == b->dtype && a->weights == b->weights && a->build == b->build &&
           a->groups == b->groups && a->variant == b->variant && !memcmp(a->dims, b->dims, sizeof a->dims) &&
           !memcmp(a->strides, b->strides, sizeof a->strides);
}

/* By what a block is made of: few blocks are made of the same data. */
static store_block **list_of(store_block **lists, size_t nlists, const ox_store_key *key) {
    const uint64_t hash = (uint64_t)(uintptr_t)key->weights * UINT64_C(0x9e3779b97f4a7c15);
    return &lists[(size_t)(hash >> 32) & (nlists - 1)];
}

static const store_block *find(const ox_store *store, const ox_store_key *key) {
    if (!store->nlists)
        return NULL;
    for (const store_block *block = *list_of(store->lists, store->nlists, key); block; block = block->next)
        if (same_key(&block->key, key))
            return block;
    return NULL;
}

/* Grows the hash table for one more block; false if there is no table. If memory is short, its lists grow longer. */
static bool grow_lists(ox_store *store) {
    if (store->count < store->nlists)
        return true;
    const size_t nlists = store->nlists ? 2 * store->nlists : LEAST_LISTS;
    store_block **lists = ox_alloc(&store->allocator, nlists * sizeof *lists);
    if (!lists)
        return store->nlists > 0;
    memset(lists, 0, nlists * sizeof *lists);
    for (size_t i = 0; i < store->nlists; i++)
        while (store->lists[i]) {
            store_block *block = store->lists[i], **list = list_of(lists, nlists, &block->key);
            store->lists[i] = block->next;
            block->next = *list;
            *list = block;
        }
    ox_release(&store->allocator, store->lists, store->nlists * sizeof *lists);
    store->lists = lists;
    store->nlists = nlists;
    return true;
}

/* A new block, filled and in its list; NULL beyond the limit. */
static ox_status add(ox_store *store, const ox_store_key *key, size_t size, ox_store_fn *make, const void *context,
                     const store_block **added, ox_error *error) {
    const size_t around = sizeof(store_block) + sizeof(store_chunk) + 2 * OX_ALIGN;
    *added = NULL;
    if (size > SIZE_MAX - around || size + around > store->limit - store->used)
        return OX_OK;
    const size_t bytes = ox_aligned(size);
    store_block *block = grow_lists(store) ? ox_alloc(&store->allocator, sizeof *block) : NULL;
    void *data = block ? take(store, bytes) : NULL;
    if (!data) {
        ox_release(&store->allocator, block, sizeof *block);
        return ox_fail_memory(error, "weights laid out for products", size);
    }
    store_block **list = list_of(store->lists, store->nlists, key);
    *block = (store_block){*list, *key, size, data};
    make(context, data);
    ox_store_told(store, key->weights, key->bytes);
    *list = block;
    store->count++;
    store->used += sizeof *block + bytes;
    *added = block;
    return OX_OK;
}

ox_status ox_store_get(ox_store *store, const ox_store_key *key, size_t size, ox_store_fn *make, const void *context,
                       const void **data, ox_error *error) {
    ox_lock_take(store->lock);
    const store_block *block = find(store, key);
    OX_ASSERT(!block || block->size == size);
    ox_status status = block || !make ? OX_OK : add(store, key, size, make, context, &block, error);
    *data = block ? block->data : NULL;
    ox_lock_give(store->lock);
    return status;
}

bool ox_store_takes(const ox_store *store) {
    return store && store->limit;
}

size_t ox_store_bytes(ox_store *store) {
    ox_lock_take(store->lock);
    size_t bytes = store->used;
    ox_lock_give(store->lock);
    return bytes;
}
