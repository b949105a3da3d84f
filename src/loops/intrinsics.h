/* intrinsics.h: what C has no words for. The only place for intrinsics. */
#ifndef OX_LOOPS_INTRINSICS_H
#define OX_LOOPS_INTRINSICS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

/* Bytes of the widest vectors. */
#if defined(__AVX512F__)
#define OX_WIDEST 64
#elif defined(__AVX__)
#define OX_WIDEST 32
#else
#define OX_WIDEST 16
#endif

/* Vectors of floats of at most half a cache line, of which unaligned ones cross fewer lines, and the greater and
 * the smaller of each two; b where one is a NaN, or both are zeros. */
#if defined(__AVX__)
#define OX_REALS_BYTES 32
#else
#define OX_REALS_BYTES 16
#endif
typedef float ox_reals __attribute__((vector_size(OX_REALS_BYTES)));
static inline ox_reals ox_greatest(ox_reals a, ox_reals b) {
#if defined(__AVX__)
    return (ox_reals)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
    return (ox_reals)_mm_max_ps((__m128)a, (__m128)b);
#else
    typedef int32_t bits __attribute__((vector_size(OX_REALS_BYTES)));
    const bits greater = a > b;
    return (ox_reals)((greater & (bits)a) | (~greater & (bits)b));
#endif
}

static inline ox_reals ox_smallest(ox_reals a, ox_reals b) {
#if defined(__AVX__)
    return (ox_reals)_mm256_min_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
    return (ox_reals)_mm_min_ps((__m128)a, (__m128)b);
#else
    typedef int32_t bits __attribute__((vector_size(OX_REALS_BYTES)));
    const bits less = a < b;
    return (ox_reals)((less & (bits)a) | (~less & (bits)b));
#endif
}

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

/* Vectors of bytes of the same size, and the greater of each two. */
typedef uint8_t ox_u8s __attribute__((vector_size(OX_REALS_BYTES)));
static inline ox_u8s ox_greatest_u8(ox_u8s a, ox_u8s b) {
#if defined(__AVX2__)
    return (ox_u8s)_mm256_max_epu8((__m256i)a, (__m256i)b);
#elif defined(__SSE2__) && !defined(__AVX__)
    return (ox_u8s)_mm_max_epu8((__m128i)a, (__m128i)b);
#else
    const ox_u8s greater = (ox_u8s)(a > b);
    return (greater & a) | (~greater & b);
#endif
}

typedef int8_t ox_i8s __attribute__((vector_size(OX_REALS_BYTES)));
static inline ox_i8s ox_greatest_i8(ox_i8s a, ox_i8s b) {
#if defined(__AVX2__)
    return (ox_i8s)_mm256_max_epi8((__m256i)a, (__m256i)b);
#else
    const ox_i8s greater = a > b;
    return (greater & a) | (~greater & b);
#endif
}

/* The same of the widest vectors of floats. */
typedef float ox_floats __attribute__((vector_size(OX_WIDEST)));
#if defined(__AVX512F__)
static inline ox_floats ox_greater_floats(ox_floats a, ox_floats b) {
    return (ox_floats)_mm512_max_ps((__m512)a, (__m512)b);
}
static inline ox_floats ox_lesser_floats(ox_floats a, ox_floats b) {
    return (ox_floats)_mm512_min_ps((__m512)a, (__m512)b);
}
#elif defined(__AVX__)
static inline ox_floats ox_greater_floats(ox_floats a, ox_floats b) {
    return (ox_floats)_mm256_max_ps((__m256)a, (__m256)b);
}
static inline ox_floats ox_lesser_floats(ox_floats a, ox_floats b) {
    return (ox_floats)_mm256_min_ps((__m256)a, (__m256)b);
}
#elif defined(__SSE2__)
static inline ox_floats ox_greater_floats(ox_floats a, ox_floats b) {
    return (ox_floats)_mm_max_ps((__m128)a, (__m128)b);
}
static inline ox_floats ox_lesser_floats(ox_floats a, ox_floats b) {
    return (ox_floats)_mm_min_ps((__m128)a, (__m128)b);
}
#else
typedef int32_t ox_float_bits __attribute__((vector_size(OX_WIDEST)));
static inline ox_floats ox_choose_floats(ox_float_bits which, ox_floats yes, ox_floats no) {
    return (ox_floats)((which & (ox_float_bits)yes) | (~which & (ox_float_bits)no));
}
static inline ox_floats ox_greater_floats(ox_floats a, ox_floats b) {
    return ox_choose_floats(a > b, a, b);
}
static inline ox_floats ox_lesser_floats(ox_floats a, ox_floats b) {
    return ox_choose_floats(a < b, a, b);
}
#endif

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

