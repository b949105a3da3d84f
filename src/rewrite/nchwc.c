/* nchwc.c: operators of com.microsoft.nchwc, which ONNX Runtime writes for the processor that it runs on, are replaced
 * by the original operators. ONNX Runtime keeps images in blocks of 8 or 16 channels between ReorderInput and
 * ReorderOutput, and weights of convolutions likewise. Here images keep channels first, with zeros in the padding
 * channels of the last block, and weights are reordered. */
#include "emit.h"
#include "loops/lanes.h"
#include "rewrite.h"

#include <string.h>

/* What a value holds. */
enum {
    PLAIN,
    SINGLE,      /* a constant of one element */
    IN_BLOCKS,   /* an image that ONNX Runtime keeps in blocks of channels */
    IN_BLOCKS_OF /* the same, with the channels within a block as a fifth dimension */
};

typedef struct reordered {
    ox_builder *b;
    ox_scope *scope;
    uint8_t *holds;    /* by value; of those that the rewriting adds nothing is known */
    int64_t *channels; /* by value: of an image in blocks with those that fill the last one; 0 if that is not known */
    int32_t known;     /* how many values these are of */
    bool fits[2];      /* whether blocks of 8 and of 16 channels are possible */
    int64_t block;
} reordered;

static const int64_t blocks[2] = {8, 16};

static bool is_of_blocks(const ox_node *node) {
    return ox_op_has(node->op, OX_OP_BLOCKS); /* none that ox lacks, or that is the caller's own */
}

static bool is_named(const ox_node *node, const char *name) {
    return !ox_text_order(node->op->name, name);
}

static int32_t output_of(const ox_node *node) {
    return node->nout ? node->out[0] : OX_NONE;
}

static uint8_t held(const reordered *r, int32_t value) {
    return value >= 0 && value < r->known ? r->holds[value] : PLAIN;
}

static bool is_in_blocks(const reordered *r, int32_t value) {
    return held(r, value) >= IN_BLOCKS;
}

static ox_status fail_at(const reordered *r, int32_t n, ox_status status) {
    const ox_node *node = &r->scope->nodes[n];
    ox_error_prefix(r->b->error, "node '%.*s' (%s%s%s): ", 60, OX_KEEP_NAMES ? r->scope->node_names[n] : "",
                    node->op->domain, *node->op->domain ? "." : "", node->op->name);
    return status;
}

/* ---- The size of blocks -------------------------------------------------------------------------------------- */

static void rule_out(reordered *r, int which, bool fits) {
    r->fits[which] = r->fits[which] && fits;
}

/* The layout of weights: blocked by outputs only, if the image is not blocked (it has too few channels) or the
 * convolution is depthwise, or by inputs, too. */
static bool by_outputs(const ox_tensor *w, int64_t group, int64_t block) {
    return group == 1 ? w->dims[1] < block : w->dims[1] == 1 && w->dims[0] == group;
}

static bool fits_weights(const reordered *r, const ox_node *node, const ox_tensor *w, int64_t block) {
    const int64_t group = ox_emit_int(node, "group", 1), out = w->dims[0], in = w->dims[1];
    const bool outputs = by_outputs(w, group, block);
    if (group < 1 || out % block || (is_in_blocks(r, node->in[0]) == (outputs && group == 1)))
        return false;
    return outputs || (in % block == 0 && out % group == 0 && out / group % block == 0);
}

/* Elements of the last `count` from place `from` of each `step` are zeros. */
static bool are_zeros(const ox_f32 *end, int64_t count, int64_t step, int64_t from) {
    for (int64_t i = 0; i < count; i += step)
        for (int64_t k = from; k < step; k++)
            if (end[i - count + k] != 0)
                return false;
    return true;
}

/* Padding channels of the last block have weights and a bias of zero: 8 and more of them in a block of 16, the last one
 * of 8 otherwise. In depthwise weights the second half of a block of 16 looks like a block of 8. */
