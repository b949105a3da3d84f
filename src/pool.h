/* pool.h: a few threads that share one piece of work at a time, and the question whether to go on with it. */
#ifndef OX_POOL_H
#define OX_POOL_H

#include <stdatomic.h>

#include "alloc.h"
#include "workers.h"

typedef struct ox_pool {
    ox_allocator allocator;
    int threads;          /* that share work, the session's own included */
    ox_workers *workers;  /* NULL: there is one thread */
    ox_cancel_fn *cancel; /* NULL: nothing polls */
    void *cancel_context;
    atomic_bool cancelled;
    atomic_uint left[]; /* for each thread the unstarted units of ox_pool_share: the first << 16 | end */
} ox_pool;

/* What a thread does of some units of work: see ox_pool_share. */
typedef struct ox_share {
    int room;      /* the number of the thread's memory, of as many as there are threads */
    ox_pool *pool; /* NULL: there is one thread */
    int from;      /* whose units are taken: those of the thread itself, or after how many others */
    unsigned step;
    int64_t count, together; /* units, and how many of them are one in ox_pool */
} ox_share;

/* Does all pieces that ox_share_next gives. */
typedef void ox_share_fn(void *context, ox_share *share);

/* A share of one thread: everything. */
static inline bool ox_share_all(ox_share *share, int64_t *first, int64_t *end) {
    *first = 0;
    *end = share->count;
    share->count = 0;
    return *end > 0;
}

enum {
    OX_MOST_THREADS = 256 /* of a session */
};

/* Units with a fault: each thread keeps the number of the first one that it finds, and the lowest number of all threads
 * is reported. */
static inline void ox_faults_clear(int threads, int64_t *faults) {
    for (int i = 0; i < threads; i++)
        faults[i] = INT64_MAX;
}
static inline void ox_fault_note(const ox_share *share, int64_t unit, int64_t *faults) {
    if (unit < faults[share->room])
        faults[share->room] = unit;
}

/* The first of all; -1 if nothing is wrong. */
static inline int64_t ox_first_fault(int threads, const int64_t *faults) {
    int64_t first = INT64_MAX;
    for (int i = 0; i < threads; i++)
        first = faults[i] < first ? faults[i] : first;
    return first == INT64_MAX ? -1 : first;
}

#if OX_SMALL

/* On a device there is one thread, and no run is cancelled. */
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
static inline size_t ox_pool_room(int parts, size_t bytes) {
    (void)parts;
    return bytes;
}
static inline void ox_pool_run(ox_pool *pool, ox_pool_fn *fn, void *context) {
    (void)pool;
    fn(context, 0, 1);
}
static inline void ox_pool_share(ox_pool *pool, int64_t count, int64_t step, ox_share_fn *fn, void *context) {
    (void)pool, (void)step;
    fn(context, &(ox_share){.count = count});
}
static inline bool ox_share_next(ox_share *share, int64_t *first, int64_t *end) {
    return ox_share_all(share, first, end);
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
static inline bool ox_pool_is_polled(const ox_pool *pool) {
    (void)pool;
    return false;
}
static inline bool ox_pool_cancelled(const ox_pool *pool) {
    (void)pool;
    return false;
}
static inline bool ox_pool_poll(ox_pool *pool) {
    (void)pool;
    return false;
}
static inline int64_t ox_pool_piece(const ox_pool *pool, int64_t count, double bytes) {
    (void)pool, (void)bytes;
    return count;
}

#else

/* Starts threads - 1 threads; the caller of ox_pool_run is the last one. *pool is NULL for one thread without a cancel
 * function. */
ox_status ox_pool_create(const ox_allocator *allocator, int threads, const ox_limits *limits, ox_pool **pool,
                         ox_error *error);
void ox_pool_free(ox_pool *pool);

/* The number of parts that work is split into; 1 without a pool. */
int ox_pool_parts(const ox_pool *pool);

/* Bytes between the buffers of neighbouring parts: processors prefetch far beyond the data that a thread reads, and
 * another thread's writes to these lines would wait. */
static inline size_t ox_pool_room(int parts, size_t bytes) {
    return parts > 1 && bytes ? ox_aligned(bytes) + OX_APART_BYTES : bytes;
}

/* Runs all parts and returns when they are done. Parts must not depend on each other. */
void ox_pool_run(ox_pool *pool, ox_pool_fn *fn, void *context);

/* Runs `count` independent units of work, and returns when they are done. Every thread has an equal share of
 * consecutive units; it takes half of its share, then half of the rest, and at the end steals from other threads, so
 * that a slow or busy processor delays no other thread. Shares are split at multiples of `step`. */
void ox_pool_share(ox_pool *pool, int64_t count, int64_t step, ox_share_fn *fn, void *context);

/* The next piece of a thread, units [*first, *end); false if there is none. */
bool ox_share_next(ox_share *share, int64_t *first, int64_t *end);

/* The range [first, end) of part `part` when `count` things are split evenly. */
static inline void ox_pool_range(int64_t count, int part, int parts, int64_t *first, int64_t *end) {
    *first = count / parts * part + (count % parts < part ? count % parts : part);
    *end = *first + count / parts + (part < count % parts);
}

/* ---- Cancelling --------------------------------------------------------------------------------------------- */

/* Forgets that the last run was cancelled. */
void ox_pool_resume(ox_pool *pool);

/* True if the run may be cancelled: long work is then done in pieces. */
static inline bool ox_pool_is_polled(const ox_pool *pool) {
    return pool && pool->cancel;
}

/* True if a step was cut short: its results are worth nothing. */
static inline bool ox_pool_cancelled(const ox_pool *pool) {
    return pool && atomic_load_explicit(&pool->cancelled, memory_order_relaxed);
}

/* Called between two pieces of work of about OX_POLL_BYTES: true if the run is cancelled. The caller's cancel function
 * is called only in the caller's thread. */
bool ox_pool_poll(ox_pool *pool);

/* ox_pool_run for work that moves this many bytes, or takes as long: on one thread if it is small, otherwise in more
 * parts than threads. A part must not store anything under its number. */
void ox_pool_run_pieces(ox_pool *pool, double bytes, ox_pool_fn *fn, void *context);

/* How many of `count` equal things, of `bytes` of work each, to do between two polls: all if nothing polls. */
int64_t ox_pool_piece(const ox_pool *pool, int64_t count, double bytes);

#endif

#endif
