/* lane_half.h: arithmetic on 16-bit floats in one loop: widened, computed in float and rounded once. Without it an
 * operation is three loops, for the operands and the result are converted by loops of their own. */
#ifndef OX_LOOPS_LANE_HALF_H
#define OX_LOOPS_LANE_HALF_H

#include "half.h"
#include "loops/simd/intrinsics.h"
#include "lane_loops.h"

#include <string.h>

#define BF16_LANE(fn, e)                                                                                               \
    OX_INLINED float fn##_floats(float a, float b) {                                                                   \
        return e;                                                                                                      \
    }                                                                                                                  \
    LANE2(fn, u16, u16, u16,                                                                                           \
          ox_bf16_from_float(fn##_floats(ox_float_from_bf16((uint16_t)a), ox_float_from_bf16((uint16_t)b))))

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

typedef half_floats halves_fn(half_floats a, half_floats b);

/* Results that go past the caches. */
OX_INLINED void stream_halves(int64_t n, u16 *o, const u16 *x, const u16 *y, const int64_t step[], halves_fn *of) {
    half_floats a = some_halves(x, step[1], 0), b = some_halves(y, step[2], 0), result;
    const int64_t step_x = step[1], step_y = step[2];
    for (int64_t i = 0; i < n; i += HALVES) {
        if (step_x < 0)
            ox_prefetch_lines((uintptr_t)(x + i), OX_LINE);
        if (step_y < 0)
            ox_prefetch_lines((uintptr_t)(y + i), OX_LINE);
        for (int k = 0; k < HALVES; k += OX_HALF_VECTOR) {
            if (step_x)
                ox_widen_vector(&a, x + i + k);
            if (step_y)
                ox_widen_vector(&b, y + i + k);
            result = of(a, b);
            ox_narrow_past(o + i + k, &result);
        }
    }
}

/* Whole vectors, where each operand moves on or repeats. */
OX_INLINED void whole_halves(int64_t n, u16 *o, const u16 *x, const u16 *y, bool moves_x, bool moves_y, halves_fn *of) {
    half_floats a = some_halves(x, moves_x, 0), b = some_halves(y, moves_y, 0), result;
    for (int64_t i = 0; i < n; i += OX_HALF_VECTOR) {
        if (moves_x)
            ox_widen_vector(&a, x + i);
        if (moves_y)
            ox_widen_vector(&b, y + i);
        result = of(a, b);
        ox_narrow_vector(o + i, &result);
    }
}

OX_INLINED int halves(int64_t n, char *const arg[], const int64_t step[], halves_fn *of) {
    u16 *o = (void *)arg[0];
    const u16 *x = (const void *)arg[1], *y = (const void *)arg[2];
    const int64_t whole = n & -(int64_t)OX_HALF_VECTOR, left = n - whole;
    const int64_t step_x = step[1], step_y = step[2];
    if (step[0] < 0) {
        stream_halves(n, o, x, y, step, of);
        return 0;
    }
    if (step_x && step_y)
        whole_halves(whole, o, x, y, true, true, of);
    else if (step_x)
        whole_halves(whole, o, x, y, true, false, of);
    else
        whole_halves(whole, o, x, y, false, step_y != 0, of);
    if (left) {
        uint16_t out[OX_HALF_VECTOR];
        const half_floats result =
            of(some_halves(step_x ? x + whole : x, step_x, left), some_halves(step_y ? y + whole : y, step_y, left));
        ox_narrow_vector(out, &result);
        memcpy(o + whole, out, (size_t)left * sizeof *out);
    }
    return 0;
}

/* The loop of an operation of a and b: plain operators only, which vectors have, too. */
#define HALF_LANE(fn, e)                                                                                               \
    OX_INLINED half_floats fn##_of(half_floats a, half_floats b) {                                                     \
        return e;                                                                                                      \
    }                                                                                                                  \
    static int fn(int64_t n, char *const arg[], const int64_t step[], const void *attr) {                              \
        (void)attr;                                                                                                    \
        return halves(n, arg, step, fn##_of);                                                                          \
    }
#define SMALL_ROW(name) ENTRY(OX_FLOAT16, name##_half), ENTRY(OX_BFLOAT16, name##_bf16)
#else
#define HALF_LANE(fn, e)
#define SMALL_ROW(name) ENTRY(OX_BFLOAT16, name##_bf16)
#endif

#endif
