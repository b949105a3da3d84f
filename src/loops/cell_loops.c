/* cell_loops.c: the steps of GRU and LSTM in one pass over the gates, a vector of each at a time. */
#include "cell_loops.h"
#include "lane_loops.h"
#include "lane_math.h"

#if !OX_SMALL
enum {
    MOST_READ = 14, /* rows */
    MOST_WRITTEN = 2
};

/* Rows that a cell reads, and those that it writes, which may be among them. */
typedef struct cell_rows {
    const f32 *from[MOST_READ];
    f32 *to[MOST_WRITTEN];
} cell_rows;

/* OX_VECTOR elements. */
typedef void vector_of_cell(const cell_rows *rows);

/* n elements: those behind the last vector are computed beside the rows. */
OX_INLINED void each_vector(int64_t n, const int read, const int written, cell_rows rows, vector_of_cell *vector) {
    f32 room[MOST_READ + MOST_WRITTEN][OX_VECTOR];
    for (; n >= OX_VECTOR; n -= OX_VECTOR) {
        vector(&rows);
        for (int i = 0; i < read; i++)
            rows.from[i] += OX_VECTOR;
        for (int i = 0; i < written; i++)
            rows.to[i] += OX_VECTOR;
    }
    if (n == 0)
        return;
    cell_rows beside;
    for (int i = 0; i < read; i++) {
        memset(room[i], 0, sizeof room[i]);
        ox_load_first(room[i], sizeof room[i], rows.from[i], (size_t)n * sizeof(float));
        beside.from[i] = room[i];
    }
    for (int i = 0; i < written; i++)
        beside.to[i] = room[MOST_READ + i];
    vector(&beside);
    for (int i = 0; i < written; i++)
        ox_store_first(rows.to[i], (size_t)n * sizeof(float), beside.to[i], sizeof *room);
}

#define EACH_ELEMENT INDEPENDENT for (int k = 0; k < OX_VECTOR; k++)
#define READ(i) rows->from[i][k]
#define WRITE(i) rows->to[i][k]
/* What is added up of gate i of `count`: three rows. */
#define SUM(i, count) (READ(i) + READ((count) + (i)) + READ(2 * (count) + (i)))

OX_INLINED void lstm_vector(const cell_rows *rows) {
    EACH_ELEMENT {
        const float in = ox_sigmoidf(SUM(0, 4)), out = ox_sigmoidf(SUM(1, 4)), forget = ox_sigmoidf(SUM(2, 4)),
                    cell = forget * READ(12) + in * ox_tanhf(SUM(3, 4));
        WRITE(0) = cell;
        WRITE(1) = out * ox_tanhf(cell);
    }
}

/* Between the hidden state before and what replaces it. */
#define UPDATED(before, update, now) ((before) * (update) + (1.0F - (update)) * (now))

OX_INLINED void gru_linear_vector(const cell_rows *rows) {
    EACH_ELEMENT {
        const float update = ox_sigmoidf(SUM(0, 3)), reset = ox_sigmoidf(SUM(1, 3)),
                    now = ox_tanhf((READ(2) + READ(9)) * reset + READ(5) + READ(8));
        WRITE(0) = UPDATED(READ(10), update, now);
    }
}

OX_INLINED void gru_first_vector(const cell_rows *rows) {
    EACH_ELEMENT {
        const float update = ox_sigmoidf(SUM(0, 2)), reset = ox_sigmoidf(SUM(1, 2));
        WRITE(0) = update;
        WRITE(1) = reset * READ(6);
    }
}

OX_INLINED void gru_last_vector(const cell_rows *rows) {
    EACH_ELEMENT WRITE(0) = UPDATED(READ(4), READ(3), ox_tanhf(SUM(0, 1)));
}

/* Rows of gates [first, first + count) of the three operands. */
OX_INLINED cell_rows rows_of(int64_t n, int first, const int count, const f32 *gates, const f32 *inputs,
                             const f32 *bias) {
    cell_rows rows = {.from = {NULL}};
    for (int i = 0; i < count; i++) {
        rows.from[i] = gates + (first + i) * n;
        rows.from[count + i] = inputs + (first + i) * n;
        rows.from[2 * count + i] = bias + (first + i) * n;
    }
    return rows;
}

static void lstm(int64_t n, f32 *gates, const f32 *inputs, const f32 *bias, f32 *hidden, f32 *cell) {
    cell_rows rows = rows_of(n, 0, 4, gates, inputs, bias);
    rows.from[12] = rows.to[0] = cell;
    rows.to[1] = hidden;
    each_vector(n, 13, 2, rows, lstm_vector);
}

static void gru_linear(int64_t n, f32 *gates, const f32 *inputs, const f32 *bias, f32 *hidden, f32 *cell) {
    cell_rows rows = rows_of(n, 0, 3, gates, inputs, bias);
    (void)cell;
    rows.from[9] = bias + 3 * n;
    rows.from[10] = rows.to[0] = hidden;
    each_vector(n, 11, 1, rows, gru_linear_vector);
}

static void gru_first(int64_t n, f32 *gates, const f32 *inputs, const f32 *bias, f32 *hidden, f32 *cell) {
    cell_rows rows = rows_of(n, 0, 2, gates, inputs, bias);
    rows.from[6] = hidden;
    rows.to[0] = gates;
    rows.to[1] = cell;
    each_vector(n, 7, 2, rows, gru_first_vector);
}

static void gru_last(int64_t n, f32 *gates, const f32 *inputs, const f32 *bias, f32 *hidden, f32 *cell) {
    cell_rows rows = rows_of(n, 2, 1, gates, inputs, bias);
    (void)cell;
    rows.from[3] = gates;
    rows.from[4] = rows.to[0] = hidden;
    each_vector(n, 5, 1, rows, gru_last_vector);
}

extern const ox_cell_loops OX_VARIANT(ox_cell_loops);
const ox_cell_loops OX_VARIANT(ox_cell_loops) = {
    .lstm = lstm, .gru_linear = gru_linear, .gru_first = gru_first, .gru_last = gru_last};
#endif
