/* plugins.c: operators from shared objects (ox_plugin in ox.h): those of a list of paths, and those of ox itself. */
#include "oxpy.h"

#include <stdlib.h>

#include "system.h"

/* Plug-ins find the functions of ox.h in this module, which Python loads without showing them to others. */
static int show_functions(void) {
    PyObject *file = oxpy_import("oxrt._ox", "__file__"), *path = NULL;
    const char *reason;
    if (file && PyUnicode_FSConverter(file, &path) && !ox_library_show(PyBytes_AsString(path), &reason))
        oxpy_fail(OX_ERROR_FILE, "cannot show plug-ins the functions of ox: %s", reason);
    Py_XDECREF(path);
    Py_XDECREF(file);
    return PyErr_Occurred() ? -1 : 0;
}

/* A file of that name in the current folder is meant, and none in the directories of the system. */
static void *open_file(const char *path) {
    const char *reason, *c = path;
    while (*c && !ox_system_separates(*c))
        c++;
    PyObject *here = PyBytes_FromFormat("%s%s", *c ? "" : "./", path);
    /* Models, and libraries behind plug-ins, use its code until the process ends. */
    void *handle = here ? ox_library_open(PyBytes_AsString(here), &reason) : NULL;
    if (here && !handle)
        oxpy_fail(OX_ERROR_FILE, "cannot load the plug-in: %s", reason);
    Py_XDECREF(here);
    return handle;
}

static const ox_plugin *open_plugin(const char *path) {
    const ox_plugin *(*entry)(void);
    ox_error error;
    void *handle = open_file(path);
    void *symbol = handle ? ox_library_find(handle, "ox_plugin_entry") : NULL;
    if (!symbol) {
        if (handle)
            oxpy_fail(OX_ERROR_FILE, "plug-in '%s': it has no function ox_plugin_entry", path);
        return NULL;
    }
    memcpy(&entry, &symbol, sizeof entry);
    const ox_plugin *plugin = entry();
    const ox_status status = ox_plugin_check(plugin, &error);
    if (status)
        oxpy_fail(status, "plug-in '%s': %s", path, error.text);
    return status ? NULL : plugin;
}

/* The list of a model's operators grows by those of a plug-in. */
static int append(oxpy_model *self, const ox_plugin *plugin) {
    const size_t before = self->options.operator_count, count = before + plugin->operator_count;
    ox_operator *grown = realloc(self->operators, (count + 1) * sizeof *grown);
    if (!grown)
        return PyErr_NoMemory(), -1;
    if (plugin->operator_count)
        memcpy(grown + before, plugin->operators, plugin->operator_count * sizeof *grown);
    self->operators = grown;
    self->options.operators = grown;
    self->options.operator_count = count;
    return 0;
}

/* Whether an operator of the plug-in is among the model's already. */
static bool is_known(const oxpy_model *self, const ox_plugin *plugin) {
    for (size_t i = 0; i < plugin->operator_count; i++)
        for (size_t k = 0; k < self->options.operator_count; k++)
            if (!strcmp(plugin->operators[i].name, self->operators[k].name) &&
                !strcmp(plugin->operators[i].domain, self->operators[k].domain))
                return true;
    return false;
}

/* One that cannot be opened is left out. */
static int add_own(oxpy_model *self, PyObject *path) {
    PyObject *bytes = NULL;
    const ox_plugin *plugin = PyUnicode_FSConverter(path, &bytes) ? open_plugin(PyBytes_AsString(bytes)) : NULL;
    Py_XDECREF(bytes);
    if (!plugin)
        PyErr_Clear();
    return !plugin || is_known(self, plugin) ? 0 : append(self, plugin);
}

int oxpy_add_own_plugins(oxpy_model *self) {
    const size_t before = self->options.operator_count;
    PyObject *paths = oxpy_call_python("oxrt._plugins", "find", Py_None), *all = paths ? PySequence_Tuple(paths) : NULL;
    int failed = !all || (PyTuple_Size(all) && show_functions());
    for (Py_ssize_t i = 0; !failed && i < PyTuple_Size(all); i++)
        failed = add_own(self, PyTuple_GetItem(all, i));
    Py_XDECREF(all);
    Py_XDECREF(paths);
    return failed ? -1 : self->options.operator_count > before;
}

int oxpy_load_plugins(oxpy_model *self, PyObject *paths) {
    if (!paths || paths == Py_None)
        return 0;
    if (PyUnicode_Check(paths) || PyBytes_Check(paths)) {
        PyErr_SetString(PyExc_TypeError, "plugins must be a list of paths");
        return -1;
    }
    PyObject *all = PySequence_Tuple(paths);
    int failed = !all || show_functions();
    for (Py_ssize_t i = 0; !failed && i < PyTuple_Size(all); i++) {
        PyObject *path = NULL;
        const ox_plugin *plugin = NULL;
        if (PyUnicode_FSConverter(PyTuple_GetItem(all, i), &path))
            plugin = open_plugin(PyBytes_AsString(path));
        failed = !plugin || append(self, plugin);
        Py_XDECREF(path);
    }
    Py_XDECREF(all);
    return failed ? -1 : 0;
}
