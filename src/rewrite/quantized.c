/* quantized.c: networks of quantized tensors that compute on floats between DequantizeLinear and QuantizeLinear. Where
 * scales and zero points are known, the integer operator that computes the same takes the place of those nodes, or the
 * operator itself moves the integers. The nodes as the model has them stay beside, for who reads what is between. */
#include "emit.h"
#include "rewrite.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Products of scales and sums of integers neither overflow nor underflow floats. */
#define LEAST_SCALE 0x1p-48f
#define MOST_SCALE 0x1p48f

/* Two scales are the same number but for the rounding of a product. */
#define ROUNDING 0x1p-22

enum {
    MOST_INPUTS = 9, /* of an integer operator */
    NOBODY = -1
};

/* The smallest and the largest number of an integer type. */
typedef struct range {
    int64_t low, high;
} range;

/* Scales and zero points: one for all elements, or one for each entry of an axis. */
typedef struct quantization {
    const ox_node *node;
    ox_index scale, zero;    /* values; zero may be OX_NONE */
    const ox_tensor *scales; /* floats */
    const ox_tensor *zeros;  /* NULL where there are none, which stands for 0 */
    ox_dtype dtype;          /* of the integers */
    int64_t count;           /* of the scales */
    const ox_attr *axis;
} quantization;

/* The nodes of a graph, and who reads and gives its values. */
typedef struct rewriter {
    ox_builder *b;
    ox_scope *scope;
    int32_t *readers; /* of each value, the graph's outputs counted; */
    int32_t *makers;  /* the node that gives it, NOBODY */
    bool *gone;       /* of each node: it is left out */
    bool changed;     /* some node was replaced */
} rewriter;

/* ---- What is known ------------------------------------------------------------------------------------------ */

static range range_of(ox_dtype dtype) {
    switch ((int)dtype) {
    case OX_UINT8:
        return (range){0, UINT8_MAX};
    case OX_INT8:
        return (range){INT8_MIN, INT8_MAX};
    case OX_UINT16:
        return (range){0, UINT16_MAX};
    case OX_INT16:
        return (range){INT16_MIN, INT16_MAX};
    default:
        return (range){0, 0};
    }
}

static int32_t input_of(const ox_node *node, int i) {
    return node && i < node->nin ? node->in[i] : OX_NONE;
}

/* The node that gives a value, NULL if none does. */
static const ox_node *maker_of(const rewriter *r, int32_t value) {
    const int32_t n = value < 0 ? NOBODY : r->makers[value];
    return n < 0 ? NULL : &r->scope->nodes[n];
}

/* The same if the node is of that operator. */
static const ox_node *made_by(const rewriter *r, int32_t value, const char *name) {
    const ox_node *node = maker_of(r, value);
    return node && ox_build_is_op(node, name) ? node : NULL;
}

/* A value that is the same in every run; NULL if it is not known. */
static const ox_tensor *known(const rewriter *r, int32_t value) {
    const ox_scope *scope = r->scope;
    const ox_node *constant = made_by(r, value, "Constant");
    const ox_attr *attr = ox_emit_attr(constant, "value", OX_ATTR_TENSOR);
    while (value >= 0 && scope->notes[value].origin == OX_FROM_OUTER) {
        value = scope->values[value].outer;
        scope = scope->outer;
    }
    const bool kept = value >= 0 && scope->notes[value].origin == OX_FROM_INITIALIZER;
    const ox_tensor *tensor = attr ? attr->u.tensor : kept ? scope->values[value].initializer : NULL;
    return tensor && tensor->data ? tensor : NULL;
}

static float float_at(const ox_tensor *tensor, int64_t i) {
    float value;
    memcpy(&value, (const char *)tensor->data + i * (int64_t)sizeof value, sizeof value);
    return value;
}

/* One scale serves all entries. */
static double scale_at(const quantization *q, int64_t i) {
    return (double)float_at(q->scales, q->count == 1 ? 0 : i);
}

static int64_t zero_at(const quantization *q, int64_t i) {
    return q->zeros ? ox_tensor_int(q->zeros, q->count == 1 ? 0 : i) : 0;
}

static bool has_zeros(const quantization *q) {
    for (int64_t i = 0; i < q->count; i++)
        if (zero_at(q, i))
            return true;
    return false;
}

/* ---- Quantizations ------------------------------------------------------------------------------------------ */

/* Attributes that change what the node computes. */
static bool has_plain_attrs(const ox_node *node, int64_t output) {
    const int64_t dtype = ox_emit_int(node, "output_dtype", 0), precision = ox_emit_int(node, "precision", 0);
    return !ox_emit_int(node, "block_size", 0) && (!dtype || dtype == output) && (!precision || precision == OX_FLOAT);
}

