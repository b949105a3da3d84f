/* evaluate_products.c: products of matrices as their definitions say. */
#include <math.h>
#include <string.h>

#include "scopes.h"

/* An operand of a product: matrices, and how to get from one of its elements to the next. */
typedef struct matrix {
    const scope_value *value;
    int rank; /* with the dimension of 1 that vectors get */
    int64_t dims[SCOPE_RANK], steps[SCOPE_RANK];
    const scope_value *zero; /* is taken from each element, and has one for each row, or column; or NULL */
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

static double zero_of(const matrix *m, int64_t i) {
    return !m->zero ? 0 : m->zero->numbers[scope_count(m->zero->rank, m->zero->dims) > 1 ? i : 0];
}

static double sum_of(const matrix *a, const matrix *b, int64_t i, int64_t j, int64_t at_a, int64_t at_b) {
    double sum = 0;
    for (int64_t k = 0; k < a->dims[a->rank - 1]; k++)
        sum += (a->value->numbers[at_a + i * a->steps[a->rank - 2] + k * a->steps[a->rank - 1]] - zero_of(a, i)) *
               (b->value->numbers[at_b + k * b->steps[b->rank - 2] + j * b->steps[b->rank - 1]] - zero_of(b, j));
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
    scope_value *out = &g->values[node->outs[0]];
    out->dtype = is_integer ? OX_INT32 : a.value->dtype;
    for (int i = 2; i < node->nin && is_integer; i++)
        (i == 2 ? &a : &b)->zero = node->in[i] < 0 ? NULL : &g->values[node->in[i]];
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
