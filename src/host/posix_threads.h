/* posix_threads.h: POSIX threads. */
#ifndef OX_HOST_POSIX_THREADS_H
#define OX_HOST_POSIX_THREADS_H

#include "posix.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

typedef pthread_mutex_t ox_host_mutex;
typedef pthread_cond_t ox_host_bell; /* wakes threads that wait for it */

typedef struct ox_host_thread {
    pthread_t thread;
    void (*work)(void *context);
    void *context;
} ox_host_thread;

static inline void ox_host_mutex_init(ox_host_mutex *mutex) {
    pthread_mutex_init(mutex, NULL);
}
static inline void ox_host_mutex_destroy(ox_host_mutex *mutex) {
    pthread_mutex_destroy(mutex);
}
static inline void ox_host_mutex_take(ox_host_mutex *mutex) {
    pthread_mutex_lock(mutex);
}
static inline void ox_host_mutex_give(ox_host_mutex *mutex) {
    pthread_mutex_unlock(mutex);
}

static inline void ox_host_bell_init(ox_host_bell *bell) {
    pthread_cond_init(bell, NULL);
}
static inline void ox_host_bell_destroy(ox_host_bell *bell) {
    pthread_cond_destroy(bell);
}
static inline void ox_host_bell_wait(ox_host_bell *bell, ox_host_mutex *mutex) {
    pthread_cond_wait(bell, mutex);
}
static inline void ox_host_bell_ring(ox_host_bell *bell) {
    pthread_cond_broadcast(bell);
}

static inline void *ox_host_thread_main(void *thread) {
    const ox_host_thread *self = thread;
    self->work(self->context);
    return NULL;
}
/* The thread must stay where it is until it has been joined. False if none can be started. */
static inline bool ox_host_thread_start(ox_host_thread *thread, void (*work)(void *context), void *context) {
    thread->work = work;
    thread->context = context;
    return !pthread_create(&thread->thread, NULL, ox_host_thread_main, thread);
}
static inline void ox_host_thread_join(ox_host_thread *thread) {
    pthread_join(thread->thread, NULL);
}
static inline bool ox_host_thread_is_this(const ox_host_thread *thread) {
    return pthread_equal(thread->thread, pthread_self());
}
static inline void ox_host_thread_yield(void) {
    sched_yield();
}

/* The processor that this thread is on, -1 if it is not known. */
static inline int ox_host_thread_place(void) {
#if defined(__linux__)
    return sched_getcpu();
#else
    return -1;
#endif
}

/* Moves this thread to another processor, if it may run on another. */
static inline void ox_host_thread_leave(int place) {
#if defined(__linux__)
    cpu_set_t all, others;
    if (place >= CPU_SETSIZE || sched_getaffinity(0, sizeof all, &all))
        return;
    others = all;
    CPU_CLR((size_t)place, &others);
    if (!sched_setaffinity(0, sizeof others, &others))
        (void)sched_setaffinity(0, sizeof all, &all);
#else
    (void)place;
#endif
}

#endif
