/* case_run.c: running one case of the ONNX backend test layout. */
#include "case_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "cases.h"
#include "compare.h"
#include "file.h"
#include "memory.h"
#include "source.h"
#include "tool.h"

/* A case while it runs. */
typedef struct running {
    const char *path; /* of the model */
    ox_model *model;
    ox_session *session;
    ox_array *inputs;
    ox_tolerance tolerance;
    ox_text *reason;
} running;

const char *ox_outcome_name(ox_outcome outcome) {
    return outcome == OX_CASE_PASSED ? "passed" : outcome == OX_CASE_FAILED ? "failed" : "unsupported";
}

/* The name of the case is known: the model's path before the error's text is left out. */
static ox_outcome fail(running *r, const ox_error *error) {
    size_t length = strlen(r->path);
    bool is_prefixed = strncmp(error->text, r->path, length) == 0 && strncmp(error->text + length, ": ", 2) == 0;
    ox_text_put(r->reason, error->text + (is_prefixed ? length + 2 : 0));
    return error->status == OX_ERROR_UNSUPPORTED ? OX_CASE_UNSUPPORTED : OX_CASE_FAILED;
}

/* Reads "KIND_N.pb" of a data set; *exists is false if there is no such file. */
static ox_status read_tensor(const char *set, const char *kind, size_t n, ox_array *array, const char **name,
                             bool *exists, ox_error *error) {
    ox_text path = {0};
    unsigned char *bytes;
    size_t size;
    *array = (ox_array){0};
    ox_text_format(&path, "%s/%s_%zu.pb", set, kind, n);
    *exists = ox_file_exists(path.data);
    ox_status status = *exists ? ox_file_read(path.data, &bytes, &size, error) : OX_OK;
    if (*exists && !status) {
        status = ox_source_proto(bytes, size, array, name, error);
        free(bytes);
        if (status)
            ox_tool_prefix(error, "%s_%zu.pb: ", kind, n);
    }
    ox_text_free(&path);
    return status;
}

/* The input that a file is for: the one that the tensor is named after, or else the one of the same number. */
static size_t find_input(const running *r, const char *name, size_t n) {
    size_t count = ox_model_input_count(r->model);
    for (size_t i = 0; i < count && name && *name; i++) {
        ox_value_info info;
        if (!ox_model_input(r->model, i, &info) && strcmp(info.name, name) == 0 && !r->inputs[i].data &&
            !r->inputs[i].from_proto)
            return i;
    }
    return n;
}

/* A file for an input that is no tensor holds another message than a TensorProto. */
static bool is_tensor(const ox_model *model, size_t n, bool output, ox_text *reason) {
    ox_value_info info;
    if ((output ? ox_model_output(model, n, &info) : ox_model_input(model, n, &info)) || info.dtype != OX_UNDEFINED)
        return true;
    ox_text_format(reason, "%s '%s' is not a tensor", output ? "output" : "input", info.name);
    return false;
}

/* Test data made before ONNX 1.13 hold bfloat16 as uint16. */
static void read_as(ox_tensor *tensor, ox_dtype wanted) {
    if (wanted == OX_BFLOAT16 && tensor->dtype == OX_UINT16)
        tensor->dtype = OX_BFLOAT16;
}

static ox_outcome set_inputs(running *r, const char *set) {
    ox_error error = {OX_OK, ""};
    for (size_t n = 0;; n++) {
        ox_array array;
        const char *name = NULL;
        bool exists;
        if (!is_tensor(r->model, n, false, r->reason))
            return OX_CASE_UNSUPPORTED;
        if (read_tensor(set, "input", n, &array, &name, &exists, &error))
            return fail(r, &error);
        if (!exists)
            return OX_CASE_PASSED;
        size_t i = find_input(r, name, n);
        if (i >= ox_model_input_count(r->model) || r->inputs[i].from_proto) {
            ox_array_free(&array);
            ox_text_format(r->reason, "input_%zu.pb: the model has no input for it", n);
            return OX_CASE_FAILED;
        }
        r->inputs[i] = array;
        ox_value_info info;
        if (!ox_model_input(r->model, i, &info))
            read_as(&r->inputs[i].tensor, info.dtype);
        if (ox_session_set_input(r->session, i, &r->inputs[i].tensor, &error))
            return fail(r, &error);
    }
}

