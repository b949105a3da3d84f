/* byte_arithmetic.c: arithmetic of quantized bytes in little code, in place of src/loops/byte_loops.c. */
#include "ops/elementwise/byte_arithmetic.h"

#include <string.h>

#if OX_WITH_BYTE_ARITHMETIC
/* Added, it leaves a float of moderate size rounded to a whole number in the lower bits. */
#define MAGIC 0x1.8p23F

/* An operand, whose bytes are turned to unsigned ones. */
typedef struct operand {
    uint8_t flip;
    int32_t zero;
    float scale;
} operand;

static operand operand_of(const ox_byte_scale *scale) {
    const uint8_t flip = scale->is_signed ? 0x80 : 0;
    return (operand){flip, scale->zero + flip, scale->scale};
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

void ox_byte_arithmetic_small(int64_t n, const ox_byte_arithmetic *how, const char *a, int64_t a_step, const char *b,
                              int64_t b_step, char *y) {
    const operand left = operand_of(&how->a), right = operand_of(&how->b), to = operand_of(&how->y);
    const float low = (float)-to.zero, high = (float)(255 - to.zero);
    const ptrdiff_t left_step = (ptrdiff_t)a_step, right_step = (ptrdiff_t)b_step;
    for (const char *end = y + n; y < end; a += left_step, b += right_step) {
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
