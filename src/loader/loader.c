/* loader.c: small services for the loader: names, numbers for them, tensors. */
#include "loader.h"

ox_status ox_load_domain(ox_loader *l, const char *text, const char **name) {
    return ox_build_intern(&l->b, text && !ox_text_order(text, "ai.onnx") ? "" : text, name);
}

/* Two numbers make a key. */
enum {
    HALF_KEY = sizeof(uintptr_t) * 4
};

static ox_status number(ox_loader *l, ox_map *map, uintptr_t key, int32_t *id) {
    *id = ox_map_get(map, key, 0);
    if (*id)
        return OX_OK;
    if (l->next_id == OX_MOST_IDS)
        return ox_fail(l->b.error, OX_ERROR_LIMIT, "the model has too many names");
    *id = ++l->next_id;
    return ox_build_set(&l->b, map, &l->b.scratch, key, *id);
}

ox_status ox_load_id(ox_loader *l, const char *interned, int32_t *id) {
    return number(l, &l->ids, OX_KEY(interned), id);
}

ox_status ox_load_pair(ox_loader *l, int32_t first, int32_t second, int32_t *id) {
    return number(l, &l->pairs, (uintptr_t)first << HALF_KEY | (uintptr_t)second, id);
}

const void *ox_load_cached(const ox_loader *l, const ox_parsed *parsed, const void *proto) {
    if (!OX_WITH_FUNCTIONS || parsed != l->parsed)
        return NULL;
    int32_t i = ox_map_get(&l->cache, OX_KEY(proto), OX_MISSING);
    return i < 0 ? NULL : l->cached[i];
}

ox_status ox_load_keep(ox_loader *l, const ox_parsed *parsed, const void *proto, const void *made) {
    if (!OX_WITH_FUNCTIONS || !l->b.calls || parsed != l->parsed)
        return OX_OK;
    OX_TRY(ox_build_grow(&l->b, &l->b.scratch, &l->cached, l->ncached, &l->cache_room, sizeof *l->cached));
    l->cached[l->ncached] = made;
    return ox_build_set(&l->b, &l->cache, &l->b.scratch, OX_KEY(proto), l->ncached++);
}

bool ox_load_locate(ox_loader *l, const ox_env *env) {
    bool first = !l->located;
    l->located = true;
    return first || !env->depth;
}

ox_status ox_load_tensor(ox_loader *l, const ox_parsed *parsed, const Onnx__TensorProto *proto,
                         const ox_tensor **tensor) {
    *tensor = ox_load_cached(l, parsed, proto);
    if (*tensor)
        return OX_OK;
    ox_tensor *made;
    OX_TRY(ox_build_get(&l->b, l->b.pile, 1, sizeof *made, &made));
    OX_TRY(ox_load_elements(l, parsed, proto, made));
    *tensor = made;
    return ox_load_keep(l, parsed, proto, made);
}

ox_status ox_load_elements(ox_loader *l, const ox_parsed *parsed, const Onnx__TensorProto *proto, ox_tensor *made) {
    l->source.parsed = parsed;
    const size_t before = l->b.pile->used;
    OX_TRY(ox_payload_tensor(&l->source, proto, made));
    /* It may be made again and again. */
    return parsed == l->parsed ? OX_OK : ox_build_work(&l->b, (l->b.pile->used - before) / OX_WORK_BYTES);
}