static bool has_plain_scales(const quantization *q) {
    for (int64_t i = 0; i < q->count; i++) {
        const float scale = float_at(q->scales, i);
        if (!(scale >= LEAST_SCALE && scale <= MOST_SCALE))
            return false;
    }
    return true;
}

static bool read_quantization(const rewriter *r, const ox_node *node, bool back, quantization *q) {
    if (!node)
        return false;
    *q = (quantization){.node = node,
                        .scale = (ox_index)input_of(node, 1),
                        .zero = (ox_index)input_of(node, 2),
                        .scales = known(r, input_of(node, 1)),
                        .zeros = known(r, input_of(node, 2)),
                        .axis = ox_emit_attr(node, "axis", OX_ATTR_INT)};
    if (!q->scales || q->scales->dtype != OX_FLOAT || q->scales->rank > 1 || (!q->zeros && q->zero >= 0))
        return false;
    q->count = ox_tensor_count(q->scales);
    q->dtype = q->zeros ? q->zeros->dtype : back ? r->scope->values[node->in[0]].dtype : OX_UINT8;
    if (q->count < 1 || (q->zeros && (q->zeros->rank > 1 || ox_tensor_count(q->zeros) != q->count)))
        return false;
    return has_plain_attrs(node, back ? OX_FLOAT : q->dtype) && has_plain_scales(q);
}

/* What a DequantizeLinear makes floats of. */
static bool read_source(const rewriter *r, int32_t value, quantization *q) {
    return read_quantization(r, made_by(r, value, "DequantizeLinear"), true, q);
}

/* Has one scale for all elements. */
static bool is_single(const quantization *q) {
    return q->count == 1 && range_of(q->dtype).high > 0;
}

static bool is_byte(const quantization *q) {
    return q->dtype == OX_UINT8 || q->dtype == OX_INT8;
}

/* Has one scale, or one for each entry of that axis of a tensor. */
static bool is_along(const quantization *q, const ox_tensor *tensor, int axis) {
    if (q->count == 1)
        return true;
    const int64_t given = q->axis ? q->axis->u.i : 1;
    return q->node->version >= 13 && q->scales->rank == 1 && q->count == tensor->dims[axis] &&
           (given == axis || given == axis - tensor->rank);
}

static bool is_same(const quantization *a, const quantization *b) {
    const float one = float_at(a->scales, 0), other = float_at(b->scales, 0);
    return a->dtype == b->dtype && !memcmp(&one, &other, sizeof one) && zero_at(a, 0) == zero_at(b, 0);
}

/* ---- Sums --------------------------------------------------------------------------------------------------- */

/* The largest distance of a number from its zero point. */
static int64_t reach_of(const quantization *q, int64_t i) {
    const range limits = range_of(q->dtype);
    const int64_t zero = zero_at(q, i);
    return zero - limits.low > limits.high - zero ? zero - limits.low : limits.high - zero;
}

/* Whether a sum of k products of x and weights and `more` is below 2^31 whatever x holds. */
static bool fits_sum(const quantization *x, const quantization *w, int64_t channel, int64_t k, int64_t more) {
    const int64_t product = reach_of(x, 0) * reach_of(w, channel), least = -more > more ? -more : more;
    return k <= (INT32_MAX - least) / product;
}

/* The same by the weights themselves, which lie k behind each other for each channel. */
static bool fits_weights(const quantization *x, const quantization *w, const ox_tensor *weights, int64_t channel,
                         int64_t k, int64_t more) {
    int64_t sum = -more > more ? -more : more;
    for (int64_t i = 0; i < k && sum <= INT32_MAX; i++) {
        const int64_t distance = ox_tensor_int(weights, channel * k + i) - zero_at(w, channel);
        sum += reach_of(x, 0) * (distance < 0 ? -distance : distance);
    }
    return sum <= INT32_MAX;
}

/* ---- Rewriting ---------------------------------------------------------------------------------------------- */

/* The node behind does to the value nothing that saturation does not do, too: the bounds are quantized to the type's.
 */
static bool is_saturation(const quantization *to, float low, float high) {
    const range limits = range_of(to->dtype);
    const float scale = float_at(to->scales, 0), zero = (float)zero_at(to, 0);
    return rintf(low / scale) + zero <= (float)limits.low && rintf(high / scale) + zero >= (float)limits.high;
}

