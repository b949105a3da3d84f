/* chain.h: runs of operations on floats, each of which takes the result of the operation before. One loop does all of
 * them; intermediate results stay in registers of the processor. Every operation is rounded by itself. */
#ifndef OX_LOOPS_CHAIN_H
#define OX_LOOPS_CHAIN_H

#include "lanes.h"

/* Whether there are chains. Devices run loop by loop. WebAssembly does, too: its engines check each jump, and loops one
 * after the other, with what is between them in memory, take 0.4 to 0.5 of the time of a chain of two to six links. */
#if OX_SMALL || defined(__wasm__)
#define OX_CHAINS 0
#else
#define OX_CHAINS 1
#endif

enum {
    OX_CHAIN_LINKS = 15,
    OX_CHAIN_ARGS = OX_CHAIN_LINKS + 2, /* the result, what the first link takes, and one operand more for each */
    OX_CHAIN_SLACK = 128                /* elements behind its end that a kept value is written, at most */
};

/* The operations that are links; those of two operands first. */
#define OX_PAIR_LINKS(M) M(Add) M(Sub) M(Mul) M(Div) M(Max) M(Min) M(PRelu) M(Quantize) M(Offset)
#define OX_NUMBER_LINKS(M) M(Abs) M(Neg) M(Relu) M(Ceil) M(Floor) M(Reciprocal) M(Round) M(Sqrt)
#define OX_PIECEWISE_LINKS(M) M(HardSigmoid) M(HardSwish) M(LeakyRelu) M(Softsign) M(ThresholdedRelu)
#define OX_MATH_LINKS(M) M(Erf) M(Exp) M(Gelu) M(GeluTanh) M(Mish) M(Sigmoid) M(Swish) M(Tanh)
#define OX_MAP_LINKS(M) OX_NUMBER_LINKS(M) OX_PIECEWISE_LINKS(M) OX_MATH_LINKS(M)
typedef enum ox_link_kind {
#define NAME(name) OX_LINK_##name,
    OX_PAIR_LINKS(NAME) OX_LINK_PAIRS,
    OX_LINK_LAST_PAIR = OX_LINK_PAIRS - 1,
    OX_MAP_LINKS(NAME)
#undef NAME
    OX_LINKS,
    OX_LINK_Keep = OX_LINKS, /* writes what the link before gives to an operand of its own, too, and hands it on */
    OX_LINK_Half,            /* rounds to float16, or to bfloat16, and gives the float of that */
    OX_LINK_Bfloat
} ox_link_kind;

static inline bool ox_link_has_operand(ox_link_kind kind) {
    return kind <= OX_LINK_LAST_PAIR || kind == OX_LINK_Keep;
}

typedef struct ox_link {
    ox_link_kind kind;
    bool is_right;    /* what the link before gives is the right operand */
    const void *attr; /* as of the operation's loop */
} ox_link;

/* The types at the ends of a chain: what is not float is converted as the loops of casts do. */
enum {
    OX_CHAIN_ENDS = OX_BIT(OX_FLOAT) | OX_BIT(OX_FLOAT16) | OX_BIT(OX_BFLOAT16) | OX_BIT(OX_INT8) | OX_BIT(OX_UINT8) |
                    OX_BIT(OX_INT16) | OX_BIT(OX_UINT16) | OX_BIT(OX_INT32)
};

/* The attribute of the loop. arg[1] is what the first link takes, one element after the other; each link that has an
 * operand takes the next one. step[0] may be below 0 (OX_LANES_STREAM), wherever the result begins. What a link keeps
 * lies in memory that nothing else of the chain does, packed, with OX_CHAIN_SLACK elements of room behind it; links
 * further on may read it. */
typedef struct ox_chain {
    ox_dtype from, to;
    int nargs;     /* behind the result */
    uint32_t kept; /* bit k: arg[k] is kept, or is where a link before has kept something */
    int count;
    const ox_link *links; /* `count` of them */
    int64_t row;          /* elements in a row, 0 if there are none ... */
    const int64_t *next;  /* ... and bytes from one row of an argument to the next one, the result's first */
} ox_chain;

extern ox_lane *const ox_chain_builds[];

/* The same on rows of n elements each, wherever these lie: argument k of each is next[k] bytes behind that of the row
 * before. The chain has no rows of its own, no step is negative, and what is kept is kept of one row at a time. */
typedef void ox_chain_rows_fn(int64_t rows, int64_t n, char *const arg[], const int64_t step[], const int64_t next[],
                              const ox_chain *chain);
extern ox_chain_rows_fn *const ox_chain_rows_builds[];

#endif
