/* givers.c: elementwise nodes behind operators of all other kinds: integer products and convolutions, transposed ones,
 * windows, normalisations, views, recurrent layers, attention. */
#include <stdlib.h>
#include <string.h>

#include "scopes.h"

/* An expression, and types and shapes: of the result, and of the inputs, which the expression calls a, b and so on. B
 * stands for a batch of 1, 2 and 3. Without a type, they are floats of any kind. A number behind it makes an input
 * constant. */
typedef struct giver {
    const char *expression, *shapes;
} giver;

static const giver givers[] = {
    /* integer products */
    {"MatMulInteger(a,b)", "i32[3,5] u8[3,4] i8[4,5]"},
    {"MatMulInteger(a,b,c)", "i32[B,3,9] u8[B,3,5] u8[5,9] u8[]"},
    {"MatMulInteger(a,b,c,d)", "i32[B,7,3] i8[B,7,2] i8[1,2,3] i8[] i8[3]"},
    {"MatMulInteger(a,b)", "i32[B,3] i8[B,3,5] u8[5]"},
    {"MatMulInteger(a,b)", "i32[B,17] u8[3] i8[B,3,17]"},
    {"Cast[to=1](MatMulInteger(a,b))", "f[B,4,33] u8[B,4,9] i8[9,33]"},
    {"Cast[to=1](MatMulInteger(a,b,c,d))", "f[B,3,2] u8[B,3,3] u8[B,3,2] u8[] u8[]"},
    {"Mul(Cast[to=1](MatMulInteger(a,b)),c)", "f[B,2,3,5] i8[B,2,3,3] i8[3,5] f[5]"},
    {"DequantizeLinear(QLinearMatMul(a,c,d,b,c,d,e,d),e,d)", "f[B,3,5] u8[B,3,4] u8[4,5] f[]=0.5 u8[]=3 f[]=2"},
    /* arithmetic and means of bytes */
    {"DequantizeLinear(QuantizeLinear(Add(DequantizeLinear(a,c,d),DequantizeLinear(b,e,d)),e,d),e,d)",
     "f[B,3,5] u8[B,3,5] u8[3,1] f[]=0.5 u8[]=3 f[]=2"},
    {"DequantizeLinear(QuantizeLinear(Mul(DequantizeLinear(a,c,d),DequantizeLinear(b,e,d)),e,d),e,d)",
     "f[B,2,70] u8[B,2,70] u8[B,2,70] f[]=0.5 u8[]=3 f[]=2"},
    {"DequantizeLinear(QuantizeLinear(Sub(DequantizeLinear(a,c,d),DequantizeLinear(b,e,d)),e,d),e,d)",
     "f[B,7] i8[7] i8[B,7] f[]=0.5 i8[]=2 f[]=4"},
    {"DequantizeLinear(QuantizeLinear(AveragePool[kernel_shape=2:2,pads=1:1:1:1,count_include_pad=1]"
     "(DequantizeLinear(a,b,c)),d,c),d,c)",
     "f[B,2,6,5] u8[B,2,5,4] f[]=0.5 u8[]=2 f[]=2"},
    {"DequantizeLinear(QuantizeLinear(GlobalAveragePool(DequantizeLinear(a,b,c)),b,c),b,c)",
     "f[B,5,1,1] i8[B,5,4,2] f[]=0.5 i8[]=3"},
    {"micro:MatMulIntegerToFloat(a,b,c,d)", "f[B,3,5] u8[B,3,4] i8[4,5] f[]=0.5 f[5]"},
    /* integer convolutions */
    {"ConvInteger(a,b)", "i32[B,3,5] u8[B,2,7] i8[3,2,3]"},
    {"Cast[to=1](ConvInteger[pads=1:1:1:1](a,b,c))", "f[B,4,3,5] u8[B,3,3,5] u8[4,3,3,3] u8[]"},
    {"Cast[to=1](ConvInteger(a,b,c,d))", "f[B,3,3,3] u8[B,9,3,3] i8[3,9,1,1] u8[] i8[]"},
    {"ConvInteger[group=3,pads=1:1:1:1](a,b)", "i32[B,3,7,7] i8[B,3,7,7] i8[3,1,3,3]"},
    {"ConvInteger[group=2,strides=2:2](a,b)", "i32[B,4,2,2] u8[B,16,5,5] i8[4,8,3,3]"},
    {"DequantizeLinear(QLinearConv[pads=1:1:1:1](a,c,d,b,c,d,e,d),e,d)",
     "f[B,4,5,5] u8[B,4,5,5] u8[4,4,3,3] f[]=0.5 u8[]=2 f[]=4"},
    {"ConvInteger[pads=1:1:1:1](a,b)", "i32[B,33,5,5] u8[B,18,5,5] i8[33,18,3,3]"},
    {"DequantizeLinear(QLinearConv[pads=1:1:1:1](a,c,d,b,c,d,e,d),e,d)",
     "f[B,33,4,4] u8[B,18,4,4] u8[33,18,3,3] f[]=0.5 u8[]=2 f[]=4"},
    {"DequantizeLinear(QLinearConv(a,c,d,b,c,d,e,d),e,d)", "f[B,9,5] u8[B,17,5] u8[9,17,1] f[]=0.5 u8[]=2 f[]=4"},
    {"DequantizeLinear(QLinearConv[group=3,pads=1:1:1:1](a,c,d,b,c,d,e,d),e,d)",
     "f[B,3,7,7] u8[B,3,7,7] u8[3,1,3,3] f[]=0.5 u8[]=2 f[]=4"},
    {"DequantizeLinear(QLinearConv[group=2,strides=2:2,pads=1:2:1:2](a,c,d,b,c,d,e,d),e,d)",
     "f[B,4,3,19] u8[B,2,5,37] u8[4,1,3,5] f[]=0.5 u8[]=2 f[]=4"},
    {"DeformConv(a,b,c)", "[B,3,2,2] [B,2,3,3] [3,2,2,2] [B,8,2,2]"},
    /* transposed convolutions */
    {"ConvTranspose(a,b)", "[B,3,5] [B,2,3] [2,3,3]"},
    {"ConvTranspose[strides=2:2](a,b,c)", "[B,2,6,6] [B,3,3,3] [3,2,2,2] [2]"},
    {"ConvTranspose[pads=1:1:1:1,group=2](a,b)", "[B,6,7,3] [B,4,7,3] [4,3,3,3]"},
    {"ConvTranspose[strides=2:1:2](a,b)", "[B,2,4,3,4] [B,2,2,2,2] [2,2,2,2,2]"},
    {"ConvTranspose(a,b)", "[B,9,5,5] [B,17,5,5] [17,9,1,1]"},
    {"ConvTranspose[strides=2:3,dilations=2:1,pads=1:0:0:2,output_padding=1:2](a,b,c)",
     "[B,4,9,9] [B,2,4,3] [2,4,2,3] [4]"},
    /* windows */
    {"MaxPool[kernel_shape=3:3,pads=1:1:1:1](a)", "[B,3,7,7] [B,3,7,7]"},
    {"AveragePool[kernel_shape=2:2,strides=2:2](a)", "[B,3,3,4] [B,3,7,9]"},
    {"GlobalAveragePool(a)", "[B,5,1,1] [B,5,3,3]"},
    {"MaxPool[kernel_shape=2:](a)", "[B,2,8] [B,2,9]"},
    {"MaxPool[kernel_shape=3:5](a)", "[B,2,1,1] [B,2,3,5]"},
    {"MaxPool[kernel_shape=20:](a)", "[B,2,4] [B,2,23]"},
    {"AveragePool[kernel_shape=20:](a)", "[B,2,4] [B,2,23]"},
    {"AveragePool[kernel_shape=3:5](a)", "[B,2,1,1] [B,2,3,5]"},
    {"AveragePool[kernel_shape=3:3,pads=1:1:1:1](a)", "[B,2,5,5] [B,2,5,5]"},
    {"AveragePool[kernel_shape=2:2,pads=1:1:1:1,count_include_pad=1](a)", "[B,2,6,5] [B,2,5,4]"},
    {"MaxPool[kernel_shape=2:2,dilations=2:3,strides=2:1](a)", "[B,3,3,4] [B,3,7,7]"},
    {"LpPool[kernel_shape=2:3](a)", "[B,2,3,3] [B,2,4,5]"},
    {"LpPool[kernel_shape=3:2,p=1,strides=2:1,pads=1:0:1:1](a)", "[B,2,3,5] [B,2,5,5]"},
    {"LpPool[kernel_shape=3:,p=3](a)", "[B,2,7] [B,2,9]"},
    /* normalisations */
    {"BatchNormalization(a,b,c,d,e)", "[B,3,5,5] [B,3,5,5] [3] [3] [3] [3]=2"},
    {"BatchNormalization(Conv(a,f),b,c,d,e)", "[B,3,5,5] [B,6,5,5] [3] [3] [3] [3]=2 [3,6,1,1]"},
    {"LayerNormalization(a,b)", "[B,3,17] [B,3,17] [17]"},
    {"InstanceNormalization(a,b,c)", "[B,3,9] [B,3,9] [3] [3]"},
    {"GroupNormalization[num_groups=2](a,b,c)", "[B,4,3,3] [B,4,3,3] [4] [4]"},
    {"Softmax(a)", "[B,3,9] [B,3,9]"},
    {"LRN[size=3](a)", "[B,5,3,3] [B,5,3,3]"},
    {"LRN[size=4,alpha=0.5,beta=0.5,bias=2.0](a)", "[B,7,3] [B,7,3]"},
    /* reductions */
    {"ReduceSum(a,{1})", "[B,1,9] [B,3,9]"},
    {"ReduceSum[keepdims=0](a,{2})", "[B,3] [B,3,9]"},
    {"ReduceMean(a,{0:2})", "[1,3,1] [B,3,9]"},
    {"CumSum(a,{1})", "f[B,3,9] f[B,3,9]"},
    /* views and copies of products */
    {"Reshape(MatMul(a,b),{0:3:4:-1})", "[B,3,4,2] [B,12,5] [5,2]"},
    {"Transpose[perm=0:2:1](MatMul(a,b))", "[B,5,7] [B,7,3] [3,5]"},
    {"Transpose[perm=0:2:3:1](Conv(a,b))", "[B,3,3,9] [B,6,3,3] [9,6,1,1]"},
    {"Slice(MatMul(a,b),{1},{3},{1})", "[B,2,5] [B,4,3] [3,5]"},
    {"Slice(Conv(a,b),{1},{3},{1})", "[B,2,9] [B,5,9] [4,5,1]"},
    {"Flatten(Conv(a,b))", "[B,18] [B,5,3,3] [2,5,1,1]"},
    {"Squeeze(MatMul(a,b),{1})", "[B,5] [B,1,3] [3,5]"},
    {"Unsqueeze(MatMul(a,b),{1})", "[B,1,3,5] [B,3,2] [2,5]"},
    {"Expand(MatMul(a,b),{2:1:1})", "[2,3,5] [1,3,2] [2,5]"},
    {"Expand(a,{2:3:1})", "[2,3,5] [1,5]"},
    {"Pad(MatMul(a,b),{0:0:1:0:0:1})", "[B,3,7] [B,3,2] [2,5]"},
    {"Tile(a,{1:2:1})", "[B,6,5] [B,3,5]"},
    {"MatMul(Transpose(a),Reshape(b,{3:5}))", "[4,5] [3,4] [15]"},
    {"MatMul(Expand(a,{3:1:1}),b)", "[3,2,5] [1,2,3] [3,5]"},
    {"Conv(Expand(a,{3:1:1:1}),b)", "[3,4,3,3] [1,5,3,3] [4,5,1,1]"},
    {"MatMul(a,Concat[axis=1](b,c))", "[B,3,7] [B,3,2] [2,3] [2,4]"},
    {"Einsum[equation=bij;bjk->bik](a,b)", "[B,3,5] [B,3,2] [B,2,5]"},
    /* products of what elementwise nodes give */
    {"MatMul(Relu(a),Add(b,c))", "[B,3,5] [B,3,2] [2,5] [5]"},
    {"z=MatMul(a,b);MatMul(z,Mul(z,c))", "[B,3,3] [B,3,2] [2,3] [3]"},
    {"MatMul(MatMul(a,b),c)", "[B,3,5] [B,3,2] [2,7] [7,5]"},
    {"Conv(Relu(Conv(a,b)),c)", "[B,3,5,5] [B,5,5,5] [6,5,1,1] [3,6,1,1]"},
    {"Add(MatMul(a,b),MatMul(c,d))", "[B,3,5] [B,3,2] [2,5] [3,4] [4,5]"},
    {"Mul(Conv(a,b),Conv(a,c))", "[B,3,3,3] [B,6,3,3] [3,6,1,1] [3,6,3,3]"},
    /* products with what they read behind them */
    {"Add(MatMul(a,b),a)", "[B,3,5] [B,3,5] [5,5]"},
    {"z=Neg(a);Relu(Add(z,MatMul(z,b)))", "[B,3,9] [B,3,9] [9,9]"},
    {"z=Neg(a);Mul(Add(MatMul(b,z),z),c)", "[B,3,2] [B,3,2] [3,3] [2]"},
    {"z=Relu(a);Add(Conv(z,b),z)", "[B,6,3,3] [B,6,3,3] [6,6,1,1]"},
    {"z=Relu(a);Add(Conv[group=3,pads=1:1:1:1](z,b),z)", "[B,3,7,7] [B,3,7,7] [3,1,3,3]"},
    {"z=MatMul(a,b);Add(MatMul(z,c),z)", "[B,3,4] [B,3,2] [2,4] [4,4]"},
    {"z=Neg(a);Add(z,MatMul(z,b))", "[B,9,130] [B,9,130] [130,130]"},
    {"z=Neg(a);Add(MatMul(b,z),z)", "[B,70,5] [B,70,5] [70,70]"},
    {"z=Neg(a);Add(Conv(z,b),z)", "[B,33,9,9] [B,33,9,9] [33,33,1,1]"},
    {"z=Neg(a);Add(z,Conv[pads=1:1:1:1](z,b))", "[B,16,9,9] [B,16,9,9] [16,16,3,3]"},
    /* recurrent layers and attention */
    {"RNN[hidden_size=4](a,b,c)", "[3,1,B,4] [3,B,5] [1,4,5] [1,4,4]"},
    {"GRU[hidden_size=4](a,b,c)", "[3,1,B,4] [3,B,5] [1,12,5] [1,12,4]"},
    {"LSTM[hidden_size=5](a,b,c,d)", "[2,1,B,5] [2,B,3] [1,20,3] [1,20,5] [1,40]"},
    {"RNN[hidden_size=4,direction=reverse](a,b,c,d)", "[3,1,B,4] [3,B,5] [1,4,5] [1,4,4] [1,8]"},
    {"GRU[hidden_size=3,direction=bidirectional,linear_before_reset=1](a,b,c,d)",
     "[3,2,B,3] [3,B,5] [2,9,5] [2,9,3] [2,18]"},
    {"LSTM[hidden_size=4,direction=bidirectional](a,b,c)", "[3,2,B,4] [3,B,5] [2,16,5] [2,16,4]"},
    {"Attention[q_num_heads=4,kv_num_heads=2,is_causal=1](a,b,c)", "[B,3,8] [B,3,8] [B,5,4] [B,5,4]"},
    {"Attention[q_num_heads=2,kv_num_heads=2](a,b,c)", "[B,3,8] [B,3,8] [B,5,8] [B,5,8]"},
    {"Attention(a,b,c)", "[B,2,3,4] [B,2,3,4] [B,2,3,4] [B,2,3,4]"},
    {"ms:MultiHeadAttention[num_heads=2](a,b,c)", "[B,3,6] [B,3,8] [B,5,8] [B,5,6]"},
    {"ms:MultiHeadAttention[num_heads=2,unidirectional=1](a,b,c,d)", "[B,3,6] [B,3,8] [B,3,8] [B,3,6] [22]"},
    {"ms:MultiHeadAttention[num_heads=2](a,b,c,,d,e)", "[B,3,8] [B,3,8] [B,5,8] [B,5,8] i32[B]=3 [1,2,3,5]"},
    {"ms:GroupQueryAttention[num_heads=4,kv_num_heads=2](a,b,c,,,d,e)",
     "[B,3,8] [B,3,8] [B,3,4] [B,3,4] i32[B]=2 i32[]=3"},
    {"ms:GroupQueryAttention[num_heads=2,kv_num_heads=1,do_rotary=1,local_window_size=3](a,,,b,b,c,d,e,e)",
     "[B,1,8] [B,1,16] [B,1,4,4] i32[B]=4 i32[]=5 [6,2]"},
    /* experts */
    {"ms:MoE[k=2,activation_type=silu](a,b,c,,d,e)", "[B,5] [B,5] [B,3] [3,7,5] [3,5,7] [3,5]"},
    {"ms:QMoE[block_size=16](a,b,c,d,,e,f)", "[B,32] [B,32] [B,2] u8[2,16,16] [2,16,2] u8[2,32,8] [2,32,1]"},
};

