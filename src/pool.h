/* pool.h: a few threads that share one piece of work at a time, and the question whether to go on with it. */
#ifndef OX_POOL_H
#define OX_POOL_H

#include <stdatomic.h>

#include "alloc.h"

typedef struct ox_crew ox_crew; /* host.h: the other threads */

typedef struct ox_pool {
    ox_allocator allocator;
    int threads; /* that share work, the session's own included */
    ox_crew *crew;
    ox_cancel_fn *cancel; /* NULL: nobody asks */
    void *cancel_context;
    atomic_bool cancelled;
} ox_pool;

/* Does part `part` of `parts`; called once for each, from different threads. */
typedef void ox_pool_fn(void *context, int part, int parts);

#if OX_SMALL

/* On a device there is one thread, which nobody interrupts. */
static inline ox_status ox_pool_create(const ox_allocator *allocator, int threads, const ox_limits *limits,
                                       ox_pool **pool, ox_error *error) {
    (void)allocator, (void)threads;
    *pool = NULL;
    return limits->cancel ? ox_fail(error, OX_ERROR_UNSUPPORTED, "runs cannot be cancelled in this build") : OX_OK;
}
static inline void ox_pool_free(ox_pool *pool) {
    (void)pool;
}
static inline int ox_pool_parts(const ox_pool *pool) {
    (void)pool;
    return 1;
}
static inline void ox_pool_run(ox_pool *pool, ox_pool_fn *fn, void *context) {
    (void)pool;
    fn(context, 0, 1);
}
static inline void ox_pool_run_pieces(ox_pool *pool, double bytes, ox_pool_fn *fn, void *context) {
    (void)pool, (void)bytes;
    fn(context, 0, 1);
}
static inline void ox_pool_range(int64_t count, int part, int parts, int64_t *first, int64_t *end) {
    (void)part, (void)parts;
    *first = 0;
    *end = count;
}
static inline void ox_pool_resume(ox_pool *pool) {
    (void)pool;
}
static inline bool ox_pool_asks(const ox_pool *pool) {
    (void)pool;
    return false;
}
static inline bool ox_pool_cancelled(const ox_pool *pool) {
    (void)pool;
    return false;
}
static inline bool ox_pool_ask(ox_pool *pool) {
    (void)pool;
    return false;
}
static inline int64_t ox_pool_piece(const ox_pool *pool, int64_t count, double bytes) {
    (void)pool, (void)bytes;
    return count;
}

#else

/* Starts threads - 1 threads; the caller of ox_pool_run is the last one. *pool is NULL for one thread that nobody
 * cancels. */
ox_status ox_pool_create(const ox_allocator *allocator, int threads, const ox_limits *limits, ox_pool **pool,
                         ox_error *error);
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

/* ---- Cancelling --------------------------------------------------------------------------------------------- */

/* Forgets that the last run was cancelled. */
void ox_pool_resume(ox_pool *pool);

/* True if somebody may want to end what is under way, so that long work is to be done in pieces. */
static inline bool ox_pool_asks(const ox_pool *pool) {
    return pool && pool->cancel;
}

/* True if a step was cut short: its results are worth nothing. */
static inline bool ox_pool_cancelled(const ox_pool *pool) {
    return pool && atomic_load_explicit(&pool->cancelled, memory_order_relaxed);
}

/* Between two pieces of work of about OX_ASK_BYTES: true if the rest is not to be done. The caller's function is asked
 * in the caller's thread alone. */
bool ox_pool_ask(ox_pool *pool);

/* ox_pool_run for work that moves this many bytes, or takes as long as that: in one thread if it is small, in more
 * parts than there are threads if somebody may cancel it. A part must not keep anything by its number. */
void ox_pool_run_pieces(ox_pool *pool, double bytes, ox_pool_fn *fn, void *context);

/* How many of `count` equal things, of `bytes` of work each, to do between two questions: all if nobody asks. */
int64_t ox_pool_piece(const ox_pool *pool, int64_t count, double bytes);

#endif

#endif
