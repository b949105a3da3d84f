/* clock.h: bounds on the time that a test takes. */
#ifndef OX_TEST_CLOCK_H
#define OX_TEST_CLOCK_H

#include <stdlib.h>
#include <time.h>

/* So many seconds of the processor: more where it is emulated, by the factor that check takes for its own time limits.
 */
static inline clock_t seconds(int count) {
    const char *factor = getenv("CK_TIMEOUT_MULTIPLIER");
    return (clock_t)count * CLOCKS_PER_SEC * (factor && atoi(factor) > 1 ? atoi(factor) : 1);
}

#endif
