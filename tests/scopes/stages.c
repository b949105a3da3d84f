/* stages.c: graphs whose shapes depend on data, so that they are planned in stages: what a stage computed lives on in
 * the memory of those behind it, whose passes read it at their ends, behind nodes in between that need memory, too. */
#include <string.h>

#include "scopes.h"

/* x and y have the shape, z broadcasts to it, w is a square of its last dimension, s gives the shape, as a number that
 * is not known while planning, and @ is an axis. */
static const char *const expressions[] = {
    "a=Neg(x);d=Expand(z,Mul(s,{1}));m=Mul(d,a);n=Concat[axis=@](y,d);Concat[axis=@](Add(m,y),Concat[axis=@](n,n))",
    "a=MatMul(x,w);d=Reshape(y,Mul(s,{1}));m=Sub(d,a);k=MatMul(d,w);l=MatMul(k,w);Concat[axis=@](Mul(m,l),k)",
    "a=MatMul(x,w);d=Reshape(y,Mul(s,{1}));m=Sub(d,a);k=MatMul(MatMul(d,w),w);Add(Mul(m,a),k)",
    "a=Neg(x);d=Expand(z,Mul(s,{1}));k=MatMul(d,w);m=Mul(d,a);l=MatMul(k,w);Add(m,Add(l,k))",
    "a=Neg(x);b=Abs(y);d=Expand(z,Mul(s,{1}));m=Add(a,d);k=MatMul(d,w);n=Mul(m,b);Add(n,k)",
    "a=Add(x,y);d=Expand(z,Mul(s,{1}));m=Add(a,d);k=CumSum(d,{@});n=CumSum(k,{@});Sub(Add(m,k),n)",
    "a=Add(x,y);d=Expand(z,Mul(s,{1}));m=Mul(a,d);k=ReduceSum(d,{@});n=ReduceMax(y,{@});Add(Mul(m,k),n)",
    ("a=Add(x,y);d=Expand(a,Mul(s,{1}));e=Expand(z,Abs(Mul(s,{1})));m=Mul(a,e);k=Concat[axis=@](e,d);"
     "Concat[axis=@](Sub(m,z),k)"),
    "a=Neg(x);b=Transpose(a);d=Expand(z,Mul(s,{1}));m=Mul(d,Transpose(b));k=MatMul(d,w);Concat[axis=@](Add(m,y),k)",
};

static void write(scope *s, const char *expression, int rank, const int64_t *dims) {
    int values[26];
    const int64_t square[] = {dims[rank - 1], dims[rank - 1]}, length = rank;
    ox_dtype dtype = scope_draw(s, 2) ? OX_FLOAT : scope_numbers[scope_draw(s, 6)];
    if (strstr(expression, "CumSum") && (dtype == OX_FLOAT16 || dtype == OX_BFLOAT16))
        dtype = OX_INT64;
    values['x' - 'a'] = scope_give(s, dtype, rank, dims, scope_any_place(s));
    values['y' - 'a'] = scope_give(s, dtype, rank, dims, scope_any_place(s));
    values['z' - 'a'] = scope_give_any(s, dtype, rank, dims);
    values['w' - 'a'] = scope_give(s, dtype, 2, square, scope_any_place(s));
    values['s' - 'a'] = scope_give(s, OX_INT64, 1, &length, SCOPE_INPUT);
    for (int d = 0; d < rank; d++)
        s->graph.values[values['s' - 'a']].numbers[d] = (double)dims[d];
    scope_result(s, scope_write(s, expression, values));
    if (scope_draw(s, 3) == 0)
        scope_result(s, s->graph.nodes[scope_draw(s, s->graph.nnodes)].outs[0]);
    scope_check(s);
}

void scope_stages(scope *s) {
    static const int64_t sizes[] = {1, 2, 3, 17};
    for (int rank = 2; rank <= 4; rank++)
        for (int number = 0; number < 1 << (2 * (rank < 4 ? rank : 3)); number++) {
            int64_t dims[SCOPE_RANK] = {2, 2, 2, 2};
            for (int d = rank < 4 ? 0 : 1, left = number; d < rank; d++, left /= 4)
                dims[d] = sizes[left % 4];
            for (s->axis = 0; s->axis < rank; s->axis++)
                for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++)
                    for (int again = 0; again < 4; again++) /* with other places and types */
                        if (scope_begin(s))
                            write(s, expressions[i], rank, dims);
        }
}
