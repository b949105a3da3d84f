/* quantized_tables.c: functions of one byte. Elementwise nodes between DequantizeLinear and QuantizeLinear, whose
 * inputs are one tensor of bytes and constants of one element, have only 256 different results: copies of the nodes
 * compute these for all bytes, once in planning, and a lookup table replaces the nodes. */
#include "quantized.h"

#include "ops/elementwise.h"
#include "ops/index/byte_table.h"

enum {
    MOST_NODES = 48,  /* of a function */
    MOST_VISITS = 256 /* of values, to find them */
};

/* Nodes that compute a function of bytes, in their order. */
typedef struct region {
    const ox_requantizer *r;
    int32_t nodes[MOST_NODES];
    int32_t copies[MOST_NODES]; /* the values that their copies give */
    int64_t floors[MOST_NODES]; /* the ranks that their results reach by constants, */
    int count, visits;
    int32_t root; /* the tensor of bytes, OX_NONE while none is found; */
    int64_t rank; /* the least of the result's; */
    int64_t deep; /* and of the bytes': slopes have no more dimensions than what they belong to */
} region;

/* What a value is. */
typedef enum kind {
    OTHER,
    CONSTANT, /* one element, the same in every run */
    MEMBER    /* computed in the region */
} kind;

static int place_of(const region *g, int32_t n) {
    for (int i = 0; i < g->count; i++)
        if (g->nodes[i] == n)
            return i;
    return -1;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static bool add_node(region *g, int32_t n, int64_t floor) {
    if (g->count == MOST_NODES)
        return false;
    g->floors[g->count] = floor;
    g->nodes[g->count++] = n;
    g->rank = larger(g->rank, floor);
    return true;
}

/* ---- What belongs to a function ----------------------------------------------------------------------------- */

/* One of ONNX's own operators that works element by element on operands that broadcast. */
static bool is_elementwise(const ox_node *node) {
    const unsigned others = OX_OP_LEGACY | OX_OP_LEGACY_SLOPE | OX_OP_AXIS | OX_OP_LOADS | OX_OP_TEXT | OX_OP_RANDOM;
    const ox_op *op = node->op;
    if (ox_build_is_op(node, "Identity"))
        return node->nout == 1;
    return op->flags & OX_OP_PASS && !(op->flags & others) && node->nout == 1 && node->nin > 0 && !*op->domain &&
           ox_build_is_op(node, op->name) && !((const ox_elementwise *)op->detail)->row_axes &&
           !ox_build_is_op(node, "SwiGLU");
}

/* Its other operands are one element each, of any rank, and do not broadcast. */
static bool has_settings(const ox_node *node) {
    return ox_build_is_op(node, "Clip");
}

/* The root of bytes that a DequantizeLinear reads: where those are a table's, what that reads. A table takes bytes of
 * either type, so that theirs must be known. */
static bool add_leaf(region *g, int32_t n) {
    ox_quantization q;
    const ox_node *node = &g->r->scope->nodes[n];
    if (!ox_quant_read(g->r, node, true, &q) || !ox_quant_is_single(&q) || !ox_quant_is_byte(&q) || !q.is_sure)
        return false;
    const ox_node *maker = ox_quant_maker(g->r, node->in[0]);
    const bool is_table = maker && maker->op == &ox_op_byte_table;
    const int32_t root = is_table ? maker->in[0] : node->in[0];
    const int64_t rank = is_table ? ox_emit_int(maker, "rank", 0) : 0;
    if (g->root != OX_NONE && g->root != root)
        return false;
    g->root = root;
    g->deep = larger(g->deep, is_table ? ox_emit_int(maker, "x_rank", 0) : 0);
    return add_node(g, n, rank);
}

static kind kind_of(region *g, int32_t value, int64_t *rank);

/* The kind of an elementwise node, by its operands; rank: of a constant, or what a member's reaches by constants. */
static kind kind_of_node(region *g, const ox_node *node, int32_t n, int64_t *rank) {
    const bool slopes = ox_build_is_op(node, "PRelu"), settings = has_settings(node);
    bool is_member = false;
    int64_t most = 0;
    for (int i = 0; i < node->nin; i++) {
        int64_t one = 0;
        const kind k = node->in[i] < 0 ? CONSTANT : kind_of(g, node->in[i], &one);
        if (k == OTHER || (k == MEMBER && i && (settings || slopes)) || (k == CONSTANT && !i && slopes))
            return OTHER;
        is_member |= k == MEMBER;
        if (slopes && i && one > larger(most, 1)) /* the copy has all bytes in one dimension */
            return OTHER;
        if (slopes && i && one > most)
            g->deep = larger(g->deep, one);
        else if (!(i && settings))
            most = larger(most, one);
    }
    *rank = most;
    if (!is_member)
        return CONSTANT;
    return add_node(g, n, most) ? MEMBER : OTHER;
}

static kind kind_of(region *g, int32_t value, int64_t *rank) {
    const ox_requantizer *r = g->r;
    const ox_tensor *tensor = ox_quant_known(r, value);
    const ox_node *node = ox_quant_maker(r, value);
    if (tensor)
        *rank = tensor->rank;
    if (tensor || !node || ++g->visits > MOST_VISITS)
        return tensor && ox_tensor_count(tensor) == 1 ? CONSTANT : OTHER;
    const int32_t n = r->makers[value];
    const int place = place_of(g, n);
    if (place >= 0) {
        *rank = g->floors[place];
        return MEMBER;
    }
    if (!ox_build_is_op(node, "DequantizeLinear"))
        return is_elementwise(node) ? kind_of_node(g, node, n, rank) : OTHER;
    const ox_tensor *kept = ox_quant_known(r, node->in[0]);
    ox_quantization q;
    if (!kept) {
        if (!add_leaf(g, n))
            return OTHER;
        *rank = g->floors[g->count - 1];
        return MEMBER;
    }
    *rank = kept->rank;
    return ox_tensor_count(kept) == 1 && ox_quant_read(r, node, true, &q) && q.count == 1 ? CONSTANT : OTHER;
}

/* The values between have no other readers, except readers that take them from bytes. */
static bool is_private(const region *g, int32_t result) {
    for (int i = 0; i < g->count; i++) {
        const ox_node *node = &g->r->scope->nodes[g->nodes[i]];
        int32_t reads = node->out[0] == result;
        for (int k = 0; k < g->count; k++)
            for (int j = 0; j < g->r->scope->nodes[g->nodes[k]].nin; j++)
                reads += g->r->scope->nodes[g->nodes[k]].in[j] == node->out[0];
        if (reads != g->r->readers[node->out[0]] && !ox_build_is_op(node, "DequantizeLinear"))
            return false;
    }
    return true;
}

/* ---- Its table ---------------------------------------------------------------------------------------------- */

/* What the bytes are that a DequantizeLinear of the region reads, in the order of the root's. */
static ox_status entries_of(ox_requantizer *r, int32_t n, const ox_node *node, int32_t *value) {
    ox_quantization q;
    const ox_node *maker = ox_quant_maker(r, node->in[0]);
    if (maker && maker->op == &ox_op_byte_table) {
        *value = maker->in[1];
        return OX_OK;
    }
    ox_quant_read(r, node, true, &q);
    return ox_quant_bytes(r, n, q.dtype, value);
}

/* Puts a copy of a node in front of node n that works on all bytes. */
static ox_status copy_node(ox_requantizer *r, region *g, int32_t n, const ox_node *from, int32_t *out) {
    const ox_node node = *from;
    int32_t *in;
    OX_TRY(ox_build_get(r->b, &r->scope->pile, (size_t)node.nin, sizeof *in, &in));
    for (int i = 0; i < node.nin; i++) {
        const int at = node.in[i] < 0 || r->makers[node.in[i]] < 0 ? -1 : place_of(g, r->makers[node.in[i]]);
        in[i] = at < 0 ? node.in[i] : g->copies[at];
    }
    if (ox_build_is_op(&node, "DequantizeLinear"))
        OX_TRY(entries_of(r, n, &node, &in[0]));
    OX_TRY(ox_quant_put(r, n, &node, node.nin, in, node.out[0], out));
    r->scope->values[*out].dtype = r->scope->values[node.out[0]].dtype; /* as stated, which planning checks */
    return OX_OK;
}

/* The attributes of a table, those that are 0 left out. */
static ox_status add_ranks(ox_requantizer *r, const region *g, ox_node *table) {
    const ox_attr all[] = {{.name = "rank", .kind = OX_ATTR_INT, .u.i = g->rank},
                           {.name = "x_rank", .kind = OX_ATTR_INT, .u.i = g->deep}};
    ox_attr *attrs;
    int count = 0;
    OX_TRY(ox_build_get(r->b, r->b->pile, sizeof all / sizeof *all, sizeof *attrs, &attrs));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].u.i)
            attrs[count++] = all[i];
    table->attrs = attrs;
    table->nattrs = (ox_index)count;
    return OX_OK;
}

static ox_status put_table(ox_requantizer *r, region *g, int32_t n, int32_t value) {
    const ox_node *from = &r->scope->nodes[r->makers[value]];
    int32_t table;
    for (int i = 0; i < g->count; i++)
        OX_TRY(copy_node(r, g, n, &r->scope->nodes[g->nodes[i]], &g->copies[i]));
    OX_TRY(copy_node(r, g, n, &r->scope->nodes[n], &table));
    OX_TRY(ox_quant_replace(r, n, value, from, &ox_op_byte_table, 2, (const ox_index[]){g->root, (ox_index)table}));
    return add_ranks(r, g, &r->scope->nodes[n]);
}

ox_status ox_quant_table(ox_requantizer *r, int32_t n, int32_t value, const ox_quantization *to) {
    region g = {.r = r, .root = OX_NONE};
    int64_t rank;
    if (!ox_quant_is_byte(to) || r->makers[value] < 0 || kind_of(&g, value, &rank) != MEMBER || !is_private(&g, value))
        return OX_OK;
    return put_table(r, &g, n, value);
}
