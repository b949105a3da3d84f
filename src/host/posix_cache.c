/* posix_cache.c: the processor's caches. */
#include "posix.h"
#ifdef OX_HOST_POSIX
#include "host.h"

#include <unistd.h>

size_t ox_host_cache(int level) {
    long size = 0;
#if defined(_SC_LEVEL1_DCACHE_SIZE) && defined(_SC_LEVEL2_CACHE_SIZE)
    size = sysconf(level == 1 ? _SC_LEVEL1_DCACHE_SIZE : _SC_LEVEL2_CACHE_SIZE);
#else
    (void)level;
#endif
    return size > 0 ? (size_t)size : 0;
}
#endif
