/* evaluate.c: graphs of small integers in doubles, element by element. Each node rounds its results to its type. */
#include <math.h>
#include <string.h>

#include "scopes.h"

const scope_attribute *scope_find(const scope_node *node, const char *name) {
    for (int i = 0; i < node->nattrs; i++)
        if (!strcmp(node->attrs[i].name, name))
            return &node->attrs[i];
    return NULL;
}

int64_t scope_find_int(const scope_node *node, const char *name, int64_t otherwise) {
    const scope_attribute *a = scope_find(node, name);
    return a ? a->ints[0] : otherwise;
}

/* The steps of a value through a space that it broadcasts to, in elements. */
static void steps_of(const scope_value *value, int rank, int64_t *steps) {
    int64_t step = 1;
    for (int d = rank - 1; d >= 0; d--) {
        const int own = d - rank + value->rank;
        steps[d] = own < 0 || value->dims[own] == 1 ? 0 : step;
        step *= own < 0 ? 1 : value->dims[own];
    }
}

/* The next index of a space; what `at` has for each operand follows. */
static void step_on(int rank, const int64_t *dims, int64_t *index, int n, int64_t (*steps)[SCOPE_RANK], int64_t *at) {
    for (int d = rank - 1; d >= 0; d--) {
        for (int k = 0; k < n; k++)
            at[k] += steps[k][d];
        if (++index[d] < dims[d])
            return;
        for (int k = 0; k < n; k++)
            at[k] -= steps[k][d] * dims[d];
        index[d] = 0;
    }
}

/* ---- Elementwise nodes ---------------------------------------------------------------------------------------- */

/* Quotients of integers are cut, and nothing is divided by zero: that is an error, or no number. */
static bool divide(ox_dtype dtype, double x, double y, double *to) {
    *to = y == 0 ? 0 : scope_is_float(dtype) ? x / y : trunc(x / y);
    return y != 0;
}

static bool compute(const char *op, ox_dtype dtype, const double *in, double *to) {
    if (!strcmp(op, "Add") || !strcmp(op, "Sum"))
        *to = in[0] + in[1];
    else if (!strcmp(op, "Sub"))
        *to = in[0] - in[1];
    else if (!strcmp(op, "Mul"))
        *to = in[0] * in[1];
    else if (!strcmp(op, "Div"))
        return divide(dtype, in[0], in[1], to);
    else if (!strcmp(op, "Max"))
        *to = in[0] > in[1] ? in[0] : in[1];
    else if (!strcmp(op, "Min"))
        *to = in[0] < in[1] ? in[0] : in[1];
    else if (!strcmp(op, "PRelu"))
        *to = in[0] < 0 ? in[0] * in[1] : in[0];
    else if (!strcmp(op, "Clip"))
        *to = in[0] < in[1] ? in[1] : in[0] > in[2] ? in[2] : in[0];
    else if (!strcmp(op, "Relu"))
        *to = in[0] > 0 ? in[0] : 0;
    else if (!strcmp(op, "Neg"))
        *to = -in[0];
    else if (!strcmp(op, "Abs"))
        *to = fabs(in[0]);
    else if (!strcmp(op, "Identity") || !strcmp(op, "Cast"))
        *to = in[0];
    else
        return false;
    return true;
}

static bool evaluate_elements(scope_graph *g, const scope_node *node) {
    scope_value *out = &g->values[node->out];
    int64_t steps[3][SCOPE_RANK], index[SCOPE_RANK] = {0}, at[3] = {0};
    if (node->nin > 3)
        return false;
    for (int i = 0; i < node->nin; i++)
        out->rank = g->values[node->in[i]].rank > out->rank ? g->values[node->in[i]].rank : out->rank;
    for (int d = 0; d < out->rank; d++)
        out->dims[d] = 1;
    for (int i = 0; i < node->nin; i++) {
        const scope_value *in = &g->values[node->in[i]];
        for (int d = 0; d < in->rank; d++)
            if (in->dims[d] != 1)
                out->dims[out->rank - in->rank + d] = in->dims[d];
    }
    out->dtype = (ox_dtype)scope_find_int(node, "to", g->values[node->in[0]].dtype);
    if (!scope_room(g, out))
        return false;
    for (int i = 0; i < node->nin; i++)
        steps_of(&g->values[node->in[i]], out->rank, steps[i]);
    const int64_t count = scope_count(out->rank, out->dims);
    for (int64_t k = 0; k < count; k++) {
        double in[3] = {0}, result;
        for (int i = 0; i < node->nin; i++)
            in[i] = g->values[node->in[i]].numbers[at[i]];
        if (!compute(node->op, out->dtype, in, &result))
            return false;
        out->numbers[k] = scope_round(out->dtype, result);
        step_on(out->rank, out->dims, index, node->nin, steps, at);
    }
    return true;
}

/* ---- Views and copies ----------------------------------------------------------------------------------------- */

static int64_t number_of(const scope_graph *g, const scope_node *node, int input, int i) {
    return (int64_t)g->values[node->in[input]].numbers[i];
}

/* Steps through the input, and where they begin, for each dimension of the result. */
static bool find_view(const scope_graph *g, const scope_node *node, scope_value *out, int64_t *steps, int64_t *first) {
    const scope_value *in = &g->values[node->in[0]];
    int64_t own[SCOPE_RANK];
    steps_of(in, in->rank, own);
    *out = *in;
    out->is_given = false;
    memcpy(steps, own, sizeof own);
    if (!strcmp(node->op, "Transpose")) {
        const scope_attribute *perm = scope_find(node, "perm");
        for (int d = 0; d < in->rank; d++) {
            out->dims[d] = in->dims[perm->ints[d]];
            steps[d] = own[perm->ints[d]];
        }
    } else if (!strcmp(node->op, "Slice")) {
        const int64_t start = number_of(g, node, 1, 0), end = number_of(g, node, 2, 0), axis = number_of(g, node, 3, 0);
        *first = start * own[axis];
        out->dims[axis] = end - start;
    } else if (!strcmp(node->op, "Gather")) { /* in the opposite order */
        *first = own[0] * (in->dims[0] - 1);
        steps[0] = -own[0];
    } else {
        return false;
    }
    return true;
}

static bool evaluate_view(scope_graph *g, const scope_node *node) {
    scope_value *out = &g->values[node->out];
    int64_t steps[1][SCOPE_RANK], index[SCOPE_RANK] = {0}, at[1] = {0};
    if (!find_view(g, node, out, steps[0], at) || !scope_room(g, out))
        return false;
    const int64_t count = scope_count(out->rank, out->dims);
    for (int64_t k = 0; k < count; k++) {
        out->numbers[k] = g->values[node->in[0]].numbers[at[0]];
        step_on(out->rank, out->dims, index, 1, steps, at);
    }
    return true;
}

/* ---- Graphs ---------------------------------------------------------------------------------------------------- */

bool scope_evaluate(scope_graph *g) {
    static const char *const views[] = {"Transpose", "Slice", "Gather"};
    for (int n = 0; n < g->nnodes; n++) {
        const scope_node *node = &g->nodes[n];
        bool is_view = false;
        for (size_t i = 0; i < sizeof views / sizeof *views; i++)
            is_view |= !strcmp(node->op, views[i]);
        if (is_view
                ? !evaluate_view(g, node)
                : !scope_evaluate_product(g, node) && !scope_evaluate_window(g, node) && !evaluate_elements(g, node))
            return false;
    }
    return true;
}
