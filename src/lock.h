/* lock.h: lets one thread at a time into what it guards (src/host/lock.c). */
#ifndef OX_LOCK_H
#define OX_LOCK_H

#include "alloc.h"

typedef struct ox_lock ox_lock;

/* *lock is NULL on systems without threads; the other functions take NULL. */
ox_status ox_lock_create(const ox_allocator *allocator, ox_lock **lock, ox_error *error);
void ox_lock_free(ox_lock *lock);
void ox_lock_take(ox_lock *lock);
void ox_lock_give(ox_lock *lock);

#endif