#if defined(__SSE2__)
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
#endif

/* Some elements of 4 bytes or of one, and such anywhere; as many of those of two, by number. */
#define OX_SOME_OF(name, T, count)                                                                                     \
    typedef T ox_##name##_##count __attribute__((vector_size(count * sizeof(T))));                                     \
    typedef T ox_any_##name##_##count __attribute__((vector_size(count * sizeof(T)), may_alias, aligned(1)));
OX_SOME_OF(words, uint32_t, 4)
OX_SOME_OF(bytes, uint8_t, 8)
OX_SOME_OF(bytes, uint8_t, 16)
#if defined(__AVX2__)
#define OX_SHUFFLES_BYTES_32 /* by few instructions, */
OX_SOME_OF(bytes, uint8_t, 32)
#endif
#if defined(__AVX512VL__)
#define OX_SHUFFLES_WORDS_8 /* by one */
OX_SOME_OF(words, uint32_t, 8)
#endif
#if defined(__clang__)
#define OX_SHUFFLE(name, count, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define OX_SHUFFLE(name, count, a, b, ...) __builtin_shuffle(a, b, (ox_##name##_##count){__VA_ARGS__})
#endif

/* The widest vectors of 32 bits, with integers of 16 bits in them that lie packed anywhere. */
typedef uint32_t ox_words __attribute__((vector_size(OX_WIDEST)));
static inline ox_words ox_load_words(const void *from) {
#if defined(__AVX512F__)
    return (ox_words)_mm512_cvtepu16_epi32(_mm256_loadu_si256(from));
#elif defined(__AVX2__)
    return (ox_words)_mm256_cvtepu16_epi32(_mm_loadu_si128(from));
#else
    typedef uint16_t narrow __attribute__((vector_size(OX_WIDEST / 2)));
    narrow values;
    memcpy(&values, from, sizeof values);
    return __builtin_convertvector(values, ox_words);
#endif
}

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

/* Makes a compiler finish a sum of products before it goes on. gcc would first multiply for all sums, and has not so
 * many registers. */
#if defined(__AVX512F__)
#define OX_KEEP(sum) __asm__("" : "+v"(sum))
#elif defined(__SSE2__)
#define OX_KEEP(sum) __asm__("" : "+x"(sum))
#else
#define OX_KEEP(sum) (void)(sum)
#endif

/* Keeps compilers from rounding a value together with what is done next. */
#if defined(__SSE2__)
#define OX_ROUND_NOW OX_KEEP
#elif defined(__aarch64__)
#define OX_ROUND_NOW(value) __asm__("" : "+w"(value))
#else
#define OX_ROUND_NOW(value) __asm__("" : "+m"(value))
#endif

/* For each lane the float that the lowest bits of an index name. */
typedef uint32_t ox_indices __attribute__((vector_size(OX_WIDEST)));
static inline ox_floats ox_pick_floats(ox_floats from, ox_indices which) {
#if defined(__AVX512F__)
    return (ox_floats)_mm512_permutexvar_ps((__m512i)which, (__m512)from);
#elif defined(__AVX2__)
    return (ox_floats)_mm256_permutevar8x32_ps((__m256)from, (__m256i)which);
#else
    ox_floats picked = {0};
    for (int l = 0; l < OX_WIDEST / 4; l++)
        picked[l] = from[which[l] & (OX_WIDEST / 4 - 1)];
    return picked;
#endif
}

