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

double scope_first(const scope_graph *g, const scope_node *node, int input, int64_t i) {
    const scope_value *value = node->nin > input && node->in[input] >= 0 ? &g->values[node->in[input]] : NULL;
    return !value ? 0 : value->numbers[scope_count(value->rank, value->dims) > 1 ? i : 0];
}

void scope_steps(const scope_value *value, int rank, int64_t *steps) {
    int64_t step = 1;
    for (int d = rank - 1; d >= 0; d--) {
        const int own = d - rank + value->rank;
        steps[d] = own < 0 || value->dims[own] == 1 ? 0 : step;
        step *= own < 0 ? 1 : value->dims[own];
    }
}

void scope_step_on(int rank, const int64_t *dims, int64_t *index, int n, int64_t (*steps)[SCOPE_RANK], int64_t *at) {
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

bool scope_shape_like(scope_graph *g, scope_value *value, const scope_value *like) {
    value->dtype = like->dtype;
    value->rank = like->rank;
    memcpy(value->dims, like->dims, sizeof value->dims);
    return scope_room(g, value);
}

/* ---- Elementwise nodes ---------------------------------------------------------------------------------------- */

/* Quotients of integers are cut, and nothing is divided by zero: that is an error, or no number; where something was
 * rounded before, by nothing small. */
static bool divide(ox_dtype dtype, double x, double y, double least, double *to) {
    *to = y == 0 ? 0 : scope_is_float(dtype) ? x / y : trunc(x / y);
    return fabs(y) > least;
}

typedef enum element_op {
    ADD,
    SUB,
    MUL,
    DIV,
    MOST,
    LEAST,
    PRELU,
    CLIP,
    RELU,
    NEG,
    ABS,
    SAME,
    OTHER
} element_op;

static element_op find_element(const char *op) {
    static const struct {
        const char *name;
        element_op op;
    } all[] = {{"Add", ADD},  {"Sum", ADD},   {"Sub", SUB},       {"Mul", MUL},   {"Div", DIV},
               {"Max", MOST}, {"Min", LEAST}, {"PRelu", PRELU},   {"Clip", CLIP}, {"Relu", RELU},
               {"Neg", NEG},  {"Abs", ABS},   {"Identity", SAME}, {"Cast", SAME}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(op, all[i].name))
            return all[i].op;
    return OTHER;
}

static bool compute(element_op op, ox_dtype dtype, const double *in, double least, double *to) {
    switch (op) {
    case ADD:
        *to = in[0] + in[1];
        break;
    case SUB:
        *to = in[0] - in[1];
        break;
    case MUL:
        *to = in[0] * in[1];
        break;
    case DIV:
        return divide(dtype, in[0], in[1], least, to);
    case MOST:
        *to = in[0] > in[1] ? in[0] : in[1];
        break;
    case LEAST:
        *to = in[0] < in[1] ? in[0] : in[1];
        break;
    case PRELU:
        *to = in[0] < 0 ? in[0] * in[1] : in[0];
        break;
    case CLIP:
        *to = fmin(fmax(in[0], in[1]), in[2]);
        break;
    case RELU:
        *to = in[0] > 0 ? in[0] : 0;
        break;
    case NEG:
        *to = -in[0];
        break;
    case ABS:
        *to = fabs(in[0]);
        break;
    case SAME:
        *to = in[0];
        break;
    case OTHER:
        return false;
    }
    return true;
}

static bool evaluate_elements(scope_graph *g, const scope_node *node) {
    scope_value *out = &g->values[node->outs[0]];
    int64_t steps[3][SCOPE_RANK], index[SCOPE_RANK] = {0}, at[3] = {0};
    const element_op op = find_element(node->op);
    if (node->nin > 3)
        return false;
    for (int i = 0; i < node->nin; i++)
        if (node->in[i] < 0)
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
        scope_steps(&g->values[node->in[i]], out->rank, steps[i]);
    const int64_t count = scope_count(out->rank, out->dims);
    for (int64_t k = 0; k < count; k++) {
        double in[3] = {0}, result = 0;
        for (int i = 0; i < node->nin; i++)
            in[i] = g->values[node->in[i]].numbers[at[i]];
        if (!compute(op, out->dtype, in, g->rounds ? 0.01 : 0, &result))
            return false;
        if (result < 0 && (out->dtype == OX_UINT32 || out->dtype == OX_UINT64)) /* wraps */
            return false;
        out->numbers[k] = scope_round(out->dtype, result);
        scope_step_on(out->rank, out->dims, index, node->nin, steps, at);
    }
    return true;
}

/* ---- Graphs ---------------------------------------------------------------------------------------------------- */

bool scope_evaluate(scope_graph *g) {
    static bool (*const kinds[])(scope_graph *, const scope_node *) = {
        scope_evaluate_move,   scope_evaluate_product, scope_evaluate_quantized, scope_evaluate_blocks,
        scope_evaluate_sample, scope_evaluate_layer,   scope_evaluate_window,    scope_evaluate_pool,
        scope_evaluate_norm,   evaluate_elements};
    for (int n = 0; n < g->nnodes; n++) {
        const scope_node *node = &g->nodes[n];
        bool done = false;
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds && !done && node->nout == 1; k++)
            done = kinds[k](g, node);
        if (!done)
            return false;
    }
    return true;
}
