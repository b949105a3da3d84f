/* windows_cache.c: the processor's caches. */
#include "windows.h"
#ifdef _WIN32
#include "host.h"

size_t ox_host_cache(int level) {
    SYSTEM_LOGICAL_PROCESSOR_INFORMATION all[256];
    DWORD size = sizeof all;
    if (!GetLogicalProcessorInformation(all, &size)) /* more rows than these, too */
        return 0;
    for (size_t i = 0; i < size / sizeof *all; i++) {
        const CACHE_DESCRIPTOR *cache = &all[i].Cache;
        if (all[i].Relationship == RelationCache && cache->Level == level &&
            (cache->Type == CacheData || cache->Type == CacheUnified))
            return cache->Size;
    }
    return 0;
}
#endif
