/* byte_scales.h: what operators between quantizations share that no model names: bytes with one scale and one zero
 * point, and what becomes of their sums. */
#ifndef OX_OPS_BYTE_SCALES_H
#define OX_OPS_BYTE_SCALES_H

#include "loops/byte_loops.h"
#include "op.h"

#if OX_WITH_SOME_OWN
#define OX_BYTE_TYPES (OX_BIT(OX_INT8) | OX_BIT(OX_UINT8))

/* Infer: inputs x (bytes), x + 1 (its scale, one float) and x + 2 (its zero point, of the type of x, which may be
 * omitted). */
ox_status ox_check_bytes(ox_call *call, int x);
/* The same of a result: a scale, and behind it a zero point, whose type is that of the result. */
ox_status ox_check_bytes_out(ox_call *call, int scale);

/* What bytes of that type stand for whose scale is an input, with the zero point behind it. */
ox_byte_scale ox_byte_scale_of(const ox_call *call, ox_dtype dtype, int scale);

enum {
    OX_MOST_BYTES_SUMMED = INT32_MAX / UINT8_MAX /* in 32 bits */
};

/* Means of bytes x (input 0, scale and zero point behind it) that become bytes of the scale in input 3. */
typedef struct ox_byte_means {
    ox_byte_scale from, to;
    uint8_t flip;      /* as ox_byte_loops take it for x */
    int64_t from_zero; /* of x once its bits are turned */
#if !OX_SMALL
    const ox_byte_loops *loops;
    ox_requantize_fn *requantize;
#endif
} ox_byte_means;

ox_byte_means ox_byte_means_of(const ox_call *call);

#if !OX_SMALL
/* What a sum is multiplied by that becomes the mean of `counted` elements. */
double ox_byte_mean_factor(const ox_byte_means *means, double counted);

/* Makes n sums of `inside` bytes each, at most OX_MOST_BYTES_SUMMED, results: times a factor. Elements that are not
 * inside stand for 0. The mean of none is the least byte, as NaN is. */
void ox_end_byte_means(const ox_byte_means *means, int64_t n, const uint32_t *sums, int64_t inside, double factor,
                       char *to);
/* The same for one sum of any size. */
void ox_end_byte_mean(const ox_byte_means *means, uint64_t sum, int64_t inside, double factor, char *to);
#endif
#endif

#endif
