/* function.c: fused operators, such as those of com.microsoft, are expanded into the operators that they are composed
 * of, which join passes and epilogues like all nodes. The fused node stays without outputs, to check types and
 * shapes. */
#include "emit.h"
#include "rewrite.h"

#include <string.h>

/* What a node's attribute `activation` may name, as a text of `a`. */
typedef struct activation {
    const char *name;
    size_t parameters; /* that must be in the list `activation_params` */
    const char *text;
} activation;

/* The body of an operator: a, b, ... are its inputs, and the letters of `outputs` its outputs. */
typedef struct function {
    const char *name, *outputs, *body;
    const activation *activations;                                      /* what Activate is one of; NULL for none */
    void (*write)(ox_emitter *e, const ox_node *node, int32_t *values); /* in place of `body` */
    /* Letters of images, whose channels may be last, and of what has as many dimensions as they. */
    const char *images, *alike;
} function;

#define EPSILON "epsilon=@epsilon:0.000000000001"
#define CONV_ATTRS "auto_pad=@,dilations=@,group=@,kernel_shape=@,pads=@,strides=@"
#define MAX_POOL "y = MaxPool<" POOL_ATTRS ",dilations=@>(a)"
#define POOL_ATTRS "auto_pad=@,ceil_mode=@,count_include_pad=@,kernel_shape=@,pads=@,strides=@"
#define FUSED_CONV "y = Activate?activation(Add?d(Conv<" CONV_ATTRS ">(a, b, c), d))"
#define GEMM_ATTRS "alpha=@,beta=@,transA=@,transB=@"

static const activation conv_activations[] = {
    {"Clip", 2, "Clip(a, @activation_params/0:0, @activation_params/1:0)"},
    {"HardSigmoid", 2, "HardSigmoid<alpha=@activation_params/0:0.0,beta=@activation_params/1:0.0>(a)"},
    {"HardSwish", 0, "HardSwish(a)"},
    {"LeakyRelu", 1, "LeakyRelu<alpha=@activation_params/0:0.0>(a)"},
    {"Relu", 0, "Relu(a)"},
    {"Sigmoid", 0, "Sigmoid(a)"},
    {"Silu", 0, "Swish(a)"},
    {"Tanh", 0, "Tanh(a)"},
    {NULL, 0, NULL}};

static const activation gemm_activations[] = {
    {"Elu", 0, "Elu<alpha=@activation_alpha:1.0>(a)"},
    {"HardSigmoid", 0, "HardSigmoid<alpha=@activation_alpha:0.2,beta=@activation_beta:0.5>(a)"},
    {"LeakyRelu", 0, "LeakyRelu<alpha=@activation_alpha:0.01>(a)"},
    {"Relu", 0, "Relu(a)"},
    {"Selu", 0,
     "Selu<alpha=@activation_alpha:1.67326319217681884765625,gamma=@activation_gamma:1.05070102214813232421875>(a)"},
    {"Sigmoid", 0, "Sigmoid(a)"},
    {"Softplus", 0, "Softplus(a)"},
    {"Softsign", 0, "Softsign(a)"},
    {"Tanh", 0, "Tanh(a)"},
    {"ThresholdedRelu", 0, "ThresholdedRelu<alpha=@activation_alpha:1.0>(a)"},
    {NULL, 0, NULL}};

/* Inverse is 1 / sqrt(mean of a over axes b, plus c). De and Qu convert quantised tensors to floats and back; scales
 * may be lists of one element. Numbers is a range between lists of one element. Positions are those along the last of
 * two dimensions. */
static const ox_macro shared[] = {{"De", "DequantizeLinear(a, Squeeze(b), Squeeze?c(c))"},
                                  {"Inverse", "Reciprocal(Sqrt(Add(ReduceMean<keepdims=1>(a, b), c)))"},
                                  {"Count", "ReduceProd<keepdims=1>(Middle(a))"},
                                  {"Last", "Slice(Shape(a), [-1], [64])"},
                                  {"Middle", "Slice(Shape(a), [1], [-1])"},
                                  {"Numbers", "Range(Squeeze(a), Squeeze(b), Squeeze([1]))"},
                                  {"Positions", "Numbers([0], Slice(Shape(a), [1], [2]))"},
                                  {"Qu", "QuantizeLinear(a, Squeeze(b), Squeeze(c|0))"},
                                  {"Rank", "Shape(Shape(a))"},
                                  {"Square", "Mul(a, a)"}};

