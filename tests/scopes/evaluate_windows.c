/* evaluate_windows.c: convolutions and pools as their definitions say. */
#include <math.h>
#include <string.h>

#include "scopes.h"

/* A convolution whose missing dimensions are 1. */
typedef struct windows {
    const scope_value *x, *w, *b, *w_zeros; /* w_zeros: one, or one for each channel; NULL: 0 */
    int spatial;
    int64_t groups, in[3], kernel[3], out[3], stride[3], pad[3], dilation[3];
    double x_zero;
} windows;

static void read_list(const scope_node *node, const char *name, int spatial, int64_t otherwise, int64_t list[3]) {
    const scope_attribute *a = scope_find(node, name);
    for (int d = 0; d < 3; d++)
        list[d] = d < 3 - spatial ? otherwise : a ? a->ints[d - 3 + spatial] : otherwise;
}

/* `w` is NULL for pools. */
static windows read_windows(const scope_node *node, const scope_value *x, const scope_value *w, scope_value *out) {
    windows c = {.x = x, .w = w};
    const scope_attribute *pads = scope_find(node, "pads"), *kernel = scope_find(node, "kernel_shape");
    c.spatial = c.x->rank - 2;
    c.groups = scope_find_int(node, "group", 1);
    read_list(node, "strides", c.spatial, 1, c.stride);
    read_list(node, "dilations", c.spatial, 1, c.dilation);
    read_list(node, "pads", c.spatial, 0, c.pad);
    out->rank = c.x->rank;
    out->dims[0] = c.x->dims[0];
    out->dims[1] = w ? w->dims[0] : x->dims[1];
    for (int d = 0; d < 3; d++) {
        const int own = d - 3 + c.spatial;
        c.in[d] = own < 0 ? 1 : c.x->dims[2 + own];
        c.kernel[d] = own < 0 ? 1 : w ? w->dims[2 + own] : kernel ? kernel->ints[own] : c.in[d];
        const int64_t end = own < 0 || !pads ? 0 : pads->ints[own + c.spatial];
        c.out[d] = (c.in[d] + c.pad[d] + end - (c.kernel[d] - 1) * c.dilation[d] - 1) / c.stride[d] + 1;
        if (own >= 0)
            out->dims[2 + own] = c.out[d];
    }
    return c;
}

/* The taps of the window at a place that lie inside the image: [first, end) along each dimension. */
typedef struct seen {
    int64_t first[3], end[3], from[3]; /* `from`: where tap 0 lies */
} seen;

static seen find_seen(const windows *c, const int64_t *at) {
    seen s;
    for (int d = 0; d < 3; d++) {
        const int64_t from = at[d] * c->stride[d] - c->pad[d], step = c->dilation[d], left = c->in[d] - from;
        s.from[d] = from;
        s.first[d] = from < 0 ? (-from + step - 1) / step : 0;
        s.end[d] = left <= 0 ? 0 : (left + step - 1) / step;
        if (s.end[d] > c->kernel[d])
            s.end[d] = c->kernel[d];
    }
    return s;
}

/* Where in its plane the row of taps [i, j, 0] begins. */
static int64_t row_of(const windows *c, const seen *s, int64_t i, int64_t j) {
    return ((s->from[0] + i * c->dilation[0]) * c->in[1] + s->from[1] + j * c->dilation[1]) * c->in[2] + s->from[2];
}

/* What a window sees of a channel, times the weights of that channel. */
static double window_sum(const windows *c, const double *x, const double *w, double w_zero, const seen *s) {
    double sum = 0;
    for (int64_t i = s->first[0]; i < s->end[0]; i++)
        for (int64_t j = s->first[1]; j < s->end[1]; j++) {
            const int64_t row = row_of(c, s, i, j);
            const double *taps = w + (i * c->kernel[1] + j) * c->kernel[2];
            for (int64_t k = s->first[2]; k < s->end[2]; k++)
                sum += (x[row + k * c->dilation[2]] - c->x_zero) * (taps[k] - w_zero);
        }
    return sum;
}

static double zero_of(const windows *c, int64_t m) {
    return !c->w_zeros ? 0 : c->w_zeros->numbers[scope_count(c->w_zeros->rank, c->w_zeros->dims) > 1 ? m : 0];
}

/* Channel `m` of an image. */
static void convolve(const windows *c, int64_t image, int64_t m, double *to) {
    const int64_t channels = c->w->dims[1], plane = scope_count(3, c->in), taps = scope_count(3, c->kernel),
                  group = m / (c->w->dims[0] / c->groups);
    const double *x = c->x->numbers + (image * c->x->dims[1] + group * channels) * plane,
                 *w = c->w->numbers + m * channels * taps, zero = zero_of(c, m);
    for (int64_t i = 0; i < c->out[0]; i++)
        for (int64_t j = 0; j < c->out[1]; j++)
            for (int64_t k = 0; k < c->out[2]; k++) {
                double sum = c->b ? c->b->numbers[m] : 0;
                const seen s = find_seen(c, (const int64_t[]){i, j, k});
                for (int64_t channel = 0; channel < channels; channel++)
                    sum += window_sum(c, x + channel * plane, w + channel * taps, zero, &s);
                *to++ = sum;
            }
}

