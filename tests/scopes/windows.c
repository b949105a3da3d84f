/* windows.c: products of matrices and convolutions as their definitions say, for evaluate.c. */
#include <math.h>
#include <string.h>

#include "scopes.h"

/* ---- Products ------------------------------------------------------------------------------------------------- */

/* An operand of a product: matrices, and how to get from one of its elements to the next. */
typedef struct matrix {
    const scope_value *value;
    int rank; /* with the dimension of 1 that vectors get */
    int64_t dims[SCOPE_RANK], steps[SCOPE_RANK];
    double zero; /* is taken from each element */
} matrix;

/* Of MatMul: a vector gets a row or a column. */
static matrix matrix_of(const scope_value *value, bool is_left, bool is_turned) {
    matrix m = {.value = value, .rank = value->rank};
    int64_t step = 1;
    memcpy(m.dims, value->dims, sizeof m.dims);
    if (value->rank == 1) {
        m.dims[is_left] = value->dims[0];
        m.dims[!is_left] = 1;
        m.rank = 2;
    }
    for (int d = m.rank - 1; d >= 0; step *= m.dims[d--])
        m.steps[d] = step;
    if (is_turned && value->rank > 1) {
        const int64_t dim = m.dims[m.rank - 1], last = m.steps[m.rank - 1];
        m.dims[m.rank - 1] = m.dims[m.rank - 2], m.steps[m.rank - 1] = m.steps[m.rank - 2];
        m.dims[m.rank - 2] = dim, m.steps[m.rank - 2] = last;
    }
    return m;
}

/* The dimensions of a batch that a matrix is repeated for. */
static int64_t batch_at(const matrix *m, int rank, const int64_t *dims, int64_t batch) {
    int64_t at = 0;
    for (int d = rank - 3; d >= 0; d--) {
        const int own = d - rank + m->rank;
        if (own >= 0 && m->dims[own] != 1)
            at += batch % dims[d] * m->steps[own];
        batch /= dims[d];
    }
    return at;
}

static double sum_of(const matrix *a, const matrix *b, int64_t i, int64_t j, int64_t at_a, int64_t at_b) {
    double sum = 0;
    for (int64_t k = 0; k < a->dims[a->rank - 1]; k++)
        sum += (a->value->numbers[at_a + i * a->steps[a->rank - 2] + k * a->steps[a->rank - 1]] - a->zero) *
               (b->value->numbers[at_b + k * b->steps[b->rank - 2] + j * b->steps[b->rank - 1]] - b->zero);
    return sum;
}

/* All products, into numbers that have room; `out` has the dims of matrices. */
static void multiply(const matrix *a, const matrix *b, scope_value *out) {
    const int64_t rows = out->dims[out->rank - 2], columns = out->dims[out->rank - 1],
                  batches = scope_count(out->rank - 2, out->dims);
    for (int64_t n = 0; n < batches; n++) {
        const int64_t at_a = batch_at(a, out->rank, out->dims, n), at_b = batch_at(b, out->rank, out->dims, n);
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < columns; j++)
                out->numbers[(n * rows + i) * columns + j] = sum_of(a, b, i, j, at_a, at_b);
    }
}

static void shape_of(const matrix *a, const matrix *b, scope_value *out) {
    out->rank = a->rank > b->rank ? a->rank : b->rank;
    for (int d = 0; d < out->rank - 2; d++) {
        const int in_a = d - out->rank + a->rank, in_b = d - out->rank + b->rank;
        out->dims[d] = in_a < 0 ? 1 : a->dims[in_a];
        if (in_b >= 0 && b->dims[in_b] != 1)
            out->dims[d] = b->dims[in_b];
    }
    out->dims[out->rank - 2] = a->dims[a->rank - 2];
    out->dims[out->rank - 1] = b->dims[b->rank - 1];
}

/* Takes the dimensions away that vectors got. */
static void drop_vectors(const matrix *a, const matrix *b, scope_value *out) {
    if (b->value->rank == 1)
        out->rank--;
    if (a->value->rank == 1) {
        if (b->value->rank != 1)
            out->dims[out->rank - 2] = out->dims[out->rank - 1];
        out->rank--;
    }
}

static double zero_of(const scope_graph *g, const scope_node *node, int input) {
    return node->nin > input && node->in[input] >= 0 ? g->values[node->in[input]].numbers[0] : 0;
}

/* alpha * sums + beta * C, of Gemm, rounded as it is said to be: not at all before the end. */
static void add_c(const scope_graph *g, const scope_node *node, scope_value *out) {
    const scope_attribute *alpha = scope_find(node, "alpha"), *beta = scope_find(node, "beta");
    const scope_value *c = node->nin > 2 && node->in[2] >= 0 ? &g->values[node->in[2]] : NULL;
    for (int64_t i = 0; i < out->dims[0]; i++)
        for (int64_t j = 0; j < out->dims[1]; j++) {
            double *to = &out->numbers[i * out->dims[1] + j];
            *to *= alpha ? (double)alpha->number : 1;
            if (c) {
                const int64_t columns = c->rank ? c->dims[c->rank - 1] : 1, rows = c->rank > 1 ? c->dims[0] : 1;
                *to += (beta ? (double)beta->number : 1) *
                       c->numbers[(rows > 1 ? i : 0) * columns + (columns > 1 ? j : 0)];
            }
        }
}

