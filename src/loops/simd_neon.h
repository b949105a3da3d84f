/* simd_neon.h: what NEON has of the names in intrinsics.h. */
#ifndef OX_LOOPS_SIMD_NEON_H
#define OX_LOOPS_SIMD_NEON_H

#include "simd_types.h"

#define OX_ROUND_NOW(value) __asm__("" : "+w"(value))

#endif
