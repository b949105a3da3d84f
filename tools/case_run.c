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
    ox_value **values; /* by input, those that are no tensors */
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

/* What a file of a data set holds. */
typedef struct content {
    ox_kind kind;     /* of what is to be read */
    ox_array array;   /* a tensor, ... */
    ox_value *value;  /* ... or another value */
    const char *name; /* that the file gives it */
} content;

static void free_content(content *c) {
    ox_array_free(&c->array);
    ox_value_free(c->value);
}

/* Reads "KIND_N.pb" of a data set; *exists is false if there is no such file. */
static ox_status read_content(const char *set, const char *kind, size_t n, content *c, bool *exists, ox_error *error) {
    ox_text path = {0};
    unsigned char *bytes;
    size_t size;
    ox_text_format(&path, "%s/%s_%zu.pb", set, kind, n);
    *exists = ox_file_exists(path.data);
    ox_status status = *exists ? ox_file_read(path.data, &bytes, &size, error) : OX_OK;
    if (*exists && !status) {
        status = c->kind == OX_KIND_TENSOR
                     ? ox_source_proto(bytes, size, &c->array, &c->name, error)
                     : ox_value_from_proto(c->kind, bytes, size, NULL, &c->value, &c->name, error);
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

/* What the model says of input or output n: files do not tell which message they hold. */
static content expected_content(const ox_model *model, size_t n, bool output) {
    ox_value_info info = {0};
    content c = {.kind = OX_KIND_TENSOR};
    if ((output ? ox_model_output(model, n, &info) : ox_model_input(model, n, &info)) == OX_OK &&
        (info.kind == OX_KIND_SEQUENCE || info.kind == OX_KIND_OPTIONAL || info.kind == OX_KIND_MAP))
        c.kind = info.kind;
    return c;
}

/* Test data made before ONNX 1.13 hold bfloat16 as uint16. */
static void read_as(ox_tensor *tensor, ox_dtype wanted) {
    if (wanted == OX_BFLOAT16 && tensor->dtype == OX_UINT16)
        tensor->dtype = OX_BFLOAT16;
}

/* Hands input i what a file held. */
static ox_status set_input(running *r, size_t i, content *c, ox_error *error) {
    ox_value_info info;
    r->values[i] = c->value;
    if (c->value)
        return ox_session_set_value(r->session, i, c->value, error);
    r->inputs[i] = c->array;
    if (!ox_model_input(r->model, i, &info))
        read_as(&r->inputs[i].tensor, info.dtype);
    return ox_session_set_input(r->session, i, &r->inputs[i].tensor, error);
}

static ox_outcome set_inputs(running *r, const char *set) {
    ox_error error = {OX_OK, ""};
    for (size_t n = 0;; n++) {
        content c = expected_content(r->model, n, false);
        bool exists;
        if (read_content(set, "input", n, &c, &exists, &error))
            return fail(r, &error);
        if (!exists)
            return OX_CASE_PASSED;
        size_t i = find_input(r, c.name, n);
        if (i >= ox_model_input_count(r->model) || r->inputs[i].from_proto || r->values[i]) {
            free_content(&c);
            ox_text_format(r->reason, "input_%zu.pb: the model has no input for it", n);
            return OX_CASE_FAILED;
        }
        if (set_input(r, i, &c, &error))
            return fail(r, &error);
    }
}

/* Compares output n with what a file held. */
static ox_outcome compare_content(running *r, size_t n, content *c) {
    ox_error error = {OX_OK, ""};
    ox_text difference = {0};
    ox_value_info info;
    ox_tensor got = {0};
    const ox_value *value = NULL;
    ox_outcome outcome = OX_CASE_PASSED;
    if (ox_model_output(r->model, n, &info)) {
        ox_text_format(r->reason, "output_%zu.pb: the model has no such output", n);
        return OX_CASE_FAILED;
    }
    if (c->value ? ox_session_output_value(r->session, n, &value, &error)
                 : ox_session_output(r->session, n, &got, &error))
        return fail(r, &error);
    read_as(&c->array.tensor, got.dtype);
    if (!(c->value ? ox_compare_values(value, c->value, r->tolerance, &difference)
                   : ox_compare(&got, &c->array.tensor, r->tolerance, &difference))) {
        ox_text_format(r->reason, "output '%s' %s", info.name, difference.data);
        outcome = OX_CASE_FAILED;
    }
    ox_text_free(&difference);
    return outcome;
}

static ox_outcome compare_output(running *r, const char *set, size_t n, bool *exists) {
    ox_error error = {OX_OK, ""};
    content c = expected_content(r->model, n, true);
    if (read_content(set, "output", n, &c, exists, &error))
        return fail(r, &error);
    if (!*exists)
        return OX_CASE_PASSED;
    const ox_outcome outcome = compare_content(r, n, &c);
    free_content(&c);
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
    r->values = ox_tool_alloc(count * sizeof *r->values);
    for (size_t i = 0; i < count; i++) {
        r->inputs[i] = (ox_array){0};
        r->values[i] = NULL;
    }
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
    for (size_t i = 0; i < count; i++) {
        ox_array_free(&r->inputs[i]);
        ox_value_free(r->values[i]);
    }
    free(r->inputs);
    free(r->values);
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
