/* moves.c: strided copies, one loop per element width. */
#include "lane_loops.h"

typedef uint16_t __attribute__((aligned(1), may_alias)) any16;
typedef uint32_t __attribute__((aligned(1), may_alias)) any32;
typedef uint64_t __attribute__((aligned(1), may_alias)) any64;
typedef struct __attribute__((may_alias, packed)) any128 {
    uint64_t half[2];
} any128;
typedef uint8_t any8;

/* Copies n elements; one loop per element width, one body per pair of step kinds. */
#define MOVE(type)                                                                                                     \
    static void move_##type(int64_t n, char *dst, int64_t dst_step, const char *src, int64_t src_step) {               \
        const int64_t w = (int64_t)sizeof(type);                                                                       \
        if (dst_step == w && src_step == 0) {                                                                          \
            const type value = *(const type *)(const void *)src;                                                       \
            type *to = (type *)(void *)dst;                                                                            \
            for (int64_t i = 0; i < n; i++)                                                                            \
                to[i] = value;                                                                                         \
        } else if (dst_step == w) {                                                                                    \
            type *restrict to = (type *)(void *)dst;                                                                   \
            for (int64_t i = 0; i < n; i++)                                                                            \
                to[i] = *(const type *)(const void *)(src + i * src_step);                                             \
        } else {                                                                                                       \
            for (int64_t i = 0; i < n; i++)                                                                            \
                *(type *)(void *)(dst + i * dst_step) = *(const type *)(const void *)(src + i * src_step);             \
        }                                                                                                              \
    }
MOVE(any8)
MOVE(any16)
MOVE(any32)
MOVE(any64)
MOVE(any128)

ox_move_fn *OX_VARIANT(ox_move_for)(size_t width) {
    switch (width) {
    case 1:
        return move_any8;
    case 2:
        return move_any16;
    case 4:
        return move_any32;
    case 8:
        return move_any64;
    default:
        return move_any128;
    }
}
