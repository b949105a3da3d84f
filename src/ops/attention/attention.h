/* attention.h: what a node of Attention says, and what its queries may see. */
#ifndef OX_OPS_ATTENTION_ATTENTION_H
#define OX_OPS_ATTENTION_ATTENTION_H

#include "ops/op.h"

/* Inputs and outputs, by number. */
enum {
    OX_ATTENTION_Q,
    OX_ATTENTION_K,
    OX_ATTENTION_V,
    OX_ATTENTION_MASK,
    OX_ATTENTION_PAST_KEY,
    OX_ATTENTION_PAST_VALUE,
    OX_ATTENTION_VALID,
    OX_ATTENTION_INPUTS
};
enum {
    OX_ATTENTION_Y,
    OX_ATTENTION_PRESENT_KEY,
    OX_ATTENTION_PRESENT_VALUE,
    OX_ATTENTION_SCORES
};

/* Which scores the last output shows. */
enum {
    OX_SCORES_RAW,
    OX_SCORES_CAPPED,
    OX_SCORES_BIASED,
    OX_SCORES_SOFTMAX
};

typedef struct ox_attention_shape {
    int64_t batch, heads, shared; /* heads of queries, and so many of them to one of keys and values */
    int64_t queries, past, added; /* steps: of queries, and of keys and values before and in this call */
    int64_t size, values;         /* the size of a head of queries and keys, and of values */
    bool flat;                    /* 3 dimensions: heads lie beside each other in a step */
    int64_t mask[4], mask_row;    /* elements of the mask from one index to the next; and how many keys it has */
    bool causal;
    int64_t left, right; /* keys that a query may see beside its own; -1: all of them */
    int64_t mode;
    double scale, cap;
} ox_attention_shape;

/* A product of sizes, which wraps where there are no elements. */
static inline int64_t ox_wrapping(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* Infer and prepare: reads and checks the node. */
ox_status ox_attention_shape_of(ox_call *call, ox_attention_shape *s);

/* The graphs of FlexAttention. */
enum {
    OX_SCORE_MOD,
    OX_PROB_MOD,
    OX_ATTENTION_MODS
};

/* The attribute that is one of them, NULL if the node has it not. */
const ox_attr *ox_attention_mod(ox_call *call, int which);

static inline int64_t ox_attention_keys(const ox_attention_shape *s) {
    return s->past + s->added;
}

static inline int64_t ox_attention_key_heads(const ox_attention_shape *s) {
    return s->heads / s->shared;
}

#endif
