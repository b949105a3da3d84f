/* simd_x86.h: what SSE2, AVX, AVX2 and AVX-512 have of the names in intrinsics.h. */
#ifndef OX_LOOPS_SIMD_X86_H
#define OX_LOOPS_SIMD_X86_H

#if defined(__AVX__)
#include "simd_x86_header.h"
#else
#include <emmintrin.h>
#endif

#if defined(__AVX512F__)
#define OX_WIDEST 64
#elif defined(__AVX__)
#define OX_WIDEST 32
#endif
#if defined(__AVX__)
#define OX_REALS_BYTES 32
#endif
#if defined(__AVX512VNNI__) || defined(__AVX512BW__)
#define OX_DOT_BYTES 64
#elif defined(__AVX2__)
#define OX_DOT_BYTES 32
#endif
#if defined(__AVX512VNNI__)
#define OX_DOT_VALUES 4
#endif
#if defined(__AVX2__)
#define OX_SHUFFLES_BYTES_32 /* by few instructions, */
#endif
#if defined(__AVX512VL__)
#define OX_SHUFFLES_WORDS_8 /* by one */
#endif
#include "simd_types.h"

/* ---- The greater and the smaller of each two ------------------------------------------------------------------- */

#define ox_greatest ox_greatest
static inline ox_reals ox_greatest(ox_reals a, ox_reals b) {
#if defined(__AVX__)
    return (ox_reals)_mm256_max_ps((__m256)a, (__m256)b);
#else
    return (ox_reals)_mm_max_ps((__m128)a, (__m128)b);
#endif
}

#define ox_smallest ox_smallest
static inline ox_reals ox_smallest(ox_reals a, ox_reals b) {
#if defined(__AVX__)
    return (ox_reals)_mm256_min_ps((__m256)a, (__m256)b);
#else
    return (ox_reals)_mm_min_ps((__m128)a, (__m128)b);
#endif
}

#if defined(__AVX2__) || !defined(__AVX__)
#define ox_greatest_u8 ox_greatest_u8
static inline ox_u8s ox_greatest_u8(ox_u8s a, ox_u8s b) {
#if defined(__AVX2__)
    return (ox_u8s)_mm256_max_epu8((__m256i)a, (__m256i)b);
#else
    return (ox_u8s)_mm_max_epu8((__m128i)a, (__m128i)b);
#endif
}
#endif

#if defined(__AVX2__)
#define ox_greatest_i8 ox_greatest_i8
static inline ox_i8s ox_greatest_i8(ox_i8s a, ox_i8s b) {
    return (ox_i8s)_mm256_max_epi8((__m256i)a, (__m256i)b);
}
#endif

#define ox_greater_floats ox_greater_floats
static inline ox_floats ox_greater_floats(ox_floats a, ox_floats b) {
#if defined(__AVX512F__)
    return (ox_floats)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX__)
    return (ox_floats)_mm256_max_ps((__m256)a, (__m256)b);
#else
    return (ox_floats)_mm_max_ps((__m128)a, (__m128)b);
#endif
}

#define ox_lesser_floats ox_lesser_floats
static inline ox_floats ox_lesser_floats(ox_floats a, ox_floats b) {
#if defined(__AVX512F__)
    return (ox_floats)_mm512_min_ps((__m512)a, (__m512)b);
#elif defined(__AVX__)
    return (ox_floats)_mm256_min_ps((__m256)a, (__m256)b);
#else
    return (ox_floats)_mm_min_ps((__m128)a, (__m128)b);
#endif
}

/* ---- Rows of which a part is there ----------------------------------------------------------------------------- */

/* Which of 32 elements of a row from element `at` on lie within [0, size), a bit each; and those of the first elements
 * at an address of which the bit is set, the others being zeros that are not read. */
#if defined(__AVX512VL__)
static inline uint32_t ox_reals_within(int64_t at, int64_t size) {
    const uint32_t behind = size - at >= 32 ? ~0u : size > at ? (1u << (size - at)) - 1 : 0;
    return at >= 0 ? behind : at > -32 ? behind & ~0u << -at : 0;
}
static inline ox_reals ox_load_within(uint32_t within, const float *from) {
    return (ox_reals)_mm256_maskz_loadu_ps((__mmask8)within, from);
}
#endif

