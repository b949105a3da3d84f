/* integer_loops.h: what surrounds products of bytes, and their making of floats, built for each kind of processor. */
#ifndef OX_LOOPS_INTEGER_LOOPS_H
#define OX_LOOPS_INTEGER_LOOPS_H

#include "loops/element.h"
#include "gemm_kernel.h"

/* sums[n] of the columns of a k x n matrix of bytes, plus `more` each; they wrap. */
typedef void ox_sum_bytes_fn(const ox_gemm_matrix *matrix, int64_t k, int64_t n, uint32_t more, uint32_t *sums);

/* What zero points take off n sums of one row: row_zero times the sums of B's columns and row_sum, the sum of A's row
 * less k times its zero point, times the columns' zero points, which are `step` (0 or 1) elements apart. NULL instead
 * of either list: nothing. */
typedef struct ox_zero_points {
    uint32_t row_zero, row_sum;
    const uint32_t *column_sums, *column_zeros;
    int64_t step;
} ox_zero_points;
typedef void ox_offset_fn(int64_t n, const ox_zero_points *zeros, char *sums);

/* How floats give, for all sums there may be, the bytes that doubles give: sums less `less`, times `factor`, plus
 * `rest`, rounded together, then to the nearest whole number, and saturated as int8; of uint8, 128 less. */
typedef struct ox_proven {
    float factor; /* 0: nothing is proven */
    float rest;
    uint32_t less;
} ox_proven;

/* Makes n sums (int32) bytes: plus `more`, less column_zero times the columns' sums, which wraps, times row_scale times
 * the columns' scales, which are `step` elements apart, rounded to nearest even, plus zero, saturated. */
typedef struct ox_requantization {
    ox_dtype dtype; /* int8 or uint8 */
    uint32_t more;
    double zero;
    double row_scale;
    const ox_f32 *column_scales;
    int64_t step;
    const uint32_t *column_sums; /* NULL: nothing is taken off; else sums may change */
    uint32_t column_zero;
    ox_proven proven;
} ox_requantization;
typedef void ox_requantize_fn(int64_t n, const ox_requantization *how, char *sums, char *bytes);

/* Looks for such floats, if there is one factor for all columns. Sums, with `more`, are at most `most`, or -most. */
typedef ox_proven ox_prove_fn(const ox_requantization *how, int64_t most);

/* Whether floats have enough digits for such a factor, and are not infinite where it is not, times a column's. */
static inline bool ox_is_float_factor(double factor) {
    const double size = factor < 0 ? -factor : factor;
    return (size >= 0x1p-100 && size <= 0x1p127) || size == 0;
}

/* Makes n floats unsigned bytes: divided by scale, rounded to nearest even, plus zero, saturated; 0 for NaN. */
typedef void ox_quantize_fn(int64_t n, float scale, float zero, const char *floats, char *bytes);

typedef struct ox_integer_loops {
    ox_sum_bytes_fn *sum;
    ox_offset_fn *offset;
    ox_requantize_fn *requantize;
    ox_prove_fn *prove;
    ox_quantize_fn *quantize;
} ox_integer_loops;

#endif
