/* requantize.h: sums of products of bytes become bytes while they are in registers.
 *
 * A result is a sum times a factor, computed in double and rounded. Where vectors of floats are at hand, it is computed
 * in float first: that is off by less than OX_UNSURE as long as the result does not saturate. Where it lies no nearer
 * to the middle between two whole numbers than that, it is rounded as the double would be; elsewhere the caller
 * computes it once more. */
#ifndef OX_LOOPS_REQUANTIZE_H
#define OX_LOOPS_REQUANTIZE_H

#include "copy_run.h"
#include "integer_loops.h"
#include "intrinsics.h"

#if defined(__AVX512BW__) || defined(__AVX2__)
#define OX_SUMS_AT_ONCE (OX_DOT_BYTES) /* four vectors of them, which become one of bytes */
#define OX_UNSURE 0x1p-12F             /* four roundings of at most 2^9: 2^-13 */
#define OX_LEAST_FACTOR 0x1p-100       /* smaller ones may have few digits as floats */
enum {
    OX_SUMS_LANES = OX_DOT_BYTES / 4
};

/* What becomes of sums: plus `more`, times a factor, rounded, plus `zero`, saturated. */
typedef struct ox_quantizer {
    uint32_t more;
    float scale;
    int16_t zero;
    bool is_signed, is_sure; /* whether floats will do */
} ox_quantizer;

static inline ox_quantizer ox_quantizer_of(const ox_requantization *how) {
    const double scale = how->row_scale < 0 ? -how->row_scale : how->row_scale;
    return (ox_quantizer){how->more, (float)how->row_scale, (int16_t)how->zero, how->dtype == OX_INT8,
                          scale >= OX_LEAST_FACTOR || scale == 0};
}

/* The first `count` words at an address, and zeros behind them, which are not read. */
static inline ox_dot_lanes ox_sums_load(const void *from, int64_t count) {
#if defined(__AVX512BW__)
    const __mmask16 inside = (__mmask16)(count >= 16 ? 0xffffU : count > 0 ? (1U << count) - 1 : 0);
    return (ox_dot_lanes)_mm512_maskz_loadu_epi32(inside, from);
#else
    const __m256i inside = _mm256_cmpgt_epi32(_mm256_set1_epi32(count >= 8  ? 8
                                                                : count > 0 ? (int32_t)count
                                                                            : 0),
                                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    return (ox_dot_lanes)_mm256_maskload_epi32(from, inside);
#endif
}

/* Stores the first `count` bytes of a vector. */
static inline void ox_bytes_store(void *to, int64_t count, ox_dot_lanes bytes) {
#if defined(__AVX512BW__)
    _mm512_mask_storeu_epi8(to, count >= 64 ? ~0ULL : (1ULL << count) - 1, (__m512i)bytes);
#else
    if (count >= OX_DOT_BYTES)
        memcpy(to, &bytes, sizeof bytes);
    else
        ox_copy_run(to, (const char *)&bytes, count);
#endif
}

/* Makes OX_SUMS_AT_ONCE sums bytes, each vector times its factors; false if one of them may be another. What is not
 * finite has bits above those of all others. */
static inline bool ox_quantize_sums(const ox_quantizer *q, const ox_dot_lanes *sums, const ox_floats *scales,
                                    ox_dot_lanes *to) {
    const uint32_t limit = 0x3f000000 - 0x2000; /* 0.5 - OX_UNSURE */
#if defined(__AVX512BW__)
    const __m512i more = _mm512_set1_epi32((int32_t)q->more), zero = _mm512_set1_epi16(q->zero);
    __m512i most = _mm512_setzero_si512(), whole[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; v++) {
        const __m512 exact =
            _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_add_epi32((__m512i)sums[v], more)), (__m512)scales[v]);
        whole[v] = _mm512_cvtps_epi32(exact);
        const __m512 apart = _mm512_sub_ps(exact, _mm512_cvtepi32_ps(whole[v]));
        most = _mm512_max_epu32(most, _mm512_and_si512(_mm512_castps_si512(apart), _mm512_set1_epi32(INT32_MAX)));
    }
    const __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(whole[0], whole[1]), zero),
                  high = _mm512_adds_epi16(_mm512_packs_epi32(whole[2], whole[3]), zero),
                  order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i bytes = q->is_signed ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high);
    *to = (ox_dot_lanes)_mm512_permutexvar_epi32(order, bytes);
    return !_mm512_cmpgt_epu32_mask(most, _mm512_set1_epi32((int32_t)limit));
#else
    const __m256i more = _mm256_set1_epi32((int32_t)q->more), zero = _mm256_set1_epi16(q->zero);
    __m256i most = _mm256_setzero_si256(), whole[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; v++) {
        const __m256 exact =
            _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_add_epi32((__m256i)sums[v], more)), (__m256)scales[v]);
        whole[v] = _mm256_cvtps_epi32(exact);
        const __m256 apart = _mm256_sub_ps(exact, _mm256_cvtepi32_ps(whole[v]));
        most = _mm256_max_epu32(most, _mm256_and_si256(_mm256_castps_si256(apart), _mm256_set1_epi32(INT32_MAX)));
    }
    const __m256i low = _mm256_adds_epi16(_mm256_packs_epi32(whole[0], whole[1]), zero),
                  high = _mm256_adds_epi16(_mm256_packs_epi32(whole[2], whole[3]), zero),
                  order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i bytes = q->is_signed ? _mm256_packs_epi16(low, high) : _mm256_packus_epi16(low, high);
    *to = (ox_dot_lanes)_mm256_permutevar8x32_epi32(bytes, order);
    const __m256i above = _mm256_cmpgt_epi32(most, _mm256_set1_epi32((int32_t)limit));
    return _mm256_testz_si256(above, above);
#endif
}
#endif

#endif
