/* packed.c: initializers of 4-bit and 2-bit integers that stay packed. */
#include "loader.h"

#include <string.h>

#include "ops/index/unpack_bits.h"
#include "rewrite/emit.h"

#if OX_WITH_OWN_OPERATORS

bool ox_load_packs(const ox_loader *l) {
    const ox_options *options = &l->b.model->options;
    return !l->b.for_info && !l->b.model->to_write && !options->no_fuse && !options->no_integer;
}

ox_status ox_load_unpack(ox_loader *l, const ox_scope *scope, int32_t value) {
    ox_declared *declared = &scope->values[value];
    const void *packed = declared->packed;
    declared->packed = NULL;
    if (!packed)
        return OX_OK;
    ox_tensor *tensor = (ox_tensor *)(uintptr_t)declared->initializer; /* the scope's own */
    return ox_payload_unpack(&l->source, packed, declared->name, tensor);
}

/* ---- Who reads them ------------------------------------------------------------------------------------------ */

/* Integers, or zero points, that come in blocks. */
static bool reads_blocks(const ox_node *node, int i) {
    return i < node->nin && i != 1 && ox_build_is_op(node, "DequantizeLinear") &&
           ox_emit_int(node, "block_size", 0) > 0;
}

static bool has_packed(const ox_scope *scope) {
    for (int32_t v = 0; v < scope->nvalues; v++)
        if (scope->values[v].packed)
            return true;
    return false;
}

/* Unpacks what something else reads, and notes what is read. */
static ox_status look_at_readers(ox_loader *l, const ox_scope *scope, bool *is_read) {
    for (int32_t n = 0; n < scope->nnodes; n++)
        for (int i = 0; i < ox_node_named(&scope->nodes[n]); i++) {
            const int32_t value = ox_node_value(&scope->nodes[n], i);
            if (value < 0 || !scope->values[value].packed)
                continue;
            is_read[value] = true;
            if (!reads_blocks(&scope->nodes[n], i))
                OX_TRY(ox_load_unpack(l, scope, value));
        }
    for (int i = 0; i < scope->graph->noutputs; i++)
        OX_TRY(ox_load_unpack(l, scope, scope->outputs[i]));
    return OX_OK;
}

/* ---- What becomes of them ------------------------------------------------------------------------------------ */

/* The bytes that the initializer `value` is from now on, by another name. */
static ox_status make_bytes(ox_loader *l, ox_scope *scope, int32_t value) {
    const ox_tensor *like = scope->values[value].initializer;
    const char *name;
    int64_t *dims;
    ox_tensor *bytes;
    OX_TRY(ox_build_get(&l->b, l->b.pile, 2, sizeof *dims, &dims));
    OX_TRY(ox_build_get(&l->b, &scope->pile, 1, sizeof *bytes, &bytes));
    OX_TRY(ox_scope_unique(&l->b, scope, scope->values[value].name, &name));
    OX_TRY(ox_build_set(&l->b, &scope->used, &scope->pile, OX_KEY(name), value));
    dims[0] = like->dims[0];
    dims[1] = ox_packed_row(like->dtype, like->rank - 1, like->dims + 1);
    *bytes = (ox_tensor){OX_UINT8, 2, dims, NULL, (void *)(uintptr_t)scope->values[value].packed}; /* only read from */
    scope->values[value].packed = NULL;
    scope->values[value].name = name;
    scope->values[value].dtype = OX_UINT8;
    scope->values[value].initializer = bytes;
    return OX_OK;
}

/* Appends a node that is not in the model. */
static ox_status append(ox_loader *l, ox_scope *scope, const ox_node *node, const char *of) {
    char text[OX_NAME_ROOM];
    const char *name;
    ox_format(text, sizeof text, "%.*s/unpacked", OX_NAME_ROOM - 16, of);
    OX_TRY(ox_build_intern(&l->b, text, &name));
    l->b.nodes--; /* those that read it are more */
    return ox_build_append(&l->b, scope, node, name);
}

/* The value `value` becomes bytes, and a node gives what it was, *made. */
static ox_status make_unpack(ox_loader *l, ox_scope *scope, int32_t value, int32_t *made) {
    const ox_declared was = scope->values[value];
    const ox_tensor *like = was.initializer;
    ox_attr *attrs;
    ox_index *ends;
    OX_TRY(make_bytes(l, scope, value));
    OX_TRY(ox_scope_add(&l->b, scope, was.name, OX_FROM_NODE, made));
    scope->values[*made].kind = was.kind;
    scope->values[*made].dtype = was.dtype;
    OX_TRY(ox_build_get(&l->b, l->b.pile, 2, sizeof *attrs, &attrs));
    OX_TRY(ox_build_get(&l->b, l->b.pile, 2, sizeof *ends, &ends));
    attrs[0] = (ox_attr){.name = "dtype", .kind = OX_ATTR_INT, .u.i = like->dtype};
    attrs[1] = (ox_attr){.name = "dims", .kind = OX_ATTR_INTS, .count = (size_t)like->rank, .u.ints = like->dims};
    ends[0] = (ox_index)value;
    ends[1] = (ox_index)*made;
    const ox_node node = {.op = &ox_op_unpack_bits,
                          .version = 1,
                          .in = ends,
                          .out = ends + 1,
                          .attrs = attrs,
                          .nin = 1,
                          .nout = 1,
                          .nattrs = 2};
    return append(l, scope, &node, was.name);
}

/* The node reads what is made of its inputs. */
static ox_status read_made(ox_loader *l, ox_node *node, const int32_t *made, int32_t count) {
    ox_index *in = NULL;
    for (int i = 0; i < node->nin; i++) {
        if (node->in[i] < 0 || node->in[i] >= count || !made[node->in[i]])
            continue;
        if (!in) {
            OX_TRY(ox_build_get(&l->b, l->b.pile, (size_t)node->nin, sizeof *in, &in));
            memcpy(in, node->in, (size_t)node->nin * sizeof *in);
        }
        in[i] = (ox_index)made[node->in[i]];
    }
    node->in = in ? in : node->in;
    return OX_OK;
}

ox_status ox_load_settle(ox_loader *l, ox_scope *scope) {
    const int32_t values = scope->nvalues, nodes = scope->nnodes;
    bool *is_read;
    int32_t *made; /* 0: nothing */
    if (!has_packed(scope))
        return OX_OK;
    OX_TRY(ox_build_get(&l->b, &scope->pile, (size_t)values, sizeof *is_read, &is_read));
    OX_TRY(ox_build_get(&l->b, &scope->pile, (size_t)values, sizeof *made, &made));
    OX_TRY(look_at_readers(l, scope, is_read));
    for (int32_t v = 0; v < values; v++)
        if (scope->values[v].packed)
            OX_TRY(is_read[v] ? make_unpack(l, scope, v, &made[v]) : ox_load_unpack(l, scope, v));
    for (int32_t n = 0; n < nodes; n++)
        OX_TRY(read_made(l, &scope->nodes[n], made, values));
    return OX_OK;
}

int ox_load_made(const ox_node *nodes, int count) {
    int made = 0;
    for (int n = 0; n < count; n++)
        made += nodes[n].op == &ox_op_unpack_bits;
    return made;
}
#endif
