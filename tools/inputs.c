/* inputs.c: what the command line says of a model's inputs. */
#include "inputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fill.h"
#include "memory.h"
#include "source.h"
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

/* The size bound to a symbolic dimension, -1 if none is. */
static int64_t bound_size(const ox_bindings *bindings, const char *name) {
    for (size_t i = bindings->count; name && i-- > 0;)
        if (strlen(name) == bindings->at[i].length && strncmp(name, bindings->at[i].name, bindings->at[i].length) == 0)
            return bindings->at[i].size;
    return -1;
}

/* Adds a name to a list of quoted ones unless it is there. */
static void add_quoted(ox_text *list, const char *name) {
    ox_text quoted = {0};
    ox_text_format(&quoted, "'%s'", name);
    if (!strstr(ox_text_get(list), quoted.data))
        ox_text_format(list, "%s%s", list->size ? ", " : "", quoted.data);
    ox_text_free(&quoted);
}

/* The names of all symbolic dimensions of the inputs, and whether `wanted` is among them. */
static bool list_dim_names(const ox_model *model, const ox_binding *wanted, ox_text *list) {
    bool found = false;
    for (size_t i = 0; i < ox_model_input_count(model); i++) {
        ox_value_info info;
        if (ox_model_input(model, i, &info))
            continue;
        for (int d = 0; d < info.rank; d++) {
            const char *name = info.dims[d] < 0 ? info.dim_names[d] : NULL;
            if (!name || !*name)
                continue;
            add_quoted(list, name);
            found |= strlen(name) == wanted->length && strncmp(name, wanted->name, wanted->length) == 0;
        }
    }
    return found;
}

ox_status ox_bindings_check(const ox_bindings *bindings, const ox_model *model, ox_error *error) {
    ox_status status = OX_OK;
    for (size_t i = 0; i < bindings->count && !status; i++) {
        ox_text list = {0};
        const ox_binding *binding = &bindings->at[i];
        if (!list_dim_names(model, binding, &list))
            status = ox_tool_fail(error, OX_ERROR_ARGUMENT, "unknown dimension '%.*s': the model has %s",
                                  (int)binding->length, binding->name, list.size ? list.data : "no symbolic ones");
        ox_text_free(&list);
    }
    return status;
}

ox_status ox_inputs_create(ox_inputs *inputs, const ox_model *model, const ox_bindings *bindings, ox_error *error) {
    size_t count = ox_model_input_count(model);
    *inputs = (ox_inputs){.model = model, .count = count};
    inputs->infos = ox_tool_alloc(count * sizeof *inputs->infos);
    inputs->dims = ox_tool_alloc(count * sizeof *inputs->dims);
    inputs->arrays = ox_tool_alloc(count * sizeof *inputs->arrays);
    inputs->sources = ox_tool_alloc(count * sizeof *inputs->sources);
    for (size_t i = 0; i < count; i++) {
        ox_value_info *info = &inputs->infos[i];
        ox_model_input(model, i, info);
        int rank = info->rank < 0 ? 0 : info->rank;
        inputs->arrays[i] = (ox_array){0};
        inputs->sources[i] = NULL;
        inputs->dims[i] = ox_tool_alloc((size_t)rank * sizeof **inputs->dims);
        for (int d = 0; d < rank; d++)
            inputs->dims[i][d] = info->dims[d] >= 0 ? info->dims[d] : bound_size(bindings, info->dim_names[d]);
    }
    return ox_bindings_check(bindings, model, error);
}

void ox_inputs_free(ox_inputs *inputs) {
    for (size_t i = 0; i < inputs->count; i++) {
        ox_array_free(&inputs->arrays[i]);
        free(inputs->dims[i]);
    }
    free(inputs->infos);
    free(inputs->dims);
    free(inputs->arrays);
    free((void *)inputs->sources);
    *inputs = (ox_inputs){0};
}

size_t ox_find_named(const ox_value_info *infos, size_t count, const char *text, const char **rest) {
    size_t best = SIZE_MAX;
    size_t longest = 0;
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(infos[i].name);
        if (strncmp(text, infos[i].name, length) == 0 && text[length] == '=' &&
            (best == SIZE_MAX || length > longest)) {
            best = i;
            longest = length;
            *rest = text + length + 1;
        }
    }
    return best;
}