static void look_at_zeros(reordered *r, const ox_node *node, const ox_tensor *w) {
    const ox_tensor *bias = node->nin > 2 ? ox_scope_initializer(r->scope, node->in[2]) : NULL;
    const int64_t count = ox_tensor_count(w), row = w->dims[0] ? count / w->dims[0] : 0;
    if (!w->data || !row || w->dims[0] % 16 || !bias || !bias->data || bias->dtype != OX_FLOAT ||
        ox_tensor_count(bias) != w->dims[0])
        return;
    const ox_f32 *end = (const ox_f32 *)w->data + count, *last = (const ox_f32 *)bias->data + w->dims[0];
    if (are_zeros(end, row * 16, 16, 0))
        return;
    if (are_zeros(end, row * 16, 16, 8) && are_zeros(last, 16, 16, 8))
        rule_out(r, 0, false);
    else if (row > 1 && are_zeros(end, row * 8, 8, 7) && are_zeros(last, 8, 8, 7) &&
             !are_zeros(end, row * 16, 16, 15)) /* the last one of 16 fills their block, and another one is zero, too */
        rule_out(r, 1, false);
}

static ox_status look_at_conv(reordered *r, const ox_node *node) {
    const ox_tensor *w = ox_scope_initializer(r->scope, node->in[1]);
    if (!w || w->rank != 4 || w->dtype != OX_FLOAT || !ox_tensor_is_packed(w))
        return ox_fail(r->b->error, OX_ERROR_UNSUPPORTED,
                       "weights other than an initializer of floats of four dimensions "
                       "are not supported");
    for (int i = 0; i < 2; i++)
        rule_out(r, i, fits_weights(r, node, w, blocks[i]));
    look_at_zeros(r, node, w);
    if (output_of(node) >= 0)
        r->channels[output_of(node)] = w->dims[0];
    return OX_OK;
}

/* What is read is that many channels, rounded up to whole blocks. */
static void look_at_end(reordered *r, const ox_node *node) {
    const int64_t wanted = ox_emit_int(node, "channels", 0), given = r->channels[node->in[0]];
    for (int i = 0; i < 2 && given && wanted > 0 && wanted <= given; i++)
        rule_out(r, i, (wanted + blocks[i] - 1) / blocks[i] * blocks[i] == given);
}

/* ONNX Runtime's block size on this processor: 16 if registers hold 16 floats (AVX-512), and on aarch64. */
static int64_t usual_block(void) {
#ifdef __aarch64__
    return 16;
#else
    return ox_loops_find("v4") != ox_loops_find("v3") ? 16 : 8;
#endif
}

#define UNKNOWN                                                                                                        \
    "all channels of com.microsoft.nchwc's operators come in sixteens: the model may have been saved for a processor " \
    "whose blocks have 8 channels, or 16"

/* Where both are possible, a device, which is not the processor that saved the model, does not choose. */
static ox_status choose_block(reordered *r) {
    const ox_options *options = &r->b->model->options;
    const bool open = r->fits[0] && r->fits[1];
    if (!r->fits[0] && !r->fits[1])
        return ox_fail(r->b->error, OX_ERROR_MODEL,
                       "the shapes of com.microsoft.nchwc's operators fit neither blocks of 8 nor of 16 channels");
    if (open && OX_SMALL)
        return ox_fail(r->b->error, OX_ERROR_UNSUPPORTED, UNKNOWN);
    r->block = open ? usual_block() : blocks[r->fits[1]];
    if (open && options->warn) {
        char text[OX_NAME_ROOM];
        ox_format(text, sizeof text, UNKNOWN "; it is read as one of %d, as this one has", (int)r->block);
        options->warn(options->warn_context, text);
    }
    return OX_OK;
}

/* ---- What values hold ---------------------------------------------------------------------------------------- */

