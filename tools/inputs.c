/* inputs.c: what the command line says of a model's inputs. */
#include "inputs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fill.h"
#include "indices.h"
#include "memory.h"
#include "nearest.h"
#include "shape.h"
#include "source.h"
#include "text.h"
#include "tool.h"
#include "value_source.h"

static bool is_fill(const char *source) {
    return source && *source == '@';
}

/* Gives a size to all open dimensions of the name, or only to those of inputs that are filled. */
static void spread(ox_inputs *inputs, const char *name, int64_t size, bool fills_only) {
    if (!name || !*name)
        return;
    for (size_t i = 0; i < inputs->count; i++)
        for (int d = 0; d < inputs->infos[i].rank; d++) {
            const char *other = inputs->infos[i].dim_names[d];
            bool fits = !fills_only || is_fill(inputs->sources[i]);
            if (fits && inputs->dims[i][d] < 0 && other && strcmp(name, other) == 0)
                inputs->dims[i][d] = size;
        }
}

ox_status ox_inputs_create(ox_inputs *inputs, const ox_model *model, const ox_bindings *bindings, ox_error *error) {
    size_t count = ox_model_input_count(model);
    *inputs = (ox_inputs){.model = model, .count = count};
    inputs->infos = ox_tool_alloc(count * sizeof *inputs->infos);
    inputs->dims = ox_tool_alloc(count * sizeof *inputs->dims);
    inputs->arrays = ox_tool_alloc(count * sizeof *inputs->arrays);
    inputs->values = ox_tool_alloc(count * sizeof *inputs->values);
    inputs->sources = ox_tool_alloc(count * sizeof *inputs->sources);
    inputs->members = ox_tool_alloc(count * sizeof *inputs->members);
    for (size_t i = 0; i < count; i++) {
        ox_value_info *info = &inputs->infos[i];
        ox_model_input(model, i, info);
        int rank = info->rank < 0 ? 0 : info->rank;
        inputs->arrays[i] = (ox_array){0};
        inputs->values[i] = NULL;
        inputs->sources[i] = NULL;
        inputs->members[i] = (ox_npz_member){0};
        inputs->dims[i] = ox_tool_alloc((size_t)rank * sizeof **inputs->dims);
        for (int d = 0; d < rank; d++)
            inputs->dims[i][d] = info->dims[d] >= 0 ? info->dims[d] : ox_bindings_size(bindings, info, d);
    }
    for (size_t i = 0; i < count; i++)
        for (int d = 0; d < inputs->infos[i].rank; d++)
            if (inputs->dims[i][d] >= 0)
                spread(inputs, inputs->infos[i].dim_names[d], inputs->dims[i][d], false);
    return ox_bindings_check(bindings, model, error);
}

