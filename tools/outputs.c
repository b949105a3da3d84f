/* outputs.c: where the results of a run go. */
#include "outputs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "file.h"
#include "inputs.h"
#include "memory.h"
#include "npy.h"
#include "print.h"
#include "text.h"
#include "tool.h"

ox_outputs ox_outputs_create(const ox_model *model) {
    ox_outputs outputs = {.model = model, .count = ox_model_output_count(model)};
    outputs.infos = ox_tool_alloc(outputs.count * sizeof *outputs.infos);
    outputs.paths = ox_tool_alloc(outputs.count * sizeof *outputs.paths);
    for (size_t i = 0; i < outputs.count; i++) {
        ox_model_output(model, i, &outputs.infos[i]);
        outputs.paths[i] = NULL;
    }
    return outputs;
}

void ox_outputs_free(ox_outputs *outputs) {
    free(outputs->infos);
    free((void *)outputs->paths);
    *outputs = (ox_outputs){0};
}

ox_status ox_outputs_assign(ox_outputs *outputs, const char *text, ox_error *error) {
    const char *path = NULL;
    size_t i = ox_find_named(outputs->infos, outputs->count, text, &path);
    if (i == SIZE_MAX) {
        ox_text list = {0};
        ox_text_values(&list, outputs->infos, outputs->count);
        ox_tool_fail(error, OX_ERROR_ARGUMENT, "unknown output '%.*s': the model has %s", (int)strcspn(text, "="), text,
                     ox_text_get(&list));
        ox_text_free(&list);
        return error->status;
    }
    bool is_stdout = strcmp(path, "-") == 0;
    if (is_stdout && outputs->uses_stdout)
        return ox_tool_fail(error, OX_ERROR_ARGUMENT, "only one output can go to standard output");
    outputs->uses_stdout |= is_stdout;
    outputs->paths[i] = path;
    return OX_OK;
}

static ox_status write_stdout(const ox_tensor *tensor, ox_error *error) {
    ox_status status = ox_npy_write(tensor, stdout, error);
    if (!status && (fflush(stdout) || ferror(stdout)))
        status = ox_tool_fail(error, OX_ERROR_FILE, "cannot write to standard output: %s", strerror(errno));
    return status;
}

static ox_status write_file(const char *path, const ox_tensor *tensor, ox_error *error) {
    ox_new_file file;
    ox_status status = ox_file_create(&file, path, error);
    if (status)
        return status;
    status = ox_npy_write(tensor, file.stream, error);
    if (!status)
        return ox_file_commit(&file, error);
    ox_file_abandon(&file);
    return status;
}

static ox_status save(const ox_outputs *outputs, size_t i, const ox_tensor *tensor, ox_error *error) {
    ox_text path = {0};
    if (mkdir(outputs->save, 0777) && errno != EEXIST)
        return ox_tool_fail(error, OX_ERROR_FILE, "cannot create '%s': %s", outputs->save, strerror(errno));
    ox_text_format(&path, "%s/output_%zu.npy", outputs->save, i);
    ox_status status = write_file(path.data, tensor, error);
    ox_text_free(&path);
    return status;
}

/* numpy has no such type: whoever reads the file has to know. */
static void note_raw(const ox_outputs *outputs, size_t i, ox_dtype dtype) {
    if (ox_npy_is_raw(dtype) && !outputs->quiet)
        ox_tool_error("output '%s' is %s: its .npy holds the raw elements as %s", outputs->infos[i].name,
                      ox_dtype_name(dtype), ox_npy_type(dtype));
}

static void print(const ox_value_info *info, const ox_tensor *tensor) {
    ox_text text = {0};
    ox_text_escape(&text, info->name, strlen(info->name), NULL);
    ox_text_format(&text, ": %s ", ox_dtype_name(tensor->dtype));
    ox_text_shape(&text, tensor->rank, tensor->dims);
    ox_text_put(&text, "\n");
    ox_print_tensor(&text, tensor);
    ox_text_put(&text, "\n");
    fwrite(text.data, 1, text.size, stdout);
    ox_text_free(&text);
}

ox_status ox_outputs_write(const ox_outputs *outputs, const ox_session *session, ox_error *error) {
    for (size_t i = 0; i < outputs->count; i++) {
        ox_tensor tensor;
        const char *path = outputs->paths[i];
        ox_status status = ox_session_output(session, i, &tensor, error);
        if (!status && path)
            status = strcmp(path, "-") == 0 ? write_stdout(&tensor, error) : write_file(path, &tensor, error);
        if (!status && outputs->save)
            status = save(outputs, i, &tensor, error);
        if (status)
            return status;
        if (path || outputs->save)
            note_raw(outputs, i, tensor.dtype);
        if (!outputs->quiet && !outputs->uses_stdout)
            print(&outputs->infos[i], &tensor);
    }
    return OX_OK;
}
