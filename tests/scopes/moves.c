/* moves.c: views and copies, which keep all bits of elements: also the sign of a zero, and what is no number. */
#include "scopes.h"

/* x and y have the shape, z broadcasts to it, s is the shape, t is 2 for an axis and 1 for the others, @ is the axis.
 */
static const char *const expressions[] = {
    "Transpose(x)",
    "Identity(x)",
    "Expand(z,s)",
    "Tile(x,t)",
    "Reshape(Transpose(x),{-1})",
    "Transpose(Flatten(x))",
    "Concat[axis=@](x,y)",
    "Concat[axis=@](Transpose(Transpose(x)),Expand(z,s),y)",
    "Concat[axis=@](Slice(x,{0},{1},{@}),y)",
    "Transpose(Concat[axis=@](x,y))",
    "Reshape(Concat[axis=0](Reshape(x,{-1}),Reshape(y,{-1})),{-1:1})",
    "Unsqueeze(x,{@})",
    "Squeeze(Unsqueeze(Transpose(x),{0}),{0})",
    "Pad(x,{1:1},,{@})",
    "Gather[axis=@](x,{0:-1:0})",
    "ab=Split[axis=@,num_outputs=2](Concat[axis=@](x,y));Concat[axis=@](b,a)",
    "Compress[axis=@](x,Greater(Expand({1},{1}),{0}))",
};

static void write(scope *s, ox_dtype dtype, const char *expression, int rank, const int64_t *dims) {
    int values[26];
    s->graph.moves = true;
    s->graph.exact = s->graph.zeros = s->graph.specials = false;
    values['x' - 'a'] = scope_give(s, dtype, rank, dims, scope_any_place(s));
    values['y' - 'a'] = scope_give(s, dtype, rank, dims, scope_any_place(s));
    values['z' - 'a'] = scope_give_any(s, dtype, rank, dims);
    values['s' - 'a'] = scope_list(s, OX_INT64, 1, rank, dims);
    int64_t twice[SCOPE_RANK] = {1, 1, 1, 1};
    twice[s->axis] = 2;
    values['t' - 'a'] = scope_list(s, OX_INT64, 1, rank, twice);
    scope_result(s, scope_write(s, expression, values));
    scope_check(s);
}

void scope_moves(scope *s) {
    static const int64_t sizes[] = {1, 2, 3, 17};
    for (int rank = 1; rank <= 4; rank++)
        for (int number = 0; number < 1 << (2 * (rank < 4 ? rank : 3)); number++) {
            int64_t dims[SCOPE_RANK] = {1, 1, 1, 2};
            for (int d = 0, left = number; d < rank && d < 3; d++, left /= 4)
                dims[d] = sizes[left % 4];
            for (s->axis = 0; s->axis < rank; s->axis++)
                for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++)
                    for (size_t k = 0; k < sizeof scope_floats / sizeof *scope_floats; k++)
                        if (scope_begin(s))
                            write(s, scope_floats[k], expressions[i], rank, dims);
        }
}
