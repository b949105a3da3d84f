/* posix_clock.c: the time that profiles are made of. */
#include "posix.h"
#if defined(OX_HOST_POSIX) || defined(__wasi__)
#include "host.h"

#include <time.h>

uint64_t ox_host_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}
#endif
