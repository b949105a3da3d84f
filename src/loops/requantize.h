/* requantize.h: sums of products of bytes become bytes while they are in registers.
 *
 * A result is a sum times a factor, computed in double and rounded. Where vectors of floats are at hand, it is computed
 * in float first: that is off by less than OX_UNSURE as long as the result does not saturate. Where it lies no nearer
 * to the middle between two whole numbers than that, it is rounded as the double would be; elsewhere the caller
 * computes it once more. Nothing of that is needed where a session has proven that floats round as doubles do
 * (`prove` in integer_loops.c). */
#ifndef OX_LOOPS_REQUANTIZE_H
#define OX_LOOPS_REQUANTIZE_H

#include "copy_run.h"
#include "integer_loops.h"
#include "loops/simd/intrinsics.h"

/* n sums by the definition: each is a double before it is rounded. The results may lie where sums do. */
static inline void ox_requantize_by(int64_t n, const ox_requantization *how, int64_t step, const ox_i32 *sums,
                                    ox_u8 *restrict bytes) {
    const ox_f32 *column_scales = how->column_scales;
    const double row_scale = how->row_scale;
    const uint32_t more = how->more;
    const uint64_t zero = (uint64_t)(int64_t)how->zero;
    /* Added, it leaves a double of moderate size rounded to a whole number in the lower bits; a larger one stays beyond
     * the limits. */
    const double magic = 0x1.8p52;
    const double low = (how->dtype == OX_INT8 ? -128 : 0) - how->zero + magic, high = low + 255;
    for (int64_t j = 0; j < n; j++) {
        double value = (int32_t)((uint32_t)sums[j] + more) * (row_scale * (double)column_scales[j * step]) + magic;
        value = value > low ? value : low;
        value = value < high ? value : high;
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        bytes[j] = (uint8_t)(bits + zero);
    }
}

static inline void ox_requantize_exactly(int64_t n, const ox_requantization *how, const ox_i32 *sums, uint8_t *bytes) {
    if (how->step)
        ox_requantize_by(n, how, 1, sums, bytes);
    else
        ox_requantize_by(n, how, 0, sums, bytes);
}

#if defined(__AVX512BW__) || defined(__AVX2__) || (defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
#define OX_SUMS_AT_ONCE (OX_DOT_BYTES)     /* four vectors of them, which become one of bytes */
#define OX_UNSURE 0x1p-13F                 /* four roundings of at most 2^8: 2^-14 */
#define OX_SURE_BITS (0x3f000000 - 0x1000) /* of 0.5 - OX_UNSURE as a float */
enum {
    OX_SUMS_LANES = OX_DOT_BYTES / 4
};

/* What becomes of sums to which `more` was added: times a factor, rounded, plus `zero`, saturated. */
typedef struct ox_quantizer {
    float scale;
    int16_t zero;
    bool is_signed, is_sure; /* whether floats will do */
    bool is_below;           /* results are far below 2^31 before they are rounded */
    ox_proven proven;        /* or else, of sums of which `less` was taken off */
} ox_quantizer;

static inline ox_quantizer ox_quantizer_of(const ox_requantization *how) {
    const float factor = (float)how->row_scale * *how->column_scales; /* as it is used: it may be NaN */
    return (ox_quantizer){(float)how->row_scale,
                          (int16_t)how->zero,
                          how->dtype == OX_INT8,
                          ox_is_float_factor(how->row_scale),
                          !how->step && factor >= -0.5F && factor <= 0.5F,
                          how->proven};
}

/* How the windows of a vector, `wide` of a row and those of the next rows, pick the taps of a word, a dilation apart,
 * out of bytes that begin with the first tap of the first window: words among four of which lie the taps of four
 * windows, then bytes of these. Rows are from_row words apart. */
typedef struct ox_picker {
    ox_dot_lanes words, bytes;
} ox_picker;

static inline ox_picker ox_picker_of(int64_t wide, int64_t from_row, int64_t stride, int64_t dilation) {
    ox_picker p;
    uint8_t bytes[OX_DOT_BYTES];
    int64_t row = 0, column = 0;
    for (int lane = 0; lane < OX_SUMS_LANES; lane++) {
        p.words[lane] = (uint32_t)(row + column / 4 * stride + lane % 4);
        if (++column == wide)
            row += from_row, column = 0;
    }
    for (int i = 0; i < OX_DOT_BYTES; i++) {
        const int64_t first = i / 4 % 4 * stride;
#if OX_DOT_VALUES == 4
        bytes[i] = (uint8_t)(first + i % 4 * dilation);
#else
        bytes[i] = (uint8_t)(i % 2 ? 0x80 : first + i % 4 / 2 * dilation); /* a zero above each byte */
#endif
    }
    memcpy(&p.bytes, bytes, sizeof bytes);
    return p;
}

