/* plugin.c: see plugin.h. */
#include "plugin.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "text.h"

bool ox_plugins_argument(ox_plugins *plugins, ox_args *args) {
    const char *path;
    if (!ox_args_option(args, "--plugin", &path))
        return false;
    plugins->paths = ox_tool_resize(plugins->paths, (plugins->path_count + 1) * sizeof *plugins->paths);
    plugins->paths[plugins->path_count++] = path;
    return true;
}

/* Opens the file that the path names, and none of that name in the directories of the system. */
static void *open_file(const char *path, ox_error *error) {
    ox_text text = {0};
    ox_text_format(&text, "%s%s", strchr(path, '/') ? "" : "./", path);
    void *handle = dlopen(text.data, RTLD_NOW | RTLD_LOCAL);
    ox_text_free(&text);
    if (!handle)
        ox_tool_fail(error, OX_ERROR_FILE, "cannot load the plug-in: %s", dlerror());
    return handle;
}

static void append(ox_plugins *plugins, const ox_plugin *plugin) {
    ox_options *options = &plugins->options;
    size_t count = options->operator_count + plugin->operator_count;
    if (!plugin->operator_count)
        return;
    plugins->operators = ox_tool_resize(plugins->operators, count * sizeof *plugins->operators);
    memcpy(plugins->operators + options->operator_count, plugin->operators,
           plugin->operator_count * sizeof *plugins->operators);
    options->operators = plugins->operators;
    options->operator_count = count;
}

static ox_status load(ox_plugins *plugins, const char *path, ox_error *error) {
    const ox_plugin *(*entry)(void);
    void *handle = open_file(path, error);
    if (!handle)
        return error->status;
    plugins->handles[plugins->handle_count++] = handle;
    void *symbol = dlsym(handle, "ox_plugin_entry");
    if (!symbol)
        return ox_tool_fail(error, OX_ERROR_FILE, "plug-in '%s': it has no function ox_plugin_entry", path);
    memcpy(&entry, &symbol, sizeof entry);
    const ox_plugin *plugin = entry();
    if (ox_plugin_check(plugin, error)) {
        ox_tool_prefix(error, "plug-in '%s': ", path);
        return error->status;
    }
    append(plugins, plugin);
    return OX_OK;
}

ox_status ox_plugins_load(ox_plugins *plugins, ox_error *error) {
    plugins->handles = ox_tool_alloc(plugins->path_count * sizeof *plugins->handles);
    for (size_t i = 0; i < plugins->path_count; i++) {
        ox_status status = load(plugins, plugins->paths[i], error);
        if (status)
            return status;
    }
    return OX_OK;
}

void ox_plugins_free(ox_plugins *plugins) {
    for (size_t i = 0; i < plugins->handle_count; i++)
        dlclose(plugins->handles[i]);
    free(plugins->handles);
    free(plugins->paths);
    free(plugins->operators);
}