bool scope_evaluate_product(scope_graph *g, const scope_node *node) {
    const bool is_gemm = !strcmp(node->op, "Gemm"), is_integer = !strcmp(node->op, "MatMulInteger");
    if (!is_gemm && !is_integer && strcmp(node->op, "MatMul") && strcmp(node->op, "FusedMatMul"))
        return false;
    matrix a = matrix_of(&g->values[node->in[0]], true, scope_find_int(node, "transA", 0)),
           b = matrix_of(&g->values[node->in[1]], false, scope_find_int(node, "transB", 0));
    scope_value *out = &g->values[node->out];
    out->dtype = is_integer ? OX_INT32 : a.value->dtype;
    if (is_integer)
        a.zero = zero_of(g, node, 2), b.zero = zero_of(g, node, 3);
    shape_of(&a, &b, out);
    if (!scope_room(g, out))
        return false;
    multiply(&a, &b, out);
    if (is_gemm)
        add_c(g, node, out);
    const scope_attribute *alpha = is_gemm ? NULL : scope_find(node, "alpha");
    const int64_t count = scope_count(out->rank, out->dims);
    for (int64_t i = 0; i < count; i++)
        out->numbers[i] = scope_round(out->dtype, out->numbers[i] * (alpha ? (double)alpha->number : 1));
    drop_vectors(&a, &b, out);
    return true;
}

/* ---- Windows -------------------------------------------------------------------------------------------------- */

/* A convolution whose missing dimensions are 1. */
typedef struct windows {
    const scope_value *x, *w, *b;
    int spatial;
    int64_t groups, in[3], kernel[3], out[3], stride[3], pad[3], dilation[3];
    double x_zero, w_zero;
} windows;

static void read_list(const scope_node *node, const char *name, int spatial, int64_t otherwise, int64_t list[3]) {
    const scope_attribute *a = scope_find(node, name);
    for (int d = 0; d < 3; d++)
        list[d] = d < 3 - spatial ? otherwise : a ? a->ints[d - 3 + spatial] : otherwise;
}

static windows read_windows(const scope_graph *g, const scope_node *node, scope_value *out) {
    windows c = {.x = &g->values[node->in[0]], .w = &g->values[node->in[1]]};
    const scope_attribute *pads = scope_find(node, "pads");
    c.spatial = c.x->rank - 2;
    c.groups = scope_find_int(node, "group", 1);
    read_list(node, "strides", c.spatial, 1, c.stride);
    read_list(node, "dilations", c.spatial, 1, c.dilation);
    read_list(node, "pads", c.spatial, 0, c.pad);
    out->rank = c.x->rank;
    out->dims[0] = c.x->dims[0];
    out->dims[1] = c.w->dims[0];
    for (int d = 0; d < 3; d++) {
        const int own = d - 3 + c.spatial;
        c.in[d] = own < 0 ? 1 : c.x->dims[2 + own];
        c.kernel[d] = own < 0 ? 1 : c.w->dims[2 + own];
        const int64_t end = own < 0 || !pads ? 0 : pads->ints[own + c.spatial];
        c.out[d] = (c.in[d] + c.pad[d] + end - (c.kernel[d] - 1) * c.dilation[d] - 1) / c.stride[d] + 1;
        if (own >= 0)
            out->dims[2 + own] = c.out[d];
    }
    return c;
}

/* What a window sees of a channel, times the weights of that channel. */
static double window_sum(const windows *c, const double *x, const double *w, const int64_t *at) {
    double sum = 0;
    for (int64_t i = 0; i < c->kernel[0]; i++)
        for (int64_t j = 0; j < c->kernel[1]; j++)
            for (int64_t k = 0; k < c->kernel[2]; k++) {
                const int64_t z = at[0] * c->stride[0] - c->pad[0] + i * c->dilation[0],
                              y = at[1] * c->stride[1] - c->pad[1] + j * c->dilation[1],
                              u = at[2] * c->stride[2] - c->pad[2] + k * c->dilation[2];
                if (z >= 0 && z < c->in[0] && y >= 0 && y < c->in[1] && u >= 0 && u < c->in[2])
                    sum += (x[(z * c->in[1] + y) * c->in[2] + u] - c->x_zero) *
                           (w[(i * c->kernel[1] + j) * c->kernel[2] + k] - c->w_zero);
            }
    return sum;
}

/* Channel `m` of an image. */
static void convolve(const windows *c, int64_t image, int64_t m, double *to) {
    const int64_t channels = c->w->dims[1], plane = scope_count(3, c->in), taps = scope_count(3, c->kernel),
                  group = m / (c->w->dims[0] / c->groups);
    const double *x = c->x->numbers + (image * c->x->dims[1] + group * channels) * plane,
                 *w = c->w->numbers + m * channels * taps;
    for (int64_t i = 0; i < c->out[0]; i++)
        for (int64_t j = 0; j < c->out[1]; j++)
            for (int64_t k = 0; k < c->out[2]; k++) {
                double sum = c->b ? c->b->numbers[m] : 0;
                for (int64_t channel = 0; channel < channels; channel++)
                    sum += window_sum(c, x + channel * plane, w + channel * taps, (const int64_t[]){i, j, k});
                *to++ = sum;
            }
}

bool scope_evaluate_window(scope_graph *g, const scope_node *node) {
    const bool is_integer = !strcmp(node->op, "ConvInteger");
    if (!is_integer && strcmp(node->op, "Conv"))
        return false;
    scope_value *out = &g->values[node->out];
    windows c = read_windows(g, node, out);
    out->dtype = is_integer ? OX_INT32 : c.x->dtype;
    if (is_integer)
        c.x_zero = zero_of(g, node, 2), c.w_zero = zero_of(g, node, 3);
    else if (node->nin > 2 && node->in[2] >= 0)
        c.b = &g->values[node->in[2]];
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