/* Lanes of 32 bits that hold OX_DOT_VALUES integers each: four bytes, or two of 16 bits where no instruction adds four
 * products of bytes without saturating. ox_dot adds, to each lane, the products of what a and b hold there; the bytes
 * of a are unsigned and those of b signed. Sums wrap. */
#if defined(__AVX512VNNI__) || defined(__AVX512BW__)
#define OX_DOT_BYTES 64
#elif defined(__AVX2__)
#define OX_DOT_BYTES 32
#else
#define OX_DOT_BYTES 16
#endif
#if defined(__AVX512VNNI__)
#define OX_DOT_VALUES 4
#else
#define OX_DOT_VALUES 2
#endif
typedef uint32_t ox_dot_lanes __attribute__((vector_size(OX_DOT_BYTES)));
static inline ox_dot_lanes ox_dot(ox_dot_lanes sum, ox_dot_lanes a, ox_dot_lanes b) {
#if defined(__AVX512VNNI__)
    return (ox_dot_lanes)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
#elif defined(__AVX512BW__)
    sum += (ox_dot_lanes)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    sum += (ox_dot_lanes)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
    sum += (ox_dot_lanes)_mm_madd_epi16((__m128i)a, (__m128i)b);
#else
    typedef int32_t lanes __attribute__((vector_size(OX_DOT_BYTES)));
    const lanes low = ((lanes)(a << 16) >> 16) * ((lanes)(b << 16) >> 16), high = ((lanes)a >> 16) * ((lanes)b >> 16);
    sum += (ox_dot_lanes)low + (ox_dot_lanes)high;
#endif
    OX_KEEP(sum);
    return sum;
}

/* The lanes of b, whose bytes lie packed anywhere. */
static inline ox_dot_lanes ox_dot_load(const void *bytes) {
#if OX_DOT_VALUES == 4
    ox_dot_lanes lanes;
    memcpy(&lanes, bytes, sizeof lanes);
    return lanes;
#elif defined(__AVX512BW__)
    return (ox_dot_lanes)_mm512_cvtepi8_epi16(_mm256_loadu_si256(bytes));
#elif defined(__AVX2__)
    return (ox_dot_lanes)_mm256_cvtepi8_epi16(_mm_loadu_si128(bytes));
#elif defined(__SSE2__)
    const __m128i values = _mm_loadl_epi64(bytes);
    return (ox_dot_lanes)_mm_srai_epi16(_mm_unpacklo_epi8(values, values), 8);
#else
    typedef int8_t narrow __attribute__((vector_size(OX_DOT_BYTES / 2)));
    typedef int16_t wide __attribute__((vector_size(OX_DOT_BYTES)));
    narrow values;
    memcpy(&values, bytes, sizeof values);
    return (ox_dot_lanes) __builtin_convertvector(values, wide);
#endif
}

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

/* So many floats are looked up in a table of OX_PLACES at a time. Only where an instruction does that: half of a table
 * at a time would be as slow as computing more. */
enum {
    OX_PLACES = 16
};
#if defined(__AVX512F__)
#define OX_LOOKUP OX_PICKED
/* x 2^n of whole numbers n, rounded once; as many. */
static inline void ox_scale(float *to, const float *x, const float *n) {
    _mm512_storeu_ps(to, _mm512_scalef_ps(_mm512_loadu_ps(x), _mm512_loadu_ps(n)));
}
#endif

/* Bytes of a cache line. */
enum {
    OX_LINE = 64
};

