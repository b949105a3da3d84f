/* workers.h: threads that wait for work, all of which is begun by one other thread, the caller (src/host/workers.c). */
#ifndef OX_WORKERS_H
#define OX_WORKERS_H

#include "alloc.h"

typedef struct ox_workers ox_workers;

/* Does part `part` of `parts`; called once for each, from different threads. */
typedef void ox_pool_fn(void *context, int part, int parts);

/* Starts threads - 1 workers; on failure, nothing stays allocated. While the caller waits for the last parts it calls
 * `idle` now and then. The allocator must stay valid until the workers have stopped. */
ox_status ox_workers_start(const ox_allocator *allocator, int threads, void (*idle)(void *context), void *context,
                           ox_workers **workers, ox_error *error);
/* NULL is allowed. */
void ox_workers_stop(ox_workers *workers);

/* Whether the calling thread is one of the workers. */
bool ox_workers_has_this_thread(const ox_workers *workers);

/* Runs part 0 in this thread and the others in any, and returns when all are done. */
void ox_workers_run(ox_workers *workers, ox_pool_fn *fn, void *context);

#endif
