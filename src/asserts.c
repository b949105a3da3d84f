/* asserts.c: how a build with assertions ends when one does not hold. */
#include "asserts.h"

#if OX_ASSERTIONS
#include <stdio.h>
#include <stdlib.h>

void ox_assert_failed(const char *condition, const char *file, int line) {
    fprintf(stderr, "%s:%d: this does not hold: %s\n", file, line, condition);
    abort();
}
#endif
