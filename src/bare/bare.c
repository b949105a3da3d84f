/* bare.c: what stands for src/host where there is no operating system: no memory but the caller's, one thread, no
 * environment and no clock. */
#include "../alloc.h"
#include "../host.h"

const ox_allocator *ox_default_allocator(void) {
    return NULL;
}

const char *ox_default_isa(void) {
    return NULL;
}

uint64_t ox_host_now(void) {
    return 0;
}
