/* arm.h: OX_ARM_HAS(feature), whether an aarch64 processor has it, by what the system says (host.h). */
#ifndef OX_LOOPS_ARM_H
#define OX_LOOPS_ARM_H

#if defined(OX_VARIANTS) && defined(__aarch64__)
#include "host.h"

#include <stdbool.h>

#define OX_ARM_HAS(feature) ((ox_host_arm_features() & OX_ARM_##feature) != 0)
#endif

#endif
