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
    "Relu(Mul(p,y))",
    "Max(Mul(p,y),l)",
    "Clip(Add(Mul(p,y),r),l,h)",
};

/* The same for floats alone: functions that are not exact. */
static const char *const float_tails[] = {
    "Mul(p,Sigmoid(Add(p,y)))",   "Tanh(Mul(p,y))", "HardSwish(Add(p,y))", "Add(Exp(Min(p,y)),r)",
    "LeakyRelu(Add(Mul(p,y),z))",
};

/* ---- Shapes --------------------------------------------------------------------------------------------------- */

/* An operand whose first dims are cut, and whose others are those of a result or 1. */
static int shape_of(int rank, const int64_t *dims, int cut, unsigned kept, int64_t *shape) {
    for (int d = cut; d < rank; d++)
        shape[d - cut] = kept >> d & 1 ? dims[d] : 1;
    return rank - cut;
}

/* Whether it is none that another number gives, too. */
static bool is_first(int rank, const int64_t *dims, int cut, unsigned kept) {
    for (int d = 0; d < rank; d++)
        if (kept >> d & 1 && (d < cut || dims[d] == 1))
            return false;
    return true;
}

void scope_shapes(scope *s, int rank, const int64_t *dims, scope_shape_fn *fn, const void *context) {
    int64_t shape[SCOPE_RANK];
    for (int cut = 0; cut <= rank; cut++)
        for (unsigned kept = 0; kept < 1U << rank; kept++)
            if (is_first(rank, dims, cut, kept))
                fn(s, context, shape_of(rank, dims, cut, kept, shape), shape);
}

int scope_give_any(scope *s, ox_dtype dtype, int rank, const int64_t *dims) {
    int64_t shape[SCOPE_RANK];
    const int cut = scope_draw(s, rank + 1), own = shape_of(rank, dims, cut, (unsigned)scope_draw(s, 64), shape);
    return scope_give(s, dtype, own, shape, scope_any_place(s));
}

int scope_give_number(scope *s, ox_dtype dtype, double number) {
    const int value = scope_give(s, dtype, 0, NULL, SCOPE_CONSTANT);
    s->graph.values[value].numbers[0] = number;
    return value;
}

void scope_give_limits(scope *s, ox_dtype dtype, int values[26]) {
    static const double low[] = {1, 0, -0.0, -1}, high[] = {6, 2, 0, -0.0};
    const bool is_unsigned = dtype == OX_UINT32 || dtype == OX_UINT64;
    values['l' - 'a'] = scope_give_number(s, dtype, low[scope_draw(s, is_unsigned ? 2 : 4)]);
    values['h' - 'a'] = scope_give_number(s, dtype, high[scope_draw(s, 4)]);
}

ox_dtype scope_fitting(ox_dtype dtype, const char *expression) {
    static const char *const without[] = {"Relu(", "Neg(", "Abs("};
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        if (strstr(expression, without[i]) && (dtype == OX_UINT32 || dtype == OX_UINT64))
            return OX_INT32;
    return dtype;
}

/* ---- What follows --------------------------------------------------------------------------------------------- */

static void write_tail(scope *s, const scope_dense *dense, ox_dtype dtype, const char *tail, int rank,
                       const int64_t *dims) {
    int values[26];
    dtype = scope_fitting(dtype, tail);
    values['p' - 'a'] = dense->add(s, dense->context, dtype);
    values['y' - 'a'] = scope_give(s, dtype, rank, dims, scope_any_place(s));
    if (scope_reads(tail, 'z'))
        values['z' - 'a'] = scope_give_any(s, dtype, dense->rank, dense->dims);
    for (const char *c = "qr"; *c; c++)
        if (scope_reads(tail, *c))
            values[*c - 'a'] = scope_give(s, dtype, dense->rank, dense->dims, scope_any_place(s));
    if (scope_reads(tail, 'l'))
        scope_give_limits(s, dtype, values);
    scope_result(s, scope_write(s, tail, values));
    if (scope_draw(s, 8) == 0)
        scope_result(s, values['p' - 'a']);
    scope_check(s);
}

/* Half of all graphs are of the first type, which has the most ways. */
static ox_dtype draw_type(scope *s, const scope_dense *dense) {
    return dense->types[scope_draw(s, 2) ? 0 : scope_draw(s, dense->ntypes)];
}

static void behind_operand(scope *s, const void *context, int rank, const int64_t *dims) {
    const scope_dense *dense = context;
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
    scope_shapes(s, dense->rank, dense->dims, behind_operand, dense);
}
