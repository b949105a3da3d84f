/* experts.h: MoE and QMoE of com.microsoft: what their nodes say. */
#ifndef OX_OPS_PRODUCT_EXPERTS_H
#define OX_OPS_PRODUCT_EXPERTS_H

#include "ops/op.h"

/* The three products of an expert: into the wider space, back, and the one that is multiplied by the first. */
enum {
    OX_EXPERT_UP,
    OX_EXPERT_DOWN,
    OX_EXPERT_GATE,
    OX_EXPERT_PRODUCTS,
    OX_EXPERT_SIZES = 3, /* of blocks of tokens */
    OX_EXPERT_MOST = 32  /* tokens in the largest */
};

typedef enum ox_expert_activation {
    OX_EXPERT_RELU,
    OX_EXPERT_GELU,
    OX_EXPERT_SILU,
    OX_EXPERT_SWIGLU,
    OX_EXPERT_IDENTITY,
    OX_EXPERT_ACTIVATIONS
} ox_expert_activation;

/* Rows of k elements times the weights of an expert, n x k. Inputs by number, -1 for none. */
typedef struct ox_expert_product {
    int weights, scales, zeros, bias;
    int64_t n, k;
    int bits;              /* of a weight; 0: they are floats */
    int64_t block, blocks; /* weights of a row that share a scale, and how many such there are in a row */
    bool whole;            /* the model has one scale for a row, which each block takes */
} ox_expert_product;

typedef struct ox_experts {
    int64_t tokens, hidden, inner, experts, top;
    ox_expert_activation activation;
    int64_t fusion; /* SwiGLU: 0: two products; 1: one, whose columns take turns; 2: whose halves they are */
    double alpha, beta, limit;
    bool normalizes;
    int mixing;     /* input of the weights that experts have, or -1: they come of what chooses them */
    ox_dtype dtype; /* of the products */
    int64_t level;  /* accuracy_level of MatMulNBits */
    ox_expert_product products[OX_EXPERT_PRODUCTS];
} ox_experts;

/* Infer and prepare: reads and checks the node. */
ox_status ox_experts_of(ox_call *call, ox_experts *x);

/* True if the node has that product. */
static inline bool ox_expert_has(const ox_call *call, const ox_expert_product *p) {
    return ox_call_given(call, p->weights);
}

/* True if scales have to be brought to another form or type for each expert. */
static inline bool ox_expert_widens(const ox_call *call, const ox_experts *x, const ox_expert_product *p) {
    return p->bits && (p->whole || call->in[p->scales]->dtype != x->dtype);
}

#endif
