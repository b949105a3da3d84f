/* builder.c: small services for making a graph: names, arrays, nodes. */
#include "builder.h"

#include <string.h>

ox_status ox_build_work(ox_builder *b, uint64_t amount) {
    if (!OX_WITH_FUNCTIONS || !b->calls)
        return OX_OK;
    b->work += amount;
    const uint64_t paid = (uint64_t)b->nodes * OX_WORK_PER_NODE;
    if (b->work <= paid || (b->work - paid) / OX_WORK_AHEAD <= b->most_nodes)
        return OX_OK;
    return ox_fail(b->error, OX_ERROR_LIMIT, "the model-local functions expand to too much for the limit of %zu nodes",
                   b->most_nodes);
}

ox_status ox_build_intern_size(ox_builder *b, const char *text, size_t size, const char **name) {
    OX_TRY(ox_build_work(b, 1 + size / 32));
    *name = ox_intern(&b->names, OX_KEEP_NAMES ? b->pile : &b->scratch, &b->temporary, text, size);
    return *name ? OX_OK : ox_fail_memory(b->error, "a name", size);
}

ox_status ox_build_intern(ox_builder *b, const char *text, const char **name) {
    const char *given = text ? text : "";
    return ox_build_intern_size(b, given, ox_text_size(given, SIZE_MAX), name);
}

ox_status ox_build_text(ox_builder *b, const char *interned, const char **kept) {
    const size_t size = ox_text_size(interned, SIZE_MAX);
    char *copy;
    *kept = OX_KEEP_NAMES ? interned : "";
    if (OX_KEEP_NAMES || !size)
        return OX_OK;
    OX_TRY(ox_build_get(b, b->pile, size + 1, 1, &copy));
    *kept = memcpy(copy, interned, size);
    return OX_OK;
}

ox_status ox_build_get(ox_builder *b, ox_pile *pile, size_t count, size_t size, void *result) {
    OX_TRY(ox_build_work(b, 1 + (uint64_t)count * size / OX_WORK_BYTES));
    void *block = ox_pile_array(pile, count ? count : 1, size);
    memcpy(result, &block, sizeof block);
    return block ? OX_OK : ox_fail_memory(b->error, "the graph", count * size);
}

ox_status ox_build_grow(ox_builder *b, ox_pile *pile, void *array, int32_t count, int32_t *room, size_t size) {
    void *old, *grown;
    if (count < *room)
        return OX_OK;
    if (*room > INT32_MAX / 2)
        return ox_fail(b->error, OX_ERROR_LIMIT, "the model has more than %d values", (int)*room);
    memcpy(&old, array, sizeof old);
    int32_t larger = *room ? *room * 2 : 8;
    OX_TRY(ox_build_get(b, pile, (size_t)larger, size, &grown));
    if (count)
        memcpy(grown, old, (size_t)count * size);
    memcpy(array, &grown, sizeof grown);
    *room = larger;
    return OX_OK;
}

ox_status ox_build_set(ox_builder *b, ox_map *map, ox_pile *pile, uintptr_t key, int32_t value) {
    return ox_map_set(map, pile, key, value) ? OX_OK : ox_fail_memory(b->error, "a table of names", map->room * 16);
}

/* ---- Nodes -------------------------------------------------------------------------------------------------- */

ox_status ox_build_too_many(const ox_builder *b) {
    if (b->limits->nodes || b->most_nodes == OX_MAX_NODES)
        return ox_fail(b->error, OX_ERROR_LIMIT, "the model has more than %zu nodes", b->most_nodes);
    return ox_fail(b->error, OX_ERROR_LIMIT,
                   "the model has more than %zu nodes when its functions are expanded, too many for %llu bytes",
                   b->most_nodes, (unsigned long long)b->model_bytes);
}

static ox_status append_name(ox_builder *b, ox_scope *scope, const char *name) {
    OX_TRY(ox_build_grow(b, &scope->pile, &scope->node_names, scope->nnodes, &scope->name_room,
                         sizeof *scope->node_names));
    scope->node_names[scope->nnodes] = name;
    return OX_OK;
}

ox_status ox_build_append(ox_builder *b, ox_scope *scope, const ox_node *node, const char *name) {
    if (b->nodes >= b->most_nodes)
        return ox_build_too_many(b);
    b->nodes++;
    OX_TRY(ox_build_grow(b, &scope->pile, &scope->nodes, scope->nnodes, &scope->node_room, sizeof *scope->nodes));
    if (OX_KEEP_NAMES)
        OX_TRY(append_name(b, scope, name));
    for (int i = 0; i < node->nout; i++)
        if (node->out[i] != OX_NONE)
            scope->notes[node->out[i]].producer = scope->nnodes;
    scope->nodes[scope->nnodes++] = *node;
    return OX_OK;
}
