/* dsp.h: instructions of processors that multiply two numbers of 16 bits at a time (Cortex-M4 and the like), with the
 * same in C, by which other machines can test the loops that use them (-DOX_DSP=1). */
#ifndef OX_BARE_DSP_H
#define OX_BARE_DSP_H

#include <stdint.h>
#include <string.h>

#ifndef OX_DSP
#if defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_SIMD32)
#define OX_DSP 1
#else
#define OX_DSP 0
#endif
#endif

/* Sums wrap. */
static inline int32_t ox_plus(int32_t a, int32_t b) {
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

static inline uint32_t ox_word_at(const void *from) {
    uint32_t word;
    memcpy(&word, from, sizeof word);
    return word;
}

#if OX_DSP && defined(__ARM_FEATURE_SIMD32)
/* Bytes 0 and 2 of a word as numbers of 16 bits, and bytes 1 and 3. */
static inline uint32_t ox_even_bytes(uint32_t word) {
    return (uint32_t)__builtin_arm_sxtb16((int32_t)word);
}
static inline uint32_t ox_odd_bytes(uint32_t word) {
    uint32_t odd;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(odd) : "r"(word));
    return odd;
}
/* a - b of both halves. */
static inline uint32_t ox_less(uint32_t a, uint32_t b) {
    return (uint32_t)__builtin_arm_ssub16((int32_t)a, (int32_t)b);
}
/* The lower, or the upper, halves of two words. */
static inline uint32_t ox_bottoms(uint32_t a, uint32_t b) {
    uint32_t both;
    __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(both) : "r"(a), "r"(b));
    return both;
}
static inline uint32_t ox_tops(uint32_t a, uint32_t b) {
    uint32_t both;
    __asm__("pkhtb %0, %1, %2, asr #16" : "=r"(both) : "r"(b), "r"(a));
    return both;
}
/* sum + both products of halves; the product of the upper half of a and the lower one of b; the reverse. */
static inline int32_t ox_both(uint32_t a, uint32_t b, int32_t sum) {
    return __builtin_arm_smlad((int32_t)a, (int32_t)b, sum);
}
static inline int32_t ox_top_bottom(uint32_t a, uint32_t b, int32_t sum) {
    return __builtin_arm_smlatb((int32_t)a, (int32_t)b, sum);
}
static inline int32_t ox_saturated(int32_t value) {
    __asm__("ssat %0, #8, %1" : "=r"(value) : "r"(value));
    return value;
}
/* The lowest bytes of four numbers, in order. */
static inline uint32_t ox_four_bytes(int32_t a, int32_t b, int32_t c, int32_t d) {
    uint32_t low = (uint32_t)a, high = (uint32_t)c;
    __asm__("bfi %0, %1, #8, #8" : "+r"(low) : "r"(b));
    __asm__("bfi %0, %1, #8, #8" : "+r"(high) : "r"(d));
    return ox_bottoms(low, high);
}
#else
static inline uint32_t ox_halves(int32_t bottom, int32_t top) {
    return ((uint32_t)bottom & 0xffff) | (uint32_t)top << 16;
}
static inline int32_t ox_bottom(uint32_t word) {
    return (int16_t)word;
}
static inline int32_t ox_top(uint32_t word) {
    return (int16_t)(word >> 16);
}
static inline uint32_t ox_even_bytes(uint32_t word) {
    return ox_halves((int8_t)word, (int8_t)(word >> 16));
}
static inline uint32_t ox_odd_bytes(uint32_t word) {
    return ox_halves((int8_t)(word >> 8), (int8_t)(word >> 24));
}
static inline uint32_t ox_less(uint32_t a, uint32_t b) {
    return ox_halves(ox_bottom(a) - ox_bottom(b), ox_top(a) - ox_top(b));
}
static inline uint32_t ox_bottoms(uint32_t a, uint32_t b) {
    return ox_halves(ox_bottom(a), ox_bottom(b));
}
static inline uint32_t ox_tops(uint32_t a, uint32_t b) {
    return ox_halves(ox_top(a), ox_top(b));
}
static inline int32_t ox_both(uint32_t a, uint32_t b, int32_t sum) {
    return ox_plus(ox_plus(sum, ox_bottom(a) * ox_bottom(b)), ox_top(a) * ox_top(b));
}
static inline int32_t ox_top_bottom(uint32_t a, uint32_t b, int32_t sum) {
    return ox_plus(sum, ox_top(a) * ox_bottom(b));
}
static inline int32_t ox_saturated(int32_t value) {
    return value < -128 ? -128 : value > 127 ? 127 : value;
}
static inline uint32_t ox_four_bytes(int32_t a, int32_t b, int32_t c, int32_t d) {
    const uint8_t bytes[] = {(uint8_t)a, (uint8_t)b, (uint8_t)c, (uint8_t)d};
    return ox_word_at(bytes);
}
#endif

#endif