enum {
    SHARED = sizeof shared / sizeof *shared
};

/* The axis that the node has is meant as before version 13 of Softmax: dimensions from there on are one. */
static void write_softmax(ox_emitter *e, const ox_node *node, int32_t *values) {
    const bool flat = ox_emit_int(node, "opset", 13) < 13;
    ox_emit_body(e,
                 flat ? "f = Flatten<axis=@axis:-1>(De(a, b, c)); "
                        "y = Qu(Reshape<allowzero=1>(Softmax<axis=-1>(f), Shape(a)), d, e)"
                      : "y = Qu(Softmax<axis=@axis:-1>(De(a, b, c)), d, e)",
                 values, "y", node->nout, node->out);
}

static int32_t input_of(const ox_node *node, int i) {
    return i < node->nin ? node->in[i] : OX_NONE;
}

/* ---- Images ---------------------------------------------------------------------------------------------------- */

/* As many dimensions as an image has: the kernel tells, or else a shape; 0 where none does. */
static size_t rank_of_images(const ox_emitter *e, const function *f, const ox_node *node) {
    const ox_attr *kernel = ox_emit_attr(node, "kernel_shape", OX_ATTR_INTS);
    if (kernel)
        return kernel->count + 2;
    for (int part = 0; part < 2; part++)
        for (const char *letter = part ? f->images : f->alike; *letter; letter++) {
            const int32_t value = input_of(node, *letter - 'a');
            const ox_tensor *tensor = ox_scope_initializer(e->scope, value);
            const ox_shape *shape = value < 0 ? NULL : e->scope->values[value].shape;
            const int rank = tensor ? tensor->rank : shape ? shape->rank : 0;
            if (rank > 2)
                return (size_t)rank;
        }
    return 0;
}

/* Swaps the two dimensions after the first one, which several of an image were merged into. */
static int32_t swap(ox_emitter *e, const char *flat, int32_t image) {
    static const int64_t order[] = {0, 2, 1};
    const ox_attr perm = {.name = "perm", .kind = OX_ATTR_INTS, .count = 3, .u.ints = order};
    const int32_t made = OX_EMIT(e, flat, image);
    int32_t swapped = OX_NONE;
    ox_emit_to(e, "Transpose", 1, &perm, 1, &made, 1, &swapped);
    return swapped;
}

/* The same as move_channels for any number of dimensions. */
static int32_t move_in_any(ox_emitter *e, int32_t image, bool to_last, int32_t out) {
    int32_t values[OX_EMIT_LETTERS] = {image, OX_NONE};
#define FIRST "Slice(Shape(a), [0], [1])"
#define SECOND "Slice(Shape(a), [1], [2])"
#define BEHIND "Slice(Shape(a), [2], [64])"
    values[1] = to_last ? swap(e,
                               "Reshape<allowzero=1>(a, Concat<axis=0>(" FIRST ", " SECOND
                               ", ReduceProd<keepdims=1>(" BEHIND ")))",
                               image)
                        : swap(e, "Reshape<allowzero=1>(a, Concat<axis=0>(" FIRST ", Count(a), Last(a)))", image);
    ox_emit_body(e,
                 to_last ? "y = Reshape<allowzero=1>(b, Concat<axis=0>(" FIRST ", " BEHIND ", " SECOND "))"
                         : "y = Reshape<allowzero=1>(b, Concat<axis=0>(" FIRST ", Last(a), Middle(a)))",
                 values, "y", 1, (const ox_index[]){(ox_index)out});
    return values['y' - 'a'];
}

/* Moves the channels from one end of an image's dimensions to the other. */
static int32_t move_channels(ox_emitter *e, int32_t image, size_t rank, bool to_last, int32_t out) {
    int64_t *order = NULL;
    if (!rank)
        return move_in_any(e, image, to_last, out);
    if (!e->status)
        e->status = ox_build_get(e->b, e->b->pile, rank, sizeof *order, &order);
    if (e->status)
        return OX_NONE;
    order[0] = 0;
    for (size_t d = 1; d < rank; d++)
        order[d] = 1 + (int64_t)((d - 1 + (to_last ? 1 : rank - 2)) % (rank - 1));
    const ox_attr perm = {.name = "perm", .kind = OX_ATTR_INTS, .count = rank, .u.ints = order};
    ox_emit_to(e, "Transpose", 1, &perm, 1, &image, 1, &out);
    return out;
}

