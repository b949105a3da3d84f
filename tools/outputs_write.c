/* outputs_write.c: results to files and to the reader. */
#include <stdio.h>
#include <string.h>

#include "array.h"
#include "json.h"
#include "outputs.h"
#include "print.h"
#include "save.h"
#include "source.h"
#include "stats.h"
#include "tool.h"

/* ---- Files ------------------------------------------------------------------------------------------------------- */

static ox_status save_goal(const ox_outputs *outputs, size_t i, const ox_tensor *tensor, ox_error *error) {
    const char *path = outputs->goals[i].path;
    ox_status status = path ? ox_save(path, tensor, error) : OX_OK;
    bool saves = outputs->save && i < outputs->own;
    if (!status && saves) {
        char file[48];
        snprintf(file, sizeof file, "output_%zu", i);
        status = ox_save_in(outputs->save, file, tensor, error);
    }
    if (!status && (path || saves) && !outputs->quiet)
        ox_save_note_raw("output", outputs->goals[i].name, tensor->dtype);
    return status;
}

static ox_status save_all(const ox_outputs *outputs, const ox_session *session, ox_error *error) {
    ox_saved saved = {.folder = outputs->save_all};
    ox_status status = OX_OK;
    ox_tensor tensor;
    for (size_t i = 0; i < outputs->count && !status; i++) {
        status = ox_session_output(session, i, &tensor, error);
        if (!status)
            status = ox_saved_add(&saved, outputs->goals[i].name, &tensor, error);
    }
    return ox_saved_end(&saved, status, error);
}

/* ---- Text and JSON ----------------------------------------------------------------------------------------------- */

static void put_text(ox_text *text, const char *name, const ox_tensor *tensor, const ox_outputs *outputs) {
    ox_text_escape(text, name, strlen(name), NULL);
    ox_text_format(text, ": %s ", ox_dtype_name(tensor->dtype));
    ox_text_shape(text, tensor->rank, tensor->dims);
    ox_text_put(text, "\n");
    if (outputs->top.count && ox_top_fits(tensor)) {
        ox_top_put(&outputs->top, tensor, text);
        return;
    }
    if (outputs->stats) {
        ox_stats found = ox_stats_of(tensor);
        ox_stats_put(&found, text);
    } else {
        ox_print_tensor(text, tensor);
    }
    ox_text_put(text, "\n");
}

static void put_json(ox_text *text, const char *name, const ox_tensor *tensor, const ox_outputs *outputs) {
    ox_text_put(text, "{\"name\": ");
    ox_text_json(text, name);
    ox_text_format(text, ", \"dtype\": \"%s\", \"shape\": ", ox_dtype_name(tensor->dtype));
    ox_json_dims(text, tensor->rank, tensor->dims);
    if (outputs->top.count && ox_top_fits(tensor)) {
        ox_text_put(text, ", \"top\": ");
        ox_top_json(&outputs->top, tensor, text);
    } else if (outputs->stats) {
        ox_stats found = ox_stats_of(tensor);
        ox_text_put(text, ", \"stats\": ");
        ox_stats_json(&found, text);
    } else {
        ox_text_put(text, ", \"values\": ");
        ox_json_values(text, tensor);
    }
    ox_text_put(text, "}");
}

/* True if the value is printed: of the model's outputs all, unless some values were named for that. */
static bool is_shown(const ox_outputs *outputs, size_t i) {
    return outputs->selects ? outputs->goals[i].shown : i < outputs->own;
}

/* With --top, some printed output has to be one of classes; each is compared with the labels. */
static ox_status check_top(const ox_outputs *outputs, const ox_session *session, ox_error *error) {
    ox_text list = {0};
    bool fits = !outputs->top.count;
    ox_status status = OX_OK;
    for (size_t i = 0; i < outputs->count && outputs->top.count && !status; i++) {
        ox_tensor tensor;
        if (!is_shown(outputs, i))
            continue;
        status = ox_session_output(session, i, &tensor, error);
        if (!status && ox_top_fits(&tensor)) {
            fits = true;
            ox_top_check(&outputs->top, &tensor, outputs->goals[i].name);
        } else if (!status) {
            ox_text_format(&list, "%s'%s' is %s ", list.size ? ", " : "", outputs->goals[i].name,
                           ox_dtype_name(tensor.dtype));
            ox_text_shape(&list, tensor.rank, tensor.dims);
        }
    }
    if (!status && !fits)
        status = ox_tool_fail(error, OX_ERROR_ARGUMENT, "--top wants an output of floats of shape [C] or [N,C]: %s",
                              ox_text_get(&list));
    ox_text_free(&list);
    return status;
}

static ox_status print_all(const ox_outputs *outputs, const ox_session *session, ox_error *error) {
    ox_status status = OX_OK;
    ox_tensor tensor;
    ox_text text = {0};
    size_t count = 0;
    status = check_top(outputs, session, error);
    if (status)
        return status;
    fputs(outputs->json ? "{\"outputs\": [" : "", stdout);
    for (size_t i = 0; i < outputs->count && !status; i++) {
        if (!is_shown(outputs, i))
            continue;
        status = ox_session_output(session, i, &tensor, error);
        if (status)
            break;
        text.size = 0;
        if (outputs->json)
            ox_text_put(&text, count++ ? ",\n  " : "\n  ");
        (outputs->json ? put_json : put_text)(&text, outputs->goals[i].name, &tensor, outputs);
        fwrite(text.data, 1, text.size, stdout);
    }
    fputs(outputs->json ? "\n]}\n" : "", stdout);
    ox_text_free(&text);
    return status;
}

ox_status ox_outputs_write(const ox_outputs *outputs, const ox_session *session, ox_error *error) {
    ox_status status = OX_OK;
    ox_tensor tensor;
    for (size_t i = 0; i < outputs->count && !status; i++) {
        status = ox_session_output(session, i, &tensor, error);
        if (!status)
            status = save_goal(outputs, i, &tensor, error);
    }
    if (!status && outputs->save_all)
        status = save_all(outputs, session, error);
    if (!status && !outputs->quiet && !outputs->uses_stdout)
        status = print_all(outputs, session, error);
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

/* *equal tells the result of one comparison. */
static ox_status check(const ox_outputs *outputs, const ox_session *session, const ox_expectation *expected,
                       bool *equal, ox_error *error) {
    const char *name = outputs->goals[expected->output].name;
    ox_tensor got;
    ox_array array;
    ox_text reason = {0};
    ox_status status = ox_session_output(session, expected->output, &got, error);
    if (status)
        return status;
    ox_value_info info = {.name = name, .dtype = got.dtype, .rank = got.rank, .dims = got.dims};
    status = ox_source_load(expected->source, &info, &array, error);
    if (status) {
        ox_tool_prefix(error, "--expect %s: ", name);
        return status;
    }
    *equal = ox_compare(&got, &array.tensor, outputs->tolerance, &reason);
    if (*equal)
        say_equal(outputs, name, ox_largest_difference(&got, &array.tensor));
    else
        ox_tool_error("output '%s' %s", name, reason.data);
    ox_text_free(&reason);
    ox_array_free(&array);
    return OX_OK;
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
