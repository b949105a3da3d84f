/* quantized_put.c: nodes are put in between those of a quantized network. */
#include "quantized.h"

static ox_status add_value(ox_requantizer *r, int32_t like, int32_t *value) {
    ox_scope *scope = r->scope;
    const char *name;
    OX_TRY(ox_scope_unique(r->b, scope, scope->values[like].name, &name));
    OX_TRY(ox_build_grow(r->b, &scope->pile, &r->readers, scope->nvalues, &r->reader_room, sizeof *r->readers));
    OX_TRY(ox_build_grow(r->b, &scope->pile, &r->makers, scope->nvalues, &r->maker_room, sizeof *r->makers));
    OX_TRY(ox_scope_add(r->b, scope, name, OX_FROM_NODE, value));
    r->readers[*value] = 0;
    r->makers[*value] = OX_NOBODY;
    return OX_OK;
}

/* The name of a node that is put in, after that of the value that one of the model gives. */
static ox_status name_node(ox_requantizer *r, int32_t like, const char **name) {
    char text[OX_NAME_ROOM];
    ox_format(text, sizeof text, "%.*s/made", OX_NAME_ROOM - 16, r->scope->values[like].name);
    return ox_build_intern(r->b, text, name);
}

ox_status ox_quant_put(ox_requantizer *r, int32_t n, const ox_node *node, int count, const int32_t *in, int32_t like,
                       int32_t *out) {
    ox_scope *scope = r->scope;
    ox_index *ends;
    ox_put_in put = {.node = *node, .before = n};
    OX_TRY(ox_quant_keep_written(r));
    OX_TRY(ox_build_grow(r->b, &scope->pile, &r->added, r->nadded, &r->added_room, sizeof *r->added));
    OX_TRY(ox_build_get(r->b, r->b->pile, (size_t)count + 1, sizeof *ends, &ends));
    OX_TRY(name_node(r, like, &put.name));
    OX_TRY(add_value(r, like, out));
    for (int i = 0; i < count; i++) {
        ends[i] = (ox_index)in[i];
        if (in[i] >= 0)
            r->readers[in[i]]++;
    }
    ends[count] = (ox_index)*out;
    put.node.in = ends;
    put.node.nin = (ox_index)count;
    put.node.out = ends + count;
    put.node.nout = 1;
    r->added[r->nadded++] = put;
    return OX_OK;
}

#define FOUR(n) (n), (n) + 1, (n) + 2, (n) + 3
#define SIXTEEN(n) FOUR(n), FOUR((n) + 4), FOUR((n) + 8), FOUR((n) + 12)
#define SIXTY_FOUR(n) SIXTEEN(n), SIXTEEN((n) + 16), SIXTEEN((n) + 32), SIXTEEN((n) + 48)

ox_status ox_quant_bytes(ox_requantizer *r, int32_t n, ox_dtype dtype, int32_t *value) {
    static const uint8_t bytes[] = {SIXTY_FOUR(0), SIXTY_FOUR(64), SIXTY_FOUR(128), SIXTY_FOUR(192)};
    static const int64_t dims[] = {sizeof bytes};
    static const ox_tensor tensors[] = {{OX_UINT8, 1, dims, NULL, (void *)(uintptr_t)bytes},
                                        {OX_INT8, 1, dims, NULL, (void *)(uintptr_t)bytes}};
    static const ox_attr attrs[] = {
        {.name = "value", .kind = OX_ATTR_TENSOR, .u.tensor = &tensors[0]},
        {.name = "value", .kind = OX_ATTR_TENSOR, .u.tensor = &tensors[1]},
    };
    const int i = dtype == OX_INT8;
    ox_node node = {.attrs = &attrs[i], .nattrs = 1};
    if (r->bytes[i] == OX_NONE) {
        node.version = r->scope->nodes[n].version; /* ONNX's own, too */
        node.op = ox_op_find("", "Constant", node.version, NULL);
        OX_TRY(ox_quant_put(r, n, &node, 0, NULL, r->scope->nodes[n].out[0], &r->bytes[i]));
    }
    *value = r->bytes[i];
    return OX_OK;
}

/* ---- The list ----------------------------------------------------------------------------------------------- */

ox_status ox_quant_list_added(ox_requantizer *r) {
    ox_scope *scope = r->scope;
    const size_t most = (size_t)scope->nnodes + (size_t)r->nadded;
    ox_node *nodes;
    const char **names;
    bool *gone;
    int32_t count = 0, added = 0;
    OX_TRY(ox_build_get(r->b, &scope->pile, most, sizeof *nodes, &nodes));
    OX_TRY(ox_build_get(r->b, &scope->pile, most, sizeof *names, &names));
    OX_TRY(ox_build_get(r->b, &scope->pile, most, sizeof *gone, &gone));
    for (int32_t n = 0; n < scope->nnodes; n++) {
        for (; added < r->nadded && r->added[added].before == n; added++) {
            nodes[count] = r->added[added].node;
            names[count++] = r->added[added].name;
        }
        gone[count] = r->gone[n];
        nodes[count] = scope->nodes[n];
        names[count++] = OX_KEEP_NAMES ? scope->node_names[n] : NULL;
    }
    scope->nodes = nodes;
    scope->node_names = OX_KEEP_NAMES ? names : scope->node_names;
    scope->nnodes = count;
    r->gone = gone;
    return OX_OK;
}