/* Scale and zero point of the result, and then each tensor with its own. */
static void write_concat(ox_emitter *e, const ox_node *node, int32_t *values) {
    const int count = node->nin / 3; /* what is omitted at the end is not counted */
    const ox_attr *axis = ox_emit_attr(node, "axis", OX_ATTR_INT);
    int32_t *parts, out = node->nout ? node->out[0] : OX_NONE;
    if (!e->status)
        e->status = ox_build_get(e->b, &e->scope->pile, (size_t)count, sizeof *parts, &parts);
    for (int i = 0; i < count && !e->status; i++) {
        const int at = 2 + 3 * i;
        parts[i] = OX_EMIT(e, "Qu(De(c, d, e), a, b)", node->in[0], input_of(node, 1), input_of(node, at),
                           input_of(node, at + 1), input_of(node, at + 2));
    }
    if (!e->status)
        ox_emit_to(e, "Concat", axis != NULL, axis, count, parts, 1, &out);
    values['y' - 'a'] = out;
}

/* A constant out of a list, which may be missing: its infer function refuses that. */
static int32_t emit_list(ox_emitter *e, const char *as, const ox_attr *list) {
    ox_attr value = list ? *list : (ox_attr){.kind = OX_ATTR_INTS};
    int32_t made;
    value.name = as;
    ox_emit_op(e, "Constant", 1, &value, 0, NULL, 1, &made);
    return e->status ? OX_NONE : made;
}

/* ReorderInput of com.microsoft.nchwc (nchwc.c): zeros fill the last block of channels. */
static void write_block_start(ox_emitter *e, const ox_node *node, int32_t *values) {
    if (ox_emit_int(node, "channels_last", 0))
        values[0] = move_channels(e, values[0], 4, false, OX_NONE);
    ox_emit_body(
        e, "y = Pad(a, Concat<axis=0>([0,0,0,0], [0], Mod(Neg(Slice(Shape(a), [1], [2])), [@block_size:8]), [0,0]))",
        values, "y", node->nout, node->out);
}

/* ReorderOutput: without them. */
static void write_block_end(ox_emitter *e, const ox_node *node, int32_t *values) {
    const bool last = ox_emit_int(node, "channels_last", 0) != 0;
    const ox_index out = node->nout ? node->out[0] : (ox_index)OX_NONE, cut = last ? (ox_index)OX_NONE : out;
    ox_emit_body(e, "y = Slice(a, [0], [@channels:0], [1])", values, "y", 1, &cut);
    if (last)
        values['y' - 'a'] = move_channels(e, values['y' - 'a'], 4, true, out);
}

/* Upsample of com.microsoft.nchwc: whole factors for all dimensions. */
static void write_upsample(ox_emitter *e, const ox_node *node, int32_t *values) {
    values['s' - 'a'] = emit_list(e, "value_ints", ox_emit_attr(node, "scales", OX_ATTR_INTS));
    const bool given = ox_emit_attr(node, "coordinate_transformation_mode", OX_ATTR_STRING) != NULL;
    ox_emit_body(e,
                 given
                     ? "y = Resize<mode=@,coordinate_transformation_mode=@,nearest_mode=\"floor\">(a, z, Cast<to=1>(s))"
                     : "y = Resize<mode=@,coordinate_transformation_mode=\"asymmetric\",nearest_mode=\"floor\">(a, z, "
                       "Cast<to=1>(s))",
                 values, "y", node->nout, node->out);
}

/* Queries, keys and values are side by side in `x`; a mask, what is added to scores, keys and values of before, and how
 * many of these count. */
#define PROJECTED(mask, added, past, length)                                                                           \
    "y,z = MultiHeadAttention<__projected=1,num_heads=@,unidirectional=@,scale=@,mask_filter_value=@,"                 \
    "qkv_hidden_sizes=@>(x, r, r, r, " mask ", " added ", " past ", r, " length ")"

