/* workers.c: the other threads of a pool. */
#include "threads.h"

#include "host.h"
#include "workers.h"

#if OX_HOST_THREADS
#include <stdatomic.h>

/* A worker looks this often for new work before it sleeps: steps of a model follow each other within microseconds. */
enum {
    SPINS = 4000,
    YIELD = 64,
    STAY = 16,       /* looks at its place before a worker moves again */
    ALONE = 4,       /* pieces of work that the caller does all of before it lets workers look where they are */
    LONG_NS = 50000, /* what is worth the time that workers take to move, when they wake */
    LOST_NS = 20000, /* what is lost in less time counts for nothing */
    LOSSES = 4       /* in a row, after which the caller works alone for 2^LOSSES times as long as was lost */
};

/* Parts are not assigned to threads in advance: an idle thread takes the next one, so that work does not wait for a
 * thread without a processor. Part 0 is the caller's. */
struct ox_workers {
    const ox_allocator *allocator;
    int threads; /* with the caller */
    void (*idle)(void *context);
    void *idle_context;
    ox_host_mutex mutex;
    ox_host_bell wake;
    atomic_int taken; /* parts that have been started; all of them while there is no work */
    atomic_int left;  /* parts that are not finished */
    atomic_int place; /* the processor of the caller */
    atomic_bool stop;
    ox_pool_fn *fn;
    void *context;
    int asleep;   /* sleeping workers, guarded by the mutex */
    int alone;    /* pieces of work in a row that the caller did all of */
    bool is_long; /* a part of the last work that workers had to be woken for: the next run of a model begins with it */
    int losses;   /* pieces of work in a row that the caller had better done alone */
    uint64_t alone_until; /* as other programs have the processors; 0: workers take part */
    int started;
    struct worker {
        ox_workers *workers;
        ox_host_thread thread;
        int stay;
    } each[];
};

static size_t workers_size(int threads) {
    return sizeof(ox_workers) + (size_t)(threads - 1) * sizeof(struct worker);
}

