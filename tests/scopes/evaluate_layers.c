/* evaluate_layers.c: recurrent layers and attention as their definitions say. Of these, functions round: halves lose
 * too much for a comparison. */
#include <math.h>
#include <string.h>

#include "scopes.h"

static const scope_value *input_of(const scope_graph *g, const scope_node *node, int i) {
    return node->nin > i && node->in[i] >= 0 ? &g->values[node->in[i]] : NULL;
}

static bool is_wide(ox_dtype dtype) {
    return dtype == OX_FLOAT || dtype == OX_DOUBLE;
}

/* ---- Recurrent layers ------------------------------------------------------------------------------------------- */

enum {
    MOST = 16, /* states of a layer */
    MOST_GATES = 4
};

/* One direction of a layer, and a sequence's states. */
typedef struct layer {
    const scope_value *x;
    const double *w, *r, *b; /* b: NULL without one */
    int gates;
    int64_t hidden;
    bool linear_before_reset;
    double h[MOST], c[MOST];
} layer;

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

/* What the inputs x give to unit j of a gate, and what the states give. */
static double of_inputs(const layer *l, const double *x, int gate, int64_t j) {
    const int64_t row = gate * l->hidden + j, inputs = l->x->dims[2];
    double sum = l->b ? l->b[row] : 0;
    for (int64_t i = 0; i < inputs; i++)
        sum += x[i] * l->w[row * inputs + i];
    return sum;
}

static double of_states(const layer *l, const double *states, int gate, int64_t j) {
    const int64_t row = gate * l->hidden + j;
    double sum = l->b ? l->b[l->gates * l->hidden + row] : 0;
    for (int64_t i = 0; i < l->hidden; i++)
        sum += states[i] * l->r[row * l->hidden + i];
    return sum;
}

static void step_rnn(layer *l, const double *x) {
    double next[MOST];
    for (int64_t j = 0; j < l->hidden; j++)
        next[j] = tanh(of_inputs(l, x, 0, j) + of_states(l, l->h, 0, j));
    memcpy(l->h, next, sizeof next);
}

/* Gates z, r, h. */
static void step_gru(layer *l, const double *x) {
    double next[MOST], reset[MOST], seen[MOST] = {0};
    for (int64_t j = 0; j < l->hidden; j++) {
        reset[j] = sigmoid(of_inputs(l, x, 1, j) + of_states(l, l->h, 1, j));
        seen[j] = reset[j] * l->h[j];
    }
    for (int64_t j = 0; j < l->hidden; j++) {
        const double z = sigmoid(of_inputs(l, x, 0, j) + of_states(l, l->h, 0, j));
        const double state = l->linear_before_reset ? reset[j] * of_states(l, l->h, 2, j) : of_states(l, seen, 2, j);
        next[j] = (1 - z) * tanh(of_inputs(l, x, 2, j) + state) + z * l->h[j];
    }
    memcpy(l->h, next, sizeof next);
}

/* Gates i, o, f, c. */
static void step_lstm(layer *l, const double *x) {
    double next[MOST];
    for (int64_t j = 0; j < l->hidden; j++) {
        double gate[MOST_GATES];
        for (int i = 0; i < MOST_GATES; i++)
            gate[i] = of_inputs(l, x, i, j) + of_states(l, l->h, i, j);
        l->c[j] = sigmoid(gate[2]) * l->c[j] + sigmoid(gate[0]) * tanh(gate[3]);
        next[j] = sigmoid(gate[1]) * tanh(l->c[j]);
    }
    memcpy(l->h, next, sizeof next);
}

static layer read_layer(const scope_graph *g, const scope_node *node, int gates, int64_t direction) {
    const scope_value *w = input_of(g, node, 1), *r = input_of(g, node, 2), *b = input_of(g, node, 3);
    const int64_t hidden = r->dims[2], rows = gates * hidden;
    return (layer){.x = input_of(g, node, 0),
                   .w = w->numbers + direction * rows * w->dims[2],
                   .r = r->numbers + direction * rows * hidden,
                   .b = b ? b->numbers + direction * 2 * rows : NULL,
                   .gates = gates,
                   .hidden = hidden,
                   .linear_before_reset = scope_find_int(node, "linear_before_reset", 0)};
}

static bool evaluate_recurrent(scope_graph *g, const scope_node *node, int gates,
                               void (*step)(layer *, const double *)) {
    const scope_value *x = input_of(g, node, 0);
    const scope_attribute *direction = scope_find(node, "direction");
    const int64_t steps = x->dims[0], batch = x->dims[1], ways = input_of(g, node, 1)->dims[0],
                  hidden = input_of(g, node, 2)->dims[2];
    scope_value *out = &g->values[node->outs[0]];
    if (node->nin > 4 || hidden > MOST || scope_find(node, "layout") || !is_wide(x->dtype))
        return false;
    out->dtype = x->dtype;
    out->rank = 4;
    memcpy(out->dims, (const int64_t[]){steps, ways, batch, hidden}, 4 * sizeof *out->dims);
    if (!scope_room(g, out))
        return false;
    for (int64_t way = 0; way < ways; way++)
        for (int64_t n = 0; n < batch; n++) {
            layer l = read_layer(g, node, gates, way);
            const bool is_back = way || (direction && !strcmp(direction->text, "reverse"));
            for (int64_t t = 0; t < steps; t++) {
                const int64_t at = is_back ? steps - 1 - t : t;
                step(&l, x->numbers + (at * batch + n) * x->dims[2]);
                memcpy(out->numbers + ((at * ways + way) * batch + n) * hidden, l.h, (size_t)hidden * sizeof *l.h);
            }
        }
    return g->rounds = true;
}

