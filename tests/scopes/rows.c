/* rows.c: passes whose rows are reduced, and chains. */
#include <string.h>

#include "scopes.h"

/* x has the shape, y and z broadcast to it, and @ is an axis. */
static const char *const expressions[] = {
    "Sub(x,ReduceMax(Add(x,y),{@}))",
    "Mul(Add(x,y),ReduceSum(x,{@}))",
    "Add(ReduceSum(Mul(x,y),{@}),z)",
    "ReduceSum[keepdims=0](Mul(x,y),{@})",
    "Relu(Sub(ReduceMax(Mul(x,y),{@}),ReduceSum(x,{@})))",
    "a=Add(x,y);b=Sub(a,ReduceMax(a,{@}));Mul(b,z)",
    "a=ReduceSum(x,{@});Max(Mul(a,y),Add(x,a))",
    "ReduceSum(Mul(Add(x,y),ReduceMax(x,{@})),{@})",
    "a=Mul(x,y);Div(a,ReduceSum(Mul(a,a),{@}))",
    /* chains */
    "Add(Mul(x,y),z)",
    "Relu(Sub(Mul(x,y),z))",
    "a=Add(x,y);Mul(a,Clip(a,l,h))",
    "Div(Sub(Max(x,y),z),y)",
    "Neg(Min(Mul(x,z),Add(y,x)))",
    "a=Mul(x,y);b=Add(a,z);Sub(Mul(b,a),x)",
    "Abs(Sub(Sub(y,x),Mul(x,z)))",
    "PRelu(Add(x,y),z)",
};

static const char *const float_expressions[] = {
    "Softmax[axis=@](Add(x,y))",
    "Mul(Softmax[axis=@](Mul(x,y)),z)",
    "a=Exp(Sub(x,ReduceMax(x,{@})));Mul(Div(a,ReduceSum(a,{@})),y)",
    "Add(LogSoftmax[axis=@](x),y)",
    "a=Sub(x,ReduceMean(x,{@}));b=ReduceMean(Mul(a,a),{@});Add(Mul(Div(a,Sqrt(Add(b,l))),y),z)",
    "a=Add(x,y);Mul(Mul(a,Reciprocal(Sqrt(Add(ReduceMean(Mul(a,a),{@}),l)))),z)",
    "Sub(ReduceLogSumExp(Mul(x,y),{@}),z)",
    "Mul(x,Sigmoid(Add(x,y)))",
    "Div(Mul(Tanh(x),y),Add(Exp(z),l))",
    "ReduceL2[keepdims=0](Add(x,y),{@})",
    "Mul(ReduceMean(x,{@}),ReduceMin(Add(x,y),{@}))",
    "Add(Gelu(Mul(x,y)),z)",
    "Mul(HardSigmoid(Add(x,y)),Elu(z))",
};

/* Shapes beyond those of 1, 2 and 3. */
typedef struct shape {
    int rank;
    int64_t dims[SCOPE_RANK];
} shape;

static const shape shapes[] = {
    {1, {17}},         {2, {2, 33}},       {2, {33, 2}},         {2, {9, 17}},  {3, {2, 9, 17}}, {3, {3, 1, 40}},
    {4, {2, 3, 7, 9}}, {4, {3, 1, 17, 5}}, {5, {2, 1, 3, 2, 5}}, {2, {3, 300}}, {3, {2, 3, 70}}, {4, {2, 16, 9, 9}},
};

static void write(scope *s, ox_dtype dtype, const char *expression, const shape *x, int rank, const int64_t *dims) {
    int values[26];
    dtype = scope_fitting(dtype, expression);
    values['x' - 'a'] = scope_give(s, dtype, x->rank, x->dims, scope_any_place(s));
    values['y' - 'a'] = scope_give(s, dtype, rank, dims, scope_any_place(s));
    if (scope_reads(expression, 'z'))
        values['z' - 'a'] = scope_give_any(s, dtype, x->rank, x->dims);
    if (scope_reads(expression, 'h'))
        scope_give_limits(s, dtype, values);
    else if (scope_reads(expression, 'l'))
        values['l' - 'a'] = scope_give_number(s, dtype, 1);
    scope_result(s, scope_write(s, expression, values));
    scope_check(s);
}

static ox_dtype draw_type(scope *s, int ntypes) {
    return scope_draw(s, 2) ? OX_FLOAT : scope_numbers[scope_draw(s, ntypes)];
}

static void with_operand(scope *s, const void *context, int rank, const int64_t *dims) {
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++)
        if (scope_begin(s))
            write(s, draw_type(s, 8), expressions[i], context, rank, dims);
    for (size_t i = 0; i < sizeof float_expressions / sizeof *float_expressions; i++)
        if (scope_begin(s))
            write(s, draw_type(s, 4), float_expressions[i], context, rank, dims);
}

static void with_axes(scope *s, const shape *x) {
    for (s->axis = 0; s->axis < x->rank; s->axis++)
        scope_shapes(s, x->rank, x->dims, with_operand, x);
}

void scope_rows(scope *s) {
    for (int rank = 1; rank <= 4; rank++)
        for (int number = 0; number < (rank == 1 ? 3 : rank == 2 ? 9 : rank == 3 ? 27 : 16); number++) {
            shape x = {.rank = rank};
            for (int d = 0, left = number; d < rank; d++, left /= rank < 4 ? 3 : 2)
                x.dims[d] = rank < 4 ? left % 3 + 1 : left % 2 + 1 + (d == 3 && left % 2);
            with_axes(s, &x);
        }
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        with_axes(s, &shapes[i]);
}