/* The i-th look at something that another thread does. That thread may be waiting for this very processor. */
static void pause_a_little(int i) {
    if (i % YIELD == YIELD - 1) {
        ox_host_thread_yield();
        return;
    }
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* A spinning worker stays on the processor that the scheduler chose last. If that is the caller's processor, the worker
 * gains nothing while other processors are idle. */
static void leave_place_of_caller(struct worker *worker) {
    const int place = atomic_load_explicit(&worker->workers->place, memory_order_relaxed);
    if (worker->stay > 0) {
        worker->stay--;
        return;
    }
    if (place < 0 || place != ox_host_thread_place())
        return;
    worker->stay = STAY;
    ox_host_thread_leave(place);
}

/* The next unstarted part, -1 if there is none. */
static int take_part(ox_workers *workers) {
    int part = atomic_load_explicit(&workers->taken, memory_order_acquire);
    while (part < workers->threads)
        if (atomic_compare_exchange_weak_explicit(&workers->taken, &part, part + 1, memory_order_acquire,
                                                  memory_order_acquire))
            return part;
    return -1;
}

static void do_part(ox_workers *workers, int part) {
    workers->fn(workers->context, part, workers->threads);
    atomic_fetch_sub_explicit(&workers->left, 1, memory_order_release);
}

/* Waits for a part, and takes it; -1 if there will be none. A worker that wakes too late for one looks for the next. */
static int next_part(struct worker *worker) {
    ox_workers *workers = worker->workers;
    while (!atomic_load(&workers->stop)) {
        for (int i = 0; i < SPINS; i++) {
            if (i % YIELD == 0)
                leave_place_of_caller(worker);
            int part = take_part(workers);
            if (part >= 0)
                return part;
            pause_a_little(i);
        }
        worker->stay = 0;
        ox_host_mutex_take(&workers->mutex);
        if (atomic_load(&workers->taken) == workers->threads && !atomic_load(&workers->stop)) {
            workers->asleep++;
            ox_host_bell_wait(&workers->wake, &workers->mutex);
        }
        ox_host_mutex_give(&workers->mutex);
    }
    return -1;
}

static void work(void *argument) {
    struct worker *worker = argument;
    for (int part; (part = next_part(worker)) >= 0;)
        do_part(worker->workers, part);
}

ox_status ox_workers_start(const ox_allocator *allocator, int threads, void (*idle)(void *context), void *context,
                           ox_workers **result, ox_error *error) {
    ox_workers *workers = ox_alloc(allocator, workers_size(threads));
    if (!workers)
        return ox_fail_memory(error, "a thread pool", workers_size(threads));
    *workers = (ox_workers){.allocator = allocator,
                            .threads = threads,
                            .idle = idle,
                            .idle_context = context,
                            .taken = threads,
                            .place = -1,
                            .is_long = true};
    ox_host_mutex_init(&workers->mutex);
    ox_host_bell_init(&workers->wake);
    for (; workers->started < threads - 1; workers->started++) {
        struct worker *worker = &workers->each[workers->started];
        *worker = (struct worker){.workers = workers};
        if (!ox_host_thread_start(&worker->thread, work, worker)) {
            ox_workers_stop(workers);
            return ox_fail(error, OX_ERROR_MEMORY, "a thread could not be started");
        }
    }
    *result = workers;
    return OX_OK;
}

bool ox_workers_has_this_thread(const ox_workers *workers) {
    for (int i = 0; workers && i < workers->started; i++)
        if (ox_host_thread_is_this(&workers->each[i].thread))
            return true;
    return false;
}

void ox_workers_stop(ox_workers *workers) {
    if (!workers)
        return;
    ox_host_mutex_take(&workers->mutex);
    atomic_store(&workers->stop, true);
    ox_host_mutex_give(&workers->mutex);
    ox_host_bell_ring(&workers->wake);
    for (int i = 0; i < workers->started; i++)
        ox_host_thread_join(&workers->each[i].thread);
    ox_host_bell_destroy(&workers->wake);
    ox_host_mutex_destroy(&workers->mutex);
    ox_release(workers->allocator, workers, workers_size(workers->threads));
}

/* Waits for the parts that others have begun. Nanoseconds. */
static uint64_t wait(ox_workers *workers) {
    if (!atomic_load_explicit(&workers->left, memory_order_acquire))
        return 0;
    const uint64_t start = ox_host_now();
    for (int i = 0; atomic_load_explicit(&workers->left, memory_order_acquire); i = (i + 1) % YIELD) {
        pause_a_little(i);
        if (i == YIELD - 1)
            workers->idle(workers->idle_context);
    }
    return ox_host_now() - start;
}

/* Where other programs have the processors, a part that a worker began may wait for one longer than the work takes. A
 * piece of work that took longer so than it would have taken the caller alone is made up for by working alone. */
static void weigh(ox_workers *workers, uint64_t own, uint64_t lost, bool helped) {
    if (lost > LOST_NS && lost > own * (uint64_t)(workers->threads - 1)) {
        workers->alone_until = ox_host_now() + (lost << workers->losses);
        workers->losses += workers->losses < LOSSES;
    } else if (helped) {
        workers->losses = 0;
    }
}

static bool works_alone(ox_workers *workers) {
    if (workers->alone_until && ox_host_now() >= workers->alone_until)
        workers->alone_until = 0;
    return workers->alone_until;
}

/* Lets workers see the work. True if the sleeping ones had to be woken. */
static bool offer(ox_workers *workers, ox_pool_fn *fn, void *context) {
    workers->fn = fn;
    workers->context = context;
    atomic_store_explicit(&workers->left, workers->threads, memory_order_relaxed);
    atomic_store_explicit(&workers->place, ox_host_thread_place(), memory_order_relaxed);
    ox_host_mutex_take(&workers->mutex);
    atomic_store_explicit(&workers->taken, 1, memory_order_release);
    const bool wakes = workers->asleep;
    workers->asleep = 0;
    ox_host_mutex_give(&workers->mutex);
    if (wakes)
        ox_host_bell_ring(&workers->wake);
    return wakes;
}

void ox_workers_run(ox_workers *workers, ox_pool_fn *fn, void *context) {
    if (works_alone(workers)) {
        for (int part = 0; part < workers->threads; part++)
            fn(context, part, workers->threads);
        return;
    }
    const bool wakes = offer(workers, fn, context), yields = wakes ? workers->is_long : workers->alone >= ALONE;
    const uint64_t offered = yields ? ox_host_now() : 0;
    if (yields) {
        ox_host_thread_yield();
        workers->alone = 0;
    }
    const uint64_t start = ox_host_now();
    do_part(workers, 0);
    if (wakes)
        workers->is_long = ox_host_now() - start >= LONG_NS;
    int others = 0;
    for (int part; (part = take_part(workers)) >= 0; others++)
        do_part(workers, part);
    const uint64_t own = ox_host_now() - start, lost = (yields ? start - offered : 0) + wait(workers);
    const bool helped = others < workers->threads - 1;
    weigh(workers, own, lost, helped);
    workers->alone = !wakes && !helped ? workers->alone + 1 : 0;
}
#endif
