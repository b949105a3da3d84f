/* lock.c: locks on POSIX threads. */
#include "lock.h"

#include <pthread.h>

struct ox_lock {
    ox_allocator allocator;
    pthread_mutex_t mutex;
};

ox_status ox_lock_create(const ox_allocator *allocator, ox_lock **result, ox_error *error) {
    ox_lock *lock = *result = ox_alloc(allocator, sizeof *lock);
    if (!lock)
        return ox_fail_memory(error, "a lock", sizeof *lock);
    lock->allocator = *allocator;
    pthread_mutex_init(&lock->mutex, NULL);
    return OX_OK;
}

void ox_lock_free(ox_lock *lock) {
    if (!lock)
        return;
    pthread_mutex_destroy(&lock->mutex);
    ox_allocator allocator = lock->allocator;
    ox_release(&allocator, lock, sizeof *lock);
}

void ox_lock_take(ox_lock *lock) {
    if (lock)
        pthread_mutex_lock(&lock->mutex);
}

void ox_lock_give(ox_lock *lock) {
    if (lock)
        pthread_mutex_unlock(&lock->mutex);
}
