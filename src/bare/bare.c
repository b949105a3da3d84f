/* bare.c: what stands for src/host where there is no operating system: no memory but the caller's, one thread, no
 * environment and no clock. */
#include "../alloc.h"
#include "../host.h"
#include "../pool.h"

const ox_allocator *ox_default_allocator(void) {
    return NULL;
}

const char *ox_default_isa(void) {
    return NULL;
}

uint64_t ox_host_now(void) {
    return 0;
}

ox_status ox_pool_create(const ox_allocator *allocator, int threads, ox_pool **pool, ox_error *error) {
    (void)allocator, (void)threads, (void)error;
    *pool = NULL;
    return OX_OK;
}

void ox_pool_free(ox_pool *pool) {
    (void)pool;
}

int ox_pool_parts(const ox_pool *pool) {
    (void)pool;
    return 1;
}

void ox_pool_run(ox_pool *pool, ox_pool_fn *fn, void *context) {
    (void)pool;
    fn(context, 0, 1);
}