/* Computes each element from the elements of its inputs in the same place. */
static bool is_by_element(const ox_node *node) {
    static const char *const names[] = {
        "Abs",         "Add",       "CastLike", "Clip",      "Div",  "Elu", "Erf", "Exp",   "Gelu",
        "HardSigmoid", "HardSwish", "Identity", "LeakyRelu", "Max",  "Min", "Mul", "Neg",   "Pow",
        "Reciprocal",  "Relu",      "Sigmoid",  "Softplus",  "Sqrt", "Sub", "Sum", "Swish", "Tanh"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (ox_build_is_op(node, names[i]))
            return true;
    return false;
}

static bool is_single(const ox_tensor *tensor) {
    return tensor && tensor->rank <= 4 && ox_tensor_count(tensor) == 1;
}

static uint8_t constant_holds(const ox_node *node) {
    const ox_attr *value = ox_emit_attr(node, "value", OX_ATTR_TENSOR);
    return ox_build_is_op(node, "Constant") && value && is_single(value->u.tensor) ? SINGLE : PLAIN;
}

/* The same for all inputs but single elements; PLAIN if they differ. */
static uint8_t common(const reordered *r, const ox_node *node, int64_t *channels) {
    uint8_t all = SINGLE;
    for (int i = 0; i < node->nin; i++) {
        const uint8_t one = node->in[i] < 0 ? SINGLE : held(r, node->in[i]);
        if (ox_op_has(node->op, OX_OP_LIKE) && i)
            continue;
        if (one != SINGLE && all != SINGLE && one != all)
            return PLAIN;
        all = one == SINGLE ? all : one;
        if (one != SINGLE)
            *channels = r->channels[node->in[i]];
    }
    return all;
}

/* Of Concat along the channels. */
static uint8_t concatenated(const reordered *r, const ox_node *node, int64_t *channels) {
    int64_t sum = 0;
    if (ox_emit_int(node, "axis", 0) != 1)
        return PLAIN;
    for (int i = 0; i < node->nin; i++) {
        if (held(r, node->in[i]) != IN_BLOCKS)
            return PLAIN;
        sum = r->channels[node->in[i]] && sum >= 0 ? sum + r->channels[node->in[i]] : -1;
    }
    *channels = sum > 0 ? sum : 0;
    return IN_BLOCKS;
}

/* A Reshape that makes the channels of a block the last dimension, or reverts that: [0,-1,0,0,block], [0,-1,0,0]. The
 * images here stay unchanged. */
static uint8_t reshaped(reordered *r, const ox_node *node, int64_t *channels) {
    static const int64_t start[4] = {0, -1, 0, 0};
    const ox_tensor *shape = node->nin > 1 ? ox_scope_initializer(r->scope, node->in[1]) : NULL;
    const uint8_t from = held(r, node->in[0]);
    const int count = from == IN_BLOCKS ? 5 : 4;
    if (from < IN_BLOCKS || !shape || !shape->data || shape->dtype != OX_INT64 || shape->rank != 1 ||
        shape->dims[0] != count || ox_emit_int(node, "allowzero", 0))
        return PLAIN;
    for (int i = 0; i < 4; i++)
        if (ox_tensor_int(shape, i) != start[i])
            return PLAIN;
    for (int i = 0; i < 2 && count == 5; i++)
        rule_out(r, i, ox_tensor_int(shape, 4) == blocks[i]);
    *channels = r->channels[node->in[0]];
    return count == 5 ? IN_BLOCKS_OF : IN_BLOCKS;
}

static bool reads_blocks(const reordered *r, const ox_node *node) {
    for (int i = 0; i < ox_node_named(node); i++)
        if (is_in_blocks(r, ox_node_value(node, i)))
            return true;
    return false;
}

static ox_status fail_reader(const reordered *r) {
    return ox_fail(r->b->error, OX_ERROR_UNSUPPORTED,
                   "it reads an image in blocks of channels, which only com.microsoft.nchwc's operators, those that "
                   "work element by element, and Concat of channels read here");
}

/* An operator of ONNX's, or another domain's. Those without outputs only check shapes. */
static ox_status look_at_other(reordered *r, const ox_node *node) {
    int64_t channels = 0;
    uint8_t holds = constant_holds(node);
    if (reads_blocks(r, node) && node->nout) {
        if (ox_build_is_op(node, "Reshape"))
            holds = reshaped(r, node, &channels);
        else if (ox_build_is_op(node, "Concat"))
            holds = concatenated(r, node, &channels);
        else if (is_by_element(node) && !ox_node_ncaptures(node))
            holds = common(r, node, &channels);
        if (holds == PLAIN)
            return fail_reader(r);
    } else if (ox_build_is_op(node, "CastLike") && held(r, node->in[0]) == SINGLE)
        holds = SINGLE;
    if (output_of(node) >= 0) {
        r->holds[output_of(node)] = holds;
        r->channels[output_of(node)] = channels;
    }
    return OX_OK;
}

static ox_status look_at(reordered *r, const ox_node *node) {
    if (!is_of_blocks(node))
        return look_at_other(r, node);
    const bool start = is_named(node, "ReorderInput"), conv = is_named(node, "Conv"),
               end = is_named(node, "ReorderOutput");
    for (int i = 0; i < node->nin; i++)
        if (node->in[i] >= 0 && held(r, node->in[i]) != IN_BLOCKS && (!conv || i == 3) && !start)
            return ox_fail(r->b->error, OX_ERROR_UNSUPPORTED, "input %d is not an image in blocks of channels", i);
    if (start && is_in_blocks(r, node->in[0]))
        return ox_fail(r->b->error, OX_ERROR_UNSUPPORTED, "input 0 is in blocks of channels already");
    if (output_of(node) >= 0) {
        r->holds[output_of(node)] = end ? PLAIN : IN_BLOCKS;
        r->channels[output_of(node)] = end || start ? 0 : r->channels[node->in[0]];
    }
    if (end)
        look_at_end(r, node);
    return conv ? look_at_conv(r, node) : OX_OK;
}

static ox_status look_at_all(reordered *r) {
    const ox_scope *scope = r->scope;
    const ox_graph *graph = scope->graph;
    r->known = scope->nvalues;
    OX_TRY(ox_build_get(r->b, &r->b->scratch, (size_t)r->known, sizeof *r->holds, &r->holds));
    OX_TRY(ox_build_get(r->b, &r->b->scratch, (size_t)r->known, sizeof *r->channels, &r->channels));
    for (int32_t v = 0; v < r->known; v++) {
        r->holds[v] = is_single(ox_scope_initializer(scope, v)) ? SINGLE : PLAIN;
        r->channels[v] = 0;
    }
    for (int32_t n = 0; n < scope->nnodes; n++) {
        const ox_status status = look_at(r, &scope->nodes[n]);
        if (status)
            return fail_at(r, n, status);
    }
    for (int i = 0; i < graph->noutputs; i++)
        if (is_in_blocks(r, scope->outputs[i]))
            return ox_fail(r->b->error, OX_ERROR_UNSUPPORTED,
                           "output %d of the graph is an image in blocks of channels", i);
    return choose_block(r);
}

/* ---- Nodes --------------------------------------------------------------------------------------------------- */

/* Weights in order: those of a block's outputs, and of a block's inputs in front of these, lie side by side. */
static void put_in_order(const ox_tensor *w, int64_t block, int64_t inner, float *to) {
    const ox_f32 *from = w->data;
    const int64_t in = w->dims[1], taps = w->dims[2] * w->dims[3];
    for (int64_t o = 0; o < w->dims[0]; o++)
        for (int64_t i = 0; i < in; i++)
            for (int64_t t = 0; t < taps; t++) {
                const int64_t place = ((o / block * (in / inner) + i / inner) * taps + t) * inner + i % inner;
                to[(o * in + i) * taps + t] = from[place * block + o % block];
            }
}

/* A constant with the weights of a convolution in order; those that are not there, as in a listing, stay. */
static ox_status add_weights(reordered *r, const ox_node *node, const char *name, ox_index *value) {
    const ox_tensor *w = ox_scope_initializer(r->scope, *value);
    const int64_t inner = by_outputs(w, ox_emit_int(node, "group", 1), r->block) ? 1 : r->block;
    ox_emitter e = {.b = r->b, .scope = r->scope, .name = name};
    ox_tensor *made;
    ox_attr attr = {.name = "value", .kind = OX_ATTR_TENSOR};
    float *to;
    int32_t out;
    if (!w->data || !ox_tensor_count(w))
        return OX_OK;
    OX_TRY(ox_build_get(r->b, r->b->pile, 1, sizeof *made, &made));
    OX_TRY(ox_build_get(r->b, r->b->pile, (size_t)ox_tensor_count(w), sizeof *to, &to));
    put_in_order(w, r->block, inner, to);
    *made = *w;
    made->data = to;
    attr.u.tensor = made;
    ox_emit_op(&e, "Constant", 1, &attr, 0, NULL, 1, &out);
    *value = (ox_index)out;
    return e.status;
}

/* Writes the nodes that compute one of these operators; the attribute block_size is added for them. */
static ox_status write_node(reordered *r, const ox_node *old, const char *name) {
    ox_node node = *old;
    ox_attr *attrs;
    ox_index *in;
    if (!*name)
        OX_TRY(ox_build_intern(r->b, node.op->name, &name));
    OX_TRY(ox_build_get(r->b, r->b->pile, (size_t)node.nattrs + 1, sizeof *attrs, &attrs));
    OX_TRY(ox_build_get(r->b, r->b->pile, (size_t)node.nin, sizeof *in, &in));
    if (node.nattrs)
        memcpy(attrs, node.attrs, (size_t)node.nattrs * sizeof *attrs);
    memcpy(in, node.in, (size_t)node.nin * sizeof *in);
    attrs[node.nattrs++] = (ox_attr){.name = "block_size", .kind = OX_ATTR_INT, .u.i = r->block};
    node.attrs = attrs;
    node.in = in;
    if (is_named(&node, "Conv"))
        OX_TRY(add_weights(r, &node, name, &in[1]));
    return ox_rewrite_function(r->b, r->scope, &node, name);
}

/* The images that a Reshape takes and gives are one here. */
static ox_status pass_on(reordered *r, const ox_node *node, const char *name) {
    ox_emitter e = {.b = r->b, .scope = r->scope, .name = name};
    int32_t in = node->in[0], out = output_of(node);
    ox_emit_to(&e, "Identity", 0, NULL, 1, &in, 1, &out);
    return e.status;
}

static ox_status write_all(reordered *r) {
    ox_scope *scope = r->scope;
    const ox_node *nodes = scope->nodes;
    const char *const *names = scope->node_names;
    const int32_t count = scope->nnodes;
    scope->nodes = NULL;
    scope->node_names = NULL;
    scope->nnodes = scope->node_room = scope->name_room = 0;
    r->b->nodes -= (size_t)count;
    for (int32_t n = 0; n < count; n++) {
        const ox_node *node = &nodes[n];
        const char *name = OX_KEEP_NAMES ? names[n] : "";
        if (is_of_blocks(node))
            OX_TRY(write_node(r, node, name));
        else if (ox_build_is_op(node, "Reshape") && is_in_blocks(r, node->in[0]))
            OX_TRY(pass_on(r, node, name));
        else
            OX_TRY(ox_build_append(r->b, scope, node, name));
    }
    return OX_OK;
}

ox_status ox_rewrite_blocks(ox_builder *b, ox_scope *scope) {
    reordered r = {.b = b, .scope = scope, .fits = {true, true}};
    int32_t first = 0;
    while (first < scope->nnodes && !is_of_blocks(&scope->nodes[first]))
        first++;
    if (first == scope->nnodes)
        return OX_OK;
    OX_TRY(look_at_all(&r));
    return write_all(&r);
}