#if defined(__aarch64__)
#include "requantize_neon.h"
#else
/* The first `count` words at an address, and zeros behind them, which are not read. */
static inline ox_dot_lanes ox_sums_load(const void *from, int64_t count) {
#if defined(__AVX512BW__)
    const __mmask16 inside = (__mmask16)(count >= 16 ? 0xffff : count > 0 ? (1u << count) - 1 : 0);
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
    if (count >= OX_DOT_BYTES)
        memcpy(to, &bytes, sizeof bytes);
    else
#if defined(__AVX512BW__)
        _mm512_mask_storeu_epi8(to, (1ULL << count) - 1, (__m512i)bytes);
#else
        ox_copy_run(to, (const char *)&bytes, count);
#endif
}

#if defined(__AVX512BW__)
/* The greatest distance from a whole number so far, as the bits of a float, and that of 16 results. Below 2^31, they
 * have an instruction for that; what is beyond is far from what it is rounded to. */
static inline __m512i ox_most_apart(__m512i most, __m512 exact, __m512i whole, bool is_below) {
    if (is_below)
        return _mm512_castps_si512(_mm512_range_ps(_mm512_castsi512_ps(most), _mm512_reduce_ps(exact, 0), 11));
    const __m512i apart = _mm512_castps_si512(_mm512_sub_ps(exact, _mm512_cvtepi32_ps(whole)));
    return _mm512_max_epu32(most, _mm512_and_si512(apart, _mm512_set1_epi32(INT32_MAX)));
}

static inline __attribute__((always_inline)) bool ox_quantize_some(const ox_quantizer *q, const ox_dot_lanes *sums,
                                                                   const ox_floats *scales, ox_dot_lanes *to,
                                                                   bool is_below) {
    const __m512i zero = _mm512_set1_epi16(q->zero);
    __m512i most = _mm512_setzero_si512(), whole[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; v++) {
        const __m512 exact = _mm512_mul_ps(_mm512_cvtepi32_ps((__m512i)sums[v]), (__m512)scales[v]);
        whole[v] = _mm512_cvtps_epi32(exact);
        most = ox_most_apart(most, exact, whole[v], is_below);
    }
    const __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(whole[0], whole[1]), zero),
                  high = _mm512_adds_epi16(_mm512_packs_epi32(whole[2], whole[3]), zero),
                  order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i bytes = q->is_signed ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high);
    *to = (ox_dot_lanes)_mm512_permutexvar_epi32(order, bytes);
    return !_mm512_cmpgt_epu32_mask(most, _mm512_set1_epi32(OX_SURE_BITS));
}
#endif

/* Makes OX_SUMS_AT_ONCE sums bytes, each vector times its factors; false if one of them may be another. What is not
 * finite has bits above those of all others. */
static inline bool ox_quantize_sums(const ox_quantizer *q, const ox_dot_lanes *sums, const ox_floats *scales,
                                    ox_dot_lanes *to) {
#if defined(__AVX512BW__)
    return q->is_below ? ox_quantize_some(q, sums, scales, to, true) : ox_quantize_some(q, sums, scales, to, false);
#else
    const __m256i zero = _mm256_set1_epi16(q->zero);
    __m256i most = _mm256_setzero_si256(), whole[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; v++) {
        const __m256 exact = _mm256_mul_ps(_mm256_cvtepi32_ps((__m256i)sums[v]), (__m256)scales[v]);
        whole[v] = _mm256_cvtps_epi32(exact);
        const __m256 apart = _mm256_sub_ps(exact, _mm256_cvtepi32_ps(whole[v]));
        most = _mm256_max_epu32(most, _mm256_and_si256(_mm256_castps_si256(apart), _mm256_set1_epi32(INT32_MAX)));
    }
    const __m256i low = _mm256_adds_epi16(_mm256_packs_epi32(whole[0], whole[1]), zero),
                  high = _mm256_adds_epi16(_mm256_packs_epi32(whole[2], whole[3]), zero),
                  order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i bytes = q->is_signed ? _mm256_packs_epi16(low, high) : _mm256_packus_epi16(low, high);
    *to = (ox_dot_lanes)_mm256_permutevar8x32_epi32(bytes, order);
    const __m256i above = _mm256_cmpgt_epi32(most, _mm256_set1_epi32(OX_SURE_BITS));
    return _mm256_testz_si256(above, above);
#endif
}

