/* module.c: the extension module oxrt._ox. */
#include "oxpy.h"

#include <stdio.h>
#include <stdlib.h>

PyObject *oxpy_import(const char *module, const char *name) {
    PyObject *from = PyImport_ImportModule(module);
    PyObject *found = from ? PyObject_GetAttrString(from, name) : NULL;
    Py_XDECREF(from);
    return found;
}

PyObject *oxpy_call_python(const char *module, const char *name, PyObject *argument) {
    PyObject *function = oxpy_import(module, name);
    PyObject *result = function ? PyObject_CallFunctionObjArgs(function, argument, NULL) : NULL;
    Py_XDECREF(function);
    return result;
}

/* Pickle calls functions with positional arguments only. */
static PyObject *restore(PyObject *module, PyObject *args) {
    PyObject *type, *source, *settings;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOO!", &type, &source, &PyDict_Type, &settings))
        return NULL;
    PyObject *place = PyTuple_Pack(1, source);
    PyObject *made = place ? PyObject_Call(type, place, settings) : NULL;
    Py_XDECREF(place);
    return made;
}

/* The command's main function (tools/ox.c). */
int ox_command(int argc, char **argv);

/* The command ends the process as it would by itself, without Python's own end. */
static PyObject *command(PyObject *module, PyObject *args) {
    const Py_ssize_t count = PyTuple_Size(args);
    char **words = calloc((size_t)count + 1, sizeof *words);
    (void)module;
    if (!words)
        return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *bytes = NULL;
        if (!PyUnicode_FSConverter(PyTuple_GetItem(args, i), &bytes))
            return NULL;
        words[i] = PyBytes_AsString(bytes);
    }
    const int status = ox_command((int)count, words);
    fflush(NULL);
    _Exit(status);
}

static PyMethodDef functions[] = {
    {"_restore", restore, METH_VARARGS, NULL},
    {"_command", command, METH_VARARGS, "_command(*words)\n--\n\nRuns the command ox, and ends the process."},
    {NULL, NULL, 0, NULL}};

static int fill(PyObject *module) {
    if (PyModule_AddStringConstant(module, "__version__", ox_version()) || oxpy_add_errors(module))
        return -1;
    return oxpy_add_descriptions(module) || oxpy_add_flag(module) || oxpy_add_model(module) ? -1 : 0;
}

PyMODINIT_FUNC PyInit__ox(void);

PyMODINIT_FUNC PyInit__ox(void) {
    static PyModuleDef definition = {
        .m_base = PyModuleDef_HEAD_INIT, .m_name = "oxrt._ox", .m_size = -1, .m_methods = functions};
    PyObject *module = PyModule_Create(&definition);
    if (module && fill(module))
        Py_CLEAR(module);
    return module;
}
