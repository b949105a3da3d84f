/* clock.c: the time, for what the command measures. */
#include <time.h>

#include "tool.h"

uint64_t ox_tool_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}
