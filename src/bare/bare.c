/* bare.c: what stands for src/host where there is no operating system: no memory but the caller's, one thread, no
 * environment and no clock. */
#include "alloc.h"
#include "host.h"
#include "store.h"

const ox_allocator *ox_default_allocator(void) {
    return NULL;
}

const char *ox_default_isa(void) {
    return NULL;
}

/* Factors of more than 32 bits belong to nothing that a device has room for. */
bool ox_mul_i64(int64_t a, int64_t b, int64_t *result) {
    *result = (int64_t)(int32_t)a * (int32_t)b;
    return a == (int32_t)a && b == (int32_t)b;
}

uint64_t ox_host_now(void) {
    return 0;
}

/* Weights are multiplied as they lie: nothing is made of them. */
ox_status ox_store_create(const ox_allocator *allocator, size_t limit, ox_store **store, ox_error *error) {
    (void)allocator, (void)limit, (void)error;
    *store = NULL;
    return OX_OK;
}

void ox_store_free(ox_store *store) {
    (void)store;
}

void ox_store_expect(ox_store *store, size_t bytes) {
    (void)store, (void)bytes;
}

void ox_store_tell(ox_store *store, ox_store_read_fn *tell, const void *context) {
    (void)store, (void)tell, (void)context;
}

size_t ox_store_bytes(ox_store *store) {
    (void)store;
    return 0;
}

ox_status ox_store_get(ox_store *store, const ox_store_key *key, size_t size, ox_store_fn *make, const void *context,
                       const void **block, ox_error *error) {
    (void)store, (void)key, (void)size, (void)make, (void)context, (void)error;
    *block = NULL;
    return OX_OK;
}