/* QAttention: they are a product of bytes. Attention: of floats. */
static void write_attention(ox_emitter *e, const ox_node *node, int32_t *values) {
    const bool bytes = !ox_text_order(node->op->name, "QAttention"),
               is_shared = ox_emit_int(node, "past_present_share_buffer", 0) != 0;
    if (!e->status && (ox_emit_int(node, "do_rotary", 0) || (bytes && is_shared)))
        e->status = ox_fail(e->b->error, OX_ERROR_UNSUPPORTED, "attribute%s not supported",
                            bytes ? "s 'do_rotary' and 'past_present_share_buffer' are" : " 'do_rotary' is");
    if (bytes) {
        ox_emit_body(
            e, "x = Add(Mul(Cast<to=1>(MatMulInteger(a, b, g, h)), Mul(d, e)), c); " PROJECTED("f", "r", "i", "r"),
            values, "yz", node->nout, node->out);
        return;
    }
    values['s' - 'a'] = is_shared ? values[6] : OX_NONE;
    ox_emit_body(e, "x = Add?c(MatMul(a, b), c); " PROJECTED("d", "f", "e", "s"), values, "yz", node->nout, node->out);
}

/* One step; its query, key and value may be one tensor. The length of the past counts where the cache has room for
 * more. */
static void write_masked_heads(ox_emitter *e, const ox_node *node, int32_t *values) {
#define HEADS(q, k, v, length)                                                                                         \
    "y,s,t,u = MultiHeadAttention<num_heads=@,scale=@,mask_filter_value=@>(" q ", " k ", " v                           \
    ", k, d, e, f, g, " length ")"
    const bool is_split = input_of(node, 1) >= 0, is_shared = ox_emit_int(node, "past_present_share_buffer", 0) != 0;
    values['r' - 'a'] = is_shared ? values['h' - 'a'] : OX_NONE;
    ox_emit_body(
        e, is_split ? HEADS("a", "b", "c", "r") : "l,m,n = Split<axis=-1,num_outputs=3>(a); " HEADS("l", "m", "n", "r"),
        values, "ystu", node->nout, node->out);
}

/* The mean over some axes, all of them if none is listed. */
static void write_mean(ox_emitter *e, const ox_node *node, int32_t *values) {
    values['x' - 'a'] = emit_list(e, "value_ints", ox_emit_attr(node, "axes", OX_ATTR_INTS));
    ox_emit_body(e, "y = Qu(ReduceMean<keepdims=@>(De(a, b, c), x), d, e)", values, "y", node->nout, node->out);
}

/* The mean of all but images and channels, wherever these are. */
static void write_global_pool(ox_emitter *e, const ox_node *node, int32_t *values) {
    const bool last = ox_emit_int(node, "channels_last", 0) != 0;
    ox_emit_body(e,
                 last ? "y = Qu(ReduceMean<keepdims=1>(De(a, b, c), Numbers([1], Sub(Rank(a), [1]))), d, e)"
                      : "y = Qu(GlobalAveragePool(De(a, b, c)), d, e)",
                 values, "y", node->nout, node->out);
}

/* The inverse deviation is of the dimensions from the axis on, in the type that is asked for. */
static void write_simplified_norm(ox_emitter *e, const ox_node *node, int32_t *values) {
#define INVERSE(end)                                                                                                   \
    "y = RMSNormalization<axis=@,epsilon=@,stash_type=@>(a, b); "                                                      \
    "v ?= Inverse(Square(Cast<to=@stash_type:1>(a)), Numbers([@axis:-1], " end "), "                                   \
    "Cast<to=@stash_type:1>(Constant<value_float=@epsilon:0.00001>()))"
    const bool from_end = ox_emit_int(node, "axis", -1) < 0;
    ox_emit_body(e, from_end ? INVERSE("[0]") : INVERSE("Rank(a)"), values, "yv", node->nout, node->out);
}

/* ---- Experimental operators of ONNX's first opsets, which old converters wrote ------------------------------- */

/* A factor for all elements, and a term for each channel. */
static void write_image_scaler(ox_emitter *e, const ox_node *node, int32_t *values) {
    const ox_attr *bias = ox_emit_attr(node, "bias", OX_ATTR_FLOATS);
    const int32_t list = emit_list(e, bias ? "value_floats" : "value_ints", bias);
    values[1] = OX_EMIT(e, "Unsqueeze(CastLike(a, b), [1,2])", list, node->in[0]);
    ox_emit_body(e, "y = Add(Mul(a, @scale:1.0), b)", values, "y", node->nout, node->out);
}