/* One of Clip's bounds: an attribute before version 11, then an input. False if it is not known. */
static bool read_bound(const rewriter *r, const ox_node *clip, int i, const char *name, float *bound) {
    const int32_t value = input_of(clip, i);
    const ox_tensor *tensor = known(r, value);
    if (clip->version < 11)
        *bound = (float)ox_emit_float(clip, name, (double)*bound);
    else if (tensor && tensor->dtype == OX_FLOAT && ox_tensor_count(tensor) == 1)
        *bound = float_at(tensor, 0);
    else
        return value < 0;
    return true;
}

/* Steps from a value that only one node reads over Relu or Clip in front, if saturation does what they do. */
static int32_t before_bounds(const rewriter *r, const quantization *to, int32_t value) {
    const ox_node *relu = made_by(r, value, "Relu"), *clip = made_by(r, value, "Clip");
    float low = relu ? 0 : -FLT_MAX, high = FLT_MAX;
    if (!relu && !clip)
        return value;
    if (clip && (!read_bound(r, clip, 1, "min", &low) || !read_bound(r, clip, 2, "max", &high)))
        return OX_NONE;
    return is_saturation(to, low, high) ? input_of(relu ? relu : clip, 0) : OX_NONE;
}

/* A value is read no more by one of its nodes; nodes disappear that nobody else reads. What they read goes on to be
 * read: by the node in their place, or it is a constant. */
static void drop(rewriter *r, int32_t value) {
    const int32_t n = r->makers[value];
    if (--r->readers[value] || n < 0)
        return;
    const ox_node *node = &r->scope->nodes[n];
    for (int k = 0; k < node->nout; k++)
        if (node->out[k] >= 0 && r->readers[node->out[k]])
            return;
    r->gone[n] = true;
    for (int i = 0; i < node->nin; i++)
        if (node->in[i] >= 0)
            drop(r, node->in[i]);
}

/* Keeps the nodes as they are now. */
static ox_status keep_written(rewriter *r) {
    ox_scope *scope = r->scope;
    const size_t count = (size_t)scope->nnodes;
    ox_written *written;
    ox_node *nodes;
    const char **names;
    OX_TRY(ox_build_get(r->b, r->b->pile, 1, sizeof *written, &written));
    OX_TRY(ox_build_get(r->b, r->b->pile, count, sizeof *nodes, &nodes));
    OX_TRY(ox_build_get(r->b, r->b->pile, count, sizeof *names, &names));
    memcpy(nodes, scope->nodes, count * sizeof *nodes);
    if (OX_KEEP_NAMES)
        memcpy(names, scope->node_names, count * sizeof *names);
    written->graph.nodes = nodes;
    written->graph.node_names = names;
    written->graph.nnodes = scope->nnodes;
    scope->written = written;
    return OX_OK;
}

/* Puts an operator with these inputs where node n is, which quantizes `value`; it has attributes and name of the node
 * that it stands for, `from`. */
static ox_status replace(rewriter *r, int32_t n, int32_t value, const ox_node *from, const ox_op *op, int count,
                         const ox_index *in) {
    ox_scope *scope = r->scope;
    ox_index *kept;
    if (OX_KEEP_WRITTEN && !scope->written)
        OX_TRY(keep_written(r));
    if (OX_WITH_USES)
        OX_TRY(ox_build_note_op(r->b, op, from->version));
    r->changed = true;
    OX_TRY(ox_build_get(r->b, r->b->pile, (size_t)count, sizeof *kept, &kept));
    memcpy(kept, in, (size_t)count * sizeof *kept);
    ox_node made = *from;
    made.op = op;
    made.in = kept;
    made.nin = (ox_index)count;
    made.out = scope->nodes[n].out;
    made.nout = scope->nodes[n].nout;
    for (int i = 0; i < count; i++)
        if (in[i] >= 0)
            r->readers[in[i]]++;
    if (OX_KEEP_NAMES)
        scope->node_names[n] = scope->node_names[from - scope->nodes];
    for (int i = scope->nodes[n].nin; i-- > 0;)
        if (scope->nodes[n].in[i] >= 0 && scope->nodes[n].in[i] != value)
            r->readers[scope->nodes[n].in[i]]--;
    scope->nodes[n] = made;
    drop(r, value);
    return OX_OK;
}

/* ---- Operators ---------------------------------------------------------------------------------------------- */