void ox_inputs_free(ox_inputs *inputs) {
    for (size_t i = 0; i < inputs->count; i++) {
        ox_array_free(&inputs->arrays[i]);
        ox_value_free(inputs->values[i]);
        free(inputs->dims[i]);
    }
    free(inputs->infos);
    free(inputs->dims);
    free(inputs->arrays);
    free(inputs->values);
    free((void *)inputs->sources);
    free(inputs->members);
    for (size_t i = 0; i < inputs->archive_count; i++) {
        ox_npz_free(inputs->archives[i]);
        free(inputs->archives[i]);
    }
    free(inputs->archives);
    for (size_t i = 0; i < inputs->made_count; i++)
        free(inputs->made[i]);
    free(inputs->made);
    ox_text_free(&inputs->taken);
    ox_text_free(&inputs->options);
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

ox_status ox_inputs_give(ox_inputs *inputs, size_t i, const char *source, ox_error *error) {
    const char *name = inputs->infos[i].name;
    if (inputs->sources[i])
        return ox_tool_fail(error, OX_ERROR_ARGUMENT, "input '%s' is given twice", name);
    for (size_t j = 0; j < inputs->count && ox_source_is_stdin(source); j++)
        if (inputs->sources[j] && ox_source_is_stdin(inputs->sources[j]))
            return ox_tool_fail(error, OX_ERROR_ARGUMENT,
                                "standard input can be one input, not both '%s' and '%s': put the others into files",
                                inputs->infos[j].name, name);
    inputs->sources[i] = source;
    return ox_source_is_npz(source) ? ox_inputs_give_member(inputs, i, error) : OX_OK;
}

ox_status ox_inputs_fail(const ox_inputs *inputs, const char *what, int length, const char *name, ox_error *error) {
    ox_text list = {0}, near = {0}, wanted = {0};
    ox_text_values(&list, inputs->infos, inputs->count);
    ox_text_add(&wanted, name, (size_t)length);
    ox_nearest nearest = {.wanted = ox_text_get(&wanted)};
    for (size_t i = 0; i < inputs->count; i++)
        ox_nearest_add(&nearest, inputs->infos[i].name);
    ox_nearest_put(&nearest, &near);
    ox_tool_fail(error, OX_ERROR_ARGUMENT, "%s '%.*s'%s%s the model has %s", what, length, name, ox_text_get(&near),
                 near.size ? "" : ":", ox_text_get(&list));
    ox_text_free(&list);
    ox_text_free(&near);
    ox_text_free(&wanted);
    return error->status;
}

static ox_status assign_named(ox_inputs *inputs, const char *text, bool *done, ox_error *error) {
    const char *source = NULL;
    size_t i = ox_find_named(inputs->infos, inputs->count, text, &source);
    *done = i != SIZE_MAX;
    if (!*done && ox_source_is_npz(text)) {
        *done = true;
        return ox_inputs_assign_npz(inputs, text, error);
    }
    if (!*done && ox_source_is_csv(text) && ox_source_is(text))
        return ox_inputs_assign_csv(inputs, text, done, error);
    if (!*done && ox_source_is(text))
        return OX_OK;
    const char *equals = strchr(text, '=');
    if (!*done)
        return equals ? ox_inputs_fail(inputs, "unknown input", (int)(equals - text), text, error) : OX_OK;
    return ox_inputs_give(inputs, i, source, error);
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
            status = ox_inputs_fail(inputs, "no input is left for", (int)ox_text_length(texts[i], 60), texts[i], error);
        else if (!done[i])
            status = ox_inputs_give(inputs, at, texts[i], error);
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
    ox_tool_fail(error, OX_ERROR_ARGUMENT, "missing input%s %.230s", count > 1 ? "s" : "", ox_text_get(&list));
    ox_tool_remedy(error, "give inputs with -i NAME=SOURCE: a .npy, .npz, .csv or .pb file, a picture, a literal like "
                          "'[[1,2],[3,4]]', @zeros, @ones, @random, or - for a .npy on standard input");
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
    for (int d = 0; d < inputs->infos[from].rank; d++)
        spread(inputs, inputs->infos[from].dim_names[d], inputs->arrays[from].tensor.dims[d], true);
}

static bool add_open_dims(const ox_inputs *inputs, size_t i, ox_text *text) {
    bool found = false;
    for (int d = 0; d < inputs->infos[i].rank; d++) {
        ox_text option = {0};
        if (inputs->dims[i][d] >= 0)
            continue;
        ox_text_put(&option, "-d ");
        ox_text_dim(&option, &inputs->infos[i], d);
        ox_text_put(&option, "=N");
        ox_text_add_once(text, option.data, " ");
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

bool ox_inputs_open_rank(const ox_inputs *inputs) {
    for (size_t i = 0; i < inputs->count; i++)
        if (!inputs->infos[i].optional && inputs->infos[i].dtype != OX_UNDEFINED && inputs->infos[i].rank < 0)
            return true;
    return false;
}

/* If an input of four dimensions has 1, 3 or 4 channels, the dimensions after or before these are height and width. */
static bool is_side(const ox_inputs *inputs, size_t i, int d) {
    const int64_t *dims = inputs->dims[i];
    if (inputs->infos[i].rank != 4)
        return false;
    const bool first = dims[1] == 1 || dims[1] == 3 || dims[1] == 4;
    const bool last = dims[3] == 1 || dims[3] == 3 || dims[3] == 4;
    return first ? d >= 2 : last && (d == 1 || d == 2);
}

/* Takes a size for the open dimensions of an input, and writes down for which: 1, or what pictures often have. */
static void take_sizes(ox_inputs *inputs, size_t i) {
    bool sides[OX_TOOL_RANK];
    add_open_dims(inputs, i, &inputs->options);
    for (int d = 0; d < inputs->infos[i].rank; d++)
        sides[d] = is_side(inputs, i, d);
    for (int d = 0; d < inputs->infos[i].rank; d++) {
        ox_text taken = {0};
        const int64_t size = sides[d] ? OX_PICTURE_SIDE : 1;
        if (inputs->dims[i][d] >= 0)
            continue;
        ox_text_dim(&taken, &inputs->infos[i], d);
        ox_text_format(&taken, "=%" PRId64, size);
        ox_text_add_once(&inputs->taken, taken.data, ", ");
        ox_text_free(&taken);
        inputs->dims[i][d] = size;
        spread(inputs, inputs->infos[i].dim_names[d], size, true);
    }
}

void ox_inputs_note(const ox_inputs *inputs) {
    if (inputs->taken.size)
        ox_tool_error("took %s: give %s for other sizes", inputs->taken.data, inputs->options.data);
}

static ox_status fail_open(const ox_inputs *inputs, size_t i, ox_error *error) {
    ox_text shape = {0};
    add_expected(inputs, i, &shape);
    ox_tool_fail(error, OX_ERROR_ARGUMENT, "the model wants %s: say how large with -i %s=%s[2,3] or the like",
                 shape.data, inputs->infos[i].name, inputs->sources[i]);
    ox_text_free(&shape);
    return error->status;
}

/* "@random[3,4]": the shape after the rule. */
static ox_status load_shaped(const ox_inputs *inputs, size_t i, const char *shape, ox_array *array, ox_error *error) {
    int64_t dims[OX_TOOL_RANK];
    int rank;
    const char *source = inputs->sources[i];
    if (!ox_shape_read(shape, &rank, dims))
        return ox_tool_fail(error, OX_ERROR_ARGUMENT, "'%s': '%s' is no shape such as [3,4]", source, shape);
    ox_text rule = {0};
    ox_text_add(&rule, source, (size_t)(shape - source));
    const ox_fill_shape wanted = {inputs->infos[i].dtype, rank, dims, ox_index_places(inputs, i)};
    ox_status status = ox_fill(rule.data, &wanted, i, array, error);
    ox_text_free(&rule);
    return status;
}

static ox_status load_fill(ox_inputs *inputs, size_t i, ox_error *error) {
    const ox_value_info *info = &inputs->infos[i];
    const char *shape = strchr(inputs->sources[i], '[');
    if (shape)
        return load_shaped(inputs, i, shape, &inputs->arrays[i], error);
    if (info->rank < 0)
        return fail_open(inputs, i, error);
    const ox_fill_shape wanted = {info->dtype, info->rank, inputs->dims[i], ox_index_places(inputs, i)};
    return ox_fill(inputs->sources[i], &wanted, i, &inputs->arrays[i], error);
}

static ox_status load_member(const ox_inputs *inputs, size_t i, ox_array *array, ox_error *error) {
    size_t length;
    ox_source_cast(inputs->sources[i], &length);
    ox_status status = ox_npz_read(inputs->members[i].archive, inputs->members[i].index, array, error);
    if (!status)
        status = ox_source_convert(inputs->sources[i], &inputs->infos[i], array, error);
    if (status)
        ox_tool_prefix(error, "%.*s: ", (int)length, inputs->sources[i]);
    return status;
}

static ox_status load_one(ox_inputs *inputs, size_t i, ox_error *error) {
    const ox_value_info *info = &inputs->infos[i];
    ox_status status;
    if (info->dtype == OX_UNDEFINED)
        status = ox_value_source_load(inputs->sources[i], info, &inputs->values[i], error);
    else if (inputs->members[i].archive)
        status = load_member(inputs, i, &inputs->arrays[i], error);
    else if (is_fill(inputs->sources[i]))
        status = load_fill(inputs, i, error);
    else
        status = ox_source_load(inputs->sources[i], info, &inputs->arrays[i], error);
    if (!status && !inputs->values[i])
        status = check_shape(inputs, i, error);
    if (status)
        ox_tool_prefix(error, "input '%s': ", info->name);
    return status;
}

/* What brings a shape of its own is read first: it decides dimensions of the rest. */
static bool has_shape(const char *source) {
    return !is_fill(source) || strchr(source, '[');
}

static ox_status load_some(ox_inputs *inputs, bool shaped, ox_error *error) {
    for (size_t i = 0; i < inputs->count; i++) {
        if (!inputs->sources[i] || has_shape(inputs->sources[i]) != shaped)
            continue;
        ox_status status = load_one(inputs, i, error);
        if (status)
            return status;
        learn_dims(inputs, i);
    }
    return OX_OK;
}

ox_status ox_inputs_load(ox_inputs *inputs, ox_error *error) {
    size_t missing = 0;
    for (size_t i = 0; i < inputs->count; i++)
        missing += !inputs->sources[i] && !inputs->infos[i].optional;
    if (missing)
        return fail_missing(inputs, missing, error);
    ox_status status = load_some(inputs, true, error);
    for (size_t i = 0; i < inputs->count; i++)
        if (is_fill(inputs->sources[i]) && !has_shape(inputs->sources[i]))
            take_sizes(inputs, i);
    return status ? status : load_some(inputs, false, error);
}

ox_status ox_inputs_set(const ox_inputs *inputs, ox_session *session, ox_error *error) {
    for (size_t i = 0; i < inputs->count; i++) {
        ox_status status = OX_OK;
        if (inputs->values[i])
            status = ox_session_set_value(session, i, inputs->values[i], error);
        else if (inputs->sources[i])
            status = ox_session_set_input(session, i, &inputs->arrays[i].tensor, error);
        if (status)
            return status;
    }
    return OX_OK;
}