/* Copies bytes of which some bits are turned. */
static inline void ox_turn_bytes(uint8_t *to, const uint8_t *from, int64_t count, uint8_t flip) {
#if defined(__AVX512BW__)
    if (count <= 16) {
        const __mmask16 inside = (__mmask16)((1U << count) - 1);
        const __m128i bytes = _mm_xor_si128(_mm_maskz_loadu_epi8(inside, from), _mm_set1_epi8((char)flip));
        _mm_mask_storeu_epi8(to, inside, bytes);
        return;
    }
    if (count <= 32) {
        const __mmask32 inside = (__mmask32)((1ULL << count) - 1);
        const __m256i bytes = _mm256_xor_si256(_mm256_maskz_loadu_epi8(inside, from), _mm256_set1_epi8((char)flip));
        _mm256_mask_storeu_epi8(to, inside, bytes);
        return;
    }
    const __m512i flips = _mm512_set1_epi8((char)flip);
    for (; count > 0; count -= 64, to += 64, from += 64) {
        const __mmask64 inside = count >= 64 ? ~0ULL : (1ULL << count) - 1;
        _mm512_mask_storeu_epi8(to, inside, _mm512_xor_si512(_mm512_maskz_loadu_epi8(inside, from), flips));
    }
#else
    const __m256i flips = _mm256_set1_epi8((char)flip);
    for (; count >= 32; count -= 32, to += 32, from += 32)
        _mm256_storeu_si256((void *)to, _mm256_xor_si256(_mm256_loadu_si256((const void *)from), flips));
    if (flip)
        for (int64_t i = 0; i < count; i++)
            to[i] = (uint8_t)(from[i] ^ flip);
    else
        ox_copy_run((char *)to, (const char *)from, count);
#endif
}

#if defined(__AVX512BW__) || defined(__FMA__)
#define OX_PROVING 1
/* ox_quantize_sums by what is proven, of sums of which `less` was taken off. */
static inline ox_dot_lanes ox_quantize_proven(const ox_quantizer *q, const ox_dot_lanes *sums) {
    const ox_proven *p = &q->proven;
#if defined(__AVX512BW__)
    __m512i whole[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; v++)
        whole[v] = _mm512_cvtps_epi32(
            _mm512_fmadd_ps(_mm512_cvtepi32_ps((__m512i)sums[v]), _mm512_set1_ps(p->factor), _mm512_set1_ps(p->rest)));
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i bytes =
        _mm512_packs_epi16(_mm512_packs_epi32(whole[0], whole[1]), _mm512_packs_epi32(whole[2], whole[3]));
    const __m512i flips = _mm512_set1_epi8((char)(q->is_signed ? 0 : 0x80));
    return (ox_dot_lanes)_mm512_permutexvar_epi32(order, _mm512_xor_si512(bytes, flips));
#else
    __m256i whole[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; v++)
        whole[v] = _mm256_cvtps_epi32(
            _mm256_fmadd_ps(_mm256_cvtepi32_ps((__m256i)sums[v]), _mm256_set1_ps(p->factor), _mm256_set1_ps(p->rest)));
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i bytes =
        _mm256_packs_epi16(_mm256_packs_epi32(whole[0], whole[1]), _mm256_packs_epi32(whole[2], whole[3]));
    const __m256i flips = _mm256_set1_epi8((char)(q->is_signed ? 0 : 0x80));
    return (ox_dot_lanes)_mm256_permutevar8x32_epi32(_mm256_xor_si256(bytes, flips), order);
#endif
}
#endif

static inline ox_dot_lanes ox_pick_taps(const ox_picker *p, const void *from) {
#if defined(__AVX512BW__)
    const __m512i words = _mm512_permutexvar_epi32((__m512i)p->words, _mm512_loadu_si512(from));
    return (ox_dot_lanes)_mm512_shuffle_epi8(words, (__m512i)p->bytes);
#else
    const __m256i words = _mm256_permutevar8x32_epi32(_mm256_loadu_si256(from), (__m256i)p->words);
    return (ox_dot_lanes)_mm256_shuffle_epi8(words, (__m256i)p->bytes);
#endif
}
#endif
#ifndef OX_PROVING
#define OX_PROVING 0
static inline ox_dot_lanes ox_quantize_proven(const ox_quantizer *q, const ox_dot_lanes *sums) {
    (void)q;
    return *sums;
}
#endif

/* Whether the first `count` bytes are those that doubles give of sums of which `less` was taken off. */
static inline bool ox_are_bytes_of(const ox_requantization *how, int64_t count, const ox_dot_lanes *sums,
                                   const ox_dot_lanes *bytes) {
    ox_requantization plain = *how;
    ox_u8 right[OX_SUMS_AT_ONCE];
    plain.more = how->proven.less;
    ox_requantize_exactly(OX_SUMS_AT_ONCE, &plain, (const ox_i32 *)(const void *)sums, right);
    return !memcmp(right, bytes, (size_t)(count < OX_SUMS_AT_ONCE ? count : OX_SUMS_AT_ONCE));
}
#endif

#endif
