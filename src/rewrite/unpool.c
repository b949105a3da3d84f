/* unpool.c: MaxUnpool of the indices of a MaxPool in the same graph. They are indices into the image of that pool,
 * whose shape MaxUnpool cannot infer: images of several shapes have the same windows. So the node gets the image's
 * shape as an additional input, and the storage order of the indices as an attribute. */
#include "emit.h"
#include "rewrite.h"

#include <string.h>

/* The node that gives each value, -1 for none. */
static ox_status find_makers(ox_builder *b, ox_scope *scope, int32_t **makers) {
    OX_TRY(ox_build_get(b, &scope->pile, (size_t)scope->nvalues, sizeof **makers, makers));
    for (int32_t v = 0; v < scope->nvalues; v++)
        (*makers)[v] = -1;
    for (int32_t n = 0; n < scope->nnodes; n++)
        for (int k = 0; k < scope->nodes[n].nout; k++)
            if (scope->nodes[n].out[k] >= 0)
                (*makers)[scope->nodes[n].out[k]] = n;
    return OX_OK;
}

/* True if a node hands all elements of its first input on, whatever their shape. */
static bool hands_on(const ox_node *node) {
    static const char *const names[] = {"Cast", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (ox_build_is_op(node, names[i]))
            return true;
    return false;
}

/* The MaxPool whose second output a value is; NULL if it is none. */
static const ox_node *pool_of(const ox_scope *scope, const int32_t *makers, int32_t value) {
    for (int32_t n; value >= 0 && (n = makers[value]) >= 0;) {
        const ox_node *node = &scope->nodes[n];
        if (ox_build_is_op(node, "MaxPool"))
            return node->nout > 1 && node->out[1] == value ? node : NULL;
        if (!hands_on(node))
            return NULL;
        value = node->in[0];
    }
    return NULL;
}

/* Moves the last node to place n, in front of the node that reads what it gives. */
static void move_last(ox_scope *scope, int32_t n) {
    const int32_t last = scope->nnodes - 1;
    const ox_node node = scope->nodes[last];
    const char *name = OX_KEEP_NAMES ? scope->node_names[last] : NULL;
    memmove(scope->nodes + n + 1, scope->nodes + n, (size_t)(last - n) * sizeof *scope->nodes);
    scope->nodes[n] = node;
    if (!OX_KEEP_NAMES)
        return;
    memmove(scope->node_names + n + 1, scope->node_names + n, (size_t)(last - n) * sizeof *scope->node_names);
    scope->node_names[n] = name;
}

/* The attributes of a node, and the order that its indices count in. */
static ox_status add_order(ox_builder *b, const ox_node *pool, ox_node *node) {
    const int64_t order = ox_emit_int(pool, "storage_order", 0);
    ox_attr *attrs;
    if (!order)
        return OX_OK;
    OX_TRY(ox_build_get(b, b->pile, (size_t)node->nattrs + 1, sizeof *attrs, &attrs));
    if (node->nattrs)
        memcpy(attrs, node->attrs, (size_t)node->nattrs * sizeof *attrs);
    attrs[node->nattrs++] = (ox_attr){.name = "storage_order", .kind = OX_ATTR_INT, .u.i = order};
    node->attrs = attrs;
    return OX_OK;
}

/* Gives the image of its pool to node n. */
static ox_status add_image(ox_builder *b, ox_scope *scope, const ox_node *pool, int32_t n) {
    const ox_node *old = &scope->nodes[n];
    ox_emitter e = {.b = b, .scope = scope, .name = OX_KEEP_NAMES ? scope->node_names[n] : ""};
    ox_index *in;
    int32_t shape, image = pool->in[0];
    OX_TRY(ox_build_get(b, b->pile, 4, sizeof *in, &in));
    for (int i = 0; i < 3; i++)
        in[i] = i < old->nin ? old->in[i] : (ox_index)OX_NONE;
    ox_node node = *old;
    OX_TRY(add_order(b, pool, &node));
    if (!*e.name)
        OX_TRY(ox_build_intern(b, "MaxUnpool", &e.name));
    ox_emit_op(&e, "Shape", 0, NULL, 1, &image, 1, &shape);
    OX_TRY(e.status);
    in[3] = (ox_index)shape;
    node.in = in;
    node.nin = 4;
    scope->nodes[n] = node;
    move_last(scope, n);
    return OX_OK;
}

ox_status ox_rewrite_unpools(ox_builder *b, ox_scope *scope) {
    int32_t *makers = NULL;
    for (int32_t n = scope->nnodes; n-- > 0;) { /* backwards: nodes are put in, and the numbers of those before stay */
        const ox_node *node = &scope->nodes[n];
        if (!ox_build_is_op(node, "MaxUnpool"))
            continue;
        if (!makers)
            OX_TRY(find_makers(b, scope, &makers));
        const ox_node *pool = pool_of(scope, makers, node->in[1]);
        if (pool)
            OX_TRY(add_image(b, scope, pool, n));
    }
    return OX_OK;
}
