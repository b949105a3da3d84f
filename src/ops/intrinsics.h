/* intrinsics.h: what C has no words for. The only place for intrinsics. */
#ifndef OX_OPS_INTRINSICS_H
#define OX_OPS_INTRINSICS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#if defined(__F16C__)
#include <immintrin.h>

/* float16 to float and back, rounding to nearest even; this many at a time. */
#define OX_HALF_VECTOR 8
static inline void ox_widen_vector(void *to, const void *from) {
    _mm256_storeu_ps(to, _mm256_cvtph_ps(_mm_loadu_si128(from)));
}
static inline void ox_narrow_vector(void *to, const void *from) {
    _mm_storeu_si128(to, _mm256_cvtps_ph(_mm256_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
#endif

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