/* The bias, as integers of the scale of the sums; false if it is something else. */
static bool read_bias(const rewriter *r, const ox_node *conv, const quantization *x, const quantization *w,
                      int64_t channels, const ox_tensor **bias) {
    quantization q;
    const int32_t value = input_of(conv, 2);
    *bias = NULL;
    if (value < 0)
        return true;
    if (!read_source(r, value, &q))
        return false;
    *bias = known(r, q.node->in[0]);
    if (!*bias || (*bias)->dtype != OX_INT32 || (*bias)->rank != 1 || (*bias)->dims[0] != channels || has_zeros(&q) ||
        !is_along(&q, *bias, 0))
        return false;
    for (int64_t i = 0; i < channels; i++) {
        const double scale = scale_at(x, 0) * scale_at(w, i);
        if (fabs(scale_at(&q, i) - scale) > scale * ROUNDING)
            return false;
    }
    return true;
}

static bool fits_sums(const quantization *x, const quantization *w, const ox_tensor *weights, const ox_tensor *bias) {
    const int64_t channels = weights->dims[0];
    if (channels < 1)
        return false;
    const int64_t k = ox_tensor_count(weights) / channels;
    for (int64_t i = 0; i < channels; i++) {
        const int64_t more = bias ? ox_tensor_int(bias, i) : 0;
        if (!fits_sum(x, w, i, k, more) && !fits_weights(x, w, weights, i, k, more))
            return false;
    }
    return true;
}

static ox_status rewrite_conv(rewriter *r, int32_t n, int32_t value, const ox_node *conv, const quantization *to) {
    quantization x, w;
    const ox_tensor *bias;
    const ox_op *op = ox_op_find("", "QLinearConv", conv->version, NULL);
    if (!op || to->zero < 0 || !is_byte(to) || !read_source(r, input_of(conv, 0), &x) || !is_single(&x) ||
        !is_byte(&x) || x.zero < 0 || !read_source(r, input_of(conv, 1), &w) || !is_byte(&w) || w.zero < 0)
        return OX_OK;
    const ox_tensor *weights = known(r, w.node->in[0]);
    if (!weights || weights->dtype != w.dtype || weights->rank < 3 || !is_along(&w, weights, 0) ||
        !read_bias(r, conv, &x, &w, weights->dims[0], &bias) || !fits_sums(&x, &w, weights, bias))
        return OX_OK;
    const ox_node *more = maker_of(r, input_of(conv, 2));
    const ox_index in[MOST_INPUTS] = {x.node->in[0], x.scale,  x.zero,
                                      w.node->in[0], w.scale,  w.zero,
                                      to->scale,     to->zero, bias ? more->in[0] : OX_NONE};
    return replace(r, n, value, conv, op, bias ? 9 : 8, in);
}

static ox_status rewrite_matmul(rewriter *r, int32_t n, int32_t value, const ox_node *matmul, const quantization *to) {
    quantization a, b;
    const ox_op *op = ox_op_find("", "QLinearMatMul", matmul->version, NULL);
    if (!op || to->zero < 0 || !is_byte(to) || !read_source(r, input_of(matmul, 0), &a) || !is_single(&a) ||
        !is_byte(&a) || a.zero < 0 || !read_source(r, input_of(matmul, 1), &b) || !is_byte(&b) || b.zero < 0)
        return OX_OK;
    const ox_tensor *weights = known(r, b.node->in[0]);
    if (!weights || weights->dtype != b.dtype || weights->rank < 2 || !is_along(&b, weights, weights->rank - 1))
        return OX_OK;
    for (int64_t i = 0; i < b.count; i++)
        if (!fits_sum(&a, &b, i, weights->dims[weights->rank - 2], 0))
            return OX_OK;
    const ox_index in[] = {a.node->in[0], a.scale, a.zero, b.node->in[0], b.scale, b.zero, to->scale, to->zero};
    return replace(r, n, value, matmul, op, 8, in);
}

/* Operators that give elements of input 0 (Concat: of all inputs) as they are, and no others. */
static bool is_move(const ox_node *node) {
    static const char *const moves[] = {"Concat",  "DepthToSpace", "Flatten",      "Gather",  "Identity",  "MaxPool",
                                        "Reshape", "Slice",        "SpaceToDepth", "Squeeze", "Transpose", "Unsqueeze"};
    for (size_t i = 0; node && i < sizeof moves / sizeof *moves; i++)
        if (ox_build_is_op(node, moves[i]))
            return node->nout == 1 && node->nin;
    return false;
}

