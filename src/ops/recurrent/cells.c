/* cells.c: what one row of gates does to its states, for each operator. */
#include "recurrent.h"

#include <string.h>

static char *gate(const ox_recurrent *r, const ox_cell_row *row, int number) {
    return row->gates + number * row->n * r->loops.width;
}

/* to = x * y, and so on, of two rows. */
static void apply(const ox_recurrent *r, ox_lane *lane, const ox_cell_row *row, char *to, const char *x,
                  const char *y) {
    ox_cell_apply(lane, row->n, r->loops.width, to, x, y, r->loops.width);
}

/* to = 1 - x */
static void complement(const ox_recurrent *r, const ox_cell_row *row, char *to, const char *x) {
    const int64_t width = r->loops.width;
    char *const arg[] = {to, (char *)(uintptr_t)r->loops.one, (char *)(uintptr_t)x};
    r->loops.sub(row->n, arg, (const int64_t[]){width, 0, width}, NULL);
}

static void copy(const ox_recurrent *r, const ox_cell_row *row, char *to, const char *from) {
    memcpy(to, from, (size_t)(row->n * r->loops.width));
}

/* Adds to the products of states of `count` gates from `number` on what is added to them. */
static void add_inputs(const ox_recurrent *r, const ox_cell_row *row, int number, int count) {
    const int64_t width = r->loops.width, n = count * row->n, at = number * row->n * width;
    char *to = row->gates + at;
    ox_cell_apply(r->loops.add, n, width, to, to, row->inputs + at, width);
    ox_cell_apply(r->loops.add, n, width, to, to, row->bias + at, width);
}

static void rnn(const ox_recurrent *r, const ox_activation *f, const ox_cell_row *row) {
    add_inputs(r, row, 0, 1);
    ox_activate(&r->loops, &f[0], row->n, row->gates);
    copy(r, row, row->hidden, row->gates);
}

/* Gates z, r, h. */
static void gru_gates(const ox_recurrent *r, const ox_activation *f, const ox_cell_row *row) {
    add_inputs(r, row, 0, 2);
    ox_activate(&r->loops, &f[0], 2 * row->n, row->gates);
}

static void gru_first(const ox_recurrent *r, const ox_activation *f, const ox_cell_row *row) {
    gru_gates(r, f, row);
    apply(r, r->loops.mul, row, row->cell, gate(r, row, 1), row->hidden);
}

static void gru_last(const ox_recurrent *r, const ox_activation *f, const ox_cell_row *row) {
    char *update = gate(r, row, 0), *reset = gate(r, row, 1), *hidden = gate(r, row, 2);
    if (r->linear_before_reset) {
        gru_gates(r, f, row);
        apply(r, r->loops.add, row, hidden, hidden, row->bias + 3 * row->n * r->loops.width);
        apply(r, r->loops.mul, row, hidden, hidden, reset);
    }
    add_inputs(r, row, 2, 1);
    ox_activate(&r->loops, &f[1], row->n, hidden);
    apply(r, r->loops.mul, row, row->hidden, row->hidden, update);
    complement(r, row, update, update);
    apply(r, r->loops.mul, row, hidden, hidden, update);
    apply(r, r->loops.add, row, row->hidden, row->hidden, hidden);
}

/* x += P * cell, for peephole `number`. */
static void peep(const ox_recurrent *r, const ox_cell_row *row, int number, char *x, char *room) {
    if (!row->peepholes)
        return;
    apply(r, r->loops.mul, row, room, row->peepholes + number * row->n * r->loops.width, row->cell);
    apply(r, r->loops.add, row, x, x, room);
}