/* ---- Attention -------------------------------------------------------------------------------------------------- */

/* Rows of heads, of rank 4, or of rank 3 side by side. */
typedef struct heads {
    const scope_value *value;
    int64_t count, rows, size;
} heads;

static heads read_heads(const scope_value *value, int64_t count) {
    if (value->rank == 4)
        return (heads){value, value->dims[1], value->dims[2], value->dims[3]};
    return (heads){value, count, value->dims[1], value->dims[2] / count};
}

static int64_t place_in(const heads *h, int64_t n, int64_t head, int64_t row, int64_t i) {
    return h->value->rank == 4 ? ((n * h->count + head) * h->rows + row) * h->size + i
                               : ((n * h->rows + row) * h->count + head) * h->size + i;
}

/* Row `row` of a head's result. */
static void attend(const heads *q, const heads *k, const heads *v, const int64_t at[3], bool is_causal, double *to) {
    const int64_t head = at[1] / (q->count / k->count), keys = is_causal ? at[2] + 1 : k->rows;
    double total = 0, weights[64], most = -INFINITY;
    for (int64_t j = 0; j < keys && j < k->rows; j++) {
        weights[j] = 0;
        for (int64_t i = 0; i < q->size; i++)
            weights[j] += q->value->numbers[place_in(q, at[0], at[1], at[2], i)] *
                          k->value->numbers[place_in(k, at[0], head, j, i)];
        weights[j] /= sqrt((double)q->size);
        most = fmax(most, weights[j]);
    }
    memset(to, 0, (size_t)v->size * sizeof *to);
    for (int64_t j = 0; j < keys && j < k->rows; j++)
        total += weights[j] = exp(weights[j] - most);
    for (int64_t j = 0; j < keys && j < k->rows; j++)
        for (int64_t i = 0; i < v->size; i++)
            to[i] += weights[j] / total * v->value->numbers[place_in(v, at[0], head, j, i)];
}

static bool evaluate_attention(scope_graph *g, const scope_node *node) {
    const scope_value *x = input_of(g, node, 0);
    if (!input_of(g, node, 1))
        return false;
    const bool is_shared = !strcmp(node->op, "GroupQueryAttention"), is_onnx = !strcmp(node->op, "Attention");
    const int64_t all = scope_find_int(node, is_onnx ? "q_num_heads" : "num_heads", 1),
                  groups = is_onnx || is_shared ? scope_find_int(node, "kv_num_heads", 1) : all,
                  causal = scope_find_int(node, is_onnx ? "is_causal" : "unidirectional", is_shared);
    const heads q = read_heads(x, all), k = read_heads(input_of(g, node, 1), groups),
                v = read_heads(input_of(g, node, 2), groups);
    scope_value *out = &g->values[node->outs[0]];
    double row[64];
    if (node->nin > (is_shared ? 7 : 3) || k.rows > 64 || v.size > 64 || !is_wide(x->dtype) ||
        (!is_onnx && x->dtype != OX_FLOAT))
        return false;
    out->dtype = x->dtype;
    out->rank = x->rank;
    memcpy(out->dims, x->dims, sizeof out->dims);
    out->dims[x->rank - 1] = x->rank == 4 ? v.size : q.count * v.size;
    if (!scope_room(g, out))
        return false;
    const heads to = {out, q.count, q.rows, v.size};
    for (int64_t n = 0; n < x->dims[0]; n++)
        for (int64_t i = 0; i < q.count * q.rows; i++) {
            const int64_t at[] = {n, i / q.rows, i % q.rows};
            attend(&q, &k, &v, at, causal, row);
            memcpy(out->numbers + place_in(&to, at[0], at[1], at[2], 0), row, (size_t)v.size * sizeof *row);
        }
    return g->rounds = true;
}

bool scope_evaluate_layer(scope_graph *g, const scope_node *node) {
    if (!strcmp(node->op, "RNN"))
        return evaluate_recurrent(g, node, 1, step_rnn);
    if (!strcmp(node->op, "GRU"))
        return evaluate_recurrent(g, node, 3, step_gru);
    if (!strcmp(node->op, "LSTM"))
        return evaluate_recurrent(g, node, 4, step_lstm);
    return (!strcmp(node->op, "Attention") || !strcmp(node->op, "MultiHeadAttention") ||
            !strcmp(node->op, "GroupQueryAttention")) &&
           evaluate_attention(g, node);
}