/* border: left, top, right, bottom; scale: the height and width of what is left, in place of right and bottom. */
static void write_crop(ox_emitter *e, const ox_node *node, int32_t *values) {
    const ox_attr *border = ox_emit_attr(node, "border", OX_ATTR_INTS),
                  *scale = ox_emit_attr(node, "scale", OX_ATTR_INTS);
    int64_t *ints = NULL;
    if (!e->status)
        e->status = ox_build_get(e->b, e->b->pile, 4, sizeof *ints, &ints);
    if (e->status)
        return;
    for (int d = 0; d < 2; d++) {
        const int64_t start = border && border->count == 4 ? border->u.ints[1 - d] : 0,
                      behind = border && border->count == 4 ? border->u.ints[3 - d] : 0;
        ints[d] = start;
        if (!scale)
            ints[2 + d] = behind ? -behind : INT64_MAX;
        else if (scale->count != 2 || !ox_add_i64(start, scale->u.ints[d], &ints[2 + d]))
            ints[2 + d] = 0;
    }
    values[1] = emit_list(e, "value_ints", &(ox_attr){.kind = OX_ATTR_INTS, .count = 2, .u.ints = ints});
    values[2] = emit_list(e, "value_ints", &(ox_attr){.kind = OX_ATTR_INTS, .count = 2, .u.ints = ints + 2});
    ox_emit_body(e, "y = Slice(a, b, c, [2,3])", values, "y", node->nout, node->out);
}

/* Statistics of a batch as a whole, for each channel or for all of them. */
static void write_mean_variance(ox_emitter *e, const ox_node *node, int32_t *values) {
    static const int64_t all[] = {0, 1, 2, 3}, outside[] = {0, 2, 3};
    const bool across = ox_emit_int(node, "across_channels", 0) != 0;
    const ox_attr list = {
        .name = "axes", .kind = OX_ATTR_INTS, .count = across ? 4 : 3, .u.ints = across ? all : outside};
    int32_t out = node->nout ? node->out[0] : OX_NONE;
    if (ox_emit_int(node, "normalize_variance", 1)) {
        ox_emit_to(e, "MeanVarianceNormalization", 1, &list, 1, &values[0], 1, &out);
        values['y' - 'a'] = out;
        return;
    }
    ox_emit_body(e,
                 across ? "y = Sub(a, ReduceMean<keepdims=1>(a, [0,1,2,3]))"
                        : "y = Sub(a, ReduceMean<keepdims=1>(a, [0,2,3]))",
                 values, "y", node->nout, node->out);
}

/* ---- Operators that ONNX has in other words (ops/function/twins.c) -------------------------------------------- */

static bool says(const ox_node *node, const char *name, const char *text) {
    const ox_attr *attr = ox_emit_attr(node, name, OX_ATTR_STRING);
    return attr && ox_says(attr->u.s, text);
}

static void write_distances(ox_emitter *e, const ox_node *node, int32_t *values) {
#define SQUARES "ReduceSum<keepdims=0>(Square(Sub(Unsqueeze(a, [1]), b)), [2])"
    const bool root = says(node, "metric", "euclidean");
    ox_emit_body(e, root ? "y = Sqrt(" SQUARES ")" : "y = " SQUARES, values, "y", node->nout, node->out);
}

static void write_sampling(ox_emitter *e, const ox_node *node, int32_t *values) {
#define SAMPLED(mode) "y = GridSample<align_corners=@,padding_mode=@,mode=\"" mode "\">(a, b)"
    const char *body = says(node, "mode", "nearest")   ? SAMPLED("nearest")
                       : says(node, "mode", "bicubic") ? SAMPLED("cubic")
                                                       : SAMPLED("linear");
    ox_emit_body(e, body, values, "y", node->nout, node->out);
}

/* Rows of as many elements as the scale has; all in floats. */
static void write_gated_norm(ox_emitter *e, const ox_node *node, int32_t *values) {
#define NORMED                                                                                                         \
    "r = Reshape<allowzero=1>(Cast<to=1>(a), Concat<axis=0>(Slice(Shape(a), [0], [-1]), Div(Last(a), Shape(b)), "      \
    "Shape(b))); n = RMSNormalization<axis=-1,epsilon=@epsilon:0.00001>(r, Cast<to=1>(b)); g = Cast<to=1>(c); "        \
    "y = CastLike(Mul(Reshape<allowzero=1>(n, Shape(a)), "
    ox_emit_body(e, says(node, "activation", "sigmoid") ? NORMED "Sigmoid(g)), a)" : NORMED "Swish(g)), a)", values,
                 "y", node->nout, node->out);
}

#define BODY(name, outputs, body)                                                                                      \
    { name, outputs, body, NULL, NULL, NULL, NULL }
