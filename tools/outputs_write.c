/* outputs_write.c: results to files and to the reader. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "datum.h"
#include "file.h"
#include "memory.h"
#include "outputs.h"
#include "save.h"
#include "source.h"
#include "tool.h"
#include "value_source.h"

/* ---- Files ------------------------------------------------------------------------------------------------------- */

static ox_status save_goal(const ox_outputs *outputs, size_t i, const ox_datum *datum, ox_error *error) {
    const char *path = outputs->goals[i].path, *name = outputs->goals[i].name;
    const bool in_archive = path && ox_file_is_npz(path); /* save_archives */
    ox_status status = path && !in_archive ? ox_save(path, name, datum, error) : OX_OK;
    bool saves = outputs->save && i < outputs->own;
    bool makes_npy = (path && !ox_save_is_proto(path, datum)) || (saves && !ox_save_is_proto(NULL, datum));
    if (!status && saves) {
        char file[48];
        snprintf(file, sizeof file, "output_%zu", i);
        status = ox_save_in(outputs->save, file, name, datum, error);
    }
    if (!status && makes_npy && !outputs->quiet)
        ox_save_note_raw("output", name, datum->tensor.dtype);
    return status;
}

/* The outputs that go to the .npz of goal i. */
static ox_status save_archive(const ox_outputs *outputs, size_t i, const ox_session *session, ox_error *error) {
    const char **names = ox_tool_alloc(outputs->count * sizeof *names);
    ox_datum *data = ox_tool_alloc(outputs->count * sizeof *data);
    ox_status status = OX_OK;
    size_t count = 0;
    for (size_t k = i; k < outputs->count && !status; k++)
        if (outputs->goals[k].path && ox_file_is_same(outputs->goals[k].path, outputs->goals[i].path)) {
            names[count] = outputs->goals[k].name;
            status = ox_datum_output(session, k, &data[count++], error);
        }
    if (!status)
        status = ox_save_npz(outputs->goals[i].path, names, data, count, error);
    free((void *)names);
    free(data);
    return status;
}

static ox_status save_archives(const ox_outputs *outputs, const ox_session *session, ox_error *error) {
    ox_status status = OX_OK;
    for (size_t i = 0; i < outputs->count && !status; i++) {
        const char *path = outputs->goals[i].path;
        bool first = path && ox_file_is_npz(path);
        for (size_t k = 0; k < i && first; k++)
            first = !outputs->goals[k].path || !ox_file_is_same(outputs->goals[k].path, path);
        if (first)
            status = save_archive(outputs, i, session, error);
    }
    return status;
}

static ox_status save_all(const ox_outputs *outputs, const ox_session *session, ox_error *error) {
    ox_saved saved = {.folder = outputs->save_all};
    ox_status status = OX_OK;
    ox_datum datum;
    for (size_t i = 0; i < outputs->count && !status; i++) {
        status = ox_datum_output(session, i, &datum, error);
        if (!status)
            status = ox_saved_add(&saved, outputs->goals[i].name, &datum, error);
    }
    return ox_saved_end(&saved, status, error);
}

/* ---- Text and JSON ----------------------------------------------------------------------------------------------- */

/* True if the value is printed: of the model's outputs all, unless some values were named for that. */
static bool is_shown(const ox_outputs *outputs, size_t i) {
    return outputs->selects ? outputs->goals[i].shown : i < outputs->own;
}

/* "'y' is float [2,3]" */
static void put_misfit(ox_text *list, const char *name, const ox_datum *datum) {
    char type[OX_TYPE_TEXT];
    ox_text_format(list, "%s'%s' is ", list->size ? ", " : "", name);
    if (datum->value) {
        ox_text_put(list, ox_value_type(datum->value, type));
        return;
    }
    ox_text_format(list, "%s ", ox_dtype_name(datum->tensor.dtype));
    ox_text_shape(list, datum->tensor.rank, datum->tensor.dims);
}

/* With --top, some printed output has to be one of classes; each is compared with the labels. */
static ox_status check_top(const ox_outputs *outputs, const ox_session *session, ox_error *error) {
    ox_text list = {0};
    bool fits = !outputs->top.count;
    ox_status status = OX_OK;
    for (size_t i = 0; i < outputs->count && outputs->top.count && !status; i++) {
        ox_datum datum;
        if (!is_shown(outputs, i))
            continue;
        status = ox_datum_output(session, i, &datum, error);
        if (!status && !datum.value && ox_top_fits(&datum.tensor)) {
            fits = true;
            ox_top_check(&outputs->top, &datum.tensor, outputs->goals[i].name);
        } else if (!status) {
            put_misfit(&list, outputs->goals[i].name, &datum);
        }
    }
    if (!status && !fits)
        status = ox_tool_fail(error, OX_ERROR_ARGUMENT, "--top wants an output of floats of shape [C] or [N,C]: %s",
                              ox_text_get(&list));
    ox_text_free(&list);
    return status;
}

