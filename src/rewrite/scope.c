/* scope.c: values of a graph being made. */
#include "builder.h"

ox_status ox_scope_add(ox_builder *b, ox_scope *scope, const char *name, ox_origin origin, int32_t *index) {
    OX_TRY(ox_build_work(b, 1));
    if (scope->nvalues >= OX_MOST_VALUES)
        return ox_fail(b->error, OX_ERROR_LIMIT, "a graph has more than %d values", (int)OX_MOST_VALUES);
    OX_TRY(ox_build_grow(b, &scope->pile, &scope->values, scope->nvalues, &scope->value_room, sizeof *scope->values));
    OX_TRY(ox_build_grow(b, &scope->pile, &scope->notes, scope->nvalues, &scope->note_room, sizeof *scope->notes));
    scope->values[scope->nvalues] = (ox_declared){.name = name, .outer = -1};
    scope->notes[scope->nvalues] = (ox_value_note){.origin = origin, .producer = -1, .captured_by = -1};
    if (scope->used_ready)
        OX_TRY(ox_build_set(b, &scope->used, &scope->pile, OX_KEY(name), scope->nvalues));
    *index = scope->nvalues++;
    return OX_OK;
}

static ox_status collect_used(ox_builder *b, ox_scope *scope) {
    for (int32_t i = 0; i < scope->nvalues && !scope->used_ready; i++)
        OX_TRY(ox_build_set(b, &scope->used, &scope->pile, OX_KEY(scope->values[i].name), i));
    scope->used_ready = true;
    return OX_OK;
}

ox_status ox_scope_unique(ox_builder *b, ox_scope *scope, const char *wanted, const char **name) {
    OX_TRY(collect_used(b, scope));
    *name = wanted;
    while (ox_map_get(&scope->used, OX_KEY(*name), OX_MISSING) != OX_MISSING) {
        char text[OX_NAME_ROOM];
        ox_format(text, sizeof text, "%.*s#%llu", OX_NAME_ROOM - 32, wanted, (unsigned long long)++b->serial);
        OX_TRY(ox_build_intern(b, text, name));
    }
    return OX_OK;
}

const ox_tensor *ox_scope_initializer(const ox_scope *scope, int32_t value) {
    while (value >= 0 && scope->notes[value].origin == OX_FROM_OUTER) {
        value = scope->values[value].outer;
        scope = scope->outer;
    }
    return value >= 0 && scope->notes[value].origin == OX_FROM_INITIALIZER ? scope->values[value].initializer : NULL;
}
