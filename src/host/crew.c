/* crew.c: the other threads of a pool, on POSIX threads. */
#include "../host.h"

#include <pthread.h>
#include <sched.h>

/* A worker looks this often for new work before it sleeps: steps of a model follow each other within microseconds. */
enum {
    SPINS = 4000,
    YIELD = 64
};

struct ox_crew {
    ox_pool *pool;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    atomic_uint round; /* counts pieces of work */
    atomic_int busy;   /* workers that have not finished the round */
    atomic_bool stop;
    ox_pool_fn *fn;
    void *context;
    int started;
    struct worker {
        ox_crew *crew;
        pthread_t thread;
        int part;
    } workers[];
};

static size_t crew_size(const ox_pool *pool) {
    return sizeof(ox_crew) + (size_t)(pool->threads - 1) * sizeof(struct worker);
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
static unsigned next_round(ox_crew *crew, unsigned seen) {
    for (int i = 0; i < SPINS; i++) {
        unsigned round = atomic_load_explicit(&crew->round, memory_order_acquire);
        if (round != seen)
            return round;
        pause_a_little(i);
    }
    pthread_mutex_lock(&crew->mutex);
    while (atomic_load(&crew->round) == seen)
        pthread_cond_wait(&crew->wake, &crew->mutex);
    pthread_mutex_unlock(&crew->mutex);
    return atomic_load(&crew->round);
}

static void *work(void *argument) {
    struct worker *worker = argument;
    ox_crew *crew = worker->crew;
    for (unsigned seen = 0;;) {
        seen = next_round(crew, seen);
        if (atomic_load(&crew->stop))
            return NULL;
        crew->fn(crew->context, worker->part, crew->pool->threads);
        atomic_fetch_sub_explicit(&crew->busy, 1, memory_order_release);
    }
}

static void start_round(ox_crew *crew) {
    pthread_mutex_lock(&crew->mutex);
    atomic_fetch_add_explicit(&crew->round, 1, memory_order_release);
    pthread_cond_broadcast(&crew->wake);
    pthread_mutex_unlock(&crew->mutex);
}

ox_status ox_crew_start(ox_pool *pool, ox_crew **result, ox_error *error) {
    ox_crew *crew = ox_alloc(&pool->allocator, crew_size(pool));
    if (!crew)
        return ox_fail_memory(error, "a thread pool", crew_size(pool));
    *crew = (ox_crew){.pool = pool};
    pthread_mutex_init(&crew->mutex, NULL);
    pthread_cond_init(&crew->wake, NULL);
    for (; crew->started < pool->threads - 1; crew->started++) {
        struct worker *worker = &crew->workers[crew->started];
        worker->crew = crew;
        worker->part = crew->started + 1;
        if (pthread_create(&worker->thread, NULL, work, worker)) {
            ox_crew_stop(crew);
            return ox_fail(error, OX_ERROR_MEMORY, "a thread could not be started");
        }
    }
    *result = crew;
    return OX_OK;
}

void ox_crew_stop(ox_crew *crew) {
    if (!crew)
        return;
    atomic_store(&crew->stop, true);
    start_round(crew);
    for (int i = 0; i < crew->started; i++)
        pthread_join(crew->workers[i].thread, NULL);
    pthread_cond_destroy(&crew->wake);
    pthread_mutex_destroy(&crew->mutex);
    ox_release(&crew->pool->allocator, crew, crew_size(crew->pool));
}

/* Waits for the other parts, and asks for them meanwhile whether they are to go on. */
static void wait(ox_crew *crew) {
    for (int i = 0; atomic_load_explicit(&crew->busy, memory_order_acquire); i = (i + 1) % YIELD) {
        pause_a_little(i);
        if (i == YIELD - 1)
            ox_pool_ask(crew->pool, 0);
    }
}

void ox_crew_run(ox_crew *crew, ox_pool_fn *fn, void *context) {
    const int threads = crew->pool->threads;
    crew->fn = fn;
    crew->context = context;
    atomic_store_explicit(&crew->busy, threads - 1, memory_order_relaxed);
    start_round(crew);
    fn(context, 0, threads);
    wait(crew);
}