static ox_status print_all(const ox_outputs *outputs, const ox_session *session, const char *more, ox_error *error) {
    const ox_manner manner = {&outputs->top, outputs->stats};
    ox_status status = OX_OK;
    ox_datum datum;
    ox_text text = {0};
    size_t count = 0;
    status = check_top(outputs, session, error);
    if (status)
        return status;
    fputs(outputs->json ? "{\"outputs\": [" : "", stdout);
    for (size_t i = 0; i < outputs->count && !status; i++) {
        if (!is_shown(outputs, i))
            continue;
        status = ox_datum_output(session, i, &datum, error);
        if (status)
            break;
        text.size = 0;
        if (outputs->json)
            ox_text_put(&text, count++ ? ",\n  " : "\n  ");
        (outputs->json ? ox_datum_json : ox_datum_text)(&text, outputs->goals[i].name, &datum, manner);
        fwrite(text.data, 1, text.size, stdout);
    }
    if (outputs->json)
        printf("\n]%s}\n", more);
    ox_text_free(&text);
    return status;
}

ox_status ox_outputs_write(const ox_outputs *outputs, const ox_session *session, const char *more, ox_error *error) {
    ox_status status = OX_OK;
    ox_datum datum;
    for (size_t i = 0; i < outputs->count && !status; i++) {
        status = ox_datum_output(session, i, &datum, error);
        if (!status)
            status = save_goal(outputs, i, &datum, error);
    }
    if (!status)
        status = save_archives(outputs, session, error);
    if (!status && outputs->save_all)
        status = save_all(outputs, session, error);
    if (!status && !outputs->quiet && !outputs->uses_stdout)
        status = print_all(outputs, session, more, error);
    return status;
}

/* ---- Comparing --------------------------------------------------------------------------------------------------- */

static void say_equal(const ox_outputs *outputs, const char *name, double difference) {
    ox_text safe = {0};
    if (outputs->quiet || outputs->json || outputs->uses_stdout)
        return;
    ox_text_escape(&safe, name, strlen(name), NULL);
    printf("%s: as expected, the largest difference is %.3g\n", ox_text_get(&safe), difference);
    ox_text_free(&safe);
}

typedef struct comparison {
    bool equal;
    double difference; /* the largest, if equal */
    ox_text reason;
} comparison;

/* Reads what a result is to be, and compares. */
static ox_status check_tensor(const ox_tensor *got, const ox_value_info *info, const char *source,
                              ox_tolerance tolerance, comparison *found, ox_error *error) {
    ox_array array;
    ox_status status = ox_source_load(source, info, &array, error);
    if (status)
        return status;
    found->equal = ox_compare(got, &array.tensor, tolerance, &found->reason);
    if (found->equal)
        found->difference = ox_largest_difference(got, &array.tensor);
    ox_array_free(&array);
    return OX_OK;
}

static ox_status check_value(const ox_value *got, const ox_value_info *info, const char *source, ox_tolerance tolerance,
                             comparison *found, ox_error *error) {
    ox_value *value;
    ox_status status = ox_value_source_load(source, info, &value, error);
    if (status)
        return status;
    found->equal = ox_compare_values(got, value, tolerance, &found->reason);
    if (found->equal)
        found->difference = ox_largest_in_values(got, value);
    ox_value_free(value);
    return OX_OK;
}

/* What is expected of a result: an empty value does not tell what it would hold, but the model does of its outputs. */
static ox_value_info describe(const ox_outputs *outputs, size_t i, const ox_datum *got) {
    ox_value_info info = {.name = outputs->goals[i].name};
    if (!got->value) {
        info.dtype = got->tensor.dtype;
        info.rank = got->tensor.rank;
        info.dims = got->tensor.dims;
    } else if (i >= outputs->own || ox_model_output(outputs->model, i, &info) ||
               info.kind != ox_value_kind(got->value)) {
        ox_value_type(got->value, info.type);
    }
    return info;
}

/* *equal tells the result of one comparison. */
static ox_status check(const ox_outputs *outputs, const ox_session *session, const ox_expectation *expected,
                       bool *equal, ox_error *error) {
    const char *name = outputs->goals[expected->output].name;
    ox_datum got;
    comparison found = {0};
    ox_status status = ox_datum_output(session, expected->output, &got, error);
    if (status)
        return status;
    const ox_value_info info = describe(outputs, expected->output, &got);
    status = got.value ? check_value(got.value, &info, expected->source, outputs->tolerance, &found, error)
                       : check_tensor(&got.tensor, &info, expected->source, outputs->tolerance, &found, error);
    if (status)
        ox_tool_prefix(error, "--expect %s: ", name);
    else if (found.equal)
        say_equal(outputs, name, found.difference);
    else
        ox_tool_error("output '%s' %s", name, found.reason.data);
    *equal = found.equal;
    ox_text_free(&found.reason);
    return status;
}

ox_status ox_outputs_compare(const ox_outputs *outputs, const ox_session *session, size_t *differ, ox_error *error) {
    ox_status status = OX_OK;
    for (size_t i = 0; i < outputs->expected_count && !status; i++) {
        bool equal = false;
        status = check(outputs, session, &outputs->expected[i], &equal, error);
        *differ += !status && !equal;
    }
    return status;
}
