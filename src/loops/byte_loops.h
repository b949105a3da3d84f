/* byte_loops.h: arithmetic of quantized bytes and sums of neighbouring bytes, built for each kind of processor. */
#ifndef OX_LOOPS_BYTE_LOOPS_H
#define OX_LOOPS_BYTE_LOOPS_H

#include "integer_loops.h"

typedef enum ox_byte_operation {
    OX_BYTES_ADD,
    OX_BYTES_SUB,
    OX_BYTES_MUL,
    OX_BYTES_DIV
} ox_byte_operation;

/* What bytes stand for: (byte - zero) * scale, in float. */
typedef struct ox_byte_scale {
    bool is_signed;
    int32_t zero;
    float scale;
} ox_byte_scale;

typedef struct ox_byte_arithmetic {
    ox_byte_operation operation;
    ox_byte_scale a, b, y;
} ox_byte_arithmetic;

/* n results of operands that are as many bytes, or one that repeats (their steps are 1 or 0, not both 0 unless n is 1):
 * each has the bits that DequantizeLinear of the operands, the operation in float and QuantizeLinear give. `y` may be
 * an operand. */
typedef void ox_byte_arithmetic_fn(int64_t n, const ox_byte_arithmetic *how, const char *a, int64_t a_step,
                                   const char *b, int64_t b_step, char *y);

/* Bytes as unsigned numbers once the bits of `flip` are turned, which is 0x80 for signed ones: they are 128 more then.
 */

/* The sum of n bytes. */
typedef uint64_t ox_sum_run_fn(int64_t n, const char *bytes, uint8_t flip);
/* Adds n bytes to n sums. */
typedef void ox_add_bytes_fn(int64_t n, const char *bytes, uint8_t flip, uint32_t *sums);
/* Sum i of n is that of `taps` elements from element i * stride on, `dilation` apart. */
typedef void ox_slide_sums_fn(int64_t n, uint32_t *to, const uint32_t *from, int64_t stride, int64_t taps,
                              int64_t dilation);

typedef struct ox_byte_loops {
    ox_byte_arithmetic_fn *arithmetic;
    ox_sum_run_fn *sum_run;
    ox_add_bytes_fn *add;
    ox_slide_sums_fn *slide;
} ox_byte_loops;

extern const ox_byte_loops *const ox_byte_builds[];

#endif