/* ---- Conversions ------------------------------------------------------------------------------------------------ */

#if defined(__F16C__)
/* float16 to float and back, rounding to nearest even; this many at a time. */
#define OX_HALF_VECTOR 8
static inline void ox_widen_vector(void *to, const void *from) {
    _mm256_storeu_ps(to, _mm256_cvtph_ps(_mm_loadu_si128(from)));
}
static inline void ox_narrow_vector(void *to, const void *from) {
    _mm_storeu_si128(to, _mm256_cvtps_ph(_mm256_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
/* Past the caches; to is aligned. */
static inline void ox_narrow_past(void *to, const void *from) {
    _mm_stream_si128(to, _mm256_cvtps_ph(_mm256_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
/* The same for OX_HALF_WIDEST of them. */
#if defined(__AVX512F__)
#define OX_HALF_WIDEST 16
static inline void ox_widen_widest(void *to, const void *from) {
    _mm512_storeu_ps(to, _mm512_cvtph_ps(_mm256_loadu_si256(from)));
}
static inline void ox_narrow_widest(void *to, const void *from) {
    _mm256_storeu_si256(to, _mm512_cvtps_ph(_mm512_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
#else
#define OX_HALF_WIDEST OX_HALF_VECTOR
#define ox_widen_widest ox_widen_vector
#define ox_narrow_widest ox_narrow_vector
#endif
#endif

/* This many floats, cut towards zero, as integers of 32 bits or their lower bits; those of what is beyond 32 bits, and
 * of NaN, are the lowest integer's. */
#define OX_CUT_VECTOR 16
#if defined(__AVX512F__)
static inline void ox_cut_32(void *to, const void *from) {
    _mm512_storeu_si512(to, _mm512_cvttps_epi32(_mm512_loadu_ps(from)));
}
static inline void ox_cut_16(void *to, const void *from) {
    _mm256_storeu_si256(to, _mm512_cvtepi32_epi16(_mm512_cvttps_epi32(_mm512_loadu_ps(from))));
}
static inline void ox_cut_8(void *to, const void *from) {
    _mm_storeu_si128(to, _mm512_cvtepi32_epi8(_mm512_cvttps_epi32(_mm512_loadu_ps(from))));
}
#if defined(__AVX512DQ__)
/* The same as integers of 64 bits. */
#define OX_CUT_64
static inline void ox_cut_64(void *to, const void *from) {
    for (int i = 0; i < 2; i++)
        _mm512_storeu_si512((__m512i *)to + i, _mm512_cvttps_epi64(_mm256_loadu_ps((const float *)from + 8 * i)));
}
#endif
#else
static inline __m128i ox_cut_part(const void *from, int part) {
    return _mm_cvttps_epi32(_mm_loadu_ps((const float *)from + 4 * part));
}
static inline void ox_cut_32(void *to, const void *from) {
    for (int i = 0; i < 4; i++)
        _mm_storeu_si128((__m128i *)to + i, ox_cut_part(from, i));
}
/* Packing saturates: it takes numbers that fit. */
static inline __m128i ox_cut_pair(const void *from, int part) {
#if defined(__AVX__)
    const __m128i low = _mm_set1_epi32(0xffff);
    return _mm_packus_epi32(ox_cut_part(from, part) & low, ox_cut_part(from, part + 1) & low);
#else
    const __m128i low = _mm_srai_epi32(_mm_slli_epi32(ox_cut_part(from, part), 16), 16);
    return _mm_packs_epi32(low, _mm_srai_epi32(_mm_slli_epi32(ox_cut_part(from, part + 1), 16), 16));
#endif
}
static inline void ox_cut_16(void *to, const void *from) {
    for (int i = 0; i < 2; i++)
        _mm_storeu_si128((__m128i *)to + i, ox_cut_pair(from, 2 * i));
}
static inline void ox_cut_8(void *to, const void *from) {
    const __m128i byte = _mm_set1_epi32(0xff);
    const __m128i low = _mm_packs_epi32(ox_cut_part(from, 0) & byte, ox_cut_part(from, 1) & byte);
    const __m128i high = _mm_packs_epi32(ox_cut_part(from, 2) & byte, ox_cut_part(from, 3) & byte);
    _mm_storeu_si128(to, _mm_packus_epi16(low, high));
}
#endif

#if defined(__AVX2__)
#define ox_load_words ox_load_words
static inline ox_words ox_load_words(const void *from) {
#if defined(__AVX512F__)
    return (ox_words)_mm512_cvtepu16_epi32(_mm256_loadu_si256(from));
#else
    return (ox_words)_mm256_cvtepu16_epi32(_mm_loadu_si128(from));
#endif
}
#endif

/* ---- Transposing and picking ---------------------------------------------------------------------------------- */

/* Two rows of 16 bytes in one vector; the lower and the upper halves of the rows of a and b, element by element in
 * turn, by the bits of an element. */
#if defined(__AVX2__)
typedef __m256i ox_row_pair;
#define OX_PAIR_LOAD(bits, first, second)                                                                              \
    _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const void *)(first))),                            \
                            _mm_loadu_si128((const void *)(second)), 1)
#define OX_PAIR_STORE(bits, to, pair) _mm256_storeu_si256((void *)(to), pair)
#define OX_PAIR_LOWER(bits, a, b) _mm256_unpacklo_epi##bits(a, b)
#define OX_PAIR_UPPER(bits, a, b) _mm256_unpackhi_epi##bits(a, b)
#endif

#if defined(__AVX2__)
#define ox_pick_floats ox_pick_floats
static inline ox_floats ox_pick_floats(ox_floats from, ox_indices which) {
#if defined(__AVX512F__)
    return (ox_floats)_mm512_permutexvar_ps((__m512i)which, (__m512)from);
#else
    return (ox_floats)_mm256_permutevar8x32_ps((__m256)from, (__m256i)which);
#endif
}
#endif

/* OX_PICKED elements of 4 bytes, each from one of as many places, which the lowest bits of `at` say; and the
 * first `count` of such places, behind which nothing is read. */
#if defined(__AVX512F__)
#define OX_PICKED 16
static inline void ox_pick(void *to, const void *from, const uint32_t *at) {
    _mm512_storeu_si512(to, _mm512_permutexvar_epi32(_mm512_loadu_si512(at), _mm512_loadu_si512(from)));
}
static inline void ox_first_places(void *to, const void *from, unsigned count) {
    _mm512_storeu_si512(to, _mm512_maskz_loadu_epi32((__mmask16)((1u << count) - 1), from));
}
#elif defined(__AVX2__)
#define OX_PICKED 8
static inline void ox_pick(void *to, const void *from, const uint32_t *at) {
    _mm256_storeu_si256(to,
                        _mm256_permutevar8x32_epi32(_mm256_loadu_si256(from), _mm256_loadu_si256((const void *)at)));
}
static inline void ox_first_places(void *to, const void *from, unsigned count) {
    const __m256i is_first =
        _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    _mm256_storeu_si256(to, _mm256_maskload_epi32(from, is_first));
}
#endif

#if defined(__AVX512F__)
#define ox_load_apart ox_load_apart
static inline ox_words ox_load_apart(const char *first, int64_t apart) {
    __m512i rows = _mm512_castsi128_si512(_mm_loadu_si128((const void *)first));
    rows = _mm512_inserti32x4(rows, _mm_loadu_si128((const void *)(first + apart)), 1);
    rows = _mm512_inserti32x4(rows, _mm_loadu_si128((const void *)(first + 2 * apart)), 2);
    return (ox_words)_mm512_inserti32x4(rows, _mm_loadu_si128((const void *)(first + 3 * apart)), 3);
}
#define ox_turn_words ox_turn_words
static inline void ox_turn_words(ox_words *rows) {
    const __m512i a = (__m512i)rows[0], b = (__m512i)rows[1], c = (__m512i)rows[2], d = (__m512i)rows[3];
    const __m512i low = _mm512_unpacklo_epi32(a, b), high = _mm512_unpackhi_epi32(a, b);
    const __m512i lower = _mm512_unpacklo_epi32(c, d), higher = _mm512_unpackhi_epi32(c, d);
    rows[0] = (ox_words)_mm512_unpacklo_epi64(low, lower);
    rows[1] = (ox_words)_mm512_unpackhi_epi64(low, lower);
    rows[2] = (ox_words)_mm512_unpacklo_epi64(high, higher);
    rows[3] = (ox_words)_mm512_unpackhi_epi64(high, higher);
}
#endif

#if defined(__AVX512F__)
#define OX_LOOKUP OX_PICKED
/* x 2^n of whole numbers n, rounded once; as many. */
static inline void ox_scale(float *to, const float *x, const float *n) {
    _mm512_storeu_ps(to, _mm512_scalef_ps(_mm512_loadu_ps(x), _mm512_loadu_ps(n)));
}
#endif

/* ---- Sums of products ------------------------------------------------------------------------------------------ */

#if defined(__AVX512F__)
#define OX_KEEP(sum) __asm__("" : "+v"(sum))
#else
#define OX_KEEP(sum) __asm__("" : "+x"(sum))
#endif
#define OX_ROUND_NOW OX_KEEP

#define ox_dot ox_dot
static inline ox_dot_lanes ox_dot(ox_dot_lanes sum, ox_dot_lanes a, ox_dot_lanes b) {
#if defined(__AVX512VNNI__)
    return (ox_dot_lanes)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
#elif defined(__AVX512BW__)
    sum += (ox_dot_lanes)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    sum += (ox_dot_lanes)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#else
    sum += (ox_dot_lanes)_mm_madd_epi16((__m128i)a, (__m128i)b);
#endif
    OX_KEEP(sum);
    return sum;
}

#if OX_DOT_VALUES == 2
#define ox_dot_load ox_dot_load
static inline ox_dot_lanes ox_dot_load(const void *bytes) {
#if defined(__AVX512BW__)
    return (ox_dot_lanes)_mm512_cvtepi8_epi16(_mm256_loadu_si256(bytes));
#elif defined(__AVX2__)
    return (ox_dot_lanes)_mm256_cvtepi8_epi16(_mm_loadu_si128(bytes));
#else
    const __m128i values = _mm_loadl_epi64(bytes);
    return (ox_dot_lanes)_mm_srai_epi16(_mm_unpacklo_epi8(values, values), 8);
#endif
}
#endif

/* Lanes of which the bit is set as they lie in memory, the others as in `rest`; memory of these is not read. */
#if defined(__AVX512VNNI__)
#define OX_DOT_PLACES
static inline ox_dot_lanes ox_dot_load_within(ox_dot_lanes rest, uint64_t within, uintptr_t from) {
    return (ox_dot_lanes)_mm512_mask_loadu_epi32((__m512i)rest, (__mmask16)within, (const void *)from);
}
#endif

/* Bytes that lie in one or two registers, those outside of them being `fill`, with some bits turned; and 64 of them,
 * each by its number. */
#if defined(__AVX512VNNI__)
#define OX_PICKING __attribute__((target("avx512vbmi")))
typedef struct ox_seen {
    __m512i first, second;
} ox_seen;
OX_PICKING static inline ox_seen ox_see(const uint8_t *from, const uint64_t *inside, bool is_one, uint8_t fill,
                                        uint8_t flip) {
    const __m512i fills = _mm512_set1_epi8((char)(fill ^ flip)), flips = _mm512_set1_epi8((char)flip);
    ox_seen s = {_mm512_xor_si512(_mm512_mask_loadu_epi8(fills, inside[0], from), flips), flips};
    if (!is_one)
        s.second = _mm512_xor_si512(_mm512_mask_loadu_epi8(fills, inside[1], from + 64), flips);
    return s;
}
OX_PICKING static inline ox_dot_lanes ox_pick_seen(const ox_seen *s, bool is_one, const uint8_t *places) {
    const __m512i at = _mm512_loadu_si512(places);
    return (ox_dot_lanes)(is_one ? _mm512_permutexvar_epi8(at, s->first)
                                 : _mm512_permutex2var_epi8(s->first, at, s->second));
}
#endif

/* OX_WOVEN words, each of a byte of four rows: the bytes of the first row are the lowest. */
#if defined(__AVX512VNNI__)
#define OX_WOVEN 16
static inline void ox_weave(void *to, const void *first, const void *second, const void *third, const void *fourth) {
    const __m128i order = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i words = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i rows = _mm512_castsi128_si512(_mm_loadu_si128(first));
    rows = _mm512_inserti32x4(rows, _mm_loadu_si128(second), 1);
    rows = _mm512_inserti32x4(rows, _mm_loadu_si128(third), 2);
    rows = _mm512_inserti32x4(rows, _mm_loadu_si128(fourth), 3);
    rows = _mm512_shuffle_epi8(_mm512_permutexvar_epi32(words, rows), _mm512_broadcast_i32x4(order));
    _mm512_storeu_si512(to, rows);
}
#endif

/* ---- Parts of cache lines, and stores past the caches ------------------------------------------------------------ */

#if defined(__AVX512BW__)
#define ox_load_first ox_load_first
#define ox_store_first ox_store_first
#define OX_FIRST_BYTES(size, at)                                                                                       \
    _bzhi_u64(~0ull, (size) < (at) ? 0 : (size) - (at) < OX_LINE ? (unsigned)((size) - (at)) : OX_LINE)
static inline void ox_load_first(void *lines, size_t whole, const void *from, size_t size) {
    for (size_t at = 0; at < whole; at += OX_LINE) {
        const __m512i rest = _mm512_loadu_si512((char *)lines + at);
        _mm512_storeu_si512((char *)lines + at,
                            _mm512_mask_loadu_epi8(rest, OX_FIRST_BYTES(size, at), (const char *)from + at));
    }
}
static inline void ox_store_first(void *to, size_t size, const void *lines, size_t whole) {
    for (size_t at = 0; at < whole; at += OX_LINE)
        _mm512_mask_storeu_epi8((char *)to + at, OX_FIRST_BYTES(size, at),
                                _mm512_loadu_si512((const char *)lines + at));
}
#endif

#define ox_stream_line ox_stream_line
#if defined(__AVX__)
static inline void ox_stream_line(void *to, const void *from) {
    __m256i a = _mm256_loadu_si256(from);
    __m256i b = _mm256_loadu_si256((const __m256i *)from + 1);
    _mm256_stream_si256(to, a);
    _mm256_stream_si256((__m256i *)to + 1, b);
}
#else
static inline void ox_stream_line(void *to, const void *from) {
    const __m128i *in = from;
    __m128i *out = to;
    __m128i a = _mm_loadu_si128(in), b = _mm_loadu_si128(in + 1);
    __m128i c = _mm_loadu_si128(in + 2), d = _mm_loadu_si128(in + 3);
    _mm_stream_si128(out, a);
    _mm_stream_si128(out + 1, b);
    _mm_stream_si128(out + 2, c);
    _mm_stream_si128(out + 3, d);
}
#endif

#if defined(__AVX__)
#define ox_stream_halves ox_stream_halves
static inline void ox_stream_halves(void *to, const void *from, size_t size) {
    for (size_t at = 0; at < size; at += OX_LINE / 2)
        _mm256_stream_si256((void *)((char *)to + at), _mm256_loadu_si256((const void *)((const char *)from + at)));
}
#endif

#if defined(__AVX512F__)
#define ox_stream_vectors ox_stream_vectors
static inline void ox_stream_vectors(void *to, const void *from, size_t size) {
    for (size_t at = 0; at < size; at += OX_LINE)
        _mm512_stream_si512((void *)((char *)to + at), _mm512_loadu_si512((const char *)from + at));
}
#endif

#if defined(__AVX__)
#define ox_vectors_end ox_vectors_end
static inline void ox_vectors_end(void) {
    _mm256_zeroupper();
}
#endif

#define ox_stream_end ox_stream_end
static inline void ox_stream_end(void) {
    _mm_sfence();
}

/* OX_BYTES_LOOKED_UP bytes at a time: for each the entry of a table of 256 that it names. Instructions pick from 16
 * entries, and give 0 where a byte is negative: of part after part of a table, each xored with the one before, all that
 * a byte reaches before it becomes negative add up to its entry. The other half of the table is for negative bytes. */
#define OX_EIGHT_TIMES _Pragma("GCC unroll 8") for (int k = 0; k < 8; k++)
#if defined(__AVX512BW__)
#define OX_BYTES_LOOKED_UP 64
typedef struct ox_byte_parts {
    __m512i parts[16];
} ox_byte_parts;
static inline void ox_byte_part(ox_byte_parts *p, int k, __m128i part) {
    p->parts[k] = _mm512_broadcast_i32x4(part);
}
static inline void ox_look_up(const ox_byte_parts *p, const void *from, void *to) {
    const __m512i step = _mm512_set1_epi8(16);
    __m512i low = _mm512_loadu_si512(from), high = _mm512_xor_si512(low, _mm512_set1_epi8(-128)),
            found = _mm512_setzero_si512();
    OX_EIGHT_TIMES {
        found = _mm512_xor_si512(
            found, _mm512_xor_si512(_mm512_shuffle_epi8(p->parts[k], low), _mm512_shuffle_epi8(p->parts[k + 8], high)));
        low = _mm512_subs_epi8(low, step);
        high = _mm512_subs_epi8(high, step);
    }
    _mm512_storeu_si512(to, found);
}

/* All n bytes, a multiple of 64, where an instruction picks from 128 entries. */
#define OX_BYTES_LOOKED_UP_WIDE 64
__attribute__((target("avx512vbmi"))) static inline void ox_look_up_wide(const void *table, int64_t n, const char *from,
                                                                         char *to) {
    const __m512i first = _mm512_loadu_si512(table), second = _mm512_loadu_si512((const char *)table + 64),
                  third = _mm512_loadu_si512((const char *)table + 128),
                  fourth = _mm512_loadu_si512((const char *)table + 192);
    for (int64_t i = 0; i < n; i += OX_BYTES_LOOKED_UP_WIDE) {
        const __m512i x = _mm512_loadu_si512(from + i);
        const __m512i low = _mm512_permutex2var_epi8(first, x, second),
                      high = _mm512_permutex2var_epi8(third, x, fourth);
        _mm512_storeu_si512(to + i, _mm512_mask_blend_epi8(_mm512_movepi8_mask(x), low, high));
    }
}
#elif defined(__AVX2__)
#define OX_BYTES_LOOKED_UP 32
typedef struct ox_byte_parts {
    __m256i parts[16];
} ox_byte_parts;
static inline void ox_byte_part(ox_byte_parts *p, int k, __m128i part) {
    p->parts[k] = _mm256_broadcastsi128_si256(part);
}
static inline void ox_look_up(const ox_byte_parts *p, const void *from, void *to) {
    const __m256i step = _mm256_set1_epi8(16);
    __m256i low = _mm256_loadu_si256(from), high = _mm256_xor_si256(low, _mm256_set1_epi8(-128)),
            found = _mm256_setzero_si256();
    OX_EIGHT_TIMES {
        found = _mm256_xor_si256(
            found, _mm256_xor_si256(_mm256_shuffle_epi8(p->parts[k], low), _mm256_shuffle_epi8(p->parts[k + 8], high)));
        low = _mm256_subs_epi8(low, step);
        high = _mm256_subs_epi8(high, step);
    }
    _mm256_storeu_si256(to, found);
}
#endif
#ifdef OX_BYTES_LOOKED_UP
static inline void ox_byte_parts_read(ox_byte_parts *p, const void *table) {
    for (int k = 0; k < 16; k++) {
        const __m128i *at = (const __m128i *)table + k;
        const __m128i part = _mm_loadu_si128(at);
        ox_byte_part(p, k, k % 8 ? _mm_xor_si128(part, _mm_loadu_si128(at - 1)) : part);
    }
}
#endif

#endif
