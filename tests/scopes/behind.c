/* behind.c: elementwise nodes behind a dense one, with operands of every shape that broadcasts to its result. */
#include <string.h>

#include "scopes.h"

const ox_dtype scope_floats[4] = {OX_FLOAT, OX_DOUBLE, OX_FLOAT16, OX_BFLOAT16};
const ox_dtype scope_numbers[8] = {OX_FLOAT, OX_DOUBLE, OX_FLOAT16, OX_BFLOAT16,
                                   OX_INT32, OX_INT64,  OX_UINT32,  OX_UINT64};

/* What follows. p is the product, y an operand of every shape, z one of any shape, r and q have that of the product, l
 * and h are numbers. */
static const char *const tails[] = {
    "Add(p,y)",
    "Add(y,p)",
    "Mul(p,y)",
    "Mul(y,p)",
    "Sub(p,y)",
    "Sub(y,p)",
    "Div(p,y)",
    "Div(y,p)",
    "Max(p,y)",
    "Min(y,p)",
    "PRelu(p,y)",
    "Relu(Add(p,y))",
    "Clip(Mul(p,y),l,h)",
    "Add(Mul(p,y),z)",
    "Mul(Add(p,y),z)",
    "Relu(Add(Mul(p,y),z))",
    "Add(Add(p,y),r)",
    "Relu(Add(r,Mul(p,y)))",
    "Clip(Add(Add(Mul(p,z),y),r),l,h)",
    "Add(Add(p,r),y)",
    "Mul(p,Clip(Add(p,y),l,h))",
    "Sub(Mul(p,y),Mul(p,z))",
    "Max(Add(p,y),Mul(q,z))",
};

/* The same for floats alone: functions that are not exact. */
static const char *const float_tails[] = {
    "Mul(p,Sigmoid(Add(p,y)))",   "Tanh(Mul(p,y))", "HardSwish(Add(p,y))", "Add(Exp(Min(p,y)),r)",
    "LeakyRelu(Add(Mul(p,y),z))",
};

/* An operand whose first dims are cut, and whose others are those of a result or 1. */
static int shape_of(const scope_dense *dense, int cut, unsigned kept, int64_t *dims) {
    for (int d = cut; d < dense->rank; d++)
        dims[d - cut] = kept >> d & 1 ? dense->dims[d] : 1;
    return dense->rank - cut;
}

/* Shapes that are not those of other numbers, too. */
static bool is_shape(const scope_dense *dense, int cut, unsigned kept) {
    for (int d = 0; d < dense->rank; d++)
        if (kept >> d & 1 && (d < cut || dense->dims[d] == 1))
            return false;
    return true;
}

static int give_any(scope *s, const scope_dense *dense, ox_dtype dtype) {
    int64_t dims[SCOPE_RANK];
    const int cut = scope_draw(s, dense->rank + 1), rank = shape_of(dense, cut, (unsigned)scope_draw(s, 64), dims);
    return scope_give(s, dtype, rank, dims, scope_any_place(s));
}

static int give_number(scope *s, ox_dtype dtype, double number) {
    const int value = scope_give(s, dtype, 0, NULL, SCOPE_CONSTANT);
    s->graph.values[value].numbers[0] = number;
    return value;
}

static void write_tail(scope *s, const scope_dense *dense, ox_dtype dtype, const char *tail, int rank,
                       const int64_t *dims) {
    int values[26];
    if (strstr(tail, "Relu(") && (dtype == OX_UINT32 || dtype == OX_UINT64)) /* ONNX has none */
        dtype = OX_INT32;
    values['p' - 'a'] = dense->add(s, dense->context, dtype);
    values['y' - 'a'] = scope_give(s, dtype, rank, dims, scope_any_place(s));
    if (strchr(tail, 'z'))
        values['z' - 'a'] = give_any(s, dense, dtype);
    for (const char *c = "qr"; *c; c++)
        if (strchr(tail, *c))
            values[*c - 'a'] = scope_give(s, dtype, dense->rank, dense->dims, scope_any_place(s));
    if (strstr(tail, ",l,h")) {
        values['l' - 'a'] = give_number(s, dtype, 1);
        values['h' - 'a'] = give_number(s, dtype, 6);
    }
    scope_result(s, scope_write(s, tail, values));
    if (scope_draw(s, 8) == 0)
        scope_result(s, values['p' - 'a']);
    scope_check(s);
}

/* Half of all graphs are of the first type, which has the most ways. */
static ox_dtype draw_type(scope *s, const scope_dense *dense) {
    return dense->types[scope_draw(s, 2) ? 0 : scope_draw(s, dense->ntypes)];
}

static void behind_operand(scope *s, const scope_dense *dense, int rank, const int64_t *dims) {
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++)
        if (scope_begin(s))
            write_tail(s, dense, draw_type(s, dense), tails[i], rank, dims);
    for (size_t i = 0; i < sizeof float_tails / sizeof *float_tails; i++)
        if (scope_is_float(dense->types[0]) && scope_begin(s)) {
            ox_dtype dtype = draw_type(s, dense);
            write_tail(s, dense, scope_is_float(dtype) ? dtype : OX_FLOAT, float_tails[i], rank, dims);
        }
}

void scope_behind(scope *s, const scope_dense *dense) {
    int64_t dims[SCOPE_RANK];
    for (int cut = 0; cut <= dense->rank; cut++)
        for (unsigned kept = 0; kept < 1U << dense->rank; kept++)
            if (is_shape(dense, cut, kept)) {
                const int rank = shape_of(dense, cut, kept, dims);
                behind_operand(s, dense, rank, dims);
            }
}
