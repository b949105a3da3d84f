/* cell_loops.h: what one step of GRU and LSTM does to a row of floats, with the activations that are their defaults and
 * nothing else, in one pass; built for each kind of processor. */
#ifndef OX_LOOPS_CELL_LOOPS_H
#define OX_LOOPS_CELL_LOOPS_H

#include "loops/element.h"

/* n elements of each gate: to `gates`, products of states, are added `inputs`, products of inputs, and `bias`. All
 * three hold the gates one behind the other, in ONNX's order. The states are brought on. */
typedef void ox_cell_loop(int64_t n, ox_f32 *gates, const ox_f32 *inputs, const ox_f32 *bias, ox_f32 *hidden,
                          ox_f32 *cell);

typedef struct ox_cell_loops {
    ox_cell_loop *lstm;
    ox_cell_loop *gru_linear; /* linear_before_reset: behind `bias` lies what is added before the reset */
    ox_cell_loop *gru_first;  /* otherwise: gates z and r, and in `cell` the hidden state after the reset ... */
    ox_cell_loop *gru_last;   /* ... whose product is the last gate, where z is as gru_first left it */
} ox_cell_loops;

extern const ox_cell_loops *const ox_cell_builds[];

#endif
