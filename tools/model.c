/* model.c: models that the command line names. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "kind.h"
#include "system.h"
#include "tool.h"

static const char library_name[] = "model: "; /* what the library calls bytes that come without a path */

enum {
    MOST_BYTES = INT32_MAX /* of a protobuf message */
};

/* True for standard input, and for what a shell gives as "<(command)". */
static bool is_stream(const char *path) {
    ox_file_info info;
    if (strcmp(path, "-") == 0)
        return true;
    return strncmp(path, "/dev/", 5) == 0 && ox_system_look(path, &info) && info.is_pipe;
}

static ox_status load_bytes(ox_loaded *loaded, const char *name, size_t size, const ox_options *options, bool for_info,
                            ox_error *error) {
    ox_status status = for_info ? ox_model_load_memory_for_info(loaded->bytes, size, options, &loaded->model, error)
                                : ox_model_load_memory(loaded->bytes, size, options, &loaded->model, error);
    if (!status)
        return OX_OK;
    size_t length = sizeof library_name - 1;
    if (strncmp(error->text, library_name, length) == 0)
        memmove(error->text, error->text + length, strlen(error->text + length) + 1);
    ox_tool_prefix(error, "%s: ", name);
    ox_kind_explain_bytes(name, loaded->bytes, size, error);
    return status;
}

static ox_status load_stream(ox_loaded *loaded, const char *path, const ox_options *options, bool for_info,
                             ox_error *error) {
    size_t size, limit = options ? options->limits.bytes : 0;
    size_t most = limit && limit < MOST_BYTES ? limit : MOST_BYTES;
    ox_status status = ox_file_read_most(path, most, &loaded->bytes, &size, error);
    return status ? status
                  : load_bytes(loaded, strcmp(path, "-") ? path : "standard input", size, options, for_info, error);
}

ox_status ox_loaded_open(ox_loaded *loaded, const char *path, const ox_options *options, bool for_info,
                         ox_error *error) {
    *loaded = (ox_loaded){0};
    if (is_stream(path))
        return load_stream(loaded, path, options, for_info, error);
    ox_status status = for_info ? ox_model_load_for_info(path, options, &loaded->model, error)
                                : ox_model_load_file(path, options, &loaded->model, error);
    if (status)
        ox_kind_explain(path, error);
    return status;
}

void ox_loaded_free(ox_loaded *loaded) {
    ox_model_free(loaded->model);
    free(loaded->bytes);
    *loaded = (ox_loaded){0};
}
