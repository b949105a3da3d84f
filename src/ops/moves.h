/* moves.h: elements as the loops that only move them see them: by width, at any address. */
#ifndef OX_OPS_MOVES_H
#define OX_OPS_MOVES_H

#include <stdint.h>

typedef uint8_t any8;
typedef uint16_t __attribute__((aligned(1), may_alias)) any16;
typedef uint32_t __attribute__((aligned(1), may_alias)) any32;
typedef uint64_t __attribute__((aligned(1), may_alias)) any64;
/* A vector: where such elements are a struct of two numbers, gcc 12 vectorizes loads of more than is there. */
typedef uint64_t __attribute__((vector_size(16), aligned(1), may_alias)) any128;

/* That of five loops which is for elements of `width` bytes: 1, 2, 4, 8, or 16. */
#define OX_BY_WIDTH(width, loop)                                                                                       \
    ((width) == 1   ? loop##_any8                                                                                      \
     : (width) == 2 ? loop##_any16                                                                                     \
     : (width) == 4 ? loop##_any32                                                                                     \
     : (width) == 8 ? loop##_any64                                                                                     \
                    : loop##_any128)

#endif
