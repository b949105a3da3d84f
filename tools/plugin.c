/* plugin.c: see plugin.h. */
#include "plugin.h"

#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "memory.h"
#include "system.h"
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
    const char *reason;
    bool has_folder = false;
    for (const char *c = path; *c; c++)
        has_folder |= ox_system_separates(*c);
    ox_text_format(&text, "%s%s", has_folder ? "" : "./", path);
    void *handle = ox_library_open(text.data, &reason);
    ox_text_free(&text);
    if (!handle)
        ox_tool_fail(error, OX_ERROR_FILE, "cannot load the plug-in: %s", reason);
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

/* Whether an operator of the plug-in is among those that are there. */
static bool is_known(const ox_plugins *plugins, const ox_plugin *plugin) {
    for (size_t i = 0; i < plugin->operator_count; i++)
        for (size_t k = 0; k < plugins->options.operator_count; k++)
            if (!strcmp(plugin->operators[i].name, plugins->operators[k].name) &&
                !strcmp(plugin->operators[i].domain, plugins->operators[k].domain))
                return true;
    return false;
}

/* Opens a plug-in; its handle is kept. NULL, with the error, if it is none. */
static const ox_plugin *open_plugin(ox_plugins *plugins, const char *path, ox_error *error) {
    const ox_plugin *(*entry)(void);
    void *handle = open_file(path, error);
    if (!handle)
        return NULL;
    plugins->handles = ox_tool_resize(plugins->handles, (plugins->handle_count + 1) * sizeof *plugins->handles);
    plugins->handles[plugins->handle_count++] = handle;
    void *symbol = ox_library_find(handle, "ox_plugin_entry");
    if (!symbol) {
        ox_tool_fail(error, OX_ERROR_FILE, "plug-in '%s': it has no function ox_plugin_entry", path);
        return NULL;
    }
    memcpy(&entry, &symbol, sizeof entry);
    const ox_plugin *plugin = entry();
    if (ox_plugin_check(plugin, error)) {
        ox_tool_prefix(error, "plug-in '%s': ", path);
        return NULL;
    }
    return plugin;
}

ox_status ox_plugins_load(ox_plugins *plugins, ox_error *error) {
    for (size_t i = 0; i < plugins->path_count; i++) {
        const ox_plugin *plugin = open_plugin(plugins, plugins->paths[i], error);
        if (!plugin)
            return error->status;
        append(plugins, plugin);
    }
    return OX_OK;
}

/* ---- Those of ox ------------------------------------------------------------------------------------------------ */

/* Takes the last name of a path away; the name, NULL if there is none before it. */
static const char *cut_name(char *path) {
    size_t n = strlen(path);
    while (n && !ox_system_separates(path[n - 1]))
        n--;
    if (!n)
        return NULL;
    path[n - 1] = '\0';
    return path + n;
}

/* The folder, by where this program lies; false if that is not known. */
static bool own_folder(ox_text *folder) {
    char path[4096];
    if (!ox_system_own_path(path, sizeof path) || !cut_name(path))
        return false;
    ox_text_format(folder, "%s/plugins", path);
    const char *last = cut_name(path);
    if (last && !strcmp(last, "bin")) {
        folder->size = 0;
        ox_text_format(folder, "%s/lib/ox", path);
    }
    return true;
}

static bool is_plugin(const char *name) {
    const size_t size = strlen(name), ending = strlen(ox_library_ending);
    return size > ending && !strcmp(name + size - ending, ox_library_ending);
}

/* One that cannot be opened is left out: the error about the operators that the model lacks stays. */
static void add_own(ox_plugins *plugins, const char *folder, const char *name) {
    ox_text path = {0};
    ox_error error;
    ox_text_format(&path, "%s/%s", folder, name);
    const ox_plugin *plugin = open_plugin(plugins, path.data, &error);
    if (plugin && !is_known(plugins, plugin))
        append(plugins, plugin);
    ox_text_free(&path);
}

bool ox_plugins_add_own(ox_plugins *plugins) {
    const size_t before = plugins->options.operator_count;
    ox_text folder = {0};
    if (plugins->has_own || !own_folder(&folder))
        return false;
    plugins->has_own = true;
    char **names = ox_list_directory(folder.data, "");
    for (char **name = names; *name; name++)
        if (is_plugin(*name))
            add_own(plugins, folder.data, *name);
    ox_list_free(names);
    ox_text_free(&folder);
    return plugins->options.operator_count > before;
}

void ox_plugins_remedy_image(ox_error *error) {
    ox_tool_remedy(error, "ImageDecoder is in the plug-in image.so, which is built where there are Debian's packages "
                          "libpng-dev, libturbojpeg0-dev, libtiff-dev, libwebp-dev and libopenjp2-7-dev");
}

#define BUILT_WITH_RE2 "built where there is Debian's package libre2-dev"

void ox_plugins_remedy(ox_error *error) {
    if (error->status == OX_ERROR_UNSUPPORTED && strstr(error->text, "ImageDecoder-"))
        ox_plugins_remedy_image(error);
    else if (error->status == OX_ERROR_UNSUPPORTED && strstr(error->text, "RegexFullMatch-"))
        ox_tool_remedy(error, "RegexFullMatch is in the plug-in regex.so, which is " BUILT_WITH_RE2);
    else if (error->status == OX_ERROR_UNSUPPORTED && strstr(error->text, "com.microsoft.Tokenizer"))
        ox_tool_remedy(error, "the plug-in regex.so takes every pattern of RE2; it is " BUILT_WITH_RE2);
}

void ox_plugins_free(ox_plugins *plugins) {
    for (size_t i = 0; i < plugins->handle_count; i++)
        ox_library_close(plugins->handles[i]);
    free(plugins->handles);
    free(plugins->paths);
    free(plugins->operators);
}