enum {
    INPUTS = 6,
    ALONE = 24 /* graphs with nothing behind */
};

/* A type and a shape of these, read. */
typedef struct shape {
    ox_dtype dtype;
    int rank;
    int64_t dims[SCOPE_RANK];
    double number; /* 0: none */
} shape;

static ox_dtype read_type(const char **at) {
    static const struct {
        const char *name;
        ox_dtype dtype;
    } types[] = {{"u8", OX_UINT8}, {"i8", OX_INT8}, {"i32", OX_INT32}, {"f", OX_FLOAT}};
    const size_t length = strcspn(*at, "[");
    ox_dtype dtype = OX_UNDEFINED;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (length && !strncmp(types[i].name, *at, length))
            dtype = types[i].dtype;
    *at += length;
    return dtype;
}

static shape read_shape(const char **at, int64_t batch) {
    shape s = {.dtype = read_type(at)};
    char *end;
    for (++*at; **at != ']'; *at += **at == ',') {
        s.dims[s.rank++] = **at == 'B' ? batch : strtoll(*at, &end, 10);
        *at = **at == 'B' ? *at + 1 : end;
    }
    ++*at;
    if (**at == '=') {
        s.number = strtod(*at + 1, &end);
        *at = end;
    }
    return s;
}

typedef struct sized {
    const char *expression;
    int count; /* of inputs */
    shape result, inputs[INPUTS];
} sized;

