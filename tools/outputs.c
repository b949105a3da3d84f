/* outputs.c: which results of a run are wanted, and what for. */
#include "outputs.h"

#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "inputs.h"
#include "memory.h"
#include "save.h"
#include "source.h"
#include "text.h"
#include "tool.h"
#include "values.h"

static void add_goal(ox_outputs *outputs, const char *name) {
    outputs->goals = ox_tool_resize(outputs->goals, (outputs->count + 1) * sizeof *outputs->goals);
    outputs->goals[outputs->count++] = (ox_output_goal){.name = name};
}

ox_outputs ox_outputs_create(const ox_model *model) {
    ox_outputs outputs = {.model = model, .tolerance = OX_USUAL_TOLERANCE};
    ox_value_info info;
    for (size_t i = 0; !ox_model_output(model, i, &info); i++)
        add_goal(&outputs, info.name);
    outputs.own = outputs.count;
    return outputs;
}

void ox_outputs_free(ox_outputs *outputs) {
    free(outputs->goals);
    free(outputs->expected);
    ox_top_free(&outputs->top);
    *outputs = (ox_outputs){0};
}

static ox_status fail_unknown(const ox_outputs *outputs, const char *text, ox_error *error) {
    ox_text list = {0}, near = {0}, name = {0};
    ox_value_info info;
    ox_text_add(&name, text, strcspn(text, "="));
    for (size_t i = 0; !ox_model_output(outputs->model, i, &info); i++) {
        ox_text_put(&list, i ? ", " : "");
        ox_text_values(&list, &info, 1);
    }
    ox_values_suggest(outputs->model, ox_text_get(&name), &near);
    ox_tool_fail(error, OX_ERROR_ARGUMENT, "unknown output '%.150s': the model has %.150s%s%s", ox_text_get(&name),
                 ox_text_get(&list), list.size > 150 ? "..." : "", ox_text_get(&near));
    ox_text_free(&list);
    ox_text_free(&near);
    ox_text_free(&name);
    return error->status;
}

/* The value that a text begins with, which the session gives from now on, and what is behind its '='. */
static ox_status find(ox_outputs *outputs, const char *text, size_t *index, const char **rest, ox_error *error) {
    const char *name;
    if (!ox_values_find(outputs->model, text, &name, rest))
        return fail_unknown(outputs, text, error);
    for (*index = 0; *index < outputs->count; ++*index)
        if (strcmp(outputs->goals[*index].name, name) == 0)
            return OX_OK;
    add_goal(outputs, name);
    return OX_OK;
}

/* A file gets one output, but for an .npz, and is called after what it holds; the model stays. */
static ox_status check_path(const ox_outputs *outputs, size_t i, const char *path, ox_error *error) {
    const ox_output_goal *goal = &outputs->goals[i];
    if (goal->path)
        return ox_tool_fail(error, OX_ERROR_ARGUMENT,
                            "output '%s' is to go to '%s' and to '%s': -o takes one file for each", goal->name,
                            goal->path, path);
    for (size_t k = 0; k < outputs->count; k++)
        if (outputs->goals[k].path && ox_file_is_same(outputs->goals[k].path, path) && !ox_file_is_npz(path))
            return ox_tool_fail(error, OX_ERROR_ARGUMENT, "'%s' cannot hold both '%s' and '%s': an .npz can", path,
                                outputs->goals[k].name, goal->name);
    ox_status status = ox_file_check_target(path, error);
    if (!status && !ox_save_knows(path))
        status = ox_tool_fail(error, OX_ERROR_ARGUMENT,
                              "the format of '%s' is not known: its name must end in .npy, .npz, .csv or .pb", path);
    return status;
}

ox_status ox_outputs_assign(ox_outputs *outputs, const char *text, ox_error *error) {
    const char *path;
    size_t i;
    ox_status status = find(outputs, text, &i, &path, error);
    if (status)
        return status;
    if (!path) {
        outputs->goals[i].shown = outputs->selects = true;
        return OX_OK;
    }
    bool is_stdout = strcmp(path, "-") == 0;
    if (is_stdout && outputs->uses_stdout)
        return ox_tool_fail(error, OX_ERROR_ARGUMENT, "only one output can go to standard output");
    status = check_path(outputs, i, path, error);
    if (status)
        return status;
    outputs->uses_stdout |= is_stdout;
    outputs->goals[i].path = path;
    return OX_OK;
}

ox_status ox_outputs_expect(ox_outputs *outputs, const char *text, ox_error *error) {
    ox_expectation expected;
    ox_status status = find(outputs, text, &expected.output, &expected.source, error);
    if (status)
        return status;
    if (!expected.source || !ox_source_is(expected.source))
        return ox_tool_fail(error, OX_ERROR_ARGUMENT, "--expect wants NAME=FILE or NAME=LITERAL; '%s' %s", text,
                            expected.source ? "names no file that is there" : "has no '='");
    outputs->expected = ox_tool_resize(outputs->expected, (outputs->expected_count + 1) * sizeof *outputs->expected);
    outputs->expected[outputs->expected_count++] = expected;
    return OX_OK;
}

void ox_outputs_add_all(ox_outputs *outputs) {
    const size_t before = outputs->count;
    size_t count;
    const char **names = ox_values_list(outputs->model, &count);
    for (size_t n = 0; n < count; n++) {
        size_t i = 0;
        while (i < before && strcmp(outputs->goals[i].name, names[n]) != 0)
            i++;
        if (i == before)
            add_goal(outputs, names[n]);
    }
    free((void *)names);
}

const char **ox_outputs_extra(const ox_outputs *outputs) {
    const char **names = ox_tool_alloc((outputs->count - outputs->own) * sizeof *names);
    for (size_t i = outputs->own; i < outputs->count; i++)
        names[i - outputs->own] = outputs->goals[i].name;
    return names;
}
