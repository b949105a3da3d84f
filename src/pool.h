/* pool.h: a few threads that share one piece of work at a time. */
#ifndef OX_POOL_H
#define OX_POOL_H

#include "alloc.h"

typedef struct ox_pool ox_pool;

/* Does part `part` of `parts`; called once for each, from different threads. */
typedef void ox_pool_fn(void *context, int part, int parts);

/* Starts threads - 1 threads; the caller of ox_pool_run is the last one. *pool is NULL for one thread, and on systems
 * without threads. */
ox_status ox_pool_create(const ox_allocator *allocator, int threads, ox_pool **pool, ox_error *error);
void ox_pool_free(ox_pool *pool);

/* The number of parts that work is split into; 1 without a pool. */
int ox_pool_parts(const ox_pool *pool);

/* Runs all parts and returns when they are done. Parts must not depend on each other. */
void ox_pool_run(ox_pool *pool, ox_pool_fn *fn, void *context);

/* The range [first, end) of part `part` when `count` things are split evenly. */
static inline void ox_pool_range(int64_t count, int part, int parts, int64_t *first, int64_t *end) {
    *first = count / parts * part + (count % parts < part ? count % parts : part);
    *end = *first + count / parts + (part < count % parts);
}

/* Lets one thread at a time into what it guards. *lock is NULL on systems without threads; the others take NULL. */
typedef struct ox_lock ox_lock;
ox_status ox_lock_create(const ox_allocator *allocator, ox_lock **lock, ox_error *error);
void ox_lock_free(ox_lock *lock);
void ox_lock_take(ox_lock *lock);
void ox_lock_give(ox_lock *lock);

#endif
