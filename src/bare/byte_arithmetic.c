/* byte_arithmetic.c: arithmetic of quantized bytes in little code, in place of src/loops/byte_loops.c. */
#include "ops/elementwise/byte_arithmetic.h"

#include "mve.h"

#include <string.h>

#if OX_WITH_BYTE_ARITHMETIC
/* Added, it leaves a float of moderate size rounded to a whole number in the lower bits. */
#define MAGIC 0x1.8p23F

/* An operand, whose bytes are turned to unsigned ones. */
typedef struct operand {
    uint8_t flip;
    int32_t zero;
    float scale;
    ptrdiff_t step; /* bytes to the next one */
} operand;

static operand operand_of(const ox_byte_scale *scale, int64_t step) {
    const uint8_t flip = scale->is_signed ? 0x80 : 0;
    return (operand){flip, scale->zero + flip, scale->scale, (ptrdiff_t)step};
}

static inline float number_of(const operand *of, uint8_t byte) {
    return (float)((int32_t)(uint8_t)(byte ^ of->flip) - of->zero) * of->scale;
}

static inline float result_of(ox_byte_operation operation, float a, float b) {
    if (operation == OX_BYTES_ADD)
        return a + b;
    if (operation == OX_BYTES_SUB)
        return a - b;
    return operation == OX_BYTES_MUL ? a * b : a / b;
}

#if OX_MVE_FLOATS
static inline float32x4_t numbers_of(const operand *of, const char *at) {
    const uint8_t *from = (const uint8_t *)at;
    const uint32x4_t bytes = veorq_u32(of->step ? vldrbq_u32(from) : vdupq_n_u32(*from), vdupq_n_u32(of->flip));
    return vmulq_n_f32(vcvtq_f32_s32(vsubq_n_s32(vreinterpretq_s32_u32(bytes), of->zero)), of->scale);
}

/* Whether no number of an operand, sum or product is one that Helium takes for 0. */
static bool is_moderate(const operand *of) {
    return of->scale >= 0x1p-50F && of->scale <= 0x1p50F;
}

/* How many of n results it has computed, four at a time: all that are whole vectors, or none. */
static ptrdiff_t compute_vectors(int64_t n, ox_byte_operation operation, const operand of[3], const char *a,
                                 const char *b, char *y) {
    const operand *to = &of[2];
    const float32x4_t low = vdupq_n_f32((float)-to->zero), high = vdupq_n_f32((float)(255 - to->zero));
    const uint32x4_t flip = vdupq_n_u32(to->flip);
    const float scale = to->scale;
    const ptrdiff_t whole = (ptrdiff_t)(n & -4);
    if (operation == OX_BYTES_DIV || (of[0].step | of[1].step) & ~(ptrdiff_t)1 || !is_moderate(&of[0]) ||
        !is_moderate(&of[1]))
        return 0;
    for (ptrdiff_t i = 0; i < whole; i += 4, a += 4 * of[0].step, b += 4 * of[1].step) {
        const float32x4_t one = numbers_of(&of[0], a), other = numbers_of(&of[1], b);
        const float32x4_t all = operation == OX_BYTES_ADD   ? vaddq_f32(one, other)
                                : operation == OX_BYTES_SUB ? vsubq_f32(one, other)
                                                            : vmulq_f32(one, other);
        const float32x4_t scaled = {all[0] / scale, all[1] / scale, all[2] / scale, all[3] / scale};
        const float32x4_t value = vaddq_n_f32(vminnmq_f32(vmaxnmq_f32(scaled, low), high), MAGIC);
        const uint32x4_t bits = vaddq_n_u32(vreinterpretq_u32_f32(value), (uint32_t)to->zero);
        vstrbq_u32((uint8_t *)y + i, veorq_u32(bits, flip));
    }
    return whole;
}
#endif

void ox_byte_arithmetic_small(int64_t n, const ox_byte_arithmetic *how, const char *a, int64_t a_step, const char *b,
                              int64_t b_step, char *y) {
    const operand left = operand_of(&how->a, a_step), right = operand_of(&how->b, b_step), to = operand_of(&how->y, 1);
    const float low = (float)-to.zero, high = (float)(255 - to.zero);
    const char *end = y + n;
#if OX_MVE_FLOATS
    const ptrdiff_t done = compute_vectors(n, how->operation, (const operand[]){left, right, to}, a, b, y);
    a += done * left.step, b += done * right.step, y += done;
#endif
    for (; y < end; a += left.step, b += right.step) {
        const float one = number_of(&left, (uint8_t)*a), other = number_of(&right, (uint8_t)*b);
        float value = result_of(how->operation, one, other) / to.scale;
        value = value > low ? value : low;
        value = (value < high ? value : high) + MAGIC;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        *y++ = (char)((uint8_t)(bits + (uint32_t)to.zero) ^ to.flip);
    }
}
#endif
