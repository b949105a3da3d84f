/* evaluate_moves.c: views and copies, and sums and greatest elements of dimensions. */
#include <string.h>

#include "scopes.h"

static bool is(const scope_node *node, const char *op) {
    return !strcmp(node->op, op);
}

/* ---- Another order, or a part ---------------------------------------------------------------------------------- */

/* Steps through the input, and where they begin, for each dimension of the result. */
static bool find_view(const scope_graph *g, const scope_node *node, scope_value *out, int64_t *steps, int64_t *first) {
    const scope_value *in = &g->values[node->in[0]];
    int64_t own[SCOPE_RANK];
    scope_steps(in, in->rank, own);
    memcpy(steps, own, sizeof own);
    if (is(node, "Transpose")) {
        const scope_attribute *perm = scope_find(node, "perm");
        for (int d = 0; d < in->rank; d++) {
            const int64_t from = perm ? perm->ints[d] : in->rank - 1 - d;
            out->dims[d] = in->dims[from];
            steps[d] = own[from];
        }
    } else if (is(node, "Slice")) {
        const int64_t start = (int64_t)scope_first(g, node, 1, 0), end = (int64_t)scope_first(g, node, 2, 0),
                      axis = (int64_t)scope_first(g, node, 3, 0);
        *first = start * own[axis];
        out->dims[axis] = (end < in->dims[axis] ? end : in->dims[axis]) - start;
    } else {
        return false;
    }
    return true;
}

static bool evaluate_view(scope_graph *g, const scope_node *node) {
    scope_value *out = &g->values[node->outs[0]];
    int64_t steps[1][SCOPE_RANK], index[SCOPE_RANK] = {0}, at[1] = {0};
    *out = g->values[node->in[0]];
    out->is_given = false;
    if (!find_view(g, node, out, steps[0], at) || !scope_room(g, out))
        return false;
    const int64_t count = scope_count(out->rank, out->dims);
    for (int64_t k = 0; k < count; k++) {
        out->numbers[k] = g->values[node->in[0]].numbers[at[0]];
        scope_step_on(out->rank, out->dims, index, 1, steps, at);
    }
    return true;
}

/* Gather along the first dimension, by a list. */
static bool evaluate_picked(scope_graph *g, const scope_node *node) {
    const scope_value *in = &g->values[node->in[0]], *list = &g->values[node->in[1]];
    scope_value *out = &g->values[node->outs[0]];
    const int64_t size = scope_count(in->rank - 1, in->dims + 1);
    *out = *in;
    out->is_given = false;
    out->dims[0] = list->dims[0];
    if (node->nattrs || list->rank != 1 || !scope_room(g, out))
        return false;
    for (int64_t i = 0; i < list->dims[0]; i++) {
        const int64_t wanted = (int64_t)list->numbers[i], row = wanted < 0 ? wanted + in->dims[0] : wanted;
        memcpy(out->numbers + i * size, in->numbers + row * size, (size_t)size * sizeof *out->numbers);
    }
    return true;
}

/* ---- Other dims for the same elements --------------------------------------------------------------------------- */

static bool reshape(const scope_graph *g, const scope_node *node, scope_value *out) {
    const scope_value *in = &g->values[node->in[0]];
    if (is(node, "Flatten")) {
        const int axis = (int)scope_find_int(node, "axis", 1);
        out->rank = 2;
        out->dims[0] = scope_count(axis, in->dims);
        out->dims[1] = scope_count(in->rank - axis, in->dims + axis);
        return true;
    }
    if (!is(node, "Reshape"))
        return false;
    out->rank = (int)g->values[node->in[1]].dims[0];
    int64_t known = 1;
    int rest = -1;
    for (int d = 0; d < out->rank; d++) {
        const int64_t wanted = (int64_t)g->values[node->in[1]].numbers[d];
        out->dims[d] = wanted ? wanted : in->dims[d];
        rest = wanted < 0 ? d : rest;
        known *= wanted < 0 ? 1 : out->dims[d];
    }
    if (rest >= 0)
        out->dims[rest] = scope_count(in->rank, in->dims) / known;
    return true;
}

static bool evaluate_reshape(scope_graph *g, const scope_node *node) {
    scope_value *out = &g->values[node->outs[0]];
    *out = g->values[node->in[0]];
    out->is_given = false;
    return reshape(g, node, out);
}

/* ---- Concat ----------------------------------------------------------------------------------------------------- */

