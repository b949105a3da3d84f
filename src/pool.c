/* pool.c: splitting work, and asking whether to go on with it. */
#include "pool.h"

static void poll_idly(void *pool) {
    ox_pool_poll(pool);
}

ox_status ox_pool_create(const ox_allocator *allocator, int threads, const ox_limits *limits, ox_pool **result,
                         ox_error *error) {
    *result = NULL;
    if (threads > OX_MOST_THREADS)
        return ox_fail(error, OX_ERROR_ARGUMENT, "%d threads are too many, at most %d", threads, OX_MOST_THREADS);
    if (threads <= 1 && !limits->cancel)
        return OX_OK;
    ox_pool *pool = ox_alloc(allocator, sizeof *pool);
    if (!pool)
        return ox_fail_memory(error, "a thread pool", sizeof *pool);
    *pool = (ox_pool){.allocator = *allocator,
                      .threads = threads > 1 ? threads : 1,
                      .cancel = limits->cancel,
                      .cancel_context = limits->cancel_context};
    ox_status status = pool->threads > 1
                           ? ox_workers_start(&pool->allocator, pool->threads, poll_idly, pool, &pool->workers, error)
                           : OX_OK;
    if (status == OX_OK)
        *result = pool;
    else
        ox_pool_free(pool);
    return status;
}

void ox_pool_free(ox_pool *pool) {
    if (!pool)
        return;
    ox_workers_stop(pool->workers);
    ox_allocator allocator = pool->allocator;
    ox_release(&allocator, pool, sizeof *pool);
}

int ox_pool_parts(const ox_pool *pool) {
    return pool ? pool->threads : 1;
}

void ox_pool_run(ox_pool *pool, ox_pool_fn *fn, void *context) {
    if (pool && pool->workers)
        ox_workers_run(pool->workers, fn, context);
    else
        fn(context, 0, 1);
}

/* ---- Cancelling --------------------------------------------------------------------------------------------- */

void ox_pool_resume(ox_pool *pool) {
    if (pool)
        atomic_store_explicit(&pool->cancelled, false, memory_order_relaxed);
}

bool ox_pool_poll(ox_pool *pool) {
    if (!ox_pool_is_polled(pool))
        return false;
    if (!ox_pool_cancelled(pool) && !ox_workers_has_this_thread(pool->workers) && pool->cancel(pool->cancel_context))
        atomic_store_explicit(&pool->cancelled, true, memory_order_relaxed);
    return ox_pool_cancelled(pool);
}

int64_t ox_pool_piece(const ox_pool *pool, int64_t count, double bytes) {
    double piece = (double)OX_POLL_BYTES / (bytes > 1 ? bytes : 1);
    if (!ox_pool_is_polled(pool) || piece >= (double)count)
        return count;
    return piece > 1 ? (int64_t)piece : 1;
}

typedef struct pieces {
    ox_pool *pool;
    int each; /* of a thread */
    ox_pool_fn *fn;
    void *context;
} pieces;

static void run_pieces(void *context, int part, int parts) {
    const pieces *p = context;
    for (int i = 0; i < p->each && !ox_pool_poll(p->pool); i++)
        p->fn(p->context, part * p->each + i, parts * p->each);
}

void ox_pool_run_pieces(ox_pool *pool, double bytes, ox_pool_fn *fn, void *context) {
    enum {
        MOST = 1 << 16
    };
    pieces p = {.pool = bytes < (double)OX_SPLIT_BYTES ? NULL : pool, .each = 1, .fn = fn, .context = context};
    double wanted = bytes / (double)OX_POLL_BYTES / ox_pool_parts(p.pool);
    if (ox_pool_is_polled(p.pool) && wanted > 1)
        p.each = wanted < MOST ? (int)wanted : MOST;
    ox_pool_run(p.pool, run_pieces, &p);
}