#define WRITTEN(name, outputs, write)                                                                                  \
    { name, outputs, NULL, NULL, write, NULL, NULL }
#define ACTIVATED(name, outputs, body, activations)                                                                    \
    { name, outputs, body, activations, NULL, NULL, NULL }
#define IMAGES(name, body, activations, images, alike)                                                                 \
    { name, "y", body, activations, NULL, images, alike }
static const function functions[] = {
    BODY("Affine", "y", "y = Add(Mul(a, @alpha:1.0), @beta:0.0)"),
    WRITTEN("Attention", "yz", write_attention),
    BODY("AveragePool", "y", "y = AveragePool<" POOL_ATTRS ",dilations=@>(a)"),
    BODY("BiasGelu", "y", "y = Gelu(Add(a, b))"),
    WRITTEN("CDist", "y", write_distances),
    ACTIVATED("Conv", "y", FUSED_CONV, conv_activations),
    WRITTEN("Crop", "y", write_crop),
    WRITTEN("DecoderMaskedMultiHeadAttention", "ystu", write_masked_heads),
    BODY("DequantizeLinear", "y", "y = DequantizeLinear<axis=@>(a, b, c)"),
    BODY("DynamicQuantizeMatMul", "y",
         "q,s,z = DynamicQuantizeLinear(a); y = Add?e(Mul(Cast<to=1>(MatMulInteger(q, b, z, d)), Mul(s, c)), e)"),
    BODY("DynamicSlice", "y", "y = Slice(a, b, c, d)"),
    BODY("EmbedLayerNormalization", "yms",
         "s = Add?b(Add(Gather(c, a), Gather(d, i|Positions(a))), Gather(e, b)); "
         "y = LayerNormalization<axis=-1," EPSILON ">(s, f, g); "
         "m ?= ReduceSum<keepdims=0>(Cast<to=6>(Equal(h|Expand(0, Shape(a)), 1)), [1])"),
    BODY("ExpandDims", "y", "y = Unsqueeze(a, Reshape(Cast<to=7>(b), [1]))"),
    BODY("FastGelu", "y", "y = Gelu<approximate=\"tanh\">(Add?b(a, b))"),
    ACTIVATED("FusedConv", "y", FUSED_CONV, conv_activations),
    ACTIVATED("FusedGemm", "y", "y = Activate?activation(Gemm<" GEMM_ATTRS ">(a, b, c))", gemm_activations),
    BODY("GatedAdd", "y", "y = Add(a, Mul(b, c))"),
    WRITTEN("GatedRMSNorm", "y", write_gated_norm),
    BODY("GatherND", "y", "y = GatherND(a, Cast<to=7>(b))"),
    BODY("Gelu", "y", "y = Gelu(a)"),
    BODY("GlobalAveragePool", "y", "y = GlobalAveragePool(a)"),
    BODY("GlobalMaxPool", "y", "y = GlobalMaxPool(a)"),
    WRITTEN("GridSample", "y", write_sampling),
    WRITTEN("ImageScaler", "y", write_image_scaler),
    BODY("LinearAttentionGate", "yz",
         "y = CastLike(Mul(Softplus(Add(Cast<to=1>(a), b)), c), a); z ?= CastLike(Sigmoid(Cast<to=1>(d|a)), a)"),
    BODY("MatMulIntegerToFloat", "y", "y = Add?g(Mul(Cast<to=1>(MatMulInteger(a, b, e, f)), Mul(c, d)), g)"),
    BODY("MaxPool", "y", MAX_POOL),
    BODY("MatMulInteger16", "y", "y = MatMul(Cast<to=6>(a), Cast<to=6>(b))"),
    WRITTEN("MeanVarianceNormalization", "y", write_mean_variance),
    IMAGES("NhwcConv", "y = Conv<" CONV_ATTRS ">(a, b, c)", NULL, "a", "b"),
    IMAGES("NhwcFusedConv", FUSED_CONV, conv_activations, "ad", "b"),
    IMAGES("NhwcMaxPool", MAX_POOL, NULL, "a", ""),
    BODY("Pad", "y", "y = Pad<mode=@>(a, Reshape(b, [-1]), Squeeze?c(c))"),
    BODY("ParametricSoftplus", "y", "y = Mul(Softplus(Mul(a, @beta:1.0)), @alpha:1.0)"),
    WRITTEN("QAttention", "yz", write_attention),
    BODY("QEmbedLayerNormalization", "yz",
         "s = Add?b(Add(De(Gather(c, a), i, n), De(Gather(d, Positions(a)), j, o)), De?b(Gather?b(e, b), k, p)); "
         "y = LayerNormalization<axis=-1," EPSILON ">(s, De(f, l, q), De(g, m, r)); "
         "z ?= ReduceSum<keepdims=0>(Cast<to=6>(Equal(h|Expand(0, Shape(a)), 1)), [1])"),
    BODY("QGemm", "y",
         "p = Add?g(MatMulInteger(Transpose?transA(a), Transpose?transB(d), c, f), g); "
         "y = Qu?h(Mul(Cast<to=1>(p), Mul(Mul(Constant<value_float=@alpha:1.0>(), b), e)), h, i)"),
    BODY("QLinearAdd", "y", "y = Qu(Add(De(a, b, c), De(d, e, f)), g, h)"),
    IMAGES("QLinearAveragePool", "y = Qu(AveragePool<" POOL_ATTRS ">(De(a, b, c)), d, e)", NULL, "a", ""),
    WRITTEN("QLinearConcat", "y", write_concat),
    IMAGES("QLinearConv", "y = QLinearConv<" CONV_ATTRS ">(a, b, c, d, e, f, g, h, i)", NULL, "a", "d"),
    WRITTEN("QLinearGlobalAveragePool", "y", write_global_pool),
    BODY("QLinearLeakyRelu", "y", "y = Qu(LeakyRelu<alpha=@>(De(a, b, c)), d, e)"),
    BODY("QLinearMul", "y", "y = Qu(Mul(De(a, b, c), De(d, e, f)), g, h)"),
    WRITTEN("QLinearReduceMean", "y", write_mean),
    BODY("QLinearSigmoid", "y", "y = Qu(Sigmoid(De(a, b, c)), d, e)"),
    WRITTEN("QLinearSoftmax", "y", write_softmax),
    BODY("QLinearWhere", "y", "y = Where(a, Qu(De(b, c, d), h, i), Qu(De(e, f, g), h, i))"),
    BODY("QuantizeLinear", "y", "y = QuantizeLinear<axis=@>(a, b, c)"),
    BODY("QuickGelu", "y", "y = Swish<alpha=@alpha:1.702>(a)"),
    BODY("Range", "y", "y = Range(Squeeze(a), Squeeze(b), Squeeze(c|1))"),
    WRITTEN("ReorderInput", "y", write_block_start),
    WRITTEN("ReorderOutput", "y", write_block_end),
    BODY("SampleOp", "y", "y = Identity(a)"),
    BODY("Scale", "y", "y = Mul(a, @scale:1.0)"),
    BODY("ScaledSiLU", "y",
         "z = CastLike(Mul(Cast<to=1>(a), Squeeze(Cast<to=1>(b|Constant<value_float=@alpha:1.0>()))), a); "
         "y = Mul(z, Sigmoid(z))"),
    BODY("ScaledTanh", "y", "y = Mul(Tanh(Mul(a, @beta:1.0)), @alpha:1.0)"),
    WRITTEN("SimplifiedLayerNormalization", "yv", write_simplified_norm),
    BODY("SkipLayerNormalization", "ymvs",
         "s = Add?e(Add(a, b), e); y,m,v = LayerNormalization<axis=-1," EPSILON ">(s, c, d)"),
    BODY("SkipSimplifiedLayerNormalization", "ymvs",
         "s = Add?d(Add(a, b), d); y = RMSNormalization<axis=-1," EPSILON ">(s, c); "
         "v ?= Inverse(Square(Cast<to=1>(s)), [-1], Constant<value_float=@epsilon:0.000000000001>())"),
    BODY("TransposeMatMul", "y", "y = FusedMatMul<alpha=@,transA=@,transB=@>(a, b)"),
    BODY("Trilu", "y", "y = Trilu<upper=@>(a, b)"),
    BODY("Unique", "yin", "y,p,i,n = Unique<sorted=0>(a)"),
    WRITTEN("Upsample", "y", write_upsample),
};

