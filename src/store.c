/* store.c: blocks by key, in a list: a model has few of them, and they are looked up only when a session plans. They
 * lie behind each other in chunks, so that large pages are shared, and nothing else lies there: blocks of whole large
 * pages take no others. */
#include "store.h"

#include "asserts.h"
#include "lock.h"

#include <string.h>

enum {
    MOST_CHUNK = 32 << 20 /* bytes of a chunk, but for a larger block */
};

typedef struct store_block {
    struct store_block *next;
    ox_store_key key;
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
    store_block *blocks;
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
    while (store->blocks) {
        store_block *block = store->blocks;
        store->blocks = block->next;
        ox_release(&store->allocator, block, sizeof *block);
    }
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

/* ---- Chunks ------------------------------------------------------------------------------------------------- */

/* A chunk with room for so many bytes: as much as there is already, or as is expected, if there is so much memory. */
static store_chunk *add_chunk(ox_store *store, size_t bytes) {
    size_t size = store->used > store->expected ? store->used : store->expected;
    size = size < MOST_CHUNK ? size : MOST_CHUNK;
    size = size > bytes ? size : bytes;
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
    return a->maker == b->maker && a->data == b->data && a->kind == b->kind &&
           !memcmp(a->dims, b->dims, sizeof a->dims) && !memcmp(a->strides, b->strides, sizeof a->strides);
}

static const store_block *find(const ox_store *store, const ox_store_key *key) {
    for (const store_block *block = store->blocks; block; block = block->next)
        if (same_key(&block->key, key))
            return block;
    return NULL;
}

/* A new block, filled and in the list; NULL beyond the limit. */
static ox_status add(ox_store *store, const ox_store_key *key, size_t size, ox_store_fn *make, const void *context,
                     const store_block **added, ox_error *error) {
    const size_t around = sizeof(store_block) + sizeof(store_chunk) + 2 * OX_ALIGN;
    *added = NULL;
    if (size > SIZE_MAX - around || size + around > store->limit - store->used)
        return OX_OK;
    const size_t bytes = ox_aligned(size);
    store_block *block = ox_alloc(&store->allocator, sizeof *block);
    void *data = block ? take(store, bytes) : NULL;
    if (!data) {
        ox_release(&store->allocator, block, sizeof *block);
        return ox_fail_memory(error, "weights laid out for products", size);
    }
    *block = (store_block){store->blocks, *key, data};
    make(context, data);
    if (store->tell && key->bytes)
        store->tell(store->context, key->data, key->bytes);
    store->blocks = block;
    store->used += sizeof *block + bytes;
    *added = block;
    return OX_OK;
}

ox_status ox_store_get(ox_store *store, const ox_store_key *key, size_t size, ox_store_fn *make, const void *context,
                       const void **data, ox_error *error) {
    ox_lock_take(store->lock);
    const store_block *block = find(store, key);
    ox_status status = block || !make ? OX_OK : add(store, key, size, make, context, &block, error);
    *data = block ? block->data : NULL;
    ox_lock_give(store->lock);
    return status;
}

size_t ox_store_bytes(ox_store *store) {
    ox_lock_take(store->lock);
    size_t bytes = store->used;
    ox_lock_give(store->lock);
    return bytes;
}
