/* bindings.c: sizes that the command line gives to dimensions. */
#include "bindings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "nearest.h"
#include "tool.h"

bool ox_bindings_add(ox_bindings *bindings, const char *text) {
    const char *equals = strrchr(text, '=');
    if (!equals || equals == text || equals[1] < '0' || equals[1] > '9')
        return false;
    char *end;
    errno = 0;
    long long size = strtoll(equals + 1, &end, 10);
    if (errno || *end)
        return false;
    bindings->at = ox_tool_resize(bindings->at, (bindings->count + 1) * sizeof *bindings->at);
    bindings->at[bindings->count++] = (ox_binding){text, (size_t)(equals - text), size};
    return true;
}

void ox_bindings_free(ox_bindings *bindings) {
    free(bindings->at);
}

static bool is_name(const ox_binding *binding, const char *name) {
    return strlen(name) == binding->length && strncmp(name, binding->name, binding->length) == 0;
}

/* The name that a dimension goes by: its own, or its place, "x.0". */
static void add_name(const ox_value_info *info, int d, bool by_place, ox_text *text) {
    const char *name = info->dim_names[d];
    if (by_place || !name || !*name)
        ox_text_format(text, "%s.%d", info->name, d);
    else
        ox_text_put(text, name);
}

static bool binds(const ox_binding *binding, const ox_value_info *info, int d) {
    bool found = false;
    for (int by_place = 0; by_place < 2 && !found; by_place++) {
        ox_text name = {0};
        add_name(info, d, by_place, &name);
        found = is_name(binding, ox_text_get(&name));
        ox_text_free(&name);
    }
    return found;
}

int64_t ox_bindings_size(const ox_bindings *bindings, const ox_value_info *info, int d) {
    for (size_t i = bindings->count; i-- > 0;)
        if (binds(&bindings->at[i], info, d))
            return bindings->at[i].size;
    return -1;
}

void ox_text_dim(ox_text *text, const ox_value_info *info, int d) {
    add_name(info, d, false, text);
}

void ox_text_add_once(ox_text *list, const char *item, const char *separator) {
    size_t length = strlen(item), gap = strlen(separator);
    for (const char *at = ox_text_get(list); (at = strstr(at, item)) != NULL; at++) {
        bool starts = at == list->data || (at - list->data >= (ptrdiff_t)gap && !memcmp(at - gap, separator, gap));
        if (starts && (!at[length] || strncmp(at + length, separator, gap) == 0))
            return;
    }
    ox_text_format(list, "%s%s", list->size ? separator : "", item);
}

/* The names of all open dimensions of the inputs, and whether `wanted` is among them. */
static bool list_open_dims(const ox_model *model, const ox_binding *wanted, ox_text *list) {
    bool found = false;
    for (size_t i = 0; i < ox_model_input_count(model); i++) {
        ox_value_info info;
        if (ox_model_input(model, i, &info))
            continue;
        for (int d = 0; d < info.rank; d++) {
            ox_text quoted = {0};
            if (info.dims[d] >= 0)
                continue;
            ox_text_put(&quoted, "'");
            ox_text_dim(&quoted, &info, d);
            ox_text_put(&quoted, "'");
            ox_text_add_once(list, quoted.data, ", ");
            ox_text_free(&quoted);
            found |= binds(wanted, &info, d);
        }
    }
    return found;
}

/* Adds which dimensions have names that are near. */
static void suggest(const ox_model *model, const ox_binding *wanted, ox_text *text) {
    ox_text name = {0};
    ox_value_info info;
    ox_text_add(&name, wanted->name, wanted->length);
    ox_nearest nearest = {.wanted = ox_text_get(&name)};
    for (size_t i = 0; !ox_model_input(model, i, &info); i++)
        for (int d = 0; d < info.rank; d++)
            if (info.dims[d] < 0 && info.dim_names[d])
                ox_nearest_add(&nearest, info.dim_names[d]);
    ox_nearest_put(&nearest, text);
    ox_text_free(&name);
}

ox_status ox_bindings_check(const ox_bindings *bindings, const ox_model *model, ox_error *error) {
    ox_status status = OX_OK;
    for (size_t i = 0; i < bindings->count && !status; i++) {
        ox_text list = {0}, near = {0};
        const ox_binding *binding = &bindings->at[i];
        if (!list_open_dims(model, binding, &list)) {
            suggest(model, binding, &near);
            status = ox_tool_fail(error, OX_ERROR_ARGUMENT, "unknown dimension '%.*s'%s%s the model has %s",
                                  (int)binding->length, binding->name, ox_text_get(&near), near.size ? "" : ":",
                                  list.size ? list.data : "no open ones");
        }
        ox_text_free(&list);
        ox_text_free(&near);
    }
    return status;
}