void ox_text_values(ox_text *text, const ox_value_info *infos, size_t count) {
    for (size_t i = 0; i < count; i++) {
        ox_text_format(text, "%s'%s' (", i ? ", " : "", infos[i].name);
        ox_text_value(text, &infos[i]);
        ox_text_put(text, ")");
    }
    if (!count)
        ox_text_put(text, "none");
}

static ox_status fail_values(const ox_inputs *inputs, const char *what, int length, const char *name, ox_error *error) {
    ox_text list = {0};
    ox_text_values(&list, inputs->infos, inputs->count);
    ox_tool_fail(error, OX_ERROR_ARGUMENT, "%s '%.*s': the model has %s", what, length, name, ox_text_get(&list));
    ox_text_free(&list);
    return error->status;
}

static ox_status assign_named(ox_inputs *inputs, const char *text, bool *done, ox_error *error) {
    const char *source = NULL;
    size_t i = ox_find_named(inputs->infos, inputs->count, text, &source);
    *done = i != SIZE_MAX;
    if (!*done && ox_source_is(text))
        return OX_OK;
    const char *equals = strchr(text, '=');
    if (!*done)
        return equals ? fail_values(inputs, "unknown input", (int)(equals - text), text, error) : OX_OK;
    if (inputs->sources[i])
        return ox_tool_fail(error, OX_ERROR_ARGUMENT, "input '%s' is given twice", inputs->infos[i].name);
    inputs->sources[i] = source;
    return OX_OK;
}

/* The next input without a source, those that have a default of their own last; SIZE_MAX if there is none. */
static size_t next_free(const ox_inputs *inputs) {
    size_t last = SIZE_MAX;
    for (size_t i = inputs->count; i-- > 0;)
        if (!inputs->sources[i] && (last == SIZE_MAX || !inputs->infos[i].optional || inputs->infos[last].optional))
            last = i;
    return last;
}

ox_status ox_inputs_assign(ox_inputs *inputs, char *const *texts, size_t count, ox_error *error) {
    bool *done = ox_tool_alloc(count * sizeof *done);
    ox_status status = OX_OK;
    for (size_t i = 0; i < count && !status; i++)
        status = assign_named(inputs, texts[i], &done[i], error);
    for (size_t i = 0; i < count && !status; i++) {
        size_t at = done[i] ? 0 : next_free(inputs);
        if (at == SIZE_MAX)
            status = fail_values(inputs, "no input is left for", (int)strnlen(texts[i], 60), texts[i], error);
        else if (!done[i])
            inputs->sources[at] = texts[i];
    }
    free(done);
    return status;
}

static ox_status fail_missing(const ox_inputs *inputs, size_t count, ox_error *error) {
    ox_text list = {0};
    size_t listed = 0;
    for (size_t i = 0; i < inputs->count; i++)
        if (!inputs->sources[i] && !inputs->infos[i].optional) {
            ox_text_put(&list, listed++ ? ", " : "");
            ox_text_values(&list, &inputs->infos[i], 1);
        }
    ox_tool_fail(error, OX_ERROR_ARGUMENT,
                 "missing input%s %.300s\ngive %s with -i NAME=SOURCE: a .npy, .pb, .png, .pgm or .ppm file, a literal "
                 "like '[[1,2],[3,4]]', @zeros, @ones, @random, or - for a .npy on standard input",
                 count > 1 ? "s" : "", ox_text_get(&list), count > 1 ? "each" : "it");
    ox_text_free(&list);
    return error->status;
}

/* "float [4,1,8,8]": the model's type with bound dimensions. */
static void add_expected(const ox_inputs *inputs, size_t i, ox_text *text) {
    ox_value_info info = inputs->infos[i];
    info.dims = inputs->dims[i];
    ox_text_value(text, &info);
}

static ox_status check_shape(const ox_inputs *inputs, size_t i, ox_error *error) {
    const ox_tensor *tensor = &inputs->arrays[i].tensor;
    int rank = inputs->infos[i].rank;
    bool fits = rank < 0 || rank == tensor->rank;
    for (int d = 0; d < rank && fits; d++)
        fits = inputs->dims[i][d] < 0 || inputs->dims[i][d] == tensor->dims[d];
    if (fits)
        return OX_OK;
    ox_text text = {0};
    ox_text_put(&text, "the shape is ");
    ox_text_shape(&text, tensor->rank, tensor->dims);
    ox_text_put(&text, " but the model wants ");
    add_expected(inputs, i, &text);
    ox_tool_fail(error, OX_ERROR_SHAPE, "%s", text.data);
    ox_text_free(&text);
    return error->status;
}

