/* environment.c: the environment's wishes for loops and convolutions. */
#include "host.h"

#include <stdlib.h>

const char *ox_default_isa(void) {
    return getenv("OX_ISA");
}

const char *ox_default_conv(void) {
    return getenv("OX_CONV");
}
