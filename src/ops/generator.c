/* generator.c: the Mersenne Twister, and numbers made of its words as numpy's RandomState does. */
#include "generator.h"

#include <math.h>

#include "half.h"
#include "host.h"

enum {
    WORDS = OX_TWISTER_WORDS,
    DISTANCE = 397 /* to the word that joins the next one */
};

static void set_seed(ox_generator *g, uint32_t seed) {
    for (uint32_t i = 0; i < WORDS; i++) {
        g->word[i] = seed;
        seed = 1812433253u * (seed ^ seed >> 30) + i + 1;
    }
    g->next = WORDS;
    g->has_spare = false;
}

/* What becomes of a word, by the one behind it and the one that joins it. */
static uint32_t twisted(uint32_t word, uint32_t next, uint32_t joining) {
    const uint32_t bits = (word & 0x80000000u) | (next & 0x7fffffffu);
    return joining ^ bits >> 1 ^ ((0 - (bits & 1)) & 0x9908b0dfu);
}

/* The next WORDS words. */
static void twist(ox_generator *g) {
    uint32_t *word = g->word;
    for (int i = 0; i < WORDS - DISTANCE; i++)
        word[i] = twisted(word[i], word[i + 1], word[i + DISTANCE]);
    for (int i = WORDS - DISTANCE; i < WORDS - 1; i++)
        word[i] = twisted(word[i], word[i + 1], word[i + DISTANCE - WORDS]);
    word[WORDS - 1] = twisted(word[WORDS - 1], word[0], word[DISTANCE - 1]);
    g->next = 0;
}

static uint32_t next_word(ox_generator *g) {
    if (g->next == WORDS)
        twist(g);
    uint32_t word = g->word[g->next++];
    word ^= word >> 11;
    word ^= word << 7 & 0x9d2c5680u;
    word ^= word << 15 & 0xefc60000u;
    return word ^ word >> 18;
}

double ox_generator_uniform(ox_generator *g) {
    const uint32_t high = next_word(g) >> 5, low = next_word(g) >> 6;
    return (high * 0x1p26 + low) * 0x1p-53;
}

/* A random point of the unit disc gives two numbers (Marsaglia's polar method). */
double ox_generator_normal(ox_generator *g) {
    double x, y, square;
    g->has_spare = !g->has_spare;
    if (!g->has_spare)
        return g->spare;
    do {
        x = 2 * ox_generator_uniform(g) - 1;
        y = 2 * ox_generator_uniform(g) - 1;
        square = x * x + y * y;
    } while (square >= 1 || square == 0);
    const double scale = sqrt(-2 * log(square) / square);
    g->spare = scale * x;
    return scale * y;
}

static uint32_t folded(uint64_t bits) {
    return (uint32_t)(bits ^ bits >> 32);
}

/* False if the node has no seed. Whole numbers of 32 bits are their own seeds; others are mixed. */
static bool read_seed(ox_call *call, ox_attr_kind kind, uint32_t *seed) {
    const ox_attr *attr = ox_call_attr(call, "seed", kind);
    if (attr && kind == OX_ATTR_INT)
        *seed = folded((uint64_t)attr->u.i);
    else if (attr)
        *seed = attr->u.f >= 0 && attr->u.f < 0x1p32f ? (uint32_t)attr->u.f : ox_bits_of_float(attr->u.f);
    return attr && (kind == OX_ATTR_INT || attr->u.f == attr->u.f);
}

/* Two nodes that are prepared at the same time have generators in different places. */
void ox_generator_prepare(ox_call *call, ox_attr_kind kind, ox_generator *g) {
    g->seeded = read_seed(call, kind, &g->seed);
    if (!g->seeded)
        set_seed(g, folded(ox_host_now() * 0x9e3779b97f4a7c15u ^ (uint64_t)(uintptr_t)g));
}

void ox_generator_start(ox_generator *g) {
    if (g->seeded)
        set_seed(g, g->seed);
}
