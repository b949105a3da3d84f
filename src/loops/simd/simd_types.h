/* simd_types.h: the types that the headers of processors and simd_generic.h have functions for. A header of a processor
 * says before how many bytes its registers have; others have 16. */
#ifndef OX_LOOPS_SIMD_TYPES_H
#define OX_LOOPS_SIMD_TYPES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bytes of the widest vectors. */
#ifndef OX_WIDEST
#define OX_WIDEST 16
#endif

/* Vectors of floats of at most half a cache line, of which unaligned ones cross fewer lines; vectors of bytes of the
 * same size. */
#ifndef OX_REALS_BYTES
#define OX_REALS_BYTES 16
#endif
typedef float ox_reals __attribute__((vector_size(OX_REALS_BYTES)));
typedef uint8_t ox_u8s __attribute__((vector_size(OX_REALS_BYTES)));
typedef int8_t ox_i8s __attribute__((vector_size(OX_REALS_BYTES)));

/* The widest vectors of floats, of 32 bits, and of indices of floats. */
typedef float ox_floats __attribute__((vector_size(OX_WIDEST)));
typedef uint32_t ox_words __attribute__((vector_size(OX_WIDEST)));
typedef uint32_t ox_indices __attribute__((vector_size(OX_WIDEST)));

/* Lanes of 32 bits that hold OX_DOT_VALUES integers each: four bytes, or two of 16 bits where no instruction adds four
 * products of bytes without saturating. */
#ifndef OX_DOT_BYTES
#define OX_DOT_BYTES 16
#endif
#ifndef OX_DOT_VALUES
#define OX_DOT_VALUES 2
#endif
typedef uint32_t ox_dot_lanes __attribute__((vector_size(OX_DOT_BYTES)));

/* Some elements of 4 bytes or of one, and such anywhere; as many of those of two, by number. */
#define OX_SOME_OF(name, T, count)                                                                                     \
    typedef T ox_##name##_##count __attribute__((vector_size(count * sizeof(T))));                                     \
    typedef T ox_any_##name##_##count __attribute__((vector_size(count * sizeof(T)), may_alias, aligned(1)));
OX_SOME_OF(words, uint32_t, 4)
OX_SOME_OF(bytes, uint8_t, 8)
OX_SOME_OF(bytes, uint8_t, 16)
#ifdef OX_SHUFFLES_BYTES_32
OX_SOME_OF(bytes, uint8_t, 32)
#endif
#ifdef OX_SHUFFLES_WORDS_8
OX_SOME_OF(words, uint32_t, 8)
#endif
#if defined(__clang__)
#define OX_SHUFFLE(name, count, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define OX_SHUFFLE(name, count, a, b, ...) __builtin_shuffle(a, b, (ox_##name##_##count){__VA_ARGS__})
#endif

/* Before a loop of a constant number of turns, at most 24: what it works on stays in registers. */
#if defined(__clang__) && OX_ASSERTIONS /* with sanitizers it would take clang too long */
#define OX_UNROLLED
#elif defined(__clang__)
#define OX_UNROLLED _Pragma("clang loop unroll(full)")
#else
#define OX_UNROLLED _Pragma("GCC unroll 24")
#endif

/* Bytes of a cache line. */
enum {
    OX_LINE = 64
};

#endif
