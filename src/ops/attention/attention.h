/* attention.h: what a node of Attention says, and what its queries may see. */
#ifndef OX_OPS_ATTENTION_ATTENTION_H
#define OX_OPS_ATTENTION_ATTENTION_H

#include "ops/op.h"

/* What inputs may be. Operators number them in other ways: ox_attention_shape.in. */
enum {
    OX_ATTENTION_Q,
    OX_ATTENTION_K,
    OX_ATTENTION_V,
    OX_ATTENTION_MASK, /* is added to scores */
    OX_ATTENTION_PAST_KEY,
    OX_ATTENTION_PAST_VALUE,
    OX_ATTENTION_VALID,    /* how many keys each of the batch has */
    OX_ATTENTION_BIAS,     /* of queries, keys and values, side by side */
    OX_ATTENTION_KEY_MASK, /* integers: which keys are seen, or between which they are */
    OX_ATTENTION_SINK,     /* the score of a key without a value, for each head */
    OX_ATTENTION_COS,
    OX_ATTENTION_SIN,
    OX_ATTENTION_POSITIONS,
    OX_ATTENTION_Q_NORM, /* what queries and keys are multiplied by after they have been normalised */
    OX_ATTENTION_K_NORM,
    OX_ATTENTION_K_SCALE, /* of quantized caches */
    OX_ATTENTION_V_SCALE,
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

/* Where the rows of queries, keys or values lie in an input: elements before the first, and from one batch, head and
 * step to the next. */
typedef struct ox_attention_rows {
    int input;
    int64_t first, batch, head, step;
    bool has_bias; /* it is not added any more: they are of a cache */
} ox_attention_rows;

typedef struct ox_attention_shape {
    int64_t batch, heads, shared;        /* heads of queries, and so many of them to one of keys and values */
    int64_t queries, added;              /* steps of this call: of queries, and of keys and values */
    int64_t before;                      /* steps of keys before these; of GroupQueryAttention, run knows */
    int64_t keys;                        /* both, or the most that one of the batch has */
    int64_t past, room;                  /* steps for which caches have room: those given, and those after this call */
    int64_t size, values;                /* the size of a head of queries and keys, and of values */
    ox_attention_rows rows[3];           /* of Q, K and V */
    signed char in[OX_ATTENTION_INPUTS]; /* the number of each input; -1: the operator has none */
    signed char present[2];              /* the outputs that are the caches of keys and of values */
    signed char scores;                  /* the output of scores */
    bool stacked;                        /* one tensor has both caches, keys first */
    bool flat;                           /* 3 dimensions: heads of the output lie beside each other in a step */
    int64_t mask[4], mask_row;           /* elements of the mask from one index to the next; and how many keys it has */
    int64_t key_mask_rows;               /* of the key mask, for each of the batch: one, or one for each query */
    double filter;                       /* what is added where the key mask says no */
    bool causal, counted; /* counted: each of the batch says how many keys it has (GroupQueryAttention) */
    bool sinks;           /* there is one more key, whose score OX_ATTENTION_SINK says, or 0 */
    int64_t left, right;  /* keys that a query may see beside its own; -1: all of them */
    int64_t mode;
    double unseen; /* the score that is shown of a key that is not seen */
    double scale, cap;
    int64_t half;     /* pairs of elements that are rotated; 0: none */
    bool interleaved; /* of neighbours */
    double epsilon;   /* of the norm */
    signed char bits; /* of an element of quantized caches: 8 or 4; 0: caches are of the type of keys and values */
    bool scaled_each; /* of these: each element of each head of keys has a scale */
} ox_attention_shape;

/* A product of sizes, which wraps where there are no elements. */
static inline int64_t ox_wrapping(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* Infer and prepare: reads and checks the node, of each of the operators. */
typedef ox_status ox_attention_shape_fn(ox_call *call, ox_attention_shape *s);
ox_attention_shape_fn ox_attention_shape_of, ox_multi_head_shape_of, ox_group_query_shape_of;

static inline bool ox_attention_has_bytes(const ox_attention_shape *s) {
    return OX_WITH_BYTE_CACHES && s->bits;
}

/* Elements of the tensor in a row of a cache for a head of `size` elements. */
static inline int64_t ox_attention_cached(const ox_attention_shape *s, int64_t size) {
    return ox_attention_has_bytes(s) && s->bits == 4 ? size / 2 : size;
}

/* The number of an input in the node, -1 if it is not given. */
static inline int ox_attention_in(const ox_call *call, const ox_attention_shape *s, int which) {
    return ox_call_given(call, s->in[which]) ? s->in[which] : -1;
}

static inline bool ox_attention_has(const ox_call *call, const ox_attention_shape *s, int which) {
    return ox_call_given(call, s->in[which]);
}

/* The rows of an input with steps x heads x size, or heads x steps x size. */
ox_attention_rows ox_attention_rows_of(int input, bool flat, int64_t heads, int64_t steps, int64_t size);

/* Infer: reads a mask that broadcasts to batch x heads x queries x keys. */
ox_status ox_attention_read_mask(ox_call *call, ox_attention_shape *s);

/* Infer: a cache of so many steps. */
ox_status ox_attention_check_past(ox_call *call, const ox_attention_shape *s, int i, int64_t steps, int64_t size);

/* Infer: the outputs. */
ox_status ox_attention_describe(ox_call *call, const ox_attention_shape *s);

/* Prepare, and run: the key mask as what is added to scores, batch x key_mask_rows x keys floats. */
ox_status ox_attention_plan_key_mask(ox_call *call, const ox_attention_shape *s);
const char *ox_attention_take_key_mask(const ox_call *call, size_t *used, const ox_attention_shape *s);

/* Run of GroupQueryAttention: for each of the batch the keys that it has, by the list that is given, and behind these
 * for each the steps before those of this call. */
ox_status ox_group_query_count(const ox_call *call, const ox_attention_shape *s, const int64_t *given, int64_t *counts);

/* The position of each step of each of the batch, by the list that is given (NULL for none). */
ox_status ox_group_query_place(const ox_call *call, const ox_attention_shape *s, const int64_t *before,
                               const int64_t *given, int64_t *positions);

/* The graphs of FlexAttention. */
enum {
    OX_SCORE_MOD,
    OX_PROB_MOD,
    OX_ATTENTION_MODS
};

/* The attribute that is one of them, NULL if the node has it not. */
const ox_attr *ox_attention_mod(ox_call *call, int which);

static inline int64_t ox_attention_key_heads(const ox_attention_shape *s) {
    return s->heads / s->shared;
}

#endif
