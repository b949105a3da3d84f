/* handover.c: how far apart two processors are: how long a cache line takes from one to the other and back. */
#define _GNU_SOURCE
#include "../../src/ox.h"
#include "clock.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum {
    TRIPS = 4000,
    TRIES = 3
};

/* The line, and the processor of the thread that sends it back. */
typedef struct line {
    _Alignas(128) atomic_int number;
    int processor;
} line;

OX_API int64_t bench_handover(void);

static bool bind_to(int processor) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)processor, &set);
    return !pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

/* Makes an even number of each odd one. */
static void *send_back(void *context) {
    line *l = context;
    bind_to(l->processor);
    for (int i = 0; i <= TRIES * TRIPS; i++) {
        while (atomic_load(&l->number) != 2 * i + 1)
            continue;
        atomic_store(&l->number, 2 * i + 2);
    }
    return NULL;
}

static void send(line *l, int i) {
    atomic_store(&l->number, 2 * i + 1);
    while (atomic_load(&l->number) != 2 * i + 2)
        continue;
}

/* Nanoseconds of a trip, the least of some tries. The first trip waits for the other thread to start. */
static int64_t time_trips(line *l) {
    int64_t least = INT64_MAX;
    send(l, 0);
    for (int i = 0; i < TRIES; i++) {
        const int64_t start = now();
        for (int j = 1; j <= TRIPS; j++)
            send(l, i * TRIPS + j);
        const int64_t each = (now() - start) / TRIPS;
        least = each < least ? each : least;
    }
    return least;
}

/* Between the first two processors that this thread may use; 0 if there are no two, or threads cannot be bound. */
int64_t bench_handover(void) {
    cpu_set_t all;
    int found[2], count = 0;
    if (pthread_getaffinity_np(pthread_self(), sizeof all, &all))
        return 0;
    for (int i = 0; i < CPU_SETSIZE && count < 2; i++)
        if (CPU_ISSET((size_t)i, &all))
            found[count++] = i;
    line l = {.processor = found[1]};
    pthread_t other;
    if (count < 2 || !bind_to(found[0]) || pthread_create(&other, NULL, send_back, &l))
        return 0;
    const int64_t ns = time_trips(&l);
    pthread_join(other, NULL);
    pthread_setaffinity_np(pthread_self(), sizeof all, &all);
    return ns;
}
