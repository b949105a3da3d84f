/* windows_clock.c: the time that profiles are made of. */
#include "windows.h"
#ifdef _WIN32
#include "host.h"

uint64_t ox_host_now(void) {
    LARGE_INTEGER ticks, rate;
    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&rate);
    const uint64_t count = (uint64_t)ticks.QuadPart, second = (uint64_t)rate.QuadPart;
    return count / second * 1000000000u + count % second * 1000000000u / second;
}
#endif
