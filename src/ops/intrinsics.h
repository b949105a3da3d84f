/* intrinsics.h: what C has no words for. The only place for intrinsics. */
#ifndef OX_OPS_INTRINSICS_H
#define OX_OPS_INTRINSICS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#if defined(__AVX2__) || defined(__F16C__)
#include <immintrin.h>
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
#endif

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
    return sum + (ox_dot_lanes)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return sum + (ox_dot_lanes)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
    return sum + (ox_dot_lanes)_mm_madd_epi16((__m128i)a, (__m128i)b);
#else
    typedef int32_t lanes __attribute__((vector_size(OX_DOT_BYTES)));
    const lanes low = ((lanes)(a << 16) >> 16) * ((lanes)(b << 16) >> 16), high = ((lanes)a >> 16) * ((lanes)b >> 16);
    return sum + (ox_dot_lanes)low + (ox_dot_lanes)high;
#endif
}

/* Stores past the caches, for large results that are not read soon: copies size bytes; whole cache lines of dst are not
 * read into the cache first. */
static inline void ox_stream(void *dst, const void *src, size_t size) {
#if defined(__SSE2__)
    char *to = dst;
    const char *from = src;
    size_t head = (64 - (uintptr_t)to % 64) % 64;
    if (size >= 64 + head) {
        memcpy(to, from, head);
        to += head;
        from += head;
        size -= head;
        for (; size >= 64; size -= 64, to += 64, from += 64) {
            __m128i a = _mm_loadu_si128((const __m128i *)(const void *)from);
            __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(from + 16));
            __m128i c = _mm_loadu_si128((const __m128i *)(const void *)(from + 32));
            __m128i d = _mm_loadu_si128((const __m128i *)(const void *)(from + 48));
            _mm_stream_si128((__m128i *)(void *)to, a);
            _mm_stream_si128((__m128i *)(void *)(to + 16), b);
            _mm_stream_si128((__m128i *)(void *)(to + 32), c);
            _mm_stream_si128((__m128i *)(void *)(to + 48), d);
        }
    }
    memcpy(to, from, size);
#else
    memcpy(dst, src, size);
#endif
}

/* Makes streamed bytes visible to other threads. */
static inline void ox_stream_end(void) {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

#endif
