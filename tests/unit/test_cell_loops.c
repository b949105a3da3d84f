/* test_cell_loops.c: steps of GRU and LSTM in one pass, beside their equations in double, for rows of all lengths. */
#include "src/loops/cell_loops.h"
#include "src/loops/lanes.h"
#include "builds.h"

#include <check.h>
#include <math.h>

enum {
    MOST = 50, /* elements of a gate */
    GATES = 4,
    BEYOND = 99 /* stands behind the rows that are written */
};

typedef struct cell {
    float gates[GATES * MOST + 1], inputs[GATES * MOST], bias[GATES * MOST], hidden[MOST + 1], cell[MOST + 1];
} cell;

static uint64_t drawn;
static void draw(int count, float *to) {
    for (int i = 0; i < count; i++) {
        drawn = drawn * 6364136223846793005u + 1442695040888963407u;
        to[i] = (float)((int)((drawn >> 33) % 4001) - 2000) / 512;
    }
}

static cell draw_cell(int n) {
    cell c;
    draw(GATES * MOST + 1, c.gates), draw(GATES * MOST, c.inputs), draw(GATES * MOST, c.bias);
    draw(MOST, c.hidden), draw(MOST, c.cell);
    c.hidden[n] = c.cell[n] = BEYOND;
    return c;
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

/* What gate `number` adds up for element i. */
static double sum(const cell *c, int n, int number, int i) {
    const int at = number * n + i;
    return (double)c->gates[at] + (double)c->inputs[at] + (double)c->bias[at];
}

static void check_near(const char *what, const char *build, int n, int i, double wanted, float have) {
    if (!(fabs(wanted - (double)have) < 2e-6))
        ck_abort_msg("build %s, %s, %d of %d: %.9g, not %.9g", build, what, i, n, (double)have, wanted);
}

static void check_lstm(const ox_cell_loops *loops, const char *build, int n) {
    const cell before = draw_cell(n);
    cell c = before;
    loops->lstm(n, c.gates, c.inputs, c.bias, c.hidden, c.cell);
    for (int i = 0; i < n; i++) {
        const double state = sigmoid(sum(&before, n, 2, i)) * (double)before.cell[i] +
                             sigmoid(sum(&before, n, 0, i)) * tanh(sum(&before, n, 3, i));
        check_near("cell", build, n, i, state, c.cell[i]);
        check_near("hidden", build, n, i, sigmoid(sum(&before, n, 1, i)) * tanh(state), c.hidden[i]);
    }
    ck_assert(c.hidden[n] == BEYOND && c.cell[n] == BEYOND);
}

static void check_gru(const ox_cell_loops *loops, const char *build, int n, bool linear) {
    const cell before = draw_cell(n);
    cell c = before;
    if (linear)
        loops->gru_linear(n, c.gates, c.inputs, c.bias, c.hidden, c.cell);
    else
        loops->gru_first(n, c.gates, c.inputs, c.bias, c.hidden, c.cell);
    for (int i = 0; i < n && !linear; i++)
        check_near("after the reset", build, n, i, sigmoid(sum(&before, n, 1, i)) * (double)before.hidden[i],
                   c.cell[i]);
    if (!linear)
        loops->gru_last(n, c.gates, c.inputs, c.bias, c.hidden, c.cell);
    for (int i = 0; i < n; i++) {
        const double update = sigmoid(sum(&before, n, 0, i)), reset = sigmoid(sum(&before, n, 1, i)),
                     product = (double)before.gates[2 * n + i] + (double)before.bias[3 * n + i],
                     given = (double)before.inputs[2 * n + i] + (double)before.bias[2 * n + i],
                     now = tanh(linear ? reset * product + given : sum(&before, n, 2, i));
        check_near("hidden", build, n, i, update * (double)before.hidden[i] + (1 - update) * now, c.hidden[i]);
    }
    ck_assert(c.hidden[n] == BEYOND && c.cell[n] == BEYOND);
}

START_TEST(as_their_equations) {
    for (int b = 0; b < BUILDS; b++)
        for (int n = 1; n < MOST; n++) {
            const ox_cell_loops *loops = OX_BUILD_OF(ox_loops_find(builds[b]), ox_cell_builds);
            check_lstm(loops, builds[b], n);
            check_gru(loops, builds[b], n, true);
            check_gru(loops, builds[b], n, false);
        }
}
END_TEST

Suite *ox_suite_cell_loops(void);
Suite *ox_suite_cell_loops(void) {
    Suite *suite = suite_create("cell_loops");
    TCase *tests = tcase_create("cell_loops");
    tcase_add_test(tests, as_their_equations);
    suite_add_tcase(suite, tests);
    return suite;
}
