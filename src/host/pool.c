/* pool.c: the thread pool on POSIX threads. */
#include "../pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

/* A worker looks this often for new work before it sleeps: steps of a model follow each other within microseconds. */
enum {
    SPINS = 4000,
    YIELD = 64,
    MOST_THREADS = 256
};

struct ox_pool {
    ox_allocator allocator;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    atomic_uint round; /* counts pieces of work */
    atomic_int busy;   /* workers that have not finished the round */
    atomic_bool stop;
    ox_pool_fn *fn;
    void *context;
    int threads, started;
    struct worker {
        ox_pool *pool;
        pthread_t thread;
        int part;
    } workers[];
};

static size_t pool_size(int threads) {
    return sizeof(ox_pool) + (size_t)(threads - 1) * sizeof(struct worker);
}

/* The i-th look at something that another thread does. That thread may be waiting for this very processor. */
static void pause_a_little(int i) {
    if (i % YIELD == YIELD - 1) {
        sched_yield();
        return;
    }
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Waits for a round other than `seen`. */
static unsigned next_round(ox_pool *pool, unsigned seen) {
    for (int i = 0; i < SPINS; i++) {
        unsigned round = atomic_load_explicit(&pool->round, memory_order_acquire);
        if (round != seen)
            return round;
        pause_a_little(i);
    }
    pthread_mutex_lock(&pool->mutex);
    while (atomic_load(&pool->round) == seen)
        pthread_cond_wait(&pool->wake, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
    return atomic_load(&pool->round);
}

static void *work(void *argument) {
    struct worker *worker = argument;
    ox_pool *pool = worker->pool;
    for (unsigned seen = 0;;) {
        seen = next_round(pool, seen);
        if (atomic_load(&pool->stop))
            return NULL;
        pool->fn(pool->context, worker->part, pool->threads);
        atomic_fetch_sub_explicit(&pool->busy, 1, memory_order_release);
    }
}

static void start_round(ox_pool *pool) {
    pthread_mutex_lock(&pool->mutex);
    atomic_fetch_add_explicit(&pool->round, 1, memory_order_release);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->mutex);
}

ox_status ox_pool_create(const ox_allocator *allocator, int threads, ox_pool **result, ox_error *error) {
    *result = NULL;
    if (threads <= 1)
        return OX_OK;
    if (threads > MOST_THREADS)
        return ox_fail(error, OX_ERROR_ARGUMENT, "%d threads are too many, at most %d", threads, MOST_THREADS);
    ox_pool *pool = ox_alloc(allocator, pool_size(threads));
    if (!pool)
        return ox_fail_memory(error, "a thread pool", pool_size(threads));
    *pool = (ox_pool){.allocator = *allocator, .threads = threads};
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->wake, NULL);
    for (; pool->started < threads - 1; pool->started++) {
        struct worker *worker = &pool->workers[pool->started];
        worker->pool = pool;
        worker->part = pool->started + 1;
        if (pthread_create(&worker->thread, NULL, work, worker)) {
            ox_pool_free(pool);
            return ox_fail(error, OX_ERROR_MEMORY, "a thread could not be started");
        }
    }
    *result = pool;
    return OX_OK;
}

void ox_pool_free(ox_pool *pool) {
    if (!pool)
        return;
    atomic_store(&pool->stop, true);
    start_round(pool);
    for (int i = 0; i < pool->started; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->mutex);
    ox_allocator allocator = pool->allocator;
    ox_release(&allocator, pool, pool_size(pool->threads));
}

int ox_pool_parts(const ox_pool *pool) {
    return pool ? pool->threads : 1;
}

void ox_pool_run(ox_pool *pool, ox_pool_fn *fn, void *context) {
    if (!pool) {
        fn(context, 0, 1);
        return;
    }
    pool->fn = fn;
    pool->context = context;
    atomic_store_explicit(&pool->busy, pool->threads - 1, memory_order_relaxed);
    start_round(pool);
    fn(context, 0, pool->threads);
    for (int i = 0; atomic_load_explicit(&pool->busy, memory_order_acquire); i = (i + 1) % YIELD)
        pause_a_little(i);
}
