/* recurrent.h: RNN, GRU and LSTM: one frame, which steps through sequences, and a cell for each operator. */
#ifndef OX_OPS_RECURRENT_RECURRENT_H
#define OX_OPS_RECURRENT_RECURRENT_H

#include "ops/dense.h"
#include "ops/gemm/gemm.h"
#include "loops/cell_loops.h"
#include "loops/lanes.h"

enum {
    OX_RECURRENT_INPUTS = 12,
    OX_RECURRENT_FUNCTIONS = 3, /* the most activations of a direction */
    OX_RECURRENT_STATES = 2     /* the hidden state and the cell's */
};

/* An activation with its parameters, as loops take them. */
typedef struct ox_activation {
    ox_lane *before, *loop, *after; /* NULL where nothing is to be done */
    double before_element, after_element;
    float attr[2];
    const void *before_operand, *after_operand;
} ox_activation;

/* The loops and numbers that cells use, in the type that is computed in. */
typedef struct ox_gate_loops {
    int64_t width; /* bytes of an element */
    ox_lane *add, *sub, *mul, *min, *max;
    double room[3]; /* the numbers themselves: */
    const void *one, *low, *high;
    bool clip;
    const ox_cell_loops *usual; /* NULL on devices */
} ox_gate_loops;

typedef struct ox_recurrent ox_recurrent;
typedef struct ox_recurrent_run ox_recurrent_run;

/* One row of a batch in one step: what its states and inputs give to its gates, in the order of the weights, and its
 * states, which are brought on. Whoever takes a gate first adds the three. */
typedef struct ox_cell_row {
    char *gates;           /* the products of states; later the gates themselves */
    const char *inputs;    /* the products of inputs */
    const char *bias;      /* of all gates; GRU: what is added before the hidden gate is reset lies behind */
    char *hidden, *cell;   /* GRU: the second is the operand of the last product */
    const char *peepholes; /* LSTM: of this direction; or NULL */
    int64_t n;             /* elements of a gate */
} ox_cell_row;

typedef void ox_cell_fn(const ox_recurrent *r, const ox_activation *f, const ox_cell_row *row);

/* What the three operators differ in. */
typedef struct ox_cell {
    int gates, functions, states;
    int initial;   /* the first input of initial states */
    int peepholes; /* that input, or -1 */
    const char *defaults[OX_RECURRENT_FUNCTIONS];
    bool is_quantized; /* weights are bytes, transposed, and operands are quantized for each product */
    bool
        has_reset; /* what the last gate multiplies may be reset before, by `first`: it has a product of its own then */
    ox_cell_fn *first, *last;
    ox_cell_fn *usual_first, *usual_last; /* the same for the default activations and no options, of floats; or NULL */
} ox_cell;

/* The shape of a node. */
typedef struct ox_recurrent_shape {
    int64_t sequence, batch, input, hidden;
    int directions;
    bool backward; /* the first direction is */
    bool by_batch; /* attribute layout */
} ox_recurrent_shape;

/* The products: of all inputs, of the hidden state for all gates or those before the last, and for the last. */
enum {
    OX_INPUT_PRODUCT,
    OX_STATE_PRODUCT,
    OX_LAST_PRODUCT,
    OX_RECURRENT_PRODUCTS
};

typedef struct ox_recurrent_product {
    ox_gemm gemm;
    ox_gemm_plan plan;
    int64_t first;    /* the gate that it begins with */
    size_t offset;    /* bytes to the first direction's matrix, ... */
    size_t each;      /* ... and from one direction's to the next, in panels or not */
    uint32_t shift;   /* quantized: what the kernel adds to weights, ... */
    const void *sums; /* ... and the sums of their columns then (uint32), NULL unless all sessions share them */
} ox_recurrent_product;

struct ox_recurrent {
    const ox_cell *cell;
    ox_recurrent_shape shape;
    ox_activation functions[2][OX_RECURRENT_FUNCTIONS];
    ox_gate_loops loops;
    bool linear_before_reset, input_forget;
    ox_cell_fn *first, *last; /* first: NULL where all gates have one product */
    ox_recurrent_product products[OX_RECURRENT_PRODUCTS];
};

/* What an operator with this cell infers and prepares. */
ox_status ox_recurrent_infer(ox_call *call, const ox_cell *cell);
ox_status ox_recurrent_prepare(ox_call *call, const ox_cell *cell);

/* What a run has of quantized products: for each the sums of its weights' columns and their zero points (NULL if all
 * are 0), as the kernel sees them; and the operand of the last one, which has one scale. */
typedef struct ox_quantized_run {
    const uint32_t *sums[OX_LAST_PRODUCT], *zeros[OX_LAST_PRODUCT];
    char *operand;      /* bytes */
    uint32_t *row_sums; /* of its rows, without the zero point */
    float scale;
    uint8_t zero;
} ox_quantized_run;

/* Prepare: a product by its number, whose m, n and k are set; and workspace for ox_quantized_take, which fills all of a
 * run's members but what belongs to the operand. */
ox_status ox_quantized_product(ox_call *call, const ox_recurrent *r, int number, ox_recurrent_product *p);
ox_status ox_quantized_plan(ox_call *call, const ox_recurrent *r);
void ox_quantized_take(const ox_call *call, const ox_recurrent *r, size_t *used, ox_quantized_run *run);

/* Run: quantizes the operand of a product. */
void ox_quantized_operand(const ox_call *call, const ox_gemm *g, const ox_f32 *from, ox_quantized_run *run);

/* n sums of a row, from column `column` on, times scales. Takes what zero points contribute off the sums. */
void ox_quantized_row(const ox_call *call, const ox_recurrent *r, int number, int direction,
                      const ox_quantized_run *run, int64_t row, int64_t column, int64_t n, char *sums, ox_f32 *to);

/* Infer: types and shapes of the inputs that quantized weights have besides. */
ox_status ox_quantized_check(ox_call *call, const ox_recurrent_shape *s);

/* Infer and prepare: reads and checks the node. */
ox_status ox_recurrent_shape_of(ox_call *call, const ox_cell *cell, ox_recurrent_shape *s);
ox_status ox_recurrent_functions(ox_call *call, const ox_cell *cell, int directions, ox_dtype dtype,
                                 ox_activation functions[][OX_RECURRENT_FUNCTIONS]);
ox_status ox_recurrent_loops(ox_call *call, ox_dtype dtype, ox_gate_loops *loops);
bool ox_recurrent_is_usual(ox_call *call, const ox_recurrent *r);

/* n elements of `x`, limited where the node says so, through an activation. */
void ox_activate(const ox_gate_loops *loops, const ox_activation *f, int64_t n, char *x);

/* to = x * y and so on, of n elements; steps in bytes. */
static inline void ox_cell_apply(ox_lane *lane, int64_t n, int64_t width, char *to, const void *x, const void *y,
                                 int64_t y_step) {
    char *const arg[] = {to, (char *)(uintptr_t)x, (char *)(uintptr_t)y};
    lane(n, arg, (const int64_t[]){width, width, y_step}, NULL);
}

#endif