/* Symbolic dimensions of the inputs that were read decide those of the inputs that are filled. */
static void learn_dims(ox_inputs *inputs, size_t from) {
    for (int s = 0; s < inputs->infos[from].rank; s++) {
        const char *name = inputs->infos[from].dim_names[s];
        int64_t size = inputs->arrays[from].tensor.dims[s];
        for (size_t i = 0; name && *name && i < inputs->count; i++)
            for (int d = 0; d < inputs->infos[i].rank; d++) {
                const char *other = inputs->infos[i].dim_names[d];
                bool is_fill = inputs->sources[i] && inputs->sources[i][0] == '@';
                if (is_fill && inputs->dims[i][d] < 0 && other && strcmp(name, other) == 0)
                    inputs->dims[i][d] = size;
            }
    }
}

static bool add_open_dims(const ox_inputs *inputs, size_t i, ox_text *text) {
    bool found = false;
    if (inputs->infos[i].rank < 0) {
        ox_text_format(text, "%s?", text->size ? " " : "");
        return true;
    }
    for (int d = 0; d < inputs->infos[i].rank; d++) {
        if (inputs->dims[i][d] >= 0)
            continue;
        const char *name = inputs->infos[i].dim_names[d];
        ox_text option = {0};
        if (name && *name)
            ox_text_format(&option, "-d %s=N", name);
        else
            ox_text_put(&option, "?");
        if (!strstr(ox_text_get(text), option.data))
            ox_text_format(text, "%s%s", text->size ? " " : "", option.data);
        ox_text_free(&option);
        found = true;
    }
    return found;
}

bool ox_inputs_open_dims(const ox_inputs *inputs, ox_text *text) {
    bool found = false;
    for (size_t i = 0; i < inputs->count; i++)
        if (!inputs->infos[i].optional)
            found |= add_open_dims(inputs, i, text);
    return found;
}

static ox_status load_fill(ox_inputs *inputs, size_t i, ox_error *error) {
    const ox_value_info *info = &inputs->infos[i];
    ox_text open = {0};
    if (add_open_dims(inputs, i, &open)) {
        bool is_named = !strchr(ox_text_get(&open), '?');
        ox_text shape = {0};
        add_expected(inputs, i, &shape);
        ox_tool_fail(error, OX_ERROR_ARGUMENT, "the model wants %s: %s%s", shape.data,
                     is_named ? "say how large with " : "its shape is open, so give a tensor instead of ",
                     is_named ? open.data : inputs->sources[i]);
        ox_text_free(&shape);
        ox_text_free(&open);
        return error->status;
    }
    return ox_fill(inputs->sources[i], info->dtype, info->rank, inputs->dims[i], i, &inputs->arrays[i], error);
}

static ox_status load_one(ox_inputs *inputs, size_t i, ox_error *error) {
    const ox_value_info *info = &inputs->infos[i];
    ox_status status;
    if (info->dtype == OX_UNDEFINED)
        status = ox_tool_fail(error, OX_ERROR_UNSUPPORTED, "it is not a tensor, and cannot be given here");
    else if (inputs->sources[i][0] == '@')
        status = load_fill(inputs, i, error);
    else
        status = ox_source_load(inputs->sources[i], info, &inputs->arrays[i], error);
    if (!status)
        status = check_shape(inputs, i, error);
    if (status)
        ox_tool_prefix(error, "input '%s': ", info->name);
    return status;
}

ox_status ox_inputs_load(ox_inputs *inputs, ox_error *error) {
    size_t missing = 0;
    for (size_t i = 0; i < inputs->count; i++)
        missing += !inputs->sources[i] && !inputs->infos[i].optional;
    if (missing)
        return fail_missing(inputs, missing, error);
    for (int fills = 0; fills < 2; fills++)
        for (size_t i = 0; i < inputs->count; i++) {
            if (!inputs->sources[i] || (inputs->sources[i][0] == '@') != fills)
                continue;
            ox_status status = load_one(inputs, i, error);
            if (status)
                return status;
            learn_dims(inputs, i);
        }
    return OX_OK;
}

ox_status ox_inputs_set(const ox_inputs *inputs, ox_session *session, ox_error *error) {
    for (size_t i = 0; i < inputs->count; i++) {
        ox_status status =
            inputs->sources[i] ? ox_session_set_input(session, i, &inputs->arrays[i].tensor, error) : OX_OK;
        if (status)
            return status;
    }
    return OX_OK;
}