static bool evaluate_concat(scope_graph *g, const scope_node *node) {
    scope_value *out = &g->values[node->outs[0]];
    const scope_value *first = &g->values[node->in[0]];
    const int64_t stated = scope_find_int(node, "axis", 0);
    const int axis = (int)(stated < 0 ? stated + first->rank : stated);
    *out = *first;
    out->is_given = false;
    for (int i = 1; i < node->nin; i++)
        out->dims[axis] += g->values[node->in[i]].dims[axis];
    if (!scope_room(g, out))
        return false;
    const int64_t outer = scope_count(axis, out->dims), row = scope_count(out->rank - axis, out->dims + axis);
    int64_t at = 0;
    for (int i = 0; i < node->nin; i++) {
        const scope_value *in = &g->values[node->in[i]];
        const int64_t own = scope_count(in->rank - axis, in->dims + axis);
        for (int64_t k = 0; k < outer; k++)
            memcpy(out->numbers + k * row + at, in->numbers + k * own, (size_t)own * sizeof(double));
        at += own;
    }
    return true;
}

/* ---- Reductions ------------------------------------------------------------------------------------------------- */

/* Of one axis. */
static bool evaluate_reduction(scope_graph *g, const scope_node *node) {
    const bool is_sum = is(node, "ReduceSum");
    scope_value *out = &g->values[node->outs[0]];
    const scope_value *in = &g->values[node->in[0]];
    if (node->nin < 2 || g->values[node->in[1]].dims[0] != 1)
        return false;
    const int64_t stated = (int64_t)scope_first(g, node, 1, 0);
    const int axis = (int)(stated < 0 ? stated + in->rank : stated);
    *out = *in;
    out->is_given = false;
    out->dims[axis] = 1;
    if (!scope_room(g, out))
        return false;
    const int64_t outer = scope_count(axis, in->dims), count = in->dims[axis],
                  inner = scope_count(in->rank - axis - 1, in->dims + axis + 1);
    for (int64_t k = 0; k < outer * inner; k++) {
        const double *from = in->numbers + k / inner * count * inner + k % inner;
        double result = from[0];
        for (int64_t i = 1; i < count; i++)
            result = is_sum ? result + from[i * inner] : from[i * inner] > result ? from[i * inner] : result;
        out->numbers[k] = scope_round(out->dtype, result);
    }
    for (int d = axis; !scope_find_int(node, "keepdims", 1) && d + 1 < out->rank; d++)
        out->dims[d] = out->dims[d + 1];
    out->rank -= !scope_find_int(node, "keepdims", 1);
    return true;
}

/* ---- Repetition ------------------------------------------------------------------------------------------------- */

/* Expand, and Tile, whose second inputs are lists. */
static bool evaluate_repeated(scope_graph *g, const scope_node *node) {
    scope_value *out = &g->values[node->outs[0]];
    const scope_value *in = &g->values[node->in[0]], *list = &g->values[node->in[1]];
    const int count = (int)list->dims[0];
    int64_t steps[SCOPE_RANK];
    out->dtype = in->dtype;
    out->rank = in->rank > count ? in->rank : count;
    scope_steps(in, out->rank, steps);
    for (int d = 0; d < out->rank; d++) {
        const int own = d - out->rank + in->rank, stated = d - out->rank + count;
        const int64_t dim = own < 0 ? 1 : in->dims[own], number = stated < 0 ? 1 : (int64_t)list->numbers[stated];
        out->dims[d] = is(node, "Tile") ? dim * number : dim == 1 ? number : dim;
    }
    if (!scope_room(g, out))
        return false;
    for (int64_t k = scope_count(out->rank, out->dims) - 1; k >= 0; k--) {
        int64_t at = 0, left = k;
        for (int d = out->rank - 1; d >= 0; left /= out->dims[d--]) {
            const int own = d - out->rank + in->rank;
            at += own < 0 ? 0 : left % out->dims[d] % in->dims[own] * steps[d];
        }
        out->numbers[k] = in->numbers[at];
    }
    return true;
}

bool scope_evaluate_move(scope_graph *g, const scope_node *node) {
    if (is(node, "Concat"))
        return evaluate_concat(g, node);
    if (is(node, "ReduceSum") || is(node, "ReduceMax"))
        return evaluate_reduction(g, node);
    if (is(node, "Expand") || is(node, "Tile"))
        return evaluate_repeated(g, node);
    if (is(node, "Reshape") || is(node, "Flatten"))
        return evaluate_reshape(g, node);
    if (is(node, "Gather"))
        return evaluate_picked(g, node);
    return (is(node, "Transpose") || is(node, "Slice")) && evaluate_view(g, node);
}