/* Copies the first `size` bytes of some cache lines, which are all there on one side: in `lines`. */
#if defined(__AVX512BW__)
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
#else
static inline void ox_load_first(void *lines, size_t whole, const void *from, size_t size) {
    (void)whole;
    memcpy(lines, from, size);
}
static inline void ox_store_first(void *to, size_t size, const void *lines, size_t whole) {
    (void)whole;
    memcpy(to, lines, size);
}
#endif

/* Stores a cache line past the caches; to is aligned to it. */
#if defined(__AVX__)
static inline void ox_stream_line(void *to, const void *from) {
    __m256i a = _mm256_loadu_si256(from);
    __m256i b = _mm256_loadu_si256((const __m256i *)from + 1);
    _mm256_stream_si256(to, a);
    _mm256_stream_si256((__m256i *)to + 1, b);
}
#elif defined(__SSE2__)
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
#else
static inline void ox_stream_line(void *to, const void *from) {
    memcpy(to, from, OX_LINE);
}
#endif

/* The same for whole lines. */
static inline void ox_stream_lines(void *to, const void *from, size_t size) {
    for (size_t at = 0; at < size; at += OX_LINE)
        ox_stream_line((char *)to + at, (const char *)from + at);
}

/* The same for what is in registers of the widest kind, and for what is in registers of half a cache line. */
static inline void ox_stream_halves(void *to, const void *from, size_t size) {
#if defined(__AVX__)
    for (size_t at = 0; at < size; at += OX_LINE / 2)
        _mm256_stream_si256((void *)((char *)to + at), _mm256_loadu_si256((const void *)((const char *)from + at)));
#else
    memcpy(to, from, size);
#endif
}
static inline void ox_stream_vectors(void *to, const void *from, size_t size) {
#if defined(__AVX512F__)
    for (size_t at = 0; at < size; at += OX_LINE)
        _mm512_stream_si512((void *)((char *)to + at), _mm512_loadu_si512((const char *)from + at));
#else
    ox_stream_halves(to, from, size);
#endif
}

/* Prefetches the cache line at an address, which need not be there; _far: no nearer than the second-level cache. */
#if defined(__GNUC__)
/* gcc takes a function that does nothing else for one without effect, and leaves its calls out. */
#define OX_PREFETCH(address, locality)                                                                                 \
    __builtin_prefetch((const void *)(address), 0, locality);                                                          \
    __asm__ volatile("")
#else
#define OX_PREFETCH(address, locality) (void)(address)
#endif
static inline void ox_prefetch(uintptr_t address) {
    OX_PREFETCH(address, 3);
}
static inline void ox_prefetch_far(uintptr_t address) {
    OX_PREFETCH(address, 2);
}

/* How far ahead reads are prefetched. */
enum {
    OX_SOON = 1 << 10,
    OX_LATER = 16 << 10
};

/* Prefetches what lies behind the next `size` bytes of a stream: the lines OX_SOON bytes on into the first-level cache,
 * those OX_LATER bytes on into the second-level one, because few lines can be under way to the first. */
static inline void ox_prefetch_lines(uintptr_t from, size_t size) {
    for (size_t at = 0; at < size; at += OX_LINE) {
        ox_prefetch(from + OX_SOON + at);
        ox_prefetch_far(from + OX_LATER + at);
    }
}

/* Prefetches so many bytes of each of some rows, no nearer than the second-level cache. */
static inline void ox_prefetch_rows(uintptr_t from, int64_t step, int64_t rows, int64_t bytes) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t at = 0; at < bytes; at += OX_LINE)
            ox_prefetch_far(from + (uintptr_t)(r * step + at));
}

/* vzeroupper, behind calls of functions that take vectors: avoids the transition stalls of code that uses the lower
 * halves. */
static inline void ox_vectors_end(void) {
#if defined(__AVX__)
    _mm256_zeroupper();
#endif
}

/* Makes streamed bytes visible to other threads. */
static inline void ox_stream_end(void) {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

#endif