/* Gates i, o, f, c. The memory of the hidden state, whose product is taken, serves as room until the end. */
static void lstm(const ox_recurrent *r, const ox_activation *f, const ox_cell_row *row) {
    char *in = gate(r, row, 0), *out = gate(r, row, 1), *forget = gate(r, row, 2), *cell = gate(r, row, 3);
    const bool together = !OX_SMALL && !row->peepholes && !r->input_forget; /* the first three gates lie side by side */
    add_inputs(r, row, 0, 4);
    peep(r, row, 0, in, row->hidden);
    if (!r->input_forget)
        peep(r, row, 2, forget, row->hidden);
    ox_activate(&r->loops, &f[0], (together ? 3 : 1) * row->n, in);
    if (r->input_forget)
        complement(r, row, forget, in);
    else if (!together)
        ox_activate(&r->loops, &f[0], row->n, forget);
    ox_activate(&r->loops, &f[1], row->n, cell);
    apply(r, r->loops.mul, row, in, in, cell);
    apply(r, r->loops.mul, row, row->cell, row->cell, forget);
    apply(r, r->loops.add, row, row->cell, row->cell, in);
    peep(r, row, 1, out, row->hidden);
    if (!together)
        ox_activate(&r->loops, &f[0], row->n, out);
    copy(r, row, row->hidden, row->cell);
    ox_activate(&r->loops, &f[2], row->n, row->hidden);
    apply(r, r->loops.mul, row, row->hidden, row->hidden, out);
}

#if OX_SMALL
#define USUAL(name) NULL
#else
#define USUAL(name) usual_##name
/* The usual cells in one pass over the gates. */
#define USUAL_CELL(name)                                                                                               \
    static void usual_##name(const ox_recurrent *r, const ox_activation *f, const ox_cell_row *row) {                  \
        (void)f;                                                                                                       \
        r->loops.usual->name(row->n, (ox_f32 *)(void *)row->gates, (const ox_f32 *)(const void *)row->inputs,          \
                             (const ox_f32 *)(const void *)row->bias, (ox_f32 *)(void *)row->hidden,                   \
                             (ox_f32 *)(void *)row->cell);                                                             \
    }
USUAL_CELL(gru_first)
USUAL_CELL(gru_last)
USUAL_CELL(gru_linear)
USUAL_CELL(lstm)

static void usual_gru(const ox_recurrent *r, const ox_activation *f, const ox_cell_row *row) {
    (r->linear_before_reset ? usual_gru_linear : usual_gru_last)(r, f, row);
}
#endif

static const ox_cell rnn_cell = {
    .gates = 1, .functions = 1, .states = 1, .initial = 5, .peepholes = -1, .defaults = {"Tanh"}, .last = rnn};

static const ox_cell gru_cell = {.gates = 3,
                                 .functions = 2,
                                 .states = 1,
                                 .initial = 5,
                                 .peepholes = -1,
                                 .defaults = {"Sigmoid", "Tanh"},
                                 .has_reset = true,
                                 .first = gru_first,
                                 .last = gru_last,
                                 .usual_first = USUAL(gru_first),
                                 .usual_last = USUAL(gru)};

#define LSTM_CELL(quantized)                                                                                           \
    {                                                                                                                  \
        .gates = 4, .functions = 3, .states = 2, .initial = 5, .peepholes = 7,                                         \
        .defaults = {"Sigmoid", "Tanh", "Tanh"}, .is_quantized = quantized, .last = lstm, .usual_last = USUAL(lstm)    \
    }
static const ox_cell lstm_cell = LSTM_CELL(false), quantized_lstm_cell = LSTM_CELL(true);

/* Infer and prepare of each operator differ by the cell alone. */
#define OPERATOR(name)                                                                                                 \
    ox_status ox_infer_##name(ox_call *call) {                                                                         \
        return ox_recurrent_infer(call, &name##_cell);                                                                 \
    }                                                                                                                  \
    ox_status ox_prepare_##name(ox_call *call) {                                                                       \
        return ox_recurrent_prepare(call, &name##_cell);                                                               \
    }
OPERATOR(rnn)
OPERATOR(gru)
OPERATOR(lstm)
OPERATOR(quantized_lstm)
