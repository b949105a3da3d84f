/* requantize.h: sums of bytes to bytes in integers, where these are sure of the rounding; doubles (soft.h) decide the
 * rest, as they decide all on larger machines, so that results have the same bits. */
#ifndef OX_BARE_REQUANTIZE_H
#define OX_BARE_REQUANTIZE_H

#include "dsp.h"
#include "loops/element.h"
#include "tensor.h"

#include <stdbool.h>
#include <stddef.h>

/* What sums of products x * w become: bytes y. */
typedef struct ox_channel_scales {
    float x, y;         /* scales of x and y */
    const ox_f32 *w;    /* one for each channel, */
    ptrdiff_t step;     /* or 0: all have the same */
    bool divides_first; /* whether other machines round x / y * w, or x * w / y */
    uint32_t ratio;     /* x / y is about ratio * 2^exponent, and ratio at least 2^31; 0: it is no such number */
    int32_t exponent;
    int32_t zero;  /* of y, less 128 if that is unsigned */
    uint32_t flip; /* 0x80808080 then, otherwise 0 */
} ox_channel_scales;

ox_channel_scales ox_channel_scales_of(float x, const ox_tensor *w, float y, bool divides_first, ox_dtype dtype,
                                       int32_t zero);

/* The scale of a channel's sums is factor * 2^-(32 + shift), where the factor is less than 2 too small. A shift of 0:
 * there are none of those. */
typedef struct ox_factor {
    int32_t factor;
    uint32_t shift;
} ox_factor;

enum {
    OX_LEAST_SHIFT = 2, /* so that some upper halves are sure */
    OX_MOST_SHIFT = 20  /* so that sums beyond 2^30, whose upper halves are further off, saturate */
};

ox_factor ox_factor_of(const ox_channel_scales *s, ptrdiff_t channel);

/* The same where it is called. */
static inline ox_factor ox_factor_now(const ox_channel_scales *s, ptrdiff_t channel) {
    const float scale = s->w[channel * s->step];
    uint32_t bits;
    memcpy(&bits, &scale, sizeof bits);
    const int32_t exponent = (int32_t)(bits >> 23); /* with the sign */
    if (!s->ratio || exponent < 1 || exponent >= 0xff)
        return (ox_factor){0, 0};
    const uint64_t product = (uint64_t)s->ratio * ((bits & 0x7fffff) | 0x800000); /* from 2^54 to 2^56 */
    const int32_t more = product >> 55 ? 25 : 24;
    const int32_t shift = -32 - (s->exponent + exponent - 127 - 23 + more);
    if (shift < OX_LEAST_SHIFT || shift > OX_MOST_SHIFT)
        return (ox_factor){0, 0};
    return (ox_factor){(int32_t)(product >> more), (uint32_t)shift};
}

/* The upper half of a sum's product with the factor is less than 2 below, or 1 above, that with the scale, so that it
 * does not tell where it is so near to a boundary of rounding. */
typedef struct ox_requantizer {
    int32_t factor;
    uint32_t shift, half, mask; /* mask 0: never sure */
} ox_requantizer;

static inline ox_requantizer ox_requantizer_of(const ox_channel_scales *s, ox_factor f) {
    ox_requantizer q = {.factor = f.factor, .shift = f.shift};
    if (f.shift) {
        q.half = ((uint32_t)(2 * s->zero + 1) << (f.shift - 1)) + 1;
        q.mask = ((uint32_t)1 << f.shift) - 2;
    }
    return q;
}

/* The result, before it is saturated, of a sum of which the integers are not sure. */
int32_t ox_requantize_surely(const ox_channel_scales *s, ptrdiff_t channel, int32_t sum);

/* The result as a signed byte, whose bits are to be turned by s->flip. */
static inline int32_t ox_requantize_one(const ox_requantizer *q, const ox_channel_scales *s, ptrdiff_t channel,
                                        int32_t sum) {
    const uint32_t upper = (uint32_t)(int32_t)(((int64_t)sum * q->factor) >> 32) + q->half;
    int32_t value = (int32_t)upper >> q->shift;
    if (__builtin_expect(!(upper & q->mask), 0))
        value = ox_requantize_surely(s, channel, sum);
    return ox_saturated(value);
}

#endif
