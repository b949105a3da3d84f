/* env.c: what names mean. */
#include "loader.h"

/* Notes that the node being made reads a value in a subgraph. */
static ox_status capture(ox_loader *l, ox_scope *scope, int32_t index) {
    if (scope->notes[index].captured_by == scope->nnodes)
        return OX_OK;
    scope->notes[index].captured_by = scope->nnodes;
    OX_TRY(ox_build_grow(&l->b, &scope->pile, &scope->captures, scope->ncaptures, &scope->capture_room,
                         sizeof *scope->captures));
    scope->captures[scope->ncaptures++] = (ox_index)index;
    return OX_OK;
}

/* Brings value `index` of the graph `from` into the graph `to` inside it, through every graph between. */
static ox_status import(ox_loader *l, ox_scope *to, const ox_scope *from, int32_t index, int32_t *result) {
    int32_t outer;
    const char *name;
    *result = index;
    if (!OX_WITH_SUBGRAPHS || to == from)
        return OX_OK;
    OX_TRY(import(l, to->outer, from, index, &outer));
    *result = ox_map_get(&to->imports, (uintptr_t)outer + 1, OX_MISSING);
    if (*result != OX_MISSING)
        return OX_OK;
    OX_TRY(ox_load_unpack(l, to->outer, outer));
    OX_TRY(capture(l, to->outer, outer));
    OX_TRY(ox_scope_unique(&l->b, to, to->outer->values[outer].name, &name));
    OX_TRY(ox_scope_add(&l->b, to, name, OX_FROM_OUTER, result));
    ox_declared *value = &to->values[*result];
    *value = to->outer->values[outer];
    value->name = name;
    value->outer = (ox_index)outer;
    value->initializer = NULL;
    return ox_build_set(&l->b, &to->imports, &to->pile, (uintptr_t)outer + 1, *result);
}

ox_status ox_env_resolve(ox_loader *l, ox_env *env, const char *name, int32_t *index) {
    const ox_env *f = env;
    *index = OX_MISSING;
    for (; f; f = f->outer) {
        *index = ox_map_get(&f->names, OX_KEY(name), OX_MISSING);
        if (*index != OX_MISSING)
            break;
    }
    return *index < 0 ? OX_OK : import(l, env->scope, f->scope, *index, index);
}

/* True if it is an input of the model's or of a subgraph's that is stated to be a sparse tensor, without a default. */
static bool is_sparse_input(const ox_scope *scope, int32_t index) {
    if (scope->values[index].kind != OX_KIND_SPARSE)
        return false;
    while (scope->notes[index].origin == OX_FROM_OUTER) {
        index = scope->values[index].outer;
        scope = scope->outer;
    }
    return scope->notes[index].origin == OX_FROM_INPUT && !scope->values[index].initializer;
}

ox_status ox_env_read(ox_loader *l, ox_env *env, const char *text, int32_t *index) {
    const char *name;
    OX_TRY(ox_build_intern(&l->b, text, &name));
    OX_TRY(ox_env_resolve(l, env, name, index));
    if (*index == OX_MISSING)
        return ox_fail(l->b.error, OX_ERROR_MODEL, "it reads '%.*s', which nothing produces", 80, name);
    if (*index == OX_NONE || l->b.for_info)
        return OX_OK;
    if (is_sparse_input(env->scope, *index))
        return ox_fail(l->b.error, OX_ERROR_UNSUPPORTED, "it reads '%.*s', an input that is a sparse tensor", 80, name);
    return OX_OK;
}

ox_status ox_env_bind(ox_loader *l, ox_env *env, const char *name, int32_t index) {
    if (ox_map_get(&env->names, OX_KEY(name), OX_MISSING) != OX_MISSING)
        return ox_fail(l->b.error, OX_ERROR_MODEL, "value '%.*s' is defined twice: names must be unique", 80, name);
    OX_TRY(ox_build_work(&l->b, 1));
    return ox_build_set(&l->b, &env->names, &l->b.stack, OX_KEY(name), index);
}
