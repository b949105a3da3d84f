/* lock.c: locks. */
#include "threads.h"

#include "lock.h"

#if OX_HOST_THREADS
struct ox_lock {
    ox_allocator allocator;
    ox_host_mutex mutex;
};

ox_status ox_lock_create(const ox_allocator *allocator, ox_lock **result, ox_error *error) {
    ox_lock *lock = *result = ox_alloc(allocator, sizeof *lock);
    if (!lock)
        return ox_fail_memory(error, "a lock", sizeof *lock);
    lock->allocator = *allocator;
    ox_host_mutex_init(&lock->mutex);
    return OX_OK;
}

void ox_lock_free(ox_lock *lock) {
    if (!lock)
        return;
    ox_host_mutex_destroy(&lock->mutex);
    ox_allocator allocator = lock->allocator;
    ox_release(&allocator, lock, sizeof *lock);
}

void ox_lock_take(ox_lock *lock) {
    if (lock)
        ox_host_mutex_take(&lock->mutex);
}

void ox_lock_give(ox_lock *lock) {
    if (lock)
        ox_host_mutex_give(&lock->mutex);
}
#endif