static ox_outcome compare_output(running *r, const char *set, size_t n, bool *exists) {
    ox_error error = {OX_OK, ""};
    ox_array expected;
    ox_value_info info;
    ox_tensor got;
    if (!is_tensor(r->model, n, true, r->reason))
        return OX_CASE_UNSUPPORTED;
    if (read_tensor(set, "output", n, &expected, NULL, exists, &error))
        return fail(r, &error);
    if (!*exists)
        return OX_CASE_PASSED;
    ox_outcome outcome = OX_CASE_PASSED;
    ox_text difference = {0};
    if (ox_model_output(r->model, n, &info)) {
        ox_text_format(r->reason, "output_%zu.pb: the model has no such output", n);
        outcome = OX_CASE_FAILED;
    } else if (ox_session_output(r->session, n, &got, &error)) {
        outcome = fail(r, &error);
    } else {
        read_as(&expected.tensor, got.dtype);
        if (!ox_compare(&got, &expected.tensor, r->tolerance, &difference)) {
            ox_text_format(r->reason, "output '%s' %s", info.name, difference.data);
            outcome = OX_CASE_FAILED;
        }
    }
    ox_text_free(&difference);
    ox_array_free(&expected);
    return outcome;
}

static ox_outcome compare_outputs(running *r, const char *set) {
    ox_outcome outcome = OX_CASE_PASSED;
    size_t n = 0;
    for (bool exists = true; exists && !outcome; n += exists)
        outcome = compare_output(r, set, n, &exists);
    if (outcome || n == ox_model_output_count(r->model))
        return outcome;
    ox_text_format(r->reason, "the model has %zu outputs, the data set %zu", ox_model_output_count(r->model), n);
    return OX_CASE_FAILED;
}

static ox_outcome run_set(running *r, const char *set) {
    ox_error error = {OX_OK, ""};
    size_t count = ox_model_input_count(r->model);
    r->inputs = ox_tool_alloc(count * sizeof *r->inputs);
    for (size_t i = 0; i < count; i++)
        r->inputs[i] = (ox_array){0};
    ox_outcome outcome = OX_CASE_PASSED;
    if (ox_session_create(r->model, NULL, &r->session, &error))
        outcome = fail(r, &error);
    if (!outcome)
        outcome = set_inputs(r, set);
    if (!outcome && ox_session_run(r->session, &error))
        outcome = fail(r, &error);
    if (!outcome)
        outcome = compare_outputs(r, set);
    ox_session_free(r->session);
    r->session = NULL;
    for (size_t i = 0; i < count; i++)
        ox_array_free(&r->inputs[i]);
    free(r->inputs);
    return outcome;
}

static ox_outcome run_sets(running *r, const char *directory) {
    char **sets = ox_list_directory(directory, "test_data_set");
    ox_outcome outcome = *sets ? OX_CASE_PASSED : OX_CASE_FAILED;
    if (!*sets)
        ox_text_put(r->reason, "there is no test_data_set_* to compare with");
    for (char **set = sets; *set && !outcome; set++) {
        ox_text path = {0};
        ox_text_format(&path, "%s/%s", directory, *set);
        outcome = run_set(r, path.data);
        ox_text_free(&path);
        if (outcome && sets[1])
            ox_text_format(r->reason, " (%s)", *set);
    }
    ox_list_free(sets);
    return outcome;
}

static double number_after(const char *text, const char *key, double otherwise) {
    const char *found = strstr(text, key);
    if (!found)
        return otherwise;
    found += strlen(key);
    found += strspn(found, " \t\r\n:");
    char *end;
    double value = strtod(found, &end);
    return end > found && value >= 0 ? value : otherwise;
}

/* The runner's tolerances, or the case's own in data.json. */
static ox_tolerance read_tolerance(const char *directory) {
    ox_tolerance tolerance = OX_USUAL_TOLERANCE;
    ox_text path = {0};
    ox_error error;
    unsigned char *bytes;
    size_t size;
    ox_text_format(&path, "%s/data.json", directory);
    if (ox_file_exists(path.data) && !ox_file_read(path.data, &bytes, &size, &error)) {
        tolerance.relative = number_after((const char *)bytes, "\"rtol\"", tolerance.relative);
        tolerance.absolute = number_after((const char *)bytes, "\"atol\"", tolerance.absolute);
        free(bytes);
    }
    ox_text_free(&path);
    return tolerance;
}

ox_outcome ox_case_run(const char *directory, const ox_options *options, ox_tolerance tolerance, ox_text *reason) {
    running r = {.reason = reason, .tolerance = read_tolerance(directory)};
    r.tolerance.given = tolerance.given;
    r.tolerance.relative = tolerance.relative < 0 ? r.tolerance.relative : tolerance.relative;
    r.tolerance.absolute = tolerance.absolute < 0 ? r.tolerance.absolute : tolerance.absolute;
    ox_error error = {OX_OK, ""};
    ox_text path = {0};
    ox_text_format(&path, "%s/model.onnx", directory);
    r.path = path.data;
    ox_outcome outcome =
        ox_model_load_file(path.data, options, &r.model, &error) ? fail(&r, &error) : run_sets(&r, directory);
    ox_model_free(r.model);
    ox_text_free(&path);
    return outcome;
}