static const function *find(const ox_node *node) {
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!ox_text_order(functions[i].name, node->op->name))
            return &functions[i];
    return NULL;
}

/* The text of a node's activation; NULL if it has none. */
static ox_status find_activation(ox_builder *b, const function *f, const ox_node *node, const char **text) {
    const ox_attr *named = ox_emit_attr(node, "activation", OX_ATTR_STRING),
                  *list = ox_emit_attr(node, "activation_params", OX_ATTR_FLOATS);
    const size_t given = list ? list->count : 0;
    const activation *a = f->activations;
    *text = NULL;
    if (!named || !a)
        return OX_OK;
    while (a->name && !ox_says(named->u.s, a->name))
        a++;
    if (!a->name)
        return ox_fail(b->error, OX_ERROR_UNSUPPORTED, "attribute 'activation': '%.*s' is not supported",
                       OX_SHORT(named->u.s));
    if (given != a->parameters)
        return ox_fail(b->error, OX_ERROR_MODEL, "attribute 'activation_params' has %zu numbers, but %s takes %zu",
                       given, a->name, a->parameters);
    *text = a->text;
    return OX_OK;
}

/* Outputs that no statement of the body computes stay with the checking node: planning refuses them if they are
 * read. */
static ox_status keep_missing(ox_builder *b, ox_scope *scope, const function *f, const ox_node *node,
                              const int32_t *values, int32_t at) {
    ox_node *check = &scope->nodes[at];
    ox_index *ends;
    int count = node->nout;
    while (count && (node->out[count - 1] < 0 || values[f->outputs[count - 1] - 'a'] == node->out[count - 1]))
        count--;
    if (!count)
        return OX_OK;
    OX_TRY(ox_build_get(b, b->pile, (size_t)node->nin + (size_t)count, sizeof *ends, &ends));
    memcpy(ends, node->in, (size_t)node->nin * sizeof *ends);
    for (int k = 0; k < count; k++) {
        const bool given = node->out[k] < 0 || values[f->outputs[k] - 'a'] == node->out[k];
        ends[node->nin + k] = given ? (ox_index)OX_NONE : node->out[k];
        if (!given)
            scope->notes[node->out[k]].producer = at;
    }
    check->in = ends;
    check->out = ends + node->nin;
    check->nout = (ox_index)count;
    return OX_OK;
}

