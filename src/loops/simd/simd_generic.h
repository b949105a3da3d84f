/* simd_generic.h: the names of intrinsics.h in C with the compilers' vectors, but for those that the processor's header
 * has: it defines a macro of the same name for each of its functions. */
#ifndef OX_LOOPS_SIMD_GENERIC_H
#define OX_LOOPS_SIMD_GENERIC_H

#include "simd_types.h"

/* Vectors of a and b, by masks of whole elements. */
#define OX_CHOOSE(bits, which, a, b) (((bits)(which) & (bits)(a)) | (~(bits)(which) & (bits)(b)))

/* The greater and the smaller of each two floats; b where one is a NaN, or both are zeros. */
#ifndef ox_greatest
typedef int32_t ox_reals_bits __attribute__((vector_size(OX_REALS_BYTES)));
static inline ox_reals ox_greatest(ox_reals a, ox_reals b) {
    return (ox_reals)OX_CHOOSE(ox_reals_bits, a > b, a, b);
}
static inline ox_reals ox_smallest(ox_reals a, ox_reals b) {
    return (ox_reals)OX_CHOOSE(ox_reals_bits, a < b, a, b);
}
#endif

/* The greater of each two bytes. */
#ifndef ox_greatest_u8
static inline ox_u8s ox_greatest_u8(ox_u8s a, ox_u8s b) {
    return OX_CHOOSE(ox_u8s, a > b, a, b);
}
#endif
#ifndef ox_greatest_i8
static inline ox_i8s ox_greatest_i8(ox_i8s a, ox_i8s b) {
    return OX_CHOOSE(ox_i8s, a > b, a, b);
}
#endif

/* The greater and the smaller of each two of the widest vectors of floats, as above. */
#ifndef ox_greater_floats
typedef int32_t ox_float_bits __attribute__((vector_size(OX_WIDEST)));
static inline ox_floats ox_greater_floats(ox_floats a, ox_floats b) {
    return (ox_floats)OX_CHOOSE(ox_float_bits, a > b, a, b);
}
static inline ox_floats ox_lesser_floats(ox_floats a, ox_floats b) {
    return (ox_floats)OX_CHOOSE(ox_float_bits, a < b, a, b);
}
#endif

/* Integers of 16 bits that lie packed anywhere, as the widest vectors of 32 bits. */
#ifndef ox_load_words
static inline ox_words ox_load_words(const void *from) {
    typedef uint16_t narrow __attribute__((vector_size(OX_WIDEST / 2)));
    narrow values;
    memcpy(&values, from, sizeof values);
    return __builtin_convertvector(values, ox_words);
}
#endif

/* Makes a compiler finish a sum of products before it goes on. gcc would first multiply for all sums, and has not so
 * many registers. */
#ifndef OX_KEEP
#define OX_KEEP(sum) (void)(sum)
#endif

/* Keeps compilers from rounding a value together with what is done next. */
#ifndef OX_ROUND_NOW
#define OX_ROUND_NOW(value) __asm__("" : "+m"(value))
#endif

/* For each lane the float that the lowest bits of an index name. */
#ifndef ox_pick_floats
static inline ox_floats ox_pick_floats(ox_floats from, ox_indices which) {
    ox_floats picked = {0};
    for (int l = 0; l < OX_WIDEST / 4; l++)
        picked[l] = from[which[l] & (OX_WIDEST / 4 - 1)];
    return picked;
}
#endif

/* 16 bytes of as many rows as vectors hold, which are `apart` bytes apart. */
#ifndef ox_load_apart
static inline ox_words ox_load_apart(const char *first, int64_t apart) {
    ox_words rows;
    for (int i = 0; i < OX_WIDEST / 16; i++)
        memcpy((char *)&rows + i * 16, first + i * apart, 16);
    return rows;
}
#endif

/* Transposes the words in each 16 bytes of four vectors. */
#ifndef ox_turn_words
static inline void ox_turn_words(ox_words *rows) {
    uint32_t from[4][OX_WIDEST / 4], to[4][OX_WIDEST / 4];
    memcpy(from, rows, sizeof from);
    for (int i = 0; i < 4; i++)
        for (int l = 0; l < OX_WIDEST / 4; l++)
            to[i][l] = from[l % 4][l / 4 * 4 + i];
    memcpy(rows, to, sizeof to);
}
#endif

/* Adds, to each lane, the products of what a and b hold there; bytes of a are unsigned and those of b signed. Sums
 * wrap. */
#ifndef ox_dot
static inline ox_dot_lanes ox_dot(ox_dot_lanes sum, ox_dot_lanes a, ox_dot_lanes b) {
    typedef int32_t lanes __attribute__((vector_size(OX_DOT_BYTES)));
    const lanes low = ((lanes)(a << 16) >> 16) * ((lanes)(b << 16) >> 16), high = ((lanes)a >> 16) * ((lanes)b >> 16);
    sum += (ox_dot_lanes)low + (ox_dot_lanes)high;
    OX_KEEP(sum);
    return sum;
}
#endif

/* The lanes of b, whose bytes lie packed anywhere. */
#ifndef ox_dot_load
static inline ox_dot_lanes ox_dot_load(const void *bytes) {
#if OX_DOT_VALUES == 4
    ox_dot_lanes lanes;
    memcpy(&lanes, bytes, sizeof lanes);
    return lanes;
#else
    typedef int8_t narrow __attribute__((vector_size(OX_DOT_BYTES / 2)));
    typedef int16_t wide __attribute__((vector_size(OX_DOT_BYTES)));
    narrow values;
    memcpy(&values, bytes, sizeof values);
    return (ox_dot_lanes) __builtin_convertvector(values, wide);
#endif
}
#endif

/* Copies the first `size` bytes of some cache lines, which are all there on one side: in `lines`. */
#ifndef ox_load_first
static inline void ox_load_first(void *lines, size_t whole, const void *from, size_t size) {
    (void)whole;
    memcpy(lines, from, size);
}
static inline void ox_store_first(void *to, size_t size, const void *lines, size_t whole) {
    (void)whole;
    memcpy(to, lines, size);
}
#endif

/* Stores past the caches, from registers: a cache line, to where `to` is aligned to it; whole lines from registers of
 * half a line (_halves) and of the widest kind (_vectors). */
#ifndef ox_stream_line
static inline void ox_stream_line(void *to, const void *from) {
    memcpy(to, from, OX_LINE);
}
#endif
#ifndef ox_stream_halves
static inline void ox_stream_halves(void *to, const void *from, size_t size) {
    memcpy(to, from, size);
}
#endif
#ifndef ox_stream_vectors
static inline void ox_stream_vectors(void *to, const void *from, size_t size) {
    ox_stream_halves(to, from, size);
}
#endif

/* vzeroupper, behind calls of functions that take vectors: avoids the transition stalls of code that uses the lower
 * halves. */
#ifndef ox_vectors_end
static inline void ox_vectors_end(void) {}
#endif

/* Makes streamed bytes visible to other threads. */
#ifndef ox_stream_end
static inline void ox_stream_end(void) {}
#endif

#endif
