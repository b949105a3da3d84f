/* file.c: models from files, with their external data. The only part of the loader that needs an operating system. */
#include <string.h>

#include "host.h"
#include "load.h"

enum {
    PATH_ROOM = 4096
};

/* Maps a file and hands it to the model. */
static ox_status map_file(ox_model *model, const char *path, ox_mapping **mapping, ox_error *error) {
    size_t length = strlen(path);
    ox_mapping *made = ox_pile_get(&model->pile, sizeof *made);
    char *copy = ox_pile_get(&model->pile, length + 1);
    if (!made || !copy)
        return ox_fail_memory(error, path, sizeof *made + length + 1);
    memcpy(copy, path, length);
    made->path = copy;
    made->unmap = ox_host_unmap;
    made->forget = ox_host_forget;
    OX_TRY(ox_host_map(path, &made->bytes, &made->size, error));
    made->next = model->mappings;
    model->mappings = made;
    *mapping = made;
    return OX_OK;
}

/* Each file is mapped once, by whatever names it is called. */
static ox_status open_external(void *context, const char *location, const unsigned char **bytes, size_t *size,
                               ox_error *error) {
    ox_model *model = context;
    char path[PATH_ROOM];
    OX_TRY(ox_host_external_path(model->path, location, path, sizeof path, error));
    ox_mapping *mapping = model->mappings;
    while (mapping && strcmp(mapping->path, path))
        mapping = mapping->next;
    if (!mapping)
        OX_TRY(map_file(model, path, &mapping, error));
    OX_TRY(ox_limits_file(&model->options.limits, mapping->size, error));
    *bytes = mapping->bytes;
    *size = mapping->size;
    return OX_OK;
}

static ox_status load(const char *path, const ox_options *options, bool for_info, ox_model **model, ox_error *error) {
    ox_model *made;
    ox_mapping *mapping;
    OX_TRY(ox_load_create(options, path, &made, error));
    ox_status status = map_file(made, path, &mapping, error);
    if (status) {
        status = ox_meter_explain(&made->meter, status, error);
        ox_model_free(made);
        return status;
    }
    OX_TRY(ox_load_bytes(made, mapping->bytes, mapping->size, open_external, for_info, error));
    *model = made;
    return OX_OK;
}

ox_status ox_model_load_file(const char *path, const ox_options *options, ox_model **model, ox_error *error) {
    ox_error_clear(error);
    OX_NEED(model, error);
    *model = NULL;
    OX_NEED(path, error);
    return load(path, options, false, model, error);
}

ox_status ox_model_load_for_info(const char *path, const ox_options *options, ox_model **model, ox_error *error) {
    ox_error_clear(error);
    OX_NEED(model, error);
    *model = NULL;
    OX_NEED(path, error);
    return load(path, options, true, model, error);
}

ox_status ox_model_load_memory_for_info(const void *bytes, size_t size, const ox_options *options, ox_model **model,
                                        ox_error *error) {
    ox_error_clear(error);
    OX_NEED(model, error);
    *model = NULL;
    if (size)
        OX_NEED(bytes, error);
    return ox_load_memory(bytes, size, options, true, model, error);
}
