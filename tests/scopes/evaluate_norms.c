/* evaluate_norms.c: normalisations and Softmax as their definitions say, and means. */
#include <math.h>
#include <string.h>

#include "scopes.h"

/* Elements that are normalised together: `count` of them, `step` apart. The element i of the whole has the scale and
 * bias number i / each % many. */
typedef struct share {
    int64_t count, step, each, many;
} share;

/* How a normalisation cuts its input. False if it is none. */
static bool cut(const scope_node *node, const scope_value *x, share *s) {
    const int64_t channels = x->rank > 1 ? x->dims[1] : 1;
    const int64_t plane = x->rank > 1 ? scope_count(x->rank - 2, x->dims + 2) : 1;
    const int64_t last = x->rank ? x->dims[x->rank - 1] : 1;
    if (!strcmp(node->op, "LayerNormalization") || !strcmp(node->op, "Softmax"))
        *s = (share){last, 1, 1, last};
    else if (!strcmp(node->op, "InstanceNormalization"))
        *s = (share){plane, 1, plane, channels};
    else if (!strcmp(node->op, "GroupNormalization"))
        *s = (share){channels / scope_find_int(node, "num_groups", 1) * plane, 1, plane, channels};
    else
        return false;
    return s->count > 0;
}

static double epsilon_of(const scope_node *node) {
    const scope_attribute *a = scope_find(node, "epsilon");
    return a ? (double)a->number : (double)1e-5F;
}

static void normalise(const scope_graph *g, const scope_node *node, const share *s, const double *x, int64_t first,
                      double *to) {
    double mean = 0, spread = 0;
    for (int64_t i = 0; i < s->count; i++)
        mean += x[i] / (double)s->count;
    for (int64_t i = 0; i < s->count; i++)
        spread += (x[i] - mean) * (x[i] - mean) / (double)s->count;
    for (int64_t i = 0; i < s->count; i++) {
        const int64_t k = (first + i) / s->each % s->many;
        const double scale = node->nin > 1 ? scope_first(g, node, 1, k) : 1;
        to[i] = (x[i] - mean) / sqrt(spread + epsilon_of(node)) * scale + scope_first(g, node, 2, k);
    }
}

static void soften(const share *s, const double *x, double *to) {
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < s->count; i++)
        most = fmax(most, x[i]);
    for (int64_t i = 0; i < s->count; i++)
        sum += to[i] = exp(x[i] - most);
    for (int64_t i = 0; i < s->count; i++)
        to[i] /= sum;
}

/* By known means and variances. */
static void normalise_by_known(const scope_graph *g, const scope_node *node, const scope_value *x, double *to) {
    const int64_t channels = x->dims[1], plane = scope_count(x->rank - 2, x->dims + 2);
    for (int64_t i = 0; i < scope_count(x->rank, x->dims); i++) {
        const int64_t c = i / plane % channels;
        to[i] = (x->numbers[i] - scope_first(g, node, 3, c)) / sqrt(scope_first(g, node, 4, c) + epsilon_of(node)) *
                    scope_first(g, node, 1, c) +
                scope_first(g, node, 2, c);
    }
}

/* LRN: by the squares of the channels around. */
static void normalise_around(const scope_node *node, const scope_value *x, double *to) {
    const scope_attribute *alpha = scope_find(node, "alpha"), *beta = scope_find(node, "beta"),
                          *bias = scope_find(node, "bias");
    const int64_t channels = x->dims[1], plane = scope_count(x->rank - 2, x->dims + 2),
                  size = scope_find_int(node, "size", 1), before = (size - 1) / 2;
    for (int64_t i = 0; i < scope_count(x->rank, x->dims); i++) {
        const int64_t c = i / plane % channels;
        double sum = 0;
        for (int64_t k = c - before; k < c - before + size; k++)
            if (k >= 0 && k < channels)
                sum += x->numbers[i + (k - c) * plane] * x->numbers[i + (k - c) * plane];
        to[i] = x->numbers[i] /
                pow((bias ? (double)bias->number : 1) + (alpha ? (double)alpha->number : 1e-4) / (double)size * sum,
                    beta ? (double)beta->number : 0.75);
    }
}

bool scope_evaluate_norm(scope_graph *g, const scope_node *node) {
    const scope_value *x = &g->values[node->in[0]];
    scope_value *out = &g->values[node->outs[0]];
    const bool is_known = !strcmp(node->op, "BatchNormalization"), is_around = !strcmp(node->op, "LRN");
    share s = {0};
    if ((!is_known && !is_around && !cut(node, x, &s)) || (x->dtype != OX_FLOAT && x->dtype != OX_DOUBLE) ||
        scope_find(node, "axis") || !scope_shape_like(g, out, x))
        return false;
    const int64_t count = scope_count(x->rank, x->dims);
    for (int64_t i = 0; i < count && s.count; i += s.count)
        if (!strcmp(node->op, "Softmax"))
            soften(&s, x->numbers + i, out->numbers + i);
        else
            normalise(g, node, &s, x->numbers + i, i, out->numbers + i);
    if (is_known)
        normalise_by_known(g, node, x, out->numbers);
    if (is_around)
        normalise_around(node, x, out->numbers);
    for (int64_t i = 0; i < count; i++)
        out->numbers[i] = scope_round(out->dtype, out->numbers[i]);
    g->rounds = true;
    return true;
}
