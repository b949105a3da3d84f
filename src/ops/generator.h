/* generator.h: random numbers. The generator is the Mersenne Twister (MT19937), because ONNX's own cases for operators
 * with a seed hold what it gives. A seed gives the same numbers everywhere. */
#ifndef OX_OPS_GENERATOR_H
#define OX_OPS_GENERATOR_H

#include "op.h"

enum {
    OX_TWISTER_WORDS = 624
};

typedef struct ox_generator {
    bool seeded; /* each run gives the same numbers */
    uint32_t seed;
    uint32_t word[OX_TWISTER_WORDS];
    int next; /* word to be given out */
    bool has_spare;
    double spare; /* normal numbers are made in pairs */
} ox_generator;

/* Prepare: sets up a generator in plan memory, by the attribute "seed" of that kind. Without one, other numbers come in
 * each plan. */
void ox_generator_prepare(ox_call *call, ox_attr_kind kind, ox_generator *generator);

/* Run: starts anew from the seed. Without one, the numbers go on where those of the last run ended. */
void ox_generator_start(ox_generator *generator);

/* A number of [0, 1), with 53 random bits. */
double ox_generator_uniform(ox_generator *generator);

/* A number of the normal distribution of mean 0 and variance 1. */
double ox_generator_normal(ox_generator *generator);

#endif