/* Of QLinearConv, sums are written: they are scaled and rounded elsewhere. */
bool scope_evaluate_window(scope_graph *g, const scope_node *node) {
    const bool is_integer = !strcmp(node->op, "ConvInteger"), is_scaled = !strcmp(node->op, "QLinearConv");
    if (!is_integer && !is_scaled && strcmp(node->op, "Conv"))
        return false;
    scope_value *out = &g->values[node->outs[0]];
    windows c = read_windows(node, &g->values[node->in[0]], &g->values[node->in[is_scaled ? 3 : 1]], out);
    const int bias = is_scaled ? 8 : is_integer ? SCOPE_NODE_INPUTS : 2;
    out->dtype = is_integer || is_scaled ? OX_INT32 : c.x->dtype;
    const int w_zeros = is_scaled ? 5 : is_integer ? 3 : SCOPE_NODE_INPUTS;
    if (is_integer || is_scaled)
        c.x_zero = scope_first(g, node, 2, 0);
    if (node->nin > w_zeros && node->in[w_zeros] >= 0)
        c.w_zeros = &g->values[node->in[w_zeros]];
    if (node->nin > bias && node->in[bias] >= 0)
        c.b = &g->values[node->in[bias]];
    if (!scope_room(g, out))
        return false;
    const int64_t plane = scope_count(3, c.out), channels = c.w->dims[0];
    for (int64_t n = 0; n < c.x->dims[0]; n++)
        for (int64_t m = 0; m < channels; m++)
            convolve(&c, n, m, out->numbers + (n * channels + m) * plane);
    for (int64_t i = 0; i < c.x->dims[0] * channels * plane; i++)
        out->numbers[i] = scope_round(out->dtype, out->numbers[i]);
    return true;
}

/* ---- Pools ------------------------------------------------------------------------------------------------------ */

typedef struct folded {
    double sum, most, powers; /* powers: sum of |x|^p */
    int64_t count;
} folded;

/* What a window sees of a plane; powers where `p` is not 0. */
static folded fold_window(const windows *c, const double *x, const int64_t *at, double p) {
    folded f = {0, -INFINITY, 0, 0};
    const seen s = find_seen(c, at);
    for (int64_t i = s.first[0]; i < s.end[0]; i++)
        for (int64_t j = s.first[1]; j < s.end[1]; j++) {
            const int64_t row = row_of(c, &s, i, j);
            for (int64_t k = s.first[2]; k < s.end[2]; k++) {
                const double number = x[row + k * c->dilation[2]];
                f.sum += number;
                f.most = fmax(f.most, number);
                f.powers += p > 0 ? pow(fabs(number), p) : 0;
                f.count++;
            }
        }
    return f;
}

/* Whether a number is one of the type; halves lose too much for a comparison if it is none. */
static bool keep(scope_graph *g, const scope_value *out, double number, double *to) {
    *to = scope_round(out->dtype, number);
    if (*to == number)
        return true;
    g->rounds = true;
    return out->dtype == OX_FLOAT || out->dtype == OX_DOUBLE;
}

bool scope_evaluate_pool(scope_graph *g, const scope_node *node) {
    const bool is_most = !strcmp(node->op, "MaxPool") || !strcmp(node->op, "GlobalMaxPool"),
               is_mean = !strcmp(node->op, "AveragePool") || !strcmp(node->op, "GlobalAveragePool"),
               is_power = !strcmp(node->op, "LpPool");
    scope_value *out = &g->values[node->outs[0]];
    if ((!is_most && !is_mean && !is_power) || scope_find(node, "ceil_mode") || scope_find(node, "auto_pad"))
        return false;
    const windows c = read_windows(node, &g->values[node->in[0]], NULL, out);
    out->dtype = c.x->dtype;
    if (!scope_room(g, out))
        return false;
    const int64_t plane = scope_count(3, c.in), taps = scope_count(3, c.kernel);
    const double p = is_power ? (double)scope_find_int(node, "p", 2) : 0;
    double *to = out->numbers;
    g->rounds |= p > 2; /* no C library's pow is exact, and those of vectors differ from those of numbers */
    for (int64_t channel = 0; channel < c.x->dims[0] * c.x->dims[1]; channel++)
        for (int64_t i = 0; i < scope_count(3, c.out); i++) {
            const int64_t at[] = {i / c.out[2] / c.out[1], i / c.out[2] % c.out[1], i % c.out[2]};
            const folded f = fold_window(&c, c.x->numbers + channel * plane, at, p);
            const double count = scope_find_int(node, "count_include_pad", 0) ? (double)taps : (double)f.count;
            if (!keep(g, out, is_power ? pow(f.powers, 1 / p) : is_most ? f.most : f.sum / count, to++))
                return false;
        }
    return true;
}
