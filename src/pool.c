/* pool.c: splitting work, and asking whether to go on with it. */
#include "pool.h"

#include "asserts.h"

static void poll_idly(void *pool) {
    ox_pool_poll(pool);
}

static size_t pool_size(int threads) {
    return sizeof(ox_pool) + (size_t)threads * sizeof(atomic_uint);
}

ox_status ox_pool_create(const ox_allocator *allocator, int threads, const ox_limits *limits, ox_pool **result,
                         ox_error *error) {
    *result = NULL;
    if (threads > OX_MOST_THREADS)
        return ox_fail(error, OX_ERROR_ARGUMENT, "%d threads are too many, at most %d", threads, OX_MOST_THREADS);
    if (threads <= 1 && !limits->cancel)
        return OX_OK;
    threads = threads > 1 ? threads : 1;
    ox_pool *pool = ox_alloc(allocator, pool_size(threads));
    if (!pool)
        return ox_fail_memory(error, "a thread pool", pool_size(threads));
    *pool = (ox_pool){.allocator = *allocator,
                      .threads = threads,
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
    ox_release(&allocator, pool, pool_size(pool->threads));
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

/* ---- Sharing -------------------------------------------------------------------------------------------------- */

/* The most units of a thread: first and end take half a word each, so that both change in one atomic operation. If
 * there are more, several units count as one. */
#define MOST_UNITS ((int64_t)UINT16_MAX)

enum {
    LEAST = 8 /* a piece is no less than this part of a share */
};

typedef struct share_job {
    ox_share share; /* of every thread, but for its number */
    ox_share_fn *fn;
    void *context;
} share_job;

/* Takes about half of what a thread has left: the first half of its own, the second of another's. */
static bool take_half(atomic_uint *left, bool own, unsigned step, unsigned *first, unsigned *end) {
    for (unsigned seen = atomic_load_explicit(left, memory_order_relaxed);;) {
        *first = seen >> 16;
        *end = seen & UINT16_MAX;
        if (*first >= *end)
            return false;
        const unsigned behind = *first + (*end - *first + own) / 2 + step - 1, cut = behind - behind % step;
        const bool all = cut >= *end || cut <= *first;
        const unsigned rest = all ? 0 : own ? cut << 16 | *end : *first << 16 | cut;
        if (!atomic_compare_exchange_weak_explicit(left, &seen, rest, memory_order_relaxed, memory_order_relaxed))
            continue;
        if (!all)
            *(own ? end : first) = cut;
        return true;
    }
}

bool ox_share_next(ox_share *share, int64_t *first, int64_t *end) {
    unsigned some, behind;
    if (!share->pool)
        return ox_share_all(share, first, end);
    for (; share->from < share->pool->threads; share->from++) {
        atomic_uint *left = &share->pool->left[(share->room + share->from) % share->pool->threads];
        if (take_half(left, share->from == 0, share->step, &some, &behind)) {
            *first = some * share->together;
            *end = behind * share->together < share->count ? behind * share->together : share->count;
            OX_ASSERT(*first >= 0 && *first < *end && *end <= share->count);
            return true;
        }
    }
    return false;
}

static void share_part(void *context, int part, int parts) {
    const share_job *job = context;
    ox_share share = job->share;
    (void)parts;
    share.room = part;
    job->fn(job->context, &share);
}

void ox_pool_share(ox_pool *pool, int64_t count, int64_t step, ox_share_fn *fn, void *context) {
    OX_ASSERT(count >= 0);
    share_job job = {{.count = count}, fn, context};
    if (!pool || !pool->workers) {
        fn(context, &job.share);
        return;
    }
    OX_ASSERT(step > 0);
    const int64_t together = (count - 1) / MOST_UNITS + 1, units = (count - 1) / together + 1,
                  steps = (step - 1) / together + 1, part = units / pool->threads / LEAST,
                  longer = part > steps ? part - part % steps : steps;
    job.share.pool = pool;
    job.share.together = together;
    job.share.step = (unsigned)(longer < units ? longer : units);
    for (int i = 0; i < pool->threads; i++) {
        int64_t first, end;
        ox_pool_range(units, i, pool->threads, &first, &end);
        atomic_store_explicit(&pool->left[i], (unsigned)first << 16 | (unsigned)end, memory_order_relaxed);
    }
    ox_workers_run(pool->workers, share_part, &job);
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
    int count;
    ox_pool_fn *fn;
    void *context;
} pieces;

static void run_pieces(void *context, ox_share *share) {
    const pieces *p = context;
    int64_t i, end;
    while (ox_share_next(share, &i, &end))
        for (; i < end && !ox_pool_poll(p->pool); i++)
            p->fn(p->context, (int)i, p->count);
}

/* At least 1, at most `most`. */
static int limited(double wanted, int most) {
    return wanted < 1 ? 1 : wanted < most ? (int)wanted : most;
}

void ox_pool_run_pieces(ox_pool *pool, double bytes, ox_pool_fn *fn, void *context) {
    enum {
        EACH = 8,      /* of a thread, for others to take */
        MOST = 1 << 16 /* of a thread, to poll between them */
    };
    pieces p = {.pool = bytes < (double)OX_SPLIT_BYTES ? NULL : pool, .fn = fn, .context = context};
    const int threads = ox_pool_parts(p.pool);
    const double each = bytes / threads;
    const int shares = threads > 1 ? limited(each / (double)(OX_SPLIT_BYTES / 2), EACH) : 1,
              polls = ox_pool_is_polled(p.pool) ? limited(each / (double)OX_POLL_BYTES, MOST) : 1;
    p.count = threads * (shares > polls ? shares : polls);
    ox_pool_share(p.pool, p.count, 1, run_pieces, &p);
}
