/* lane_half.h: arithmetic on 16-bit floats in one loop: widened, computed in float and rounded once. Without it an
 * operation is three loops, one of which converts. Included by lanes*.c only. */
#ifndef OX_LOOPS_LANE_HALF_H
#define OX_LOOPS_LANE_HALF_H

#include "half.h"
#include "intrinsics.h"
#include "lane_loops.h"

#include <string.h>

#define BF16_LANE(name, e)                                                                                             \
    static inline float name##_floats(float a, float b) {                                                              \
        return e;                                                                                                      \
    }                                                                                                                  \
    LANE2(name##_bf16, u16, u16, u16,                                                                                  \
          ox_bf16_from_float(name##_floats(ox_float_from_bf16((uint16_t)a), ox_float_from_bf16((uint16_t)b))))

#ifdef OX_HALF_VECTOR
/* As many floats as the processor converts at a time. */
typedef float half_floats __attribute__((vector_size(OX_HALF_VECTOR * sizeof(float))));

/* The first `count` halves at x and zeros, or one that repeats. */
static inline half_floats some_halves(const u16 *x, int64_t step, int64_t count) {
    uint16_t in[OX_HALF_VECTOR] = {0};
    half_floats floats;
    for (int64_t k = 0; k < (step ? count : OX_HALF_VECTOR); k++)
        in[k] = x[step ? k : 0];
    ox_widen_vector(&floats, in);
    return floats;
}

/* As many halves as a cache line holds. */
enum {
    HALVES = OX_LINE / sizeof(uint16_t)
};

#define HALF_LANE(name, e)                                                                                             \
    static inline half_floats name##_vector(half_floats a, half_floats b) {                                            \
        return e;                                                                                                      \
    }                                                                                                                  \
    static int name##_half(int64_t n, char *const arg[], const int64_t step[], const void *attr) {                     \
        u16 *o = (void *)arg[0];                                                                                       \
        const u16 *x = (const void *)arg[1], *y = (const void *)arg[2];                                                \
        const int64_t whole = n & -(int64_t)OX_HALF_VECTOR, left = n - whole;                                          \
        half_floats a = some_halves(x, step[1], 0), b = some_halves(y, step[2], 0), result;                            \
        (void)attr;                                                                                                    \
        for (int64_t i = 0; i < n && step[0] < 0; i += HALVES) {                                                       \
            if (step[1] < 0)                                                                                           \
                ox_prefetch_lines((uintptr_t)(x + i), OX_LINE);                                                        \
            if (step[2] < 0)                                                                                           \
                ox_prefetch_lines((uintptr_t)(y + i), OX_LINE);                                                        \
            for (int k = 0; k < HALVES; k += OX_HALF_VECTOR) {                                                         \
                if (step[1])                                                                                           \
                    ox_widen_vector(&a, x + i + k);                                                                    \
                if (step[2])                                                                                           \
                    ox_widen_vector(&b, y + i + k);                                                                    \
                result = name##_vector(a, b);                                                                          \
                ox_narrow_past(o + i + k, &result);                                                                    \
            }                                                                                                          \
        }                                                                                                              \
        if (step[0] < 0)                                                                                               \
            return 0;                                                                                                  \
        for (int64_t i = 0; i < whole; i += OX_HALF_VECTOR) {                                                          \
            if (step[1])                                                                                               \
                ox_widen_vector(&a, x + i);                                                                            \
            if (step[2])                                                                                               \
                ox_widen_vector(&b, y + i);                                                                            \
            result = name##_vector(a, b);                                                                              \
            ox_narrow_vector(o + i, &result);                                                                          \
        }                                                                                                              \
        if (left) {                                                                                                    \
            uint16_t out[OX_HALF_VECTOR];                                                                              \
            result = name##_vector(some_halves(step[1] ? x + whole : x, step[1], left),                                \
                                   some_halves(step[2] ? y + whole : y, step[2], left));                               \
            ox_narrow_vector(out, &result);                                                                            \
            memcpy(o + whole, out, (size_t)left * sizeof *out);                                                        \
        }                                                                                                              \
        return 0;                                                                                                      \
    }
#define SMALL_ROW(name) ENTRY(OX_FLOAT16, name##_half), ENTRY(OX_BFLOAT16, name##_bf16)
#else
#define HALF_LANE(name, e)
#define SMALL_ROW(name) ENTRY(OX_BFLOAT16, name##_bf16)
#endif

/* The loops of an operation of a and b, and the row that lists them: plain operators only, which vectors have too. */
#define SMALL_LOOPS(name, e) BF16_LANE(name, e) HALF_LANE(name, e)

#endif
