/* parts.c: what Concat puts together, computed where it belongs, and read by others before and behind it. */
#include <string.h>

#include "scopes.h"

/* x and y have the shape, z broadcasts to it, w is a square of its last dimension, and @ is an axis. */
static const char *const expressions[] = {
    "Concat[axis=@](Add(x,y),Mul(x,z))",
    "Concat[axis=@](Neg(x),y,Abs(y))",
    "Concat[axis=@](Neg(x),Concat[axis=@](Abs(x),Add(x,y)))",
    "a=Add(x,y);Concat[axis=@](a,a)",
    "a=Add(x,y);b=Concat[axis=@](a,Neg(x));Mul(b,Concat[axis=@](x,a))",
    "a=Neg(x);b=Concat[axis=@](a,y);c=Sub(a,z);Concat[axis=@](b,c)",
    "a=Add(x,z);b=Concat[axis=@](a,Mul(a,y));c=Concat[axis=@](Sub(a,y),a);Concat[axis=0](b,c)",
    "a=MatMul(x,w);Concat[axis=@](a,Relu(Add(a,z)))",
    "a=Relu(Add(MatMul(x,w),z));Concat[axis=@](a,y,MatMul(a,w))",
    "a=Concat[axis=@](MatMul(x,w),MatMul(y,w));Mul(a,a)",
    "a=Add(x,y);b=Slice(a,{0},{1},{@});Concat[axis=@](b,a)",
    "a=Transpose(Neg(x));Transpose(Concat[axis=0](a,Transpose(y)))",
    "a=Neg(Concat[axis=@](x,y));Concat[axis=@](a,Abs(a))",
    "a=Reshape(Add(x,y),{-1});Concat[axis=0](a,Reshape(Mul(x,z),{-1}))",
    "a=Add(x,y);b=Reshape(a,{-1});c=Concat[axis=0](b,Neg(b));d=Mul(a,z);Concat[axis=0](c,Reshape(d,{-1}))",
    "a=Concat[axis=@](Add(x,y),x);b=Slice(a,{1},{9},{@});Neg(b)",
    "a=ReduceSum(Mul(x,y),{@});Concat[axis=@](a,Add(x,z),a)",
    "a=Softmax[axis=@](x);Concat[axis=@](a,Mul(a,y))",
    "ab=Split[axis=@,num_outputs=2](Concat[axis=@](Add(x,y),Neg(y)));Concat[axis=@](Mul(b,z),a)",
    "a=Concat[axis=@](Neg(x),Neg(x));b=Concat[axis=@](a,Abs(x));Sub(b,Concat[axis=@](Abs(y),a))",
    "a=Expand(Neg(z),{1});Concat[axis=@](Add(x,a),Neg(y))",
    "a=Concat[axis=@](Relu(x),Relu(y));b=ReduceMax(a,{@});Concat[axis=@](Mul(b,x),a)",
    "a=Add(x,y);b=Mul(a,z);c=Concat[axis=@](b,a);Concat[axis=@](Neg(b),c,b)",
    "a=CumSum(Add(x,y),{@});Concat[axis=@](a,Neg(a))",
};

static void write(scope *s, const char *expression, int rank, const int64_t *dims) {
    int values[26];
    ox_dtype dtype = scope_draw(s, 2) ? OX_FLOAT : scope_numbers[scope_draw(s, 6)];
    if (strstr(expression, "Softmax") && !scope_is_float(dtype))
        dtype = OX_DOUBLE;
    if (strstr(expression, "CumSum") && (dtype == OX_FLOAT16 || dtype == OX_BFLOAT16))
        dtype = OX_INT64;
    values['x' - 'a'] = scope_give(s, dtype, rank, dims, scope_any_place(s));
    values['y' - 'a'] = scope_give(s, dtype, rank, dims, scope_any_place(s));
    values['z' - 'a'] = scope_reads(expression, 'z') ? scope_give_any(s, dtype, rank, dims) : -1;
    if (scope_reads(expression, 'w'))
        values['w' - 'a'] =
            scope_give(s, dtype, 2, (const int64_t[]){dims[rank - 1], dims[rank - 1]}, scope_any_place(s));
    scope_result(s, scope_write(s, expression, values));
    scope_result(s, s->graph.nodes[scope_draw(s, s->graph.nnodes)].outs[0]);
    scope_check(s);
}

static void with_axes(scope *s, int rank, const int64_t *dims) {
    for (s->axis = 0; s->axis < rank; s->axis++)
        for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++)
            for (int again = 0; again < 6; again++) /* with other places and types */
                if (scope_begin(s))
                    write(s, expressions[i], rank, dims);
}

void scope_parts(scope *s) {
    static const int64_t sizes[] = {1, 2, 3, 17};
    for (int rank = 1; rank <= 4; rank++)
        for (int number = 0; number < 1 << (2 * (rank < 4 ? rank : 3)); number++) {
            int64_t dims[SCOPE_RANK] = {1, 1, 1, 1};
            for (int d = rank < 4 ? 0 : 1, left = number; d < rank; d++, left /= 4)
                dims[d] = sizes[left % 4];
            with_axes(s, rank, dims);
        }
}
