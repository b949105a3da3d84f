/* clock.c: the time, for what the command measures. */
#include "host.h"
#include "tool.h"

uint64_t ox_tool_now(void) {
    return ox_host_now();
}