/* ---- Writing a node ------------------------------------------------------------------------------------------ */

/* The operator works on images whose channels come first, which may be views of those that are given. */
static void write_channels_last(ox_emitter *e, const function *f, const ox_node *node, int32_t *values) {
    const size_t rank = rank_of_images(e, f, node);
    const ox_index out = node->nout ? node->out[0] : OX_NONE, first = OX_NONE;
    for (const char *letter = f->images; *letter; letter++)
        if (values[*letter - 'a'] != OX_NONE)
            values[*letter - 'a'] = move_channels(e, values[*letter - 'a'], rank, false, OX_NONE);
    ox_emit_body(e, f->body, values, f->outputs, 1, &first);
    values['y' - 'a'] = move_channels(e, values['y' - 'a'], rank, true, out);
}

static bool has_channels_last(const function *f, const ox_node *node) {
    return f->images && (!strncmp(f->name, "Nhwc", 4) || ox_emit_int(node, "channels_last", 0));
}

ox_status ox_rewrite_function(ox_builder *b, ox_scope *scope, const ox_node *node, const char *name) {
    const function *f = find(node);
    ox_macro macros[SHARED + 2] = {{NULL, NULL}};
    int32_t values[OX_EMIT_LETTERS];
    ox_node check = *node;
    ox_emitter e = {.b = b, .scope = scope, .name = name, .macros = macros, .node = node};
    if (!*name)
        OX_TRY(ox_build_intern(b, node->op->name, &e.name));
    memcpy(macros, shared, sizeof shared);
    macros[SHARED] = (ox_macro){"Activate", NULL};
    OX_TRY(find_activation(b, f, node, &macros[SHARED].text));
    if (!macros[SHARED].text)
        macros[SHARED] = (ox_macro){NULL, NULL};
    for (int i = 0; i < OX_EMIT_LETTERS; i++)
        values[i] = input_of(node, i);
    e.like = values[0];
    e.gradient = e.result = OX_NONE;
    check.nout = 0;
    const int32_t at = scope->nnodes;
    OX_TRY(ox_build_append(b, scope, &check, e.name));
    if (f->write)
        f->write(&e, node, values);
    else if (has_channels_last(f, node))
        write_channels_last(&e, f, node, values);
    else
        ox_emit_body(&e, f->body, values, f->outputs, node->nout, node->out);
    return e.status ? e.status : keep_missing(b, scope, f, node, values, at);
}
