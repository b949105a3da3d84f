/* posix_helper.c: a second thread of the command. */
#include "posix.h"
#ifdef OX_HAS_POSIX
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "../system.h"

struct ox_helper {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    void (*work)(ox_helper *helper, void *context);
    void *context;
};

static void *work(void *argument) {
    ox_helper *helper = argument;
    helper->work(helper, helper->context);
    return NULL;
}

/* Signals are for the command's first thread. */
static bool start(ox_helper *helper) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool made = pthread_create(&helper->thread, NULL, work, helper) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return made;
}

/* The times that it waits for are those of the clock that only goes forward; macOS knows the other one alone. */
static bool init_wake(pthread_cond_t *wake) {
#ifdef __APPLE__
    return !pthread_cond_init(wake, NULL);
#else
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes))
        return false;
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    const bool made = !pthread_cond_init(wake, &attributes);
    pthread_condattr_destroy(&attributes);
    return made;
#endif
}

static void release(ox_helper *helper) {
    pthread_cond_destroy(&helper->wake);
    pthread_mutex_destroy(&helper->lock);
    free(helper);
}

ox_helper *ox_helper_start(void (*fn)(ox_helper *helper, void *context), void *context) {
    ox_helper *helper = malloc(sizeof *helper);
    if (!helper)
        return NULL;
    *helper = (ox_helper){.work = fn, .context = context};
    if (!init_wake(&helper->wake)) {
        free(helper);
        return NULL;
    }
    pthread_mutex_init(&helper->lock, NULL);
    if (start(helper))
        return helper;
    release(helper);
    return NULL;
}

void ox_helper_lock(ox_helper *helper) {
    pthread_mutex_lock(&helper->lock);
}

void ox_helper_unlock(ox_helper *helper) {
    pthread_mutex_unlock(&helper->lock);
}

void ox_helper_wait(ox_helper *helper, uint64_t time) {
    struct timespec end = {.tv_sec = (time_t)(time / 1000000000u), .tv_nsec = (long)(time % 1000000000u)};
#ifdef __APPLE__
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const uint64_t at = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec, left = time > at ? time - at : 0;
    end = (struct timespec){.tv_sec = (time_t)(left / 1000000000u), .tv_nsec = (long)(left % 1000000000u)};
    pthread_cond_timedwait_relative_np(&helper->wake, &helper->lock, &end);
#else
    pthread_cond_timedwait(&helper->wake, &helper->lock, &end);
#endif
}

void ox_helper_wake(ox_helper *helper) {
    pthread_cond_signal(&helper->wake);
}

void ox_helper_end(ox_helper *helper) {
    pthread_join(helper->thread, NULL);
    release(helper);
}
#endif