static ox_status rewrite_move(rewriter *r, int32_t n, int32_t value, const ox_node *move, const quantization *to) {
    const int moved = ox_build_is_op(move, "Concat") ? move->nin : 1;
    ox_index *in;
    if (!(move->op->dtypes & OX_BIT(to->dtype)) || !ox_op_builds(move->op, to->dtype))
        return OX_OK;
    OX_TRY(ox_build_get(r->b, &r->scope->pile, (size_t)move->nin, sizeof *in, &in));
    for (int i = 0; i < move->nin; i++) {
        quantization from;
        in[i] = move->in[i];
        if (i >= moved)
            continue;
        if (!read_source(r, in[i], &from) || !is_single(&from) || !is_same(&from, to))
            return OX_OK;
        in[i] = from.node->in[0];
    }
    return replace(r, n, value, move, move->op, move->nin, in);
}

/* Node n is a QuantizeLinear: looks at what is in front of it. */
static ox_status rewrite(rewriter *r, int32_t n) {
    quantization to;
    const int32_t value = r->scope->nodes[n].in[0];
    if (!read_quantization(r, &r->scope->nodes[n], false, &to) || !is_single(&to) || r->readers[value] != 1)
        return OX_OK;
    const int32_t product = before_bounds(r, &to, value);
    const ox_node *node = maker_of(r, value);
    if (is_move(node))
        return rewrite_move(r, n, value, node, &to);
    if (product < 0 || r->readers[product] != 1)
        return OX_OK;
    node = maker_of(r, product);
    if (node && ox_build_is_op(node, "Conv"))
        return rewrite_conv(r, n, value, node, &to);
    return node && ox_build_is_op(node, "MatMul") ? rewrite_matmul(r, n, value, node, &to) : OX_OK;
}

/* ---- The graph ---------------------------------------------------------------------------------------------- */

static void count_readers(const rewriter *r, const ox_index *values, int count) {
    for (int i = 0; i < count; i++)
        if (values[i] >= 0)
            r->readers[values[i]]++;
}

static ox_status find_readers(rewriter *r) {
    const ox_scope *scope = r->scope;
    const size_t values = (size_t)scope->nvalues;
    ox_pile *pile = &r->scope->pile;
    OX_TRY(ox_build_get(r->b, pile, values, sizeof *r->readers, &r->readers));
    OX_TRY(ox_build_get(r->b, pile, values, sizeof *r->makers, &r->makers));
    OX_TRY(ox_build_get(r->b, pile, (size_t)scope->nnodes, sizeof *r->gone, &r->gone));
    for (size_t v = 0; v < values; v++)
        r->makers[v] = NOBODY;
    for (int32_t n = 0; n < scope->nnodes; n++) {
        const ox_node *node = &scope->nodes[n];
        count_readers(r, node->in, node->nin);
        count_readers(r, node->captures, node->ncaptures);
        for (int k = 0; k < node->nout; k++)
            if (node->out[k] >= 0)
                r->makers[node->out[k]] = n;
    }
    for (int i = 0; i < scope->graph->noutputs; i++)
        r->readers[scope->outputs[i]]++;
    return OX_OK;
}

/* Leaves out the nodes that are gone, and notes what they gave. */
static ox_status close_gaps(rewriter *r) {
    ox_scope *scope = r->scope;
    bool *lost = NULL;
    int32_t count = 0;
    if (OX_KEEP_WRITTEN)
        OX_TRY(ox_build_get(r->b, r->b->pile, (size_t)scope->nvalues, sizeof *lost, &lost));
    for (int32_t n = 0; n < scope->nnodes; n++) {
        const ox_node *node = &scope->nodes[n];
        for (int k = 0; k < node->nout && r->gone[n]; k++)
            if (OX_KEEP_WRITTEN && node->out[k] >= 0)
                lost[node->out[k]] = true;
        if (r->gone[n])
            continue;
        scope->nodes[count] = *node;
        if (OX_KEEP_NAMES)
            scope->node_names[count] = scope->node_names[n];
        count++;
    }
    scope->nnodes = count;
    if (OX_KEEP_WRITTEN)
        scope->written->lost = lost;
    return OX_OK;
}

ox_status ox_rewrite_quantized(ox_builder *b, ox_scope *scope) {
    rewriter r = {.b = b, .scope = scope};
    int32_t first = 0;
    while (first < scope->nnodes && !ox_build_is_op(&scope->nodes[first], "QuantizeLinear"))
        first++;
    if (first == scope->nnodes)
        return OX_OK;
    OX_TRY(find_readers(&r));
    for (int32_t n = first; n < scope->nnodes; n++)
        if (ox_build_is_op(&scope->nodes[n], "QuantizeLinear"))
            OX_TRY(rewrite(&r, n));
    return r.changed ? close_gaps(&r) : OX_OK;
}