static sized read_giver(const giver *g, int64_t batch) {
    sized size = {.expression = g->expression};
    const char *at = g->shapes;
    size.result = read_shape(&at, batch);
    while (*at++ == ' ')
        size.inputs[size.count++] = read_shape(&at, batch);
    return size;
}

static int add_giver(scope *s, const void *context, ox_dtype dtype) {
    const sized *size = context;
    int values[26];
    for (int i = 0; i < size->count; i++) {
        const shape *in = &size->inputs[i];
        const scope_place place = in->number != 0 ? SCOPE_CONSTANT : scope_any_place(s);
        values[i] = scope_give(s, in->dtype ? in->dtype : dtype, in->rank, in->dims, place);
        for (int64_t k = 0; in->number != 0 && k < scope_count(in->rank, in->dims); k++)
            s->graph.values[values[i]].numbers[k] = in->number;
    }
    if (strstr(size->expression, "Conv"))
        scope_any_way(s);
    s->graph.rounds = strstr(size->expression, "Conv"); /* by Winograd's algorithm, perhaps */
    return scope_write(s, size->expression, values);
}

void scope_givers(scope *s) {
    for (size_t i = 0; i < sizeof givers / sizeof *givers; i++)
        for (int64_t batch = 1; batch <= 3; batch++) {
            const sized size = read_giver(&givers[i], batch);
            const shape *r = &size.result;
            for (int k = 0; k < ALONE; k++)
                if (scope_begin(s)) {
                    scope_result(s, add_giver(s, &size, r->dtype ? r->dtype : scope_floats[k % 4]));
                    scope_check(s);
                }
            scope_behind(s, &(scope_dense){add_giver, &size, r->rank, r->dims, r->dtype ? 1 : 4,
                                           r->dtype ? &r->dtype : scope_floats});
        }
}
