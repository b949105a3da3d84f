/* crew.c: the other threads of a pool, on POSIX threads. */
#if defined(__linux__)
#define _GNU_SOURCE /* which processor a thread is on */
#endif
#include "../host.h"

#include <pthread.h>
#include <sched.h>

/* A worker looks this often for new work before it sleeps: steps of a model follow each other within microseconds. */
enum {
    SPINS = 4000,
    YIELD = 64,
    STAY = 16,      /* looks at its place before a worker moves again */
    ALONE = 4,      /* pieces of work that the caller does all of before it lets workers look where they are */
    LONG_NS = 50000 /* what is worth the time that workers take to move, when they wake */
};

/* Parts belong to nobody before they are begun, so that work does not wait for a thread that gets no processor: whoever
 * is free takes the next one. Part 0 is the caller's. */
struct ox_crew {
    ox_pool *pool;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    atomic_int taken; /* parts that somebody has begun; all of them while there is no work */
    atomic_int left;  /* parts that have not ended */
    atomic_int place; /* the processor of the caller */
    atomic_bool stop;
    ox_pool_fn *fn;
    void *context;
    int asleep;   /* workers that nobody has woken, guarded by the mutex */
    int alone;    /* pieces of work in a row that the caller did all of */
    bool is_long; /* a part of the last work that workers had to be woken for: the next run of a model begins with it */
    int started;
    struct worker {
        ox_crew *crew;
        pthread_t thread;
        int stay;
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

/* The processor that this thread is on, -1 if nobody knows. */
static int place_of_thread(void) {
#if defined(__linux__)
    return sched_getcpu();
#else
    return -1;
#endif
}

/* Schedulers leave a worker that only looks for work where it was last, be it for long: on the caller's processor,
 * where nothing is gained, while others are idle. */
static void leave_place_of_caller(struct worker *worker) {
    const int place = atomic_load_explicit(&worker->crew->place, memory_order_relaxed);
    if (worker->stay > 0) {
        worker->stay--;
        return;
    }
    if (place < 0 || place != place_of_thread())
        return;
    worker->stay = STAY;
#if defined(__linux__)
    cpu_set_t all, others;
    if (place >= CPU_SETSIZE || sched_getaffinity(0, sizeof all, &all))
        return;
    others = all;
    CPU_CLR((size_t)place, &others);
    if (!sched_setaffinity(0, sizeof others, &others))
        (void)sched_setaffinity(0, sizeof all, &all);
#endif
}

/* The next part that nobody has begun, -1 if there is none. */
static int take_part(ox_crew *crew) {
    int part = atomic_load_explicit(&crew->taken, memory_order_acquire);
    while (part < crew->pool->threads)
        if (atomic_compare_exchange_weak_explicit(&crew->taken, &part, part + 1, memory_order_acquire,
                                                  memory_order_acquire))
            return part;
    return -1;
}

static void do_part(ox_crew *crew, int part) {
    crew->fn(crew->context, part, crew->pool->threads);
    atomic_fetch_sub_explicit(&crew->left, 1, memory_order_release);
}

/* Waits for a part, and takes it; -1 if there will be none. A worker that wakes too late for one looks for the next. */
static int next_part(struct worker *worker) {
    ox_crew *crew = worker->crew;
    while (!atomic_load(&crew->stop)) {
        for (int i = 0; i < SPINS; i++) {
            if (i % YIELD == 0)
                leave_place_of_caller(worker);
            int part = take_part(crew);
            if (part >= 0)
                return part;
            pause_a_little(i);
        }
        worker->stay = 0;
        pthread_mutex_lock(&crew->mutex);
        if (atomic_load(&crew->taken) == crew->pool->threads && !atomic_load(&crew->stop)) {
            crew->asleep++;
            pthread_cond_wait(&crew->wake, &crew->mutex);
        }
        pthread_mutex_unlock(&crew->mutex);
    }
    return -1;
}

static void *work(void *argument) {
    struct worker *worker = argument;
    for (int part; (part = next_part(worker)) >= 0;)
        do_part(worker->crew, part);
    return NULL;
}

ox_status ox_crew_start(ox_pool *pool, ox_crew **result, ox_error *error) {
    ox_crew *crew = ox_alloc(&pool->allocator, crew_size(pool));
    if (!crew)
        return ox_fail_memory(error, "a thread pool", crew_size(pool));
    *crew = (ox_crew){.pool = pool, .taken = pool->threads, .place = -1, .is_long = true};
    pthread_mutex_init(&crew->mutex, NULL);
    pthread_cond_init(&crew->wake, NULL);
    for (; crew->started < pool->threads - 1; crew->started++) {
        struct worker *worker = &crew->workers[crew->started];
        *worker = (struct worker){.crew = crew};
        if (pthread_create(&worker->thread, NULL, work, worker)) {
            ox_crew_stop(crew);
            return ox_fail(error, OX_ERROR_MEMORY, "a thread could not be started");
        }
    }
    *result = crew;
    return OX_OK;
}

bool ox_crew_has_this_thread(const ox_crew *crew) {
    for (int i = 0; crew && i < crew->started; i++)
        if (pthread_equal(crew->workers[i].thread, pthread_self()))
            return true;
    return false;
}

void ox_crew_stop(ox_crew *crew) {
    if (!crew)
        return;
    pthread_mutex_lock(&crew->mutex);
    atomic_store(&crew->stop, true);
    pthread_mutex_unlock(&crew->mutex);
    pthread_cond_broadcast(&crew->wake);
    for (int i = 0; i < crew->started; i++)
        pthread_join(crew->workers[i].thread, NULL);
    pthread_cond_destroy(&crew->wake);
    pthread_mutex_destroy(&crew->mutex);
    ox_release(&crew->pool->allocator, crew, crew_size(crew->pool));
}

/* Waits for the parts that others have begun, and asks for them meanwhile whether they are to go on. */
static void wait(ox_crew *crew) {
    for (int i = 0; atomic_load_explicit(&crew->left, memory_order_acquire); i = (i + 1) % YIELD) {
        pause_a_little(i);
        if (i == YIELD - 1)
            ox_pool_ask(crew->pool);
    }
}

void ox_crew_run(ox_crew *crew, ox_pool_fn *fn, void *context) {
    crew->fn = fn;
    crew->context = context;
    atomic_store_explicit(&crew->left, crew->pool->threads, memory_order_relaxed);
    atomic_store_explicit(&crew->place, place_of_thread(), memory_order_relaxed);
    pthread_mutex_lock(&crew->mutex);
    atomic_store_explicit(&crew->taken, 1, memory_order_release);
    const bool wakes = crew->asleep;
    crew->asleep = 0;
    pthread_mutex_unlock(&crew->mutex);
    if (wakes)
        pthread_cond_broadcast(&crew->wake);
    if (wakes ? crew->is_long : crew->alone >= ALONE) {
        sched_yield();
        crew->alone = 0;
    }
    const uint64_t start = wakes ? ox_host_now() : 0;
    do_part(crew, 0);
    if (wakes)
        crew->is_long = ox_host_now() - start >= LONG_NS;
    int others = 0;
    for (int part; (part = take_part(crew)) >= 0; others++)
        do_part(crew, part);
    wait(crew);
    crew->alone = !wakes && others == crew->pool->threads - 1 ? crew->alone + 1 : 0;
}
